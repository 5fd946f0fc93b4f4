/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten symbols, six of them data. Four syndromes at the generator's roots a^6 .. a^9. One wrong
 * symbol is found by their ratio, two by Peterson's two equations and a search over ten places.
 * What can go wrong: more errors than two, which mostly fit no two places.
 */
#include "frames/fhec.h"

#include <assert.h>
#include <string.h>

enum { SYMBOLS = 10, DATA = 6, CHECKS = 4, ORDER = 15, FIRST_ROOT = 6 };
static_assert(SYMBOLS == DATA + CHECKS && SYMBOLS <= ORDER, "a shortened code");

/* Of x^4 + x + 1. */
static const uint8_t power_of[ORDER] = {1, 2, 4, 8, 3, 6, 12, 11, 5, 10, 7, 14, 15, 13, 9};
static const uint8_t log_of[16] = {0, 0, 1, 4, 2, 8, 5, 10, 3, 14, 9, 7, 6, 13, 11, 12};
/* x^4 + a^3 x^3 + a x^2 + a^3 x + 1, from x^3 down: (x + a^6)(x + a^7)(x + a^8)(x + a^9). */
static const uint8_t generator[CHECKS] = {8, 2, 8, 1};

static uint8_t multiply_symbols(uint8_t a, uint8_t b)
{
    return a == 0 || b == 0 ? 0 : power_of[(log_of[a] + log_of[b]) % ORDER];
}

static uint8_t divide_symbols(uint8_t a, uint8_t b)
{
    assert(b != 0);
    return a == 0 ? 0 : power_of[(log_of[a] + ORDER - log_of[b]) % ORDER];
}

static uint8_t raise_root(unsigned n)
{
    return power_of[n % ORDER];
}

static void split_symbols(uint16_t gvcid, uint8_t signalling, uint16_t field, uint8_t s[SYMBOLS])
{
    uint64_t bits = (uint64_t)gvcid << 24 | (uint64_t)signalling << 16 | field;
    for (unsigned i = 0; i < SYMBOLS; i++)
        s[i] = (uint8_t)(bits >> (4 * (SYMBOLS - 1 - i)) & 0xf);
}

uint16_t fhec_encode(uint16_t gvcid, uint8_t signalling)
{
    uint8_t s[SYMBOLS], check[CHECKS] = {0};
    split_symbols(gvcid, signalling, 0, s);
    for (int i = 0; i < DATA; i++) {
        uint8_t lead = s[i] ^ check[0];
        for (int k = 0; k < CHECKS; k++)
            check[k] = (uint8_t)((k + 1 < CHECKS ? check[k + 1] : 0) ^
                                 multiply_symbols(lead, generator[k]));
    }
    return (uint16_t)(check[0] << 12 | check[1] << 8 | check[2] << 4 | check[3]);
}

/* Of the word whose last symbol is the coefficient of x^0. Returns whether any is not 0. */
static int find_syndromes(const uint8_t s[SYMBOLS], uint8_t syndrome[CHECKS])
{
    int any = 0;
    for (unsigned r = 0; r < CHECKS; r++) {
        syndrome[r] = 0;
        for (int i = 0; i < SYMBOLS; i++)
            syndrome[r] = multiply_symbols(syndrome[r], raise_root(FIRST_ROOT + r)) ^ s[i];
        any |= syndrome[r];
    }
    return any;
}

/* What has to be added at place p (of x^p) for the first syndrome to become 0. */
static int correct_one(uint8_t s[SYMBOLS], const uint8_t syndrome[CHECKS])
{
    if (syndrome[0] == 0 || syndrome[1] == 0)
        return -1;
    unsigned p = log_of[divide_symbols(syndrome[1], syndrome[0])];
    if (p >= SYMBOLS)
        return -1;
    s[SYMBOLS - 1 - p] ^= divide_symbols(syndrome[0], raise_root(FIRST_ROOT * p));
    return 1;
}

/* For each pair of places the two values that make the first two syndromes 0; the other two must
 * become so, too. */
static int correct_two(uint8_t s[SYMBOLS], const uint8_t syndrome[CHECKS])
{
    uint8_t left[CHECKS];
    for (unsigned p = 0; p < SYMBOLS; p++) {
        for (unsigned q = p + 1; q < SYMBOLS; q++) {
            uint8_t x = raise_root(p), y = raise_root(q), t[SYMBOLS];
            /* e x^6 + f y^6 = S0 and e x^7 + f y^7 = S1 */
            uint8_t f = divide_symbols(multiply_symbols(x, syndrome[0]) ^ syndrome[1],
                                       multiply_symbols(raise_root(FIRST_ROOT * q), x ^ y));
            uint8_t e =
                divide_symbols(syndrome[0] ^ multiply_symbols(f, raise_root(FIRST_ROOT * q)),
                               raise_root(FIRST_ROOT * p));
            memcpy(t, s, sizeof t);
            t[SYMBOLS - 1 - p] ^= e;
            t[SYMBOLS - 1 - q] ^= f;
            if (find_syndromes(t, left) == 0) {
                memcpy(s, t, sizeof t);
                return 2;
            }
        }
    }
    return -1;
}

int fhec_correct(uint16_t *gvcid, uint8_t *signalling, uint16_t *field)
{
    uint8_t s[SYMBOLS], t[SYMBOLS], syndrome[CHECKS], left[CHECKS];
    split_symbols(*gvcid, *signalling, *field, s);
    if (find_syndromes(s, syndrome) == 0)
        return 0;
    memcpy(t, s, sizeof t);
    int corrected = correct_one(t, syndrome);
    if (corrected < 0 || find_syndromes(t, left) != 0) {
        memcpy(t, s, sizeof t);
        corrected = correct_two(t, syndrome);
    }
    if (corrected < 0)
        return -1;
    assert(find_syndromes(t, left) == 0);
    *gvcid = (uint16_t)(t[0] << 12 | t[1] << 8 | t[2] << 4 | t[3]);
    *signalling = (uint8_t)(t[4] << 4 | t[5]);
    *field = (uint16_t)(t[6] << 12 | t[7] << 8 | t[8] << 4 | t[9]);
    return corrected;
}
