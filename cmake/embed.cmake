# SPDX-License-Identifier: Apache-2.0
# A file as an array of bytes in C. usage: cmake -DIN=FILE -DNAME=WORD -DOUT=FILE.c [-DPARTS=FILE] -P embed.cmake
# The file PARTS takes the place of @page_parts@.
file(READ ${IN} bytes HEX)
if(PARTS)
    string(HEX "@page_parts@" mark)
    file(READ ${PARTS} parts HEX)
    string(REPLACE "${mark}" "${parts}" bytes "${bytes}")
endif()
string(LENGTH "${bytes}" length)
math(EXPR length "${length} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_len;\n"
     "const unsigned char ${NAME}[] = {${bytes}};\nconst size_t ${NAME}_len = ${length};\n")
