# SPDX-License-Identifier: Apache-2.0
# Manual pages from the reference pages: cmake --build … --target man, and with the programs on install.
# Without lowdown there are none; everything else is built.
find_program(LOWDOWN lowdown)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT LOWDOWN)
    message(STATUS "lowdown was not found: no manual pages")
    return()
endif()
set(list ${PROJECT_SOURCE_DIR}/docs/man-pages.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
file(STRINGS ${list} lines REGEX "^[^#]")
set(man_files)
foreach(line ${lines})
    string(REGEX MATCH "^([^ ]+) ([^ ]+) ([0-9]) " ok "${line}")
    set(source ${PROJECT_SOURCE_DIR}/docs/${CMAKE_MATCH_1})
    set(folder ${CMAKE_BINARY_DIR}/man/man${CMAKE_MATCH_3})
    set(out ${folder}/${CMAKE_MATCH_2}.${CMAKE_MATCH_3})
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${out}
                       COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/man_page.py ${source}
                               ${CMAKE_MATCH_2} ${CMAKE_MATCH_3} ${PROJECT_VERSION} ${out}
                               ${PROJECT_SOURCE_DIR}/docs
                       DEPENDS ${source} ${list} ${PROJECT_SOURCE_DIR}/cmake/man_page.py VERBATIM)
    list(APPEND man_files ${out})
endforeach()
set_property(GLOBAL PROPERTY HELIO_MAN_FILES ${man_files}) # cmake/package.cmake installs them
add_custom_target(man ALL DEPENDS ${man_files})
add_dependencies(programs man)
