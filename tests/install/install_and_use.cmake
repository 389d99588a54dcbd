# Run by CTest with BUILD_DIR, EXAMPLE_DIR, WORK_DIR, CXX and VERSION; the first command that fails ends it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(installed "${WORK_DIR}/in stalled")  # a blank in the prefix is no obstacle
file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix "${installed}")
run(${CMAKE_COMMAND} -G Ninja -S ${EXAMPLE_DIR} -B ${WORK_DIR}/build
  -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_PREFIX_PATH=${installed}")
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/double_it)

# The installed program finds the installed topologies, wherever it is called from.
run(${CMAKE_COMMAND} -E chdir ${WORK_DIR} "${installed}/bin/kernbench" describe tiny)
# It compiles a user's file against the installed headers, with the source tree's out of sight.
file(COPY_FILE ${EXAMPLE_DIR}/../scaled_add/scaled_add.cpp ${WORK_DIR}/user.cpp)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env XDG_CACHE_HOME=${WORK_DIR}/cache "${installed}/bin/kernbench"
    run ${WORK_DIR}/user.cpp -t tiny -p n=10000 --cxxflags -H
  OUTPUT_VARIABLE shown ERROR_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
if(NOT shown MATCHES "passed" OR NOT headers MATCHES "${installed}/include/kernbench/kernbench.h")
  message(FATAL_ERROR "the user's file did not run with the installed headers: ${shown}${headers}")
endif()
execute_process(COMMAND "${installed}/bin/kernbench" --version OUTPUT_VARIABLE version
  COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${version}" "${VERSION}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "kernbench --version says '${version}', not ${VERSION}")
endif()

# The installed program, and one that was linked against the package, take the files beside them before any others.
set(topology "${installed}/share/kernbench/topologies/tiny.yaml")
file(APPEND "${topology}" "unknown_key: 1\n")
foreach(command "${installed}/bin/kernbench;describe;tiny" "${WORK_DIR}/build/double_it")
  execute_process(COMMAND ${command} ERROR_VARIABLE said OUTPUT_QUIET)
  string(FIND "${said}" "${topology}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${command} did not read ${topology}: ${said}")
  endif()
endforeach()
