# cmake --install and find_package(Belfry): the shared libraries, their targets (Belfry::belfry, Belfry::dataflow, one for
# each optional part), the public headers.
#
# Every header is public except belfry/base/check.h (it includes fmt), those in a folder named internal, and the
# engine's; engine/public_headers.txt names the engine's exceptions. scripts/layers checks the same rule.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} belfry/*.h)
list(FILTER public_headers EXCLUDE REGEX "^belfry/engine/|/internal/|^belfry/base/check\\.h$")
include(BelfryMissingHeaders)
foreach(component IN LISTS belfry_part_names)
  if(NOT belfry_part_${component} STREQUAL "found")
    set(missing_headers ${public_headers})
    set(folder "^belfry/(dataflow|input)/(${belfry_folders_${component}})/")
    list(FILTER missing_headers INCLUDE REGEX ${folder})
    list(FILTER public_headers EXCLUDE REGEX ${folder})
    belfry_missing_headers(${component} "${missing_headers}")
    foreach(header IN LISTS missing_headers)
      cmake_path(GET header PARENT_PATH folder)
      install(FILES ${CMAKE_BINARY_DIR}/missing/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
    endforeach()
  endif()
endforeach()
file(STRINGS belfry/engine/public_headers.txt engine_headers REGEX "^belfry/")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS belfry/engine/public_headers.txt)
foreach(header IN LISTS public_headers engine_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()

# The libraries find each other in any folder.
set_target_properties(${belfry_libraries} PROPERTIES INSTALL_RPATH "\$ORIGIN")
install(TARGETS ${belfry_libraries} EXPORT BelfryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Belfry)
install(EXPORT BelfryTargets NAMESPACE Belfry:: DESTINATION ${config_folder} COMPONENT development)
# For find_package(Belfry COMPONENTS ...).
set(belfry_components)
foreach(component IN LISTS belfry_part_names)
  string(APPEND belfry_components "set(Belfry_why_${component} \"${belfry_why_${component}}\")\n")
endforeach()
configure_package_config_file(cmake/BelfryConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/BelfryConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/BelfryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/BelfryConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/BelfryConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT development)
