# The Debian package: cpack -G DEB in a build folder. The time stamps in it are SOURCE_DATE_EPOCH if that is set.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME memtrace)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "")
set(CPACK_PACKAGE_CONTACT "memtrace maintainers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # dpkg-shlibdeps finds the oldest libc6 that will do
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "memory tracer for training jobs
memtrace records every allocation of a program, on the host and on the device,
with its source line and its training phase. It shows which lines held the
memory at the peak, and why a job ran out of memory.")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb_files.cmake)
set(CPACK_MEMTRACE_SOURCE ${PROJECT_SOURCE_DIR}) # for deb_files.cmake
include(CPack)
