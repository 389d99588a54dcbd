# Files that must not compile. Reading the public headers takes most of the time of each, so gcc reads them from a file that
# it has made of them once; clang passes over that file.
include_guard(GLOBAL)

# rejected_command(out file): what compiles a file of misuses; its tests require the fixture rejected_headers.
function(rejected_command out file)
  set(${out} ${CMAKE_CXX_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -fsyntax-only
    -include ${PROJECT_BINARY_DIR}/tests/rejected/headers.h ${file} PARENT_SCOPE)
endfunction()

set(headers ${PROJECT_BINARY_DIR}/tests/rejected/headers.h)
file(GENERATE OUTPUT ${headers} CONTENT "#include <kernbench/kernbench.h>\n")
add_test(NAME rejected.headers
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
    -x c++-header ${headers} -o ${headers}.gch)
set_tests_properties(rejected.headers PROPERTIES LABELS integration FIXTURES_SETUP rejected_headers COST 20)
