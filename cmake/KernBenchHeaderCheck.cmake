# `header_check` compiles the headers of src/ and include/ on their own, twice included, so that none leans on another.
# A header that its source includes before anything else has been compiled on its own with it, and is left out.
file(GLOB_RECURSE kernbench_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)

set(kernbench_header_units)
foreach(header IN LISTS kernbench_headers)
  string(REGEX REPLACE "^(src|include)/" "" include_path ${header})
  string(REGEX REPLACE "\\.h$" ".cpp" source ${PROJECT_SOURCE_DIR}/${header})
  if(EXISTS ${source})
    file(STRINGS ${source} first_include REGEX "^#include" LIMIT_COUNT 1)
    if(first_include STREQUAL "#include \"${include_path}\"")
      continue()
    endif()
  endif()
  set(unit ${PROJECT_BINARY_DIR}/header_check/${header}.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${include_path}\"\n#include \"${include_path}\"\n")
  list(APPEND kernbench_header_units ${unit})
endforeach()

if(kernbench_header_units)
  add_library(header_check OBJECT EXCLUDE_FROM_ALL ${kernbench_header_units})
  target_link_libraries(header_check PRIVATE kernbench_options)
  target_compile_options(header_check PRIVATE -O0 -g0 -Werror)
  # Each alone, however other sources are taken. Not in the compile database: linters read the headers through the
  # sources that use them.
  set_target_properties(header_check PROPERTIES UNITY_BUILD OFF EXPORT_COMPILE_COMMANDS OFF)
endif()
