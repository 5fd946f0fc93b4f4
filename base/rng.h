/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers (xoshiro256**): the same seed gives the same numbers on every machine. Not
 * for secrets. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a generator (xoshiro256**). */
struct rng {
    uint64_t s[4];
};

/* Sets the state from a seed. Equal seeds give equal numbers on every machine. */
void rng_init(struct rng *r, uint64_t seed);

/* The seed of the stream `name` of a run with `seed`. Other names and other seeds, neighbouring
 * seeds too, give unrelated streams. So no stream of one run is a stream of the next. */
uint64_t rng_named(uint64_t seed, const char *name);

/* The next number, uniform over 64 bits. */
uint64_t rng_u64(struct rng *r);

/* Uniform in [0, n); 0 when n is 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* Uniform in [0, 1) with 53 bits. */
double rng_unit(struct rng *r);

/* True with probability p. */
bool rng_chance(struct rng *r, double p);

#ifdef __cplusplus
}
#endif

#endif
