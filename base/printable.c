/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most text is ASCII and is copied. Other code points are decoded as RFC 3629 has it, so that an
 * overlong form or a surrogate is no way around the table. Nothing can go wrong.
 */
#include "base/printable.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Not visible, in order; [from, to] as Unicode's charts have them. */
static const struct {
    uint32_t from, to;
} hidden[] = {
    {0x0, 0x1f},        {0x7f, 0x9f},     /* C0, DEL, C1 */
    {0xad, 0xad},       {0x61c, 0x61c},   /* soft hyphen, Arabic letter mark */
    {0x180e, 0x180e},   {0x200b, 0x200f}, /* zero width, directional marks */
    {0x2028, 0x202e},                     /* line and paragraph separator, embeddings, overrides */
    {0x2060, 0x206f},                     /* invisible operators, isolates */
    {0xfeff, 0xfeff},   {0xfff0, 0xfffb}, /* byte order mark, interlinear annotation */
    {0xe0000, 0xe0fff},                   /* tags, variation selectors */
};

static bool is_hidden(uint32_t point)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (point >= hidden[i].from && point <= hidden[i].to)
            return true;
    return false;
}

/* Bytes of the character at text, 1 to 4 of `len`; 0: it is none. */
static size_t decode_point(const uint8_t *text, size_t len, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = text[0];
    size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (n == 0 || n > len || first > 0xf4)
        return 0;
    uint32_t value = n == 1 ? first : first & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3fu);
    }
    if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *point = value;
    return n;
}

static int write_escape(uint32_t point, bool is_byte, char out[PRINTABLE_EACH + 1])
{
    const char *short_name = strchr("n\nr\rt\t", (int)point);
    if (point != 0 && point < 0x20 && short_name != NULL)
        return snprintf(out, PRINTABLE_EACH + 1, "\\%c", short_name[-1]);
    if (is_byte || point < 0x80)
        return snprintf(out, PRINTABLE_EACH + 1, "\\x%02x", (unsigned)point & 0xff);
    return snprintf(out, PRINTABLE_EACH + 1, "\\u{%x}", (unsigned)point & 0x1fffff);
}

size_t printable(const char *text, size_t len, char *out, size_t cap)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + len;
    size_t used = 0;
    assert(cap >= 1);
    while (at < end) {
        char escape[PRINTABLE_EACH + 1];
        uint32_t point = 0;
        size_t n = decode_point(at, (size_t)(end - at), &point);
        const void *from = at;
        size_t bytes = n;
        if (n == 0 || is_hidden(point)) {
            bytes = (size_t)write_escape(n == 0 ? *at : point, n == 0, escape);
            from = escape;
        }
        if (bytes >= cap - used)
            break;
        memcpy(out + used, from, bytes);
        used += bytes;
        at += n == 0 ? 1 : n;
    }
    out[used] = '\0';
    assert(used < cap);
    return used;
}
