# `cmake --install`: the program, the libraries with their headers, the topologies, and what find_package(KernBench) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(kernbench_layers GLOBAL PROPERTY KERNBENCH_LAYERS)
set(kernbench_libraries ${kernbench_layers})
# The command line and the built-in benches are the program's own affair.
list(REMOVE_ITEM kernbench_libraries kernbench_cli kernbench_benches)

# What a user links: KernBench::kernbench, here as after installation.
add_library(kernbench_all INTERFACE)
set_target_properties(kernbench_all PROPERTIES EXPORT_NAME kernbench)
target_link_libraries(kernbench_all INTERFACE kernbench_options ${kernbench_libraries})
add_library(KernBench::kernbench ALIAS kernbench_all)

# The program loads libraries made from users' files, which use its own KernBench: it has all of that, used or not, and
# offers the names of KernBench's namespace to what it loads.
if(TARGET kernbench)
  set(kernbench_exported_names ${PROJECT_SOURCE_DIR}/cmake/kernbench_exported_names.txt)
  foreach(library IN LISTS kernbench_libraries)
    target_sources(kernbench PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
  set_property(TARGET kernbench APPEND PROPERTY LINK_DEPENDS ${kernbench_exported_names})
  target_link_options(kernbench PRIVATE LINKER:--dynamic-list=${kernbench_exported_names})
endif()

# What has to be built before `cmake --install`.
add_custom_target(installable)
add_dependencies(installable ${kernbench_libraries})
if(TARGET kernbench)
  add_dependencies(installable kernbench)
endif()

install(TARGETS kernbench_all kernbench_options ${kernbench_libraries} EXPORT KernBenchTargets)
if(TARGET kernbench)
  install(TARGETS kernbench RUNTIME)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kernbench TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
set(KERNBENCH_TOPOLOGY_DIR ${CMAKE_INSTALL_DATADIR}/kernbench/topologies)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/topologies/ DESTINATION ${KERNBENCH_TOPOLOGY_DIR}
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.json")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/collectives/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kernbench/collectives
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.xml")

set(kernbench_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/KernBench)
install(EXPORT KernBenchTargets NAMESPACE KernBench:: DESTINATION ${kernbench_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/KernBenchConfig.cmake.in
  ${PROJECT_BINARY_DIR}/KernBenchConfig.cmake INSTALL_DESTINATION ${kernbench_package_dir}
  PATH_VARS KERNBENCH_TOPOLOGY_DIR)
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KernBenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KernBenchConfig.cmake ${PROJECT_BINARY_DIR}/KernBenchConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/share_folder.cpp
  DESTINATION ${kernbench_package_dir})
