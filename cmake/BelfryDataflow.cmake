# libbelfry_dataflow, Belfry::dataflow: arrays and data pipelines, usable without graph, engine and oneDNN.
#
# Three parts of it need a library that may be missing. What is there is built; ON makes a missing one an error, OFF
# leaves the part out. Then its headers are not installed.
include(BelfryOptionalPart)
belfry_optional_part(OPENCV image "images: decoding and augmentation"
  HEADER opencv2/core.hpp LIBRARIES opencv_core opencv_imgproc opencv_imgcodecs)
belfry_optional_part(LMDB lmdb "LMDB databases" HEADER lmdb.h LIBRARIES lmdb)
belfry_optional_part(ZEROMQ remote "datapoints between processes" HEADER zmq.h LIBRARIES zmq)

file(GLOB_RECURSE dataflow_sources CONFIGURE_DEPENDS belfry/base/*.cc belfry/array/*.cc belfry/dataflow/*.cc)
foreach(folder IN LISTS belfry_left_out)
  list(FILTER dataflow_sources EXCLUDE REGEX "/belfry/dataflow/${folder}/")
endforeach()
add_library(belfry_dataflow SHARED ${dataflow_sources})
add_library(Belfry::dataflow ALIAS belfry_dataflow)
set_target_properties(belfry_dataflow PROPERTIES
  EXPORT_NAME dataflow VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(belfry_dataflow PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(belfry_dataflow PUBLIC cxx_std_20)
# BUILD_INTERFACE: a program that uses the installed library need not find what the library itself is made with.
target_link_libraries(belfry_dataflow PRIVATE $<BUILD_INTERFACE:belfry_flags> $<BUILD_INTERFACE:fmt::fmt>
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:ZLIB::ZLIB> $<BUILD_INTERFACE:Threads::Threads>
  $<BUILD_INTERFACE:gomp>)
foreach(part IN LISTS belfry_parts)
  target_link_libraries(belfry_dataflow PRIVATE $<BUILD_INTERFACE:${part}>)
endforeach()
# Images are decoded by OpenCV; only DecodeOptions::strict asks libjpeg itself, and says so where it is missing.
if(BELFRY_HAS_OPENCV)
  find_package(JPEG QUIET)
  if(JPEG_FOUND)
    set_source_files_properties(belfry/dataflow/image/strict_jpeg.cc PROPERTIES COMPILE_DEFINITIONS BELFRY_HAS_LIBJPEG)
    target_link_libraries(belfry_dataflow PRIVATE $<BUILD_INTERFACE:JPEG::JPEG>)
  else()
    message(STATUS "Belfry is built without libjpeg (strict decoding of JPEGs): package libjpeg-dev")
  endif()
endif()
if(BELFRY_PRECOMPILE)
  target_precompile_headers(belfry_dataflow PRIVATE ${belfry_heavy_headers})
endif()
