# SPDX-License-Identifier: Apache-2.0
# What is installed beside programs and libraries, and packages for Debian: cpack -G DEB --config build/release/CPackConfig.cmake
# A package is a component. Libraries are archives, so they are in the package for developers.
set(HELIO_COMPONENTS programs lab sle dev)
set(HELIO_PACKAGE_programs heliograph)
set(HELIO_PACKAGE_lab heliograph-lab)
set(HELIO_PACKAGE_sle heliograph-sle)
set(HELIO_PACKAGE_dev libheliograph-dev)

function(helio_install_service)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/heliod@.service DESTINATION lib/systemd/system)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/sysusers.conf DESTINATION lib/sysusers.d RENAME heliograph.conf)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/sample.yaml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/heliograph)
    foreach(component ${HELIO_COMPONENTS})
        helio_install_completions(${component})
        install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright COMPONENT ${component}
                DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${HELIO_PACKAGE_${component}})
    endforeach()
    helio_install_manuals()
    helio_install_pages()
endfunction()

# They are made at installation, from what the programs say.
function(helio_install_completions component)
    get_property(programs GLOBAL PROPERTY HELIO_PROGRAMS_${component})
    if(NOT programs)
        return()
    endif()
    list(TRANSFORM programs PREPEND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/)
    install(CODE "execute_process(COMMAND ${HELIO_PYTHON} ${PROJECT_SOURCE_DIR}/tools/completion.py
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/zsh/site-functions ${programs} COMMAND_ERROR_IS_FATAL ANY)"
            COMPONENT ${component})
endfunction()

# A manual page named after a program belongs to its package. All others are with the node.
function(helio_install_manuals)
    get_property(files GLOBAL PROPERTY HELIO_MAN_FILES)
    foreach(file ${files})
        string(REGEX MATCH "([^/]+)\\.([0-9])$" ok ${file})
        set(section ${CMAKE_MATCH_2})
        get_property(component GLOBAL PROPERTY HELIO_COMPONENT_${CMAKE_MATCH_1})
        if(NOT component OR NOT section EQUAL 1)
            set(component programs)
        endif()
        install(FILES ${file} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
    endforeach()
endfunction()

# The pages with the same folders as in the source, so that their links lead somewhere (tests/style/links.py).
function(helio_install_pages)
    set(source ${PROJECT_SOURCE_DIR})
    install(FILES ${source}/ARCHITECTURE.md ${source}/CHANGELOG.md ${source}/CONTRIBUTING.md ${source}/SECURITY.md ${source}/Dockerfile
            DESTINATION ${CMAKE_INSTALL_DOCDIR})
    install(DIRECTORY ${source}/docs ${source}/examples ${source}/campaigns DESTINATION ${CMAKE_INSTALL_DOCDIR})
    install(FILES ${source}/traces/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/traces)
    install(FILES ${source}/tests/interop/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/interop)
    install(FILES ${source}/tests/interop/hand/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/interop/hand)
    install(CODE "execute_process(COMMAND ${HELIO_PYTHON} ${source}/cmake/source_note.py ${source}
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR} COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# What the programs of a package need is found by dpkg-shlibdeps; what they start is named here.
macro(helio_packages)
    set(CPACK_GENERATOR DEB)
    set(CPACK_PACKAGE_NAME heliograph)
    set(CPACK_PACKAGE_CONTACT "the Heliograph developers <heliograph@localhost>")
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "delay-tolerant networking for space links")
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_STRIP_FILES ON)
    set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/staged.cmake)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_COMPONENTS_ALL ${HELIO_COMPONENTS})
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_SECTION net)
    set(same_version "(= ${PROJECT_VERSION})")

    set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "delay-tolerant networking for space links: node and tools
 The node heliod (BPv7 bundles over LTP, TCPCLv4 and UDP), its service, and
 the tools that send, measure, simulate and emulate. All pages are in
 /usr/share/doc/heliograph, a configuration to copy in /etc/heliograph.")
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME ${HELIO_PACKAGE_programs})
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "passwd")
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "heliograph-lab, heliograph-sle, iproute2, ethtool")
    set(control postinst prerm postrm conffiles)
    list(TRANSFORM control PREPEND ${PROJECT_SOURCE_DIR}/packaging/)
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${control})

    set(CPACK_COMPONENT_LAB_DESCRIPTION "delay-tolerant networking for space links: laboratory
 Networks from one file (helio-lab), campaigns of experiments with reports
 (helio-campaign), settings for a channel (helio-tune), erasure traces
 (helio-trace), and everything that draws.")
    set(CPACK_DEBIAN_LAB_PACKAGE_NAME ${HELIO_PACKAGE_lab})
    set(CPACK_DEBIAN_LAB_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_LAB_PACKAGE_DEPENDS
        "heliograph ${same_version}, python3, python3-matplotlib, python3-jinja2, python3-yaml, python3-sgp4, iproute2, ethtool, procps")
    set(CPACK_DEBIAN_LAB_PACKAGE_RECOMMENDS "heliograph-sle ${same_version}")
    set(CPACK_DEBIAN_LAB_PACKAGE_SUGGESTS "wireshark, jupyter-notebook")

    set(CPACK_COMPONENT_SLE_DESCRIPTION "delay-tolerant networking for space links: Space Link Extension
 Provider and user of RAF, RCF, ROCF and FCLTU (helio-sle), of Monitored Data
 (helio-csts), CCSDS frames in files (helio-frames).")
    set(CPACK_DEBIAN_SLE_PACKAGE_NAME ${HELIO_PACKAGE_sle})
    set(CPACK_DEBIAN_SLE_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_SLE_PACKAGE_RECOMMENDS "heliograph ${same_version}")

    set(CPACK_COMPONENT_DEV_DESCRIPTION "delay-tolerant networking for space links: libraries for C and C++
 The engines as static libraries, with headers, pkg-config and CMake files.")
    set(CPACK_DEBIAN_DEV_PACKAGE_NAME ${HELIO_PACKAGE_dev})
    set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libcbor-dev")
    include(CPack)
endmacro()
