# belfry_precompiled(program): its sources get the heavy headers from one precompiled set, which the examples, benchmarks
# and tools share.
if(NOT BELFRY_PRECOMPILE STREQUAL "none")
  file(CONFIGURE OUTPUT program_headers.cc CONTENT "// holds the precompiled headers of the programs\n")
  add_library(belfry_program_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/program_headers.cc)
  target_link_libraries(belfry_program_headers PRIVATE belfry_flags fmt::fmt)
  set_target_properties(belfry_program_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(belfry_program_headers PRIVATE ${belfry_heavy_headers})
endif()

function(belfry_precompiled program)
  belfry_unity(${program})
  if(NOT BELFRY_PRECOMPILE STREQUAL "none")
    set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as the headers; PIE is g++'s default
    target_precompile_headers(${program} REUSE_FROM belfry_program_headers)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # a false alarm on std::string, as -Wrestrict's (see CMakeLists.txt)
      target_compile_options(${program} PRIVATE -Wno-stringop-overflow)
    endif()
  endif()
endfunction()
