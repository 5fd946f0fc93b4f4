# SPDX-License-Identifier: Apache-2.0
# The one place for compiler flags: every target of the project links helio_flags.
add_library(helio_flags INTERFACE)
target_compile_options(helio_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                             $<$<BOOL:${HELIO_WERROR}>:-Werror>
                                             -fno-strict-aliasing)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    # gcc clears and copies structs as long as ours (an EID has 312 bytes) by "rep stos", which takes
    # three to four times as long as the C library's functions.
    target_compile_options(helio_flags INTERFACE
                           $<$<NOT:$<CONFIG:Debug>>:-mmemset-strategy=libcall:-1:noalign>
                           $<$<NOT:$<CONFIG:Debug>>:-mmemcpy-strategy=libcall:-1:noalign>)
endif()
target_compile_definitions(helio_flags INTERFACE _GNU_SOURCE HELIO_VERSION="${PROJECT_VERSION}")
target_include_directories(helio_flags INTERFACE ${PROJECT_SOURCE_DIR})
# What makes an error in memory harder to use for an attack. Not with sanitizers, which see such errors.
if(HELIO_HARDEN AND NOT HELIO_SANITIZE AND NOT HELIO_TSAN AND NOT HELIO_FUZZ)
    include(CheckCCompilerFlag)
    set(harden -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
    foreach(flag ${harden}) # the last two are for processors of one kind each
        string(MAKE_C_IDENTIFIER "HELIO_HAS${flag}" has)
        check_c_compiler_flag("-Werror ${flag}" ${has})
        if(${has})
            target_compile_options(helio_flags INTERFACE ${flag})
        endif()
    endforeach()
    # The C library checks lengths only where the compiler optimises; another build type brings its own.
    target_compile_options(helio_flags INTERFACE
                           $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
                           $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
    set(program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    target_compile_options(helio_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>>:-fPIE>)
    target_link_options(helio_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $<${program}:-pie>)
endif()
if(HELIO_SANITIZE)
    target_compile_options(helio_flags INTERFACE -fsanitize=address,undefined
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(helio_flags INTERFACE -fsanitize=address,undefined)
endif()
if(HELIO_TSAN)
    target_compile_options(helio_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(helio_flags INTERFACE -fsanitize=thread)
endif()
if(HELIO_FUZZ)
    target_compile_options(helio_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A pure library: no I/O, no clock, no threads, no mutable statics (tests/pure checks its archive).
function(helio_library name)
    cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:helio_flags> ${A_LIBS})
endfunction()

# What a user runs, without the tests: cmake --build … --target programs
add_custom_target(programs)

# COMPONENT: the package that it belongs to (cmake/package.cmake), if not the first one, `programs`.
function(helio_program name)
    cmake_parse_arguments(A "" "COMPONENT" "SOURCES;LIBS" ${ARGN})
    if(NOT A_COMPONENT)
        set(A_COMPONENT programs)
    endif()
    add_executable(${name} ${A_SOURCES})
    target_link_libraries(${name} PRIVATE helio_flags ${A_LIBS})
    install(TARGETS ${name} RUNTIME COMPONENT ${A_COMPONENT})
    add_dependencies(programs ${name})
    helio_add_program(${name} ${A_COMPONENT})
endfunction()

# Its manual page and completions go where the program goes.
function(helio_add_program name component)
    set_property(GLOBAL APPEND PROPERTY HELIO_PROGRAMS ${name})
    set_property(GLOBAL APPEND PROPERTY HELIO_PROGRAMS_${component} ${name})
    set_property(GLOBAL PROPERTY HELIO_COMPONENT_${name} ${component})
endfunction()

# A program in Python: a launcher in bin/, its package in lib/heliograph (here a link to the source).
# They run on the distribution's Python, for which tools/setup.sh installs matplotlib and the like.
set(HELIO_PYTHON /usr/bin/python3 CACHE FILEPATH "Python of the laboratory's programs")
set(HELIO_PYTHON_LIB ${CMAKE_BINARY_DIR}/lib/heliograph)
function(helio_python_program NAME MODULE)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/lab ${HELIO_PYTHON_LIB} SYMBOLIC)
    configure_file(${PROJECT_SOURCE_DIR}/lab/launcher.py ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${NAME} @ONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                    WORLD_EXECUTE)
    install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${NAME} TYPE BIN COMPONENT lab)
    helio_add_program(${NAME} lab)
endfunction()
