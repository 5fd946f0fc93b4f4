/* SPDX-License-Identifier: Apache-2.0 */
/* Octets as people write them, and a suite of one case. */
#ifndef TESTS_UNIT_FRAMES_HELP_H
#define TESTS_UNIT_FRAMES_HELP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

static inline size_t read_hex(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (const char *p = text; p[0] != '\0'; p += 2) {
        char two[3] = {p[0], p[1], '\0'};
        out[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

static inline void assert_hex(const uint8_t *data, size_t len, const char *want)
{
    char got[2 * 2048 + 1];
    ck_assert_uint_le(len, 2048);
    got[0] = '\0';
    for (size_t i = 0; i < len; i++)
        snprintf(got + 2 * i, 3, "%02x", data[i]);
    ck_assert_str_eq(got, want);
}

/* A count, a step of 7: the payloads of the vectors. */
static inline void fill_steps(uint8_t *out, size_t len, unsigned start)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(start + 7 * i);
}

#endif
