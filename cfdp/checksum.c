/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modular checksum adds words of four octets that are aligned to the file's first octet; an
 * incomplete last word is filled with zeros (annex F). So each octet is added at its place, and
 * parts may have any length. Nothing can fail.
 */
#include "cfdp/checksum.h"

#include <assert.h>
#include <zlib.h>

#include "base/crc.h"
#include "base/cursor.h"

const char *cfdp_checksum_name(unsigned type)
{
#define CASE(name, value, text)                                                                    \
    case value:                                                                                    \
        return text;
    switch (type) {
        CFDP_CHECKSUMS(CASE)
    default:
        return NULL;
    }
#undef CASE
}

bool cfdp_checksum_known(unsigned type)
{
    return cfdp_checksum_name(type) != NULL;
}

static uint32_t add_words(uint32_t sum, uint64_t at, const uint8_t *p, size_t len)
{
    for (; len > 0 && at % 4 != 0; at++, p++, len--)
        sum += (uint32_t)*p << (24 - 8 * (at % 4));
    for (; len >= 4; at += 4, p += 4, len -= 4)
        sum += (uint32_t)number_at(p, 4);
    for (; len > 0; at++, p++, len--)
        sum += (uint32_t)*p << (24 - 8 * (at % 4));
    return sum;
}

void cfdp_sum_begin(struct cfdp_sum *s, unsigned type)
{
    assert(cfdp_checksum_known(type));
    *s = (struct cfdp_sum){.type = type};
}

void cfdp_sum_add(struct cfdp_sum *s, const void *data, size_t len)
{
    if (s->type == CFDP_CHECKSUM_MODULAR)
        s->value = add_words(s->value, s->len, data, len);
    else if (s->type == CFDP_CHECKSUM_CRC32C)
        s->value = crc32c(s->value, data, len);
    else if (s->type == CFDP_CHECKSUM_CRC32)
        s->value = (uint32_t)crc32_z(s->value, data, len);
    assert(s->len + len >= s->len);
    s->len += len;
}
