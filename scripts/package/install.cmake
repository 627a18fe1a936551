# What an install tree has for builds of other projects: the CMake package memtrace and memtrace.pc. Both find the tree
# by their own place, so that it can be copied.
include(CMakePackageConfigHelpers)

# The header memtrace.h. Its marks do nothing without the preload object, so nothing is linked.
add_library(memtrace_api INTERFACE)
add_library(memtrace::memtrace ALIAS memtrace_api)
target_include_directories(memtrace_api INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/preload/api>
                                                  $<INSTALL_INTERFACE:include>)
set_target_properties(memtrace_api PROPERTIES EXPORT_NAME memtrace)

set(package ${PROJECT_BINARY_DIR}/package)
set(cmake_place lib/cmake/memtrace)
set(preload_object lib/libmemtrace.so)
install(TARGETS memtrace_api EXPORT memtrace)
install(EXPORT memtrace NAMESPACE memtrace:: FILE memtraceTargets.cmake DESTINATION ${cmake_place})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/memtraceConfig.cmake.in ${package}/memtraceConfig.cmake
  INSTALL_DESTINATION ${cmake_place}
  PATH_VARS preload_object)
write_basic_package_version_file(${package}/memtraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/memtrace.pc.in ${package}/memtrace.pc @ONLY)
install(FILES ${package}/memtraceConfig.cmake ${package}/memtraceConfigVersion.cmake DESTINATION ${cmake_place})
install(FILES ${package}/memtrace.pc DESTINATION lib/pkgconfig)
