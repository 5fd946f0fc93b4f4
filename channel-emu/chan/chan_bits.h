/* SPDX-License-Identifier: Apache-2.0 */
/* Bits, the highest of a byte first, and whole numbers in a Rice code: the quotient by 2^k in ones
 * and a zero, then k bits; from RICE_ESCAPE ones on, 64 bits of the number itself. */
#ifndef CHANNEL_EMU_CHAN_BITS_H
#define CHANNEL_EMU_CHAN_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RICE_ESCAPE 32u
#define RICE_K_MAX 57u

struct bits {
    const uint8_t *data; /* to read */
    uint8_t *out;        /* to write; zeroed before */
    size_t place, end;   /* in bits */
    bool bad;            /* read beyond the end, or not the shortest code */
};

static inline unsigned bits_get(struct bits *b)
{
    if (b->place == b->end) {
        b->bad = true;
        return 0;
    }
    unsigned bit = (unsigned)b->data[b->place / 8] >> (7 - b->place % 8) & 1u;
    b->place++;
    return bit;
}

static inline void bits_put(struct bits *b, uint64_t value, unsigned n)
{
    for (; n > 0; n--, b->place++)
        b->out[b->place / 8] |= (uint8_t)((value >> (n - 1) & 1u) << (7 - b->place % 8));
}

static inline uint64_t rice_len(uint64_t v, unsigned k)
{
    return v >> k < RICE_ESCAPE ? (v >> k) + 1 + k : RICE_ESCAPE + 64;
}

static inline void rice_put(struct bits *b, uint64_t v, unsigned k)
{
    uint64_t q = v >> k;
    if (q >= RICE_ESCAPE) {
        bits_put(b, UINT32_MAX, RICE_ESCAPE);
        bits_put(b, v, 64);
        return;
    }
    bits_put(b, (UINT64_C(1) << (q + 1)) - 2, (unsigned)q + 1);
    bits_put(b, v, k);
}

static inline uint64_t rice_get(struct bits *b, unsigned k)
{
    uint64_t q = 0, v = 0;
    while (q < RICE_ESCAPE && bits_get(b) == 1)
        q++;
    for (unsigned n = q == RICE_ESCAPE ? 64 : k; n > 0; n--)
        v = v << 1 | bits_get(b);
    if (q < RICE_ESCAPE)
        return q << k | v;
    if (v >> k < RICE_ESCAPE)
        b->bad = true;
    return v;
}

#endif
