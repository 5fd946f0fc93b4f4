/* SPDX-License-Identifier: Apache-2.0 */
/* Octets as people write them, and what stands for a hash. */
#ifndef TESTS_UNIT_SLE_HELP_H
#define TESTS_UNIT_SLE_HELP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sle/auth.h"
#include "tests/unit/suite.h"

/* Blanks are passed over. */
static inline size_t read_hex(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == ' ')
            continue;
        char two[3] = {p[0], p[1], '\0'};
        out[n++] = (uint8_t)strtoul(two, NULL, 16);
        p++;
    }
    return n;
}

static inline void assert_hex(const uint8_t *data, size_t len, const char *want)
{
    uint8_t octets[4096];
    char got[2 * sizeof octets + 1] = "", wanted[2 * sizeof octets + 1] = "";
    size_t n = read_hex(want, octets);
    ck_assert_uint_le(len, sizeof octets);
    for (size_t i = 0; i < len; i++)
        snprintf(got + 2 * i, 3, "%02x", data[i]);
    for (size_t i = 0; i < n; i++)
        snprintf(wanted + 2 * i, 3, "%02x", octets[i]);
    ck_assert_str_eq(got, wanted);
}

/* Not a hash, but what it mixes it mixes well. */
static inline bool mix_octets(void *context, enum sle_hash which, struct slice in, uint8_t *out)
{
    uint64_t h = 0xcbf29ce484222325u + which;
    (void)context;
    for (size_t i = 0; i < in.len; i++)
        h = (h ^ in.data[i]) * 0x100000001b3u;
    for (unsigned i = 0; i < (which == SLE_SHA1 ? 20u : 32u); i++) {
        h = (h ^ i) * 0x100000001b3u;
        out[i] = (uint8_t)(h >> 32);
    }
    return true;
}

#endif
