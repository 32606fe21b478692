# belfry_optional_part(NAME component FOLDERS folder... PURPOSE text HEADERS header... LIBRARIES library...
#   PACKAGES package...):
# decides whether belfry/dataflow/<folder> is built for each of the folders, and belfry/input/<folder> if it exists.
#
# BELFRY_WITH_<NAME> is AUTO (if headers and libraries are found), ON or OFF, or what CMake takes for ON and OFF;
# BELFRY_HAS_<NAME> is the result. PACKAGES are the Debian packages with the libraries.
#
# A part that is built has the interface target belfry_<component>_part; belfry_left_out are the folders of the others.
# belfry_part_names are the components' names, belfry_folders_<component> a regular expression for its folders,
# belfry_part_<component> is found, missing or off, belfry_why_<component> a sentence that says why a part is not built
# and what to do. belfry_report_parts() shows a table of them, and writes it to the file parts in the build folder for
# scripts (see scripts/common.sh).
set(belfry_left_out)
set(belfry_part_names)
set(belfry_part_table)

function(belfry_optional_part name component)
  cmake_parse_arguments(part "" "PURPOSE" "FOLDERS;HEADERS;LIBRARIES;PACKAGES" ${ARGN})
  set(BELFRY_WITH_${name} AUTO CACHE STRING "${component}, ${part_PURPOSE}: AUTO, ON or OFF")
  set_property(CACHE BELFRY_WITH_${name} PROPERTY STRINGS AUTO ON OFF)

  set(with "${BELFRY_WITH_${name}}")
  if("${with}")  # quoted, so that only texts that CMake takes for true are true
    set(with ON)
  elseif(NOT with)
    set(with OFF)
  elseif(NOT with MATCHES "^[Aa][Uu][Tt][Oo]$")
    message(FATAL_ERROR "[BELFRY_WITH_${name}] expected AUTO, ON or OFF, got '${with}'.")
  endif()

  # Debian's packages of OpenCV's parts have no CMake files; those of LMDB and ZeroMQ no useful ones.
  set(found ${with})
  set(missing)
  set(include_folders)
  foreach(header IN LISTS part_HEADERS)
    string(MAKE_C_IDENTIFIER "BELFRY_HEADER_${header}" variable)
    find_path(${variable} ${header} PATH_SUFFIXES opencv4)
    mark_as_advanced(${variable})
    list(APPEND include_folders ${${variable}})
    if(NOT ${variable})
      list(APPEND missing ${header})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES include_folders)
  set(libraries)
  foreach(library IN LISTS part_LIBRARIES)
    find_library(BELFRY_LIBRARY_${library} ${library})
    mark_as_advanced(BELFRY_LIBRARY_${library})
    list(APPEND libraries ${BELFRY_LIBRARY_${library}})
    if(NOT BELFRY_LIBRARY_${library})
      list(APPEND missing lib${library})
    endif()
  endforeach()
  if(missing)
    set(found OFF)
  endif()
  list(JOIN missing ", " missing)

  list(JOIN part_PACKAGES " " packages)
  set(state found)
  set(why)
  set(BELFRY_HAS_${name} FALSE PARENT_SCOPE)
  if(found)
    add_library(belfry_${component}_part INTERFACE)
    target_link_libraries(belfry_${component}_part INTERFACE ${libraries})
    target_include_directories(belfry_${component}_part SYSTEM INTERFACE ${include_folders})
    set(BELFRY_HAS_${name} TRUE PARENT_SCOPE)
  elseif(with STREQUAL "ON")
    message(FATAL_ERROR "[BELFRY_WITH_${name}] expected ${part_PURPOSE} to be built, got a machine without ${missing}. "
      "Install what is missing (Debian: apt-get install ${packages}), or set it to AUTO or OFF.")
  elseif(with STREQUAL "OFF")
    set(state off)
    set(why "it was switched off with BELFRY_WITH_${name}. Build Belfry without that setting")
  else()
    set(state missing)
    set(why "${missing}: not found. Install what is missing (Debian: apt-get install ${packages}) and build Belfry again")
  endif()
  if(NOT state STREQUAL "found")
    set(belfry_left_out ${belfry_left_out} ${part_FOLDERS} PARENT_SCOPE)
  endif()
  set(belfry_part_names ${belfry_part_names} ${component} PARENT_SCOPE)
  set(belfry_part_${component} ${state} PARENT_SCOPE)
  list(JOIN part_FOLDERS "|" folders)
  set(belfry_folders_${component} ${folders} PARENT_SCOPE)
  set(belfry_why_${component} "${why}" PARENT_SCOPE)
  string(SUBSTRING "${component}        " 0 8 first)
  string(SUBSTRING "${state}        " 0 8 second)
  string(SUBSTRING "BELFRY_WITH_${name}                    " 0 20 third)
  set(belfry_part_table "${belfry_part_table}${first}${second}${third}${packages}\n" PARENT_SCOPE)
endfunction()

function(belfry_report_parts)
  message(STATUS "Optional parts (name, state, switch, Debian's packages):")
  string(REGEX REPLACE "\n$" "" rows "${belfry_part_table}")
  string(REPLACE "\n" ";" rows "${rows}")
  foreach(row IN LISTS rows)
    message(STATUS "  ${row}")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/parts "${belfry_part_table}")
endfunction()
