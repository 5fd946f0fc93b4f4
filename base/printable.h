/* SPDX-License-Identifier: Apache-2.0 */
/* Text of foreign origin (names that peers send, file names) as one line of visible characters. */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>

#define PRINTABLE_EACH 10 /* bytes of out that one byte of text takes at most */

/* Copies `len` bytes of UTF-8 to `out` (`cap` >= 1 bytes, its zero included) and escapes what is no
 * visible character: a control character or a byte that is no UTF-8 as \n, \r, \t or \x1b; a code
 * point that is a line break, has no width, or changes the direction of the text beside it as
 * \u{202e}. Other text, backslashes too, stays as it is. What does not fit is left out, but no
 * character or escape is cut. Returns the length without the zero. */
size_t printable(const char *text, size_t len, char *out, size_t cap);

#endif
