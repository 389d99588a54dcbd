# The few functions that all CMakeLists.txt of the project are written with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(kernbench_options INTERFACE)
target_compile_options(kernbench_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -ffp-contract=off -fno-math-errno)
target_include_directories(kernbench_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
if(KERNBENCH_SANITIZE)
  target_compile_options(kernbench_options INTERFACE
    -fsanitize=${KERNBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kernbench_options INTERFACE -fsanitize=${KERNBENCH_SANITIZE})
endif()

# kernbench_layer(base SOURCES … DEPENDS …): one static library per layer (kernbench_base).
function(kernbench_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(kernbench_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(kernbench_${name} PUBLIC kernbench_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
endfunction()

# kernbench_test(event SOURCES … DEPENDS … [LABELS …]): one GoogleTest program (event_test), its cases known to ctest.
function(kernbench_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE KERNBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS "${name};${ARG_LABELS}")
endfunction()
