/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a person writes them. What can go wrong: another character, an odd number of digits, too
 * many of them. */
#include "base/hex.h"

#include <assert.h>
#include <stdbool.h>

#include "base/err.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int hex_parse(const char *text, size_t len, uint8_t *out, size_t cap)
{
    size_t digits = 0;
    for (size_t i = 0; i < len; i++) {
        if (is_blank(text[i]))
            continue;
        int d = digit(text[i]);
        if (d < 0 || digits / 2 == cap)
            return HELIO_EFORMAT;
        uint8_t *byte = &out[digits / 2];
        *byte = (uint8_t)(digits % 2 == 0 ? d << 4 : *byte | d);
        digits++;
    }
    assert((digits + 1) / 2 <= cap);
    return digits % 2 == 0 ? (int)(digits / 2) : HELIO_EFORMAT;
}
