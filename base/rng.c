/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman and Vigna), its state filled by splitmix64. Nothing can fail. */
#include "base/rng.h"

static uint64_t mix_bits(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        r->s[i] = mix_bits(seed);
    }
}

/* FNV-1a over the name; both mixed, so that near ones are far from each other. */
uint64_t rng_named(uint64_t seed, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return mix_bits(mix_bits(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ hash);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    if (n == 0)
        return 0;
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x = rng_u64(r);
    while (x >= limit)
        x = rng_u64(r);
    return x % n;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

bool rng_chance(struct rng *r, double p)
{
    return rng_unit(r) < p;
}
