# belfry_optional_part(NAME folder purpose HEADER header LIBRARIES library...): whether belfry/dataflow/<folder>
# is built, and belfry/input/<folder> if there is one.
#
# BELFRY_WITH_<NAME> is AUTO (if header and libraries are found), ON or OFF, or what CMake takes for ON and OFF;
# BELFRY_HAS_<NAME> says what came of it.
# belfry_parts collects the interface targets of the parts that are built, belfry_left_out the folders of the others.
set(belfry_parts)
set(belfry_left_out)

function(belfry_optional_part name folder purpose)
  cmake_parse_arguments(part "" "HEADER" "LIBRARIES" ${ARGN})
  set(BELFRY_WITH_${name} AUTO CACHE STRING "${purpose}: AUTO, ON or OFF")
  set_property(CACHE BELFRY_WITH_${name} PROPERTY STRINGS AUTO ON OFF)

  set(with "${BELFRY_WITH_${name}}")
  if("${with}")  # quoted, only texts that CMake takes for true are
    set(with ON)
  elseif(NOT with)
    set(with OFF)
  elseif(NOT with MATCHES "^[Aa][Uu][Tt][Oo]$")
    message(FATAL_ERROR "[BELFRY_WITH_${name}] expected AUTO, ON or OFF, got '${with}'.")
  endif()

  # Debian's packages of OpenCV's parts bring no CMake files; those of LMDB and ZeroMQ none that are of use.
  find_path(BELFRY_${name}_HEADERS ${part_HEADER} PATH_SUFFIXES opencv4)
  mark_as_advanced(BELFRY_${name}_HEADERS)
  set(found ${with})
  if(NOT BELFRY_${name}_HEADERS)
    set(found OFF)
  endif()
  set(libraries)
  foreach(library IN LISTS part_LIBRARIES)
    find_library(BELFRY_LIBRARY_${library} ${library})
    mark_as_advanced(BELFRY_LIBRARY_${library})
    list(APPEND libraries ${BELFRY_LIBRARY_${library}})
    if(NOT BELFRY_LIBRARY_${library})
      set(found OFF)
    endif()
  endforeach()

  if(found)
    add_library(belfry_${folder}_part INTERFACE)
    target_link_libraries(belfry_${folder}_part INTERFACE ${libraries})
    target_include_directories(belfry_${folder}_part SYSTEM INTERFACE ${BELFRY_${name}_HEADERS})
    set(belfry_parts ${belfry_parts} belfry_${folder}_part PARENT_SCOPE)
    set(BELFRY_HAS_${name} TRUE PARENT_SCOPE)
    return()
  endif()
  if(with STREQUAL "ON")
    message(FATAL_ERROR "[BELFRY_WITH_${name}] expected ${part_HEADER} and ${part_LIBRARIES}, got none or not all of "
      "them. Install what is missing, or set it to AUTO or OFF.")
  endif()
  message(STATUS "Belfry is built without ${name} (${purpose})")
  set(belfry_left_out ${belfry_left_out} ${folder} PARENT_SCOPE)
  set(BELFRY_HAS_${name} FALSE PARENT_SCOPE)
endfunction()
