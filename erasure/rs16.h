/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One codeword of a systematic Reed-Solomon code over GF(2^16), for erasures. M is the smallest
 * power of two that is not below the number of repair symbols. Repair symbol j is at position j,
 * and data symbol i at position M + i. The inverse transforms of all M-blocks of positions add up
 * to zero. So any symbols, as many as there are data symbols, determine the others.
 *
 * A step of work is a part of a transform of M symbols. Each call does steps until their cost
 * reaches `budget`, in products of RS16_COST_OCTETS; no step costs more than RS16_STEP_MAX.
 */
#ifndef ERASURE_RS16_H
#define ERASURE_RS16_H

#include <stdbool.h>

#include "erasure/gf16.h"

#define RS16_COST_OCTETS 512
#define RS16_STEP_MAX 4096

struct rs16_shape {
    unsigned data, repairs;
    unsigned log_m; /* 2^log_m is M */
};

/* M + data is GF16_SIZE at most: false when that cannot be. */
bool rs16_shape_set(struct rs16_shape *s, unsigned data, unsigned repairs);

struct rs16_kind {
    const struct gf16 *field; /* outlives the coder */
    const struct gf16_math *math;
    struct rs16_shape largest;
    size_t symbol_max; /* octets; a multiple of GF16_GROUP */
    unsigned kept;     /* sender: codewords whose repair symbols are kept, at least 1 */
};

/* ---- sender ---- */

struct rs16_encoder;

uint64_t rs16_encoder_bytes(const struct rs16_kind *k);
int rs16_encoder_new(struct rs16_encoder **out, const struct rs16_kind *k); /* or HELIO_ENOMEM */
void rs16_encoder_free(struct rs16_encoder *e);                             /* NULL is allowed */

/* Adds the next data symbol of the codeword, at most symbol_max octets, padded with zeros. True:
 * this codeword has replaced the oldest one, whose repair symbols are lost. */
bool rs16_encoder_add(struct rs16_encoder *e, const uint8_t *symbol, size_t len);
/* Ends a codeword, which must not be empty, with `repairs` repair symbols. Later symbols belong to
 * the next one. Returns as rs16_encoder_add. A codeword of fewer than M data symbols (M of
 * `largest`) uses the M of its own repair symbols. */
bool rs16_encoder_end(struct rs16_encoder *e, unsigned repairs);
/* Is work pending? Repair symbols can be read when none is. Returns the cost of what it did. */
bool rs16_encoder_busy(const struct rs16_encoder *e);
unsigned rs16_encoder_work(struct rs16_encoder *e, unsigned budget);
/* Index, below `kept`, of the codeword in work, or the latest one. Others can be read at any
 * time. */
unsigned rs16_encoder_place(const struct rs16_encoder *e);
void rs16_encoder_read(const struct rs16_encoder *e, unsigned place, unsigned repair,
                       uint8_t *symbol, size_t len);

/* ---- receiver ---- */

struct rs16_repair;

uint64_t rs16_repair_bytes(const struct rs16_kind *k);
int rs16_repair_new(struct rs16_repair **out, const struct rs16_kind *k); /* or HELIO_ENOMEM */
void rs16_repair_free(struct rs16_repair *r);                             /* NULL is allowed */

/* Symbols and their flags: data symbols, then repair symbols. They stay where they are. */
struct rs16_symbols {
    uint8_t *data, *repairs; /* one every `stride` octets; each has `len` octets */
    const uint8_t *has_data, *has_repair;
    size_t stride, len;
};

/* Computes the lost data symbols in place, except those that arrive meanwhile. As many symbols as
 * data symbols must be present. An unfinished repair is dropped. */
void rs16_repair_start(struct rs16_repair *r, const struct rs16_shape *s,
                       const struct rs16_symbols *symbols);
bool rs16_repair_busy(const struct rs16_repair *r);
unsigned rs16_repair_work(struct rs16_repair *r, unsigned budget);
/* Was this data symbol lost at the start? Until the next start. */
bool rs16_repair_lost(const struct rs16_repair *r, unsigned data);
void rs16_repair_stop(struct rs16_repair *r);

#endif
