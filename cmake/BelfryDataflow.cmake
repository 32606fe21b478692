# libbelfry_dataflow, Belfry::dataflow: arrays and data pipelines, usable without graph, engine and oneDNN.
#
# Some parts of it need a library that may be missing. What is there is built; ON makes a missing one an error, OFF
# leaves the part out. Then its headers say so to whoever calls it (see BelfryMissingHeaders.cmake). Images are decoded
# by OpenCV; only .strict asks libjpeg itself, and says so where it is missing, as some kinds of resize() do without
# OpenCV.
include(BelfryOptionalPart)
belfry_optional_part(OPENCV images FOLDER image/opencv PURPOSE "decoding, warps and colours" HEADER opencv2/core.hpp
  LIBRARIES opencv_core opencv_imgproc opencv_imgcodecs
  PACKAGES libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev)
belfry_optional_part(LIBJPEG jpeg NEEDS images PURPOSE "strict decoding of JPEGs" HEADER jpeglib.h LIBRARIES jpeg
  PACKAGES libjpeg-dev)
belfry_optional_part(LMDB lmdb FOLDER lmdb PURPOSE "LMDB databases" HEADER lmdb.h LIBRARIES lmdb PACKAGES liblmdb-dev)
belfry_optional_part(ZEROMQ remote FOLDER remote PURPOSE "datapoints between processes" HEADER zmq.h LIBRARIES zmq
  PACKAGES libzmq3-dev)
belfry_report_parts()

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
if(BELFRY_HAS_LIBJPEG)
  set_source_files_properties(belfry/dataflow/image/opencv/strict_jpeg.cc PROPERTIES COMPILE_DEFINITIONS BELFRY_HAS_LIBJPEG)
endif()
if(BELFRY_HAS_OPENCV)
  set_source_files_properties(belfry/dataflow/image/internal/interpolations.cc PROPERTIES COMPILE_DEFINITIONS BELFRY_HAS_OPENCV)
endif()
# As OpenCV is compiled: products are rounded before they are added. (g++ takes that option from precompiled headers.)
set_source_files_properties(belfry/dataflow/image/internal/resize_linear.cc PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)
if(BELFRY_PRECOMPILE)
  target_precompile_headers(belfry_dataflow PRIVATE ${belfry_heavy_headers})
endif()
