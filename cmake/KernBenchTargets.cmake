# The few functions that all CMakeLists.txt of the project are written with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)  # docs/adr/0017-unity-builds.md
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(KERNBENCH_CCACHE ccache)
  if(KERNBENCH_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${KERNBENCH_CCACHE})
  endif()
endif()

# Comes with what `make asan` needs; nothing depends on it.
find_program(KERNBENCH_LLD ld.lld-19)

# What every target of the project is compiled with. Installed users get the include folders and C++20, not our warnings.
add_library(kernbench_options INTERFACE)
target_compile_features(kernbench_options INTERFACE cxx_std_20)
set(kernbench_compile_options
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It collects its garbage from 512 MB on, which is an eighth of the time to compile, for a quarter more memory; where each
  # processor has 4 GB, hardly at all, which is another tenth, for up to 2.6 GB.
  cmake_host_system_information(RESULT kernbench_memory QUERY TOTAL_PHYSICAL_MEMORY)  # MB
  cmake_host_system_information(RESULT kernbench_processors QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR kernbench_memory_each "${kernbench_memory} / ${kernbench_processors}")
  if(kernbench_memory_each GREATER_EQUAL 4000)
    list(APPEND kernbench_compile_options --param ggc-min-heapsize=4194304)
  else()
    list(APPEND kernbench_compile_options --param ggc-min-heapsize=524288)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The stable_sort of libstdc++ 12 uses what C++17 has deprecated.
  list(APPEND kernbench_compile_options -Wno-deprecated-declarations)
endif()
if(KERNBENCH_SANITIZE)
  # Options of the folder come before those of a target, so a target may take some checks back.
  add_compile_options(-fsanitize=${KERNBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kernbench_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${KERNBENCH_SANITIZE}>)
  if(KERNBENCH_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Else frames lie on stacks that do not go with fibers: what refers to those of a fiber that waits crashes, and tests
    # take up to seventy times as long. gcc does not do so unless asked.
    add_compile_options(-fsanitize-address-use-after-return=never)
  endif()
  # At fixed addresses a program of 100 MB starts in 40 ms instead of 60.
  if(KERNBENCH_SANITIZE MATCHES address AND NOT KERNBENCH_BUILD_FUZZERS)
    add_compile_options(-fno-pie)
    target_link_options(kernbench_options INTERFACE $<BUILD_INTERFACE:-no-pie>)
  endif()
  if(KERNBENCH_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # links them in half of the time
    target_link_options(kernbench_options INTERFACE $<BUILD_INTERFACE:--ld-path=${KERNBENCH_LLD}>)
  endif()
endif()
if(KERNBENCH_BUILD_FUZZERS)
  list(APPEND kernbench_compile_options -fsanitize=fuzzer-no-link)
endif()
target_compile_options(kernbench_options INTERFACE "$<BUILD_INTERFACE:${kernbench_compile_options}>")
target_include_directories(kernbench_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:include>)

# Sources of a target are compiled eight at a time, unless CMAKE_UNITY_BUILD says otherwise (docs/adr/0017-unity-builds.md).
function(compile_in_batches target)
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Layers that find values within bytes, or objects within blocks of memory: under UndefinedBehaviorSanitizer each of their
# pointers is checked for null and alignment. These checks are two fifths of the time to compile a layer; in the others,
# where no pointer is made of bytes, AddressSanitizer ends what goes through a null pointer.
set(kernbench_layers_of_bytes base sim fabric hardware numerics tensor nn)

# Layers whose code runs once for a call or a run of the program, not once for an event or an element: optimised less, they
# take a quarter less time to compile, and no more to run.
set(kernbench_layers_of_calls parallel benches report cli)

# Those of them that run on no fiber, whose stack is small. Under sanitizers they are not optimised at all, which makes them
# a third as long to compile.
set(kernbench_layers_of_runs topology report cli)

# kernbench_layer(base SOURCES … DEPENDS … PRIVATE …): one static library per layer (kernbench_base).
function(kernbench_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(kernbench_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(kernbench_${name} PUBLIC kernbench_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  if(KERNBENCH_SANITIZE MATCHES undefined AND NOT name IN_LIST kernbench_layers_of_bytes)
    target_compile_options(kernbench_${name} PRIVATE -fno-sanitize=null,alignment,object-size)
  endif()
  if(name IN_LIST kernbench_layers_of_calls)
    target_compile_options(kernbench_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(KERNBENCH_SANITIZE AND name IN_LIST kernbench_layers_of_runs)
    target_compile_options(kernbench_${name} PRIVATE -O0)
  endif()
  compile_in_batches(kernbench_${name})
  set_property(GLOBAL APPEND PROPERTY KERNBENCH_LAYERS kernbench_${name})
endfunction()

# compile_alone(a.cpp b.cpp …): sources of this folder that a unity build leaves out of its batches, because names of
# their anonymous namespace are those of a neighbour (docs/adr/0017-unity-builds.md).
function(compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The layers that `target` links, directly or not.
function(layers_below target out)
  set(found ${${out}})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(TARGET ${library} AND library MATCHES "^kernbench_" AND NOT library IN_LIST found)
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND found ${library})
        layers_below(${library} found)
      endif()
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Of an inline function that a test and a layer have compiled, the linker takes the first: here that of the layer, which
# is optimised and under sanitizers has all checks, and of a layer that is not optimised last.
function(link_layers_first target)
  set(layers)
  layers_below(${target} layers)
  list(REMOVE_ITEM layers kernbench_benches)  # all benches would register themselves
  foreach(name IN LISTS kernbench_layers_of_runs)
    if(kernbench_${name} IN_LIST layers)
      list(REMOVE_ITEM layers kernbench_${name})
      list(APPEND layers kernbench_${name})
    endif()
  endforeach()
  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  target_link_options(${target} PRIVATE LINKER:--whole-archive ${layers} LINKER:--no-whole-archive)
endfunction()

# GNU's linker takes four times as long as lld. Tests only: what is installed, and what `make costs` counts, is linked by
# the system's own.
function(link_fast target)
  if(KERNBENCH_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # for which lld is a program `ld.lld` in a folder
    get_filename_component(linker ${KERNBENCH_LLD} REALPATH)
    get_filename_component(folder ${linker} DIRECTORY)
    target_link_options(${target} PRIVATE -fuse-ld=lld -B${folder})
  endif()
endfunction()

# The programs that the label "tsan" marks; `tsan_tests` builds just these.
add_custom_target(tsan_tests)

# sim_test as eight tests of every eighth case each: under AddressSanitizer a process takes 0.1 s to start, which is long
# for thousands of cases.
function(add_test_in_parts name label cost)
  foreach(part RANGE 7)
    add_test(NAME ${name}.part_${part} COMMAND ${name}_test)
    set_tests_properties(${name}.part_${part} PROPERTIES TIMEOUT 900 LABELS ${label} COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=8;GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

# What takes time when tests of tensors and above run lies in the layers: optimised, these tests take an eighth (-Og), half
# (-O1) or twice (-O2) as long again to compile. Those below compute references themselves: without -Og they run for
# several times as long. What a sanitizer names in the stack of a test is functions, not lines: a tenth of that time.
function(compile_as_test target)
  set(layers)
  layers_below(${target} layers)
  if(NOT KERNBENCH_SANITIZE AND NOT kernbench_tensor IN_LIST layers AND NOT target STREQUAL test_prelude)
    target_compile_options(${target} PRIVATE -Og)
  else()
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(KERNBENCH_SANITIZE)
    target_compile_options(${target} PRIVATE -g0)
  endif()
  # The layers have these checks, and whatever they inline; they are a third of the time to compile a test.
  if(KERNBENCH_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# kernbench_test(sim SOURCES … DEPENDS … [LABEL …] [COST …]): one GoogleTest program (sim_test), its cases known to ctest.
# The label is the name, or LABEL: "slow" runs in `make test-full` only, "tsan" runs under ThreadSanitizer too.
# (One only: gtest_discover_tests takes the words of a list of labels for properties.)
# COST is about the seconds that its longest case takes, where these are many: ctest starts it before the others, so that no
# core waits at the end for one that was begun last. (A ctest that has run before knows the times of those without COST.)
function(kernbench_test name)
  cmake_parse_arguments(ARG "" "LABEL;COST" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL ${name})
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} test_support GTest::gmock GTest::gtest_main)
  compile_as_test(${name}_test)
  link_layers_first(${name}_test)
  link_fast(${name}_test)
  # What the prelude declares is defined in tensor and above.
  set(layers)
  layers_below(${name}_test layers)
  if(TARGET test_prelude AND kernbench_tensor IN_LIST layers)
    target_precompile_headers(${name}_test REUSE_FROM test_prelude)
  endif()
  compile_in_batches(${name}_test)
  if(KERNBENCH_SANITIZE MATCHES address)
    add_test_in_parts(${name} ${ARG_LABEL} ${ARG_COST})
  else()
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300 LABELS ${ARG_LABEL} COST ${ARG_COST})
  endif()
  if(ARG_LABEL STREQUAL "tsan")
    add_dependencies(tsan_tests ${name}_test)
  endif()
endfunction()

# all_cases_of(sim.every_order sim_test Order.*:Queue.*): a slow test in which these tests take all of their cases, of
# which they take a part elsewhere (tests/support/all_cases.h).
function(all_cases_of name program filter)
  add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT KERNBENCH_WHOLE_TABLE=1)
endfunction()

# kernbench_fuzzer(topology SOURCES … DEPENDS …): one libFuzzer program (topology_fuzz); nothing outside the fuzz preset.
# Its seeds are the files of tests/topology/fuzz_seeds/, or of a folder topology_fuzz_seeds/, if there is one.
function(kernbench_fuzzer name)
  if(NOT KERNBENCH_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name}_fuzz ${ARG_SOURCES})
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPENDS})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()
