# Installs Belfry into a fresh prefix, then configures, builds and runs projects against it: outside/ uses all of the
# library, dataflow_alone/ the data pipelines. Warnings come and go with compilers and what they optimise, so outside/
# is built by g++ and clang at several levels.
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BELFRY_BUILD} --prefix ${SCRATCH}/prefix)
foreach(private base/check.h engine/cpu)
  if(EXISTS ${SCRATCH}/prefix/include/belfry/${private})
    message(FATAL_ERROR "belfry/${private} is private, but it was installed")
  endif()
endforeach()
step(${SCRATCH}/prefix/bin/belfry data words)

# What no public header declares is hidden.
execute_process(COMMAND nm --dynamic --demangle --defined-only ${BELFRY_BUILD}/libbelfry.so OUTPUT_VARIABLE exported
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT exported MATCHES "belfry::softmax\\(" OR exported MATCHES "[^\n]*belfry::(simd|avx2|avx512|CpuBackend|Ir|prune)::?[^\n]*")
  message(FATAL_ERROR "expected libbelfry to export what public headers declare and none of its inside; it exports ${CMAKE_MATCH_0}")
endif()

# Neither is a class of an internal header, unless the header exports it to the library's other parts. A public header
# that declares one gives it [[gnu::visibility("hidden")]].
get_filename_component(tree ${PROJECTS}/../.. ABSOLUTE)
file(GLOB_RECURSE headers ${tree}/belfry/*.h)
list(FILTER headers INCLUDE REGEX "/internal/")
set(classes 0)
foreach(library belfry belfry_dataflow)
  execute_process(COMMAND nm --dynamic --demangle --defined-only ${BELFRY_BUILD}/lib${library}.so OUTPUT_VARIABLE exported
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(header IN LISTS headers)
    file(READ ${header} text)
    if(text MATCHES "visibility push")
      continue()
    endif()
    string(REGEX MATCHALL "\n(class|struct) [A-Za-z0-9]+( final)?( :| {)" definitions "${text}")
    foreach(definition IN LISTS definitions)
      math(EXPR classes "${classes} + 1")
      string(REGEX REPLACE "\n(class|struct) ([A-Za-z0-9]+).*" "\\2" class "${definition}")
      if(exported MATCHES "\n[^ ]* [A-Z] ((vtable|typeinfo|typeinfo name) for )?belfry::${class}(::[^\n]*)?\n")
        message(FATAL_ERROR "expected lib${library} to hide ${class} of ${header}; it exports ${CMAKE_MATCH_0}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(classes LESS 50)
  message(FATAL_ERROR "expected to find the classes of internal headers, got only ${classes}")
endif()

# build_project(name folder compiler level): configured and built in SCRATCH/folder.
function(build_project name folder compiler level)
  step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECTS}/${name} -B ${SCRATCH}/${folder}
    -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_CXX_FLAGS=${level} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  step(${CMAKE_COMMAND} --build ${SCRATCH}/${folder})
endfunction()

find_program(CLANG clang++-19)
set(compilers ${COMPILER})
if(NOT CLANG)
  message(STATUS "clang++-19 is not installed (scripts/packages lint): built by ${COMPILER} only")
elseif(NOT COMPILER MATCHES "clang")
  list(APPEND compilers ${CLANG})
endif()
foreach(compiler IN LISTS compilers)
  get_filename_component(compiler_name ${compiler} NAME)
  foreach(level -O0 -O2 -O3)
    set(folder outside_${compiler_name}${level})
    build_project(outside ${folder} ${compiler} ${level})
    step(${SCRATCH}/${folder}/outside)
    step(${SCRATCH}/${folder}/outside_trainer ${SCRATCH}/${folder}/run)
  endforeach()
endforeach()

# A program loads what it uses.
get_filename_component(compiler_name ${COMPILER} NAME)
execute_process(COMMAND ldd ${SCRATCH}/outside_${compiler_name}-O2/outside OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n" lines "${loaded}")
list(LENGTH lines count)
if(loaded MATCHES "libopencv|libjpeg|libpng|libwebp|liblmdb|libzmq" OR count GREATER 30)
  message(FATAL_ERROR "expected a program without optional parts that loads at most 30 libraries; it loads\n${loaded}")
endif()

build_project(dataflow_alone dataflow_alone ${COMPILER} -O2)
step(${SCRATCH}/dataflow_alone/dataflow_alone)
execute_process(COMMAND ldd ${SCRATCH}/dataflow_alone/dataflow_alone OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
if(loaded MATCHES "libdnnl|libbelfry\\.so|libbelfry_(images|lmdb|remote)|libopencv|libjpeg" OR NOT loaded MATCHES "libbelfry_dataflow\\.so")
  message(FATAL_ERROR "expected a program that loads libbelfry_dataflow, without oneDNN, libbelfry and the parts; it loads\n${loaded}")
endif()
if(EXISTS ${SCRATCH}/dataflow_alone/with_images)
  step(${SCRATCH}/dataflow_alone/with_images)
  # OpenCV's own reader of images brings a hundred libraries along.
  execute_process(COMMAND ldd ${SCRATCH}/dataflow_alone/with_images OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\n" lines "${loaded}")
  list(LENGTH lines count)
  if(loaded MATCHES "libopencv_imgcodecs" OR count GREATER 40)
    message(FATAL_ERROR "expected a program with images that loads at most 40 libraries; it loads\n${loaded}")
  endif()
endif()
