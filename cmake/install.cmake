# SPDX-License-Identifier: Apache-2.0
# What a program of somebody else needs of the engines: libraries, headers, pkg-config files, a CMake package.
include(CMakePackageConfigHelpers)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# helio_install_library(NAME HEADERS … PREFIX … REQUIRES … LIBS …): the target helio_NAME as libhelio-NAME (with - for _),
# its headers below include/heliograph/INCLUDE (default: NAME), helio-NAME.pc with what it REQUIRES (pkg-config names) and
# the plain LIBS. FOLDER: where the headers are, if not here. It exports the names of these headers alone (exports.py),
# each of which begins with a PREFIX (default: NAME); tests/install/exports.py compares them.
function(helio_install_library name)
    cmake_parse_arguments(A "" "FOLDER;INCLUDE" "HEADERS;PREFIX;REQUIRES;LIBS" ${ARGN})
    string(REPLACE "_" "-" installed_name ${name})
    if(NOT A_INCLUDE)
        set(A_INCLUDE ${name})
    endif()
    if(NOT A_PREFIX)
        set(A_PREFIX ${name})
    endif()
    set_target_properties(helio_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # An archive of nothing but link-time code serves only the compiler that made it.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_INTERPROCEDURAL_OPTIMIZATION)
        target_compile_options(helio_${name} PRIVATE -ffat-lto-objects)
    elseif(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
        set_target_properties(helio_${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    endif()

    # Installed headers name each other as their users do: <heliograph/ltp/ltp.h>.
    set(installed)
    foreach(header ${A_HEADERS})
        set(out ${CMAKE_BINARY_DIR}/include/heliograph/${A_INCLUDE}/${header})
        add_custom_command(OUTPUT ${out}
                           COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_CURRENT_SOURCE_DIR}/${A_FOLDER}/${header} -DTO=${out}
                                   -P ${PROJECT_SOURCE_DIR}/cmake/header.cmake
                           DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${A_FOLDER}/${header} ${PROJECT_SOURCE_DIR}/cmake/header.cmake VERBATIM)
        list(APPEND installed ${out})
    endforeach()
    add_custom_target(headers_${name} ALL DEPENDS ${installed})
    set_target_properties(helio_${name} PROPERTIES HELIO_HEADERS "${installed}")

    # The libraries of ours that it is linked with, and theirs; the other ones as they are.
    set(ours)
    set(others)
    get_target_property(linked helio_${name} LINK_LIBRARIES)
    foreach(library ${linked})
        if(TARGET exported_${library})
            get_target_property(theirs ${library} HELIO_OURS)
            list(APPEND ours ${library} ${theirs})
        elseif(NOT library MATCHES helio_flags)
            list(APPEND others ${library})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES ours)
    set_target_properties(helio_${name} PROPERTIES HELIO_OURS "${ours}")
    set(other_objects)
    set(other_headers)
    foreach(library ${ours})
        get_target_property(headers ${library} HELIO_HEADERS)
        list(APPEND other_headers ${headers})
        list(APPEND other_objects $<TARGET_OBJECTS:${library}>)
    endforeach()
    set(object ${CMAKE_BINARY_DIR}/installed/${installed_name}.o)
    add_custom_command(OUTPUT ${object} BYPRODUCTS ${CMAKE_BINARY_DIR}/installed/${installed_name}.names
                       COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/exports.py --ld ${CMAKE_LINKER} --nm ${CMAKE_NM}
                               --objcopy ${CMAKE_OBJCOPY} --out ${object} --prefix ${A_PREFIX} --headers ${installed}
                               --objects $<TARGET_OBJECTS:helio_${name}>
                               --other-headers ${other_headers} --other-objects ${other_objects}
                       DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.py ${installed} ${other_headers} ${other_objects}
                               $<TARGET_OBJECTS:helio_${name}>
                       COMMAND_EXPAND_LISTS VERBATIM)
    add_library(exported_helio_${name} STATIC ${object})
    set_target_properties(exported_helio_${name} PROPERTIES
        LINKER_LANGUAGE C OUTPUT_NAME helio-${installed_name} EXPORT_NAME ${installed_name}
        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/installed)
    list(TRANSFORM ours PREPEND exported_)
    target_link_libraries(exported_helio_${name} INTERFACE ${ours} ${others})
    target_include_directories(exported_helio_${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    install(TARGETS exported_helio_${name} EXPORT heliograph ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
    set_property(GLOBAL APPEND PROPERTY HELIO_INSTALLED ${installed_name})
    add_dependencies(programs headers_${name} exported_helio_${name}) # who builds these alone can install, too
    foreach(header ${A_HEADERS}) # a header of a subfolder stays in it
        get_filename_component(below ${header} DIRECTORY)
        install(FILES ${CMAKE_BINARY_DIR}/include/heliograph/${A_INCLUDE}/${header}
                DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heliograph/${A_INCLUDE}/${below} COMPONENT dev)
    endforeach()

    list(JOIN A_REQUIRES " " requires)
    list(JOIN A_LIBS " " libs)
    helio_path_from_prefix(libdir "${CMAKE_INSTALL_LIBDIR}")
    helio_path_from_prefix(includedir "${CMAKE_INSTALL_INCLUDEDIR}")
    set(prefix "${CMAKE_INSTALL_PREFIX}")
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}") # then the files may be moved
        file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
        string(REGEX REPLACE "/$" "" up "${up}")
        set(prefix "\${pcfiledir}/${up}")
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${CMAKE_BINARY_DIR}/helio-${installed_name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/helio-${installed_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

function(helio_path_from_prefix out dir)
    if(NOT IS_ABSOLUTE "${dir}")
        set(dir "\${prefix}/${dir}")
    endif()
    set(${out} "${dir}" PARENT_SCOPE)
endfunction()

function(helio_install_package)
    set(dir ${CMAKE_INSTALL_LIBDIR}/cmake/Heliograph)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/HeliographConfigVersion.cmake
                                     COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/HeliographConfig.cmake ${CMAKE_BINARY_DIR}/HeliographConfigVersion.cmake
            DESTINATION ${dir} COMPONENT dev)
    install(EXPORT heliograph FILE HeliographTargets.cmake NAMESPACE Heliograph:: DESTINATION ${dir} COMPONENT dev)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
