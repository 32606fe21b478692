# Installs Belfry into a fresh prefix, then configures, builds and runs projects against it: outside/ uses all of the
# library, dataflow_alone/ the data pipelines.
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
foreach(project outside dataflow_alone)
  step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECTS}/${project} -B ${SCRATCH}/${project}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  step(${CMAKE_COMMAND} --build ${SCRATCH}/${project})
  step(${SCRATCH}/${project}/${project})
endforeach()
execute_process(COMMAND ldd ${SCRATCH}/dataflow_alone/dataflow_alone OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
if(loaded MATCHES "libdnnl|libbelfry\\.so" OR NOT loaded MATCHES "libbelfry_dataflow\\.so")
  message(FATAL_ERROR "expected a program that loads libbelfry_dataflow, without oneDNN and libbelfry; it loads\n${loaded}")
endif()
