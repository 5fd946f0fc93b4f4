/* SPDX-License-Identifier: Apache-2.0 */
/* Octets as people write them. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Hexadecimal digits, with blanks between them, to at most `cap` bytes: their number, or
 * HELIO_EFORMAT. */
int hex_parse(const char *text, size_t len, uint8_t *out, size_t cap);

#endif
