# SPDX-License-Identifier: Apache-2.0
# What is installed beside programs and libraries, and packages for Debian: cpack -G DEB --config build/release/CPackConfig.cmake
# Libraries are archives, so they are in the package for developers.
function(helio_install_service)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/heliod@.service DESTINATION lib/systemd/system)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples ${PROJECT_SOURCE_DIR}/campaigns DESTINATION ${CMAKE_INSTALL_DOCDIR})
    get_property(programs GLOBAL PROPERTY HELIO_PROGRAMS)
    list(TRANSFORM programs PREPEND ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/)
    install(CODE "execute_process(COMMAND ${HELIO_PYTHON} ${PROJECT_SOURCE_DIR}/tools/completion.py
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions
        \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/zsh/site-functions ${programs} COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

macro(helio_packages)
    set(CPACK_GENERATOR DEB)
    set(CPACK_PACKAGE_NAME heliograph)
    set(CPACK_PACKAGE_CONTACT "the Heliograph developers <heliograph@localhost>")
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "delay-tolerant networking for space links")
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_STRIP_FILES ON)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_COMPONENTS_ALL programs dev python)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_SECTION net)
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME heliograph)
    set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_DEV_PACKAGE_NAME libheliograph-dev)
    set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS libcbor-dev)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME heliograph-lab)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "heliograph (= ${PROJECT_VERSION}), python3, python3-matplotlib, python3-jinja2, python3-yaml")
    include(CPack)
endmacro()
