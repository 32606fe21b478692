# belfry_inside(library [target...]): the interface target inside_<library>, for tests: everything compiled for the
# library, as one object file. A shared library hides what no public header declares; its tests can reach it this way.
# Further targets are object libraries that are also part of the shared one.
#
# The object file comes first when a program is linked. So if the program also has a copy of an inline function, the
# library's copy is used, which may have been compiled with other flags.
function(belfry_inside library)
  set(targets belfry_${library} ${ARGN})
  if(library STREQUAL "belfry")
    set(targets belfry ${ARGN})
  endif()
  set(objects)
  foreach(target IN LISTS targets)
    list(APPEND objects $<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,[.]o$>)  # without precompiled headers
  endforeach()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/inside_${library}.o)
  file(GENERATE OUTPUT ${file}.list CONTENT "$<JOIN:${objects},\n>\n")
  add_custom_command(OUTPUT ${file} COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -o ${file} @${file}.list
    DEPENDS ${objects} ${file}.list COMMENT "Linking inside_${library}.o" VERBATIM)
  add_custom_target(inside_${library}_object DEPENDS ${file})
  add_library(inside_${library} INTERFACE)
  add_dependencies(inside_${library} inside_${library}_object)
  target_link_options(inside_${library} INTERFACE ${file})
  set_target_properties(inside_${library} PROPERTIES INTERFACE_LINK_DEPENDS ${file})
  target_include_directories(inside_${library} INTERFACE ${PROJECT_SOURCE_DIR})
  target_compile_features(inside_${library} INTERFACE cxx_std_20)
endfunction()

belfry_inside(dataflow)
target_link_libraries(inside_dataflow INTERFACE fmt::fmt ZLIB::ZLIB Threads::Threads gomp)
belfry_inside(belfry belfry_simd_avx2 belfry_simd_avx512 belfry_tiles)
target_link_libraries(inside_belfry INTERFACE inside_dataflow ${DNNL_LIBRARY})
foreach(component IN LISTS belfry_part_names)
  if(belfry_part_${component} STREQUAL "found")
    belfry_inside(${component})
    target_link_libraries(inside_${component} INTERFACE inside_dataflow belfry_${component}_part)
  endif()
endforeach()
if(BELFRY_HAS_ZEROMQ)
  belfry_inside(remote_input)
  target_link_libraries(inside_remote_input INTERFACE inside_belfry inside_remote)
endif()
