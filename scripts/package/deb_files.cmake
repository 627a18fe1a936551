# Runs in cpack, on the files of the package before they are packed: Debian wants compressed man pages, the licence and
# the changes in share/doc, and completion of zsh in the folder that its zsh reads.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${usr}/share/doc/memtrace)
file(COPY ${CPACK_MEMTRACE_SOURCE}/scripts/package/copyright DESTINATION ${doc})
file(COPY_FILE ${CPACK_MEMTRACE_SOURCE}/CHANGELOG.md ${doc}/changelog)
file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
file(GLOB pages ${usr}/share/man/man1/*.1)
if(NOT pages)
  message(FATAL_ERROR "no man pages in ${usr}/share/man/man1: build all targets before cpack")
endif()
# The same whatever the umask of the build was.
set(folder OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(CHMOD_RECURSE ${usr} DIRECTORY_PERMISSIONS ${folder})
file(CHMOD_RECURSE ${usr}/share FILE_PERMISSIONS ${readable} DIRECTORY_PERMISSIONS ${folder})
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
