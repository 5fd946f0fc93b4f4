# SPDX-License-Identifier: Apache-2.0
# Between installation and packing, run by cpack: /usr/etc becomes /etc, files get Debian's modes, and the archives lose what
# only this compiler reads (link-time code, whose sections have random names) or what names the build's folder (debug sections).
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(EXISTS ${root}/programs/usr/etc)
    file(RENAME ${root}/programs/usr/etc ${root}/programs/etc)
endif()
file(GLOB_RECURSE archives ${root}/*.a)
foreach(archive ${archives})
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives -R .gnu.lto_* -R .gnu.debuglto_* -N __gnu_lto_slim ${archive}
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
