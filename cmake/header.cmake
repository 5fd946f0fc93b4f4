# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=… -DTO=… -P header.cmake: a header as it is installed.
file(READ "${FROM}" text)
string(REGEX REPLACE "#include \"(channel-emu/)?([a-z_/0-9]+\\.h)\"" "#include <heliograph/\\2>" text "${text}")
file(WRITE "${TO}" "${text}")
