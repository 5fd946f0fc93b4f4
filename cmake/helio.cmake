# SPDX-License-Identifier: Apache-2.0
# The one place for compiler flags: every target of the project links helio_flags.
add_library(helio_flags INTERFACE)
target_compile_options(helio_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
                                             -fno-strict-aliasing)
target_compile_definitions(helio_flags INTERFACE _GNU_SOURCE HELIO_VERSION="${PROJECT_VERSION}")
target_include_directories(helio_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(HELIO_SANITIZE)
    target_compile_options(helio_flags INTERFACE -fsanitize=address,undefined
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(helio_flags INTERFACE -fsanitize=address,undefined)
endif()
if(HELIO_FUZZ)
    target_compile_options(helio_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A pure library: no I/O, no clock, no threads, no mutable statics (tests/pure checks its archive).
function(helio_library name)
    cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC helio_flags ${A_LIBS})
endfunction()

# What a user runs, without the tests: cmake --build … --target programs
add_custom_target(programs)

function(helio_program name)
    cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_link_libraries(${name} PRIVATE helio_flags ${A_LIBS})
    install(TARGETS ${name} RUNTIME)
    add_dependencies(programs ${name})
    set_property(GLOBAL APPEND PROPERTY HELIO_PROGRAMS ${name})
endfunction()
