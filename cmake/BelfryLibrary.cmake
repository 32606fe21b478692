# belfry_library(name source...): the shared library belfry_<name>, Belfry::<name>, also installed. The name belfry gives
# libbelfry. belfry_libraries collects them.
set(belfry_libraries)

function(belfry_library name)
  set(target belfry_${name})
  if(name STREQUAL "belfry")
    set(target belfry)
  endif()
  add_library(${target} SHARED ${ARGN})
  add_library(Belfry::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:belfry_flags> $<BUILD_INTERFACE:fmt::fmt>
    $<BUILD_INTERFACE:Threads::Threads>)
  # A library calls its own functions even if the program has a copy of the same inline function or template, which may
  # have been compiled with other flags.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  if(NOT BELFRY_SANITIZE)  # using what another library hides is an error here, not in each program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(BELFRY_PRECOMPILE STREQUAL "all")
    target_precompile_headers(${target} PRIVATE ${belfry_heavy_headers})
  endif()
  belfry_unity(${target})
  set(belfry_libraries ${belfry_libraries} ${target} PARENT_SCOPE)
endfunction()
