# libbelfry_dataflow, Belfry::dataflow: arrays and data pipelines, usable without graph, engine and oneDNN.
#
# Some parts need a library that may be missing. The others are built as separate libraries, so that only programs
# that use a part load what it needs: Belfry::images, Belfry::lmdb, Belfry::remote. ON makes a missing one an error, OFF
# omits the part. Calling a function of an omitted part is a compiler error (see BelfryMissingHeaders.cmake); the kinds
# of resize() that Belfry::images provides are errors when the program runs.
include(BelfryOptionalPart)
# Only OpenCV's core and imgproc: imgcodecs depends on a hundred libraries, which take a program longer to load than
# anything else.
belfry_optional_part(IMAGES images FOLDERS image/codecs image/opencv PURPOSE "image files, warps and colours"
  HEADERS jpeglib.h png.h webp/decode.h opencv2/imgproc.hpp LIBRARIES jpeg png webp opencv_core opencv_imgproc
  PACKAGES libjpeg-dev libpng-dev libwebp-dev libopencv-core-dev libopencv-imgproc-dev)
belfry_optional_part(LMDB lmdb FOLDERS lmdb PURPOSE "LMDB databases" HEADERS lmdb.h LIBRARIES lmdb PACKAGES liblmdb-dev)
belfry_optional_part(ZEROMQ remote FOLDERS remote PURPOSE "datapoints between processes" HEADERS zmq.h LIBRARIES zmq
  PACKAGES libzmq3-dev)
belfry_report_parts()

file(GLOB_RECURSE dataflow_sources CONFIGURE_DEPENDS belfry/base/*.cc belfry/array/*.cc belfry/dataflow/*.cc)
foreach(component IN LISTS belfry_part_names)
  list(FILTER dataflow_sources EXCLUDE REGEX "/belfry/dataflow/(${belfry_folders_${component}})/")
endforeach()
belfry_library(dataflow ${dataflow_sources})
target_include_directories(belfry_dataflow PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(belfry_dataflow PUBLIC cxx_std_20)
# BUILD_INTERFACE: a program that uses the installed library need not find the library's own dependencies.
target_link_libraries(belfry_dataflow PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
  $<BUILD_INTERFACE:ZLIB::ZLIB> $<BUILD_INTERFACE:gomp>)

foreach(component IN LISTS belfry_part_names)
  if(belfry_part_${component} STREQUAL "found")
    file(GLOB_RECURSE part_sources CONFIGURE_DEPENDS belfry/dataflow/*.cc)
    list(FILTER part_sources INCLUDE REGEX "/belfry/dataflow/(${belfry_folders_${component}})/")
    belfry_library(${component} ${part_sources})
    target_link_libraries(belfry_${component} PUBLIC belfry_dataflow PRIVATE $<BUILD_INTERFACE:belfry_${component}_part>)
  endif()
endforeach()
if(BELFRY_HAS_IMAGES)
  # Loaded even by a program that uses none of its names, since it provides kinds of resize().
  target_link_options(belfry_images INTERFACE
    $<BUILD_INTERFACE:-Wl,--push-state,--no-as-needed,$<TARGET_FILE:belfry_images>,--pop-state>
    $<INSTALL_INTERFACE:-Wl,--push-state,--no-as-needed,$<TARGET_FILE:Belfry::images>,--pop-state>)
endif()
# Like OpenCV's own build: products are rounded before they are added. (g++ takes that option from precompiled headers.)
set_source_files_properties(belfry/dataflow/image/internal/resize_linear.cc PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)
