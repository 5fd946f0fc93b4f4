/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-delimiting numeric values (RFC 5326 §2, RFC 6256): seven bits per byte, most significant
 * first, the top bit set in all bytes but the last. Values have at most 10 bytes and are at most
 * 2^64 - 1. Leading zero bits are accepted, but never written.
 */
#ifndef LTP_SDNV_H
#define LTP_SDNV_H

#include "ltp/event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SDNV_MAX 10 /* longest SDNV, bytes */

/* Length of the SDNV of v, 1..10 bytes. */
static inline uint32_t sdnv_len(uint64_t v)
{
    return (70 - (uint32_t)__builtin_clzll(v | 1)) / 7;
}

/* Writes v at p, which must have sdnv_len(v) bytes. Returns the byte after it. */
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

/* Reads the SDNV at *p, which must end before `end`. VERDICT_OK: *p is after it and *v is the
 * value. VERDICT_TRUNCATED or VERDICT_BAD_SDNV: *p and *v are unchanged. */
enum verdict sdnv_get(const uint8_t **p, const uint8_t *end, uint64_t *v);

#ifdef __cplusplus
}
#endif

#endif
