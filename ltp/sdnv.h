/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-delimiting numeric values (RFC 5326 §2, RFC 6256): seven bits per byte, most significant
 * first, the top bit set in all bytes but the last. At most 10 bytes and 2^64 - 1 are understood;
 * leading zero bits are allowed when reading and never written.
 */
#ifndef LTP_SDNV_H
#define LTP_SDNV_H

#include "ltp/event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SDNV_MAX 10 /* bytes of the longest one */

/* Bytes that v takes, 1..10. */
static inline uint32_t sdnv_len(uint64_t v)
{
    return (70 - (uint32_t)__builtin_clzll(v | 1)) / 7;
}

/* Writes v at p, where sdnv_len(v) bytes of room are; returns the byte after it. */
static inline uint8_t *sdnv_put(uint8_t *p, uint64_t v)
{
    uint8_t *end = p + sdnv_len(v);
    uint8_t *at = end - 1;
    *at = (uint8_t)(v & 0x7f);
    while (at > p) {
        v >>= 7;
        *--at = (uint8_t)(v | 0x80);
    }
    return end;
}

/* Reads one at *p, before end. VERDICT_OK with *p after it and its value, or VERDICT_TRUNCATED or
 * VERDICT_BAD_SDNV with *p and *v unchanged. */
enum verdict sdnv_get(const uint8_t **p, const uint8_t *end, uint64_t *v);

#ifdef __cplusplus
}
#endif

#endif
