# Installs Belfry into a fresh prefix, then configures, builds and runs the project in outside/ against it.
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
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${SCRATCH}/build -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
step(${SCRATCH}/build/outside)
