/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles in sequence on a byte stream, with one of two framings. Pure.
 *
 *   STCP  a length of 4 octets, most significant first, then the bundle (ION's bpv7/stcp)
 *   MTCP  a CBOR byte string of definite length, which is the bundle (draft-ietf-dtn-mtcpcl §3)
 *
 * In both a length of 0 is a keepalive. Input may arrive in any pieces: octets are written to
 * streamcl_space, and streamcl_next returns complete items.
 */
#ifndef CLA_STREAMCL_FRAME_H
#define CLA_STREAMCL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum streamcl_framing { STREAMCL_STCP, STREAMCL_MTCP };

#define STREAMCL_HEAD_MAX 9u          /* octets of a head: an MTCP length of 64 bits */
#define STREAMCL_SCRATCH (32u * 1024) /* octets that are read before their kind is known */
/* bundle octets from this number on are read directly to their place */
#define STREAMCL_DIRECT (16u * 1024)
#define STREAMCL_STCP_MAX UINT64_C(0x7fffffff) /* ION reads a length as a signed one */

/* Writes the head of a bundle of `len` octets (0: a keepalive; STCP: below 2^32). Returns its
 * length, 1 to STREAMCL_HEAD_MAX. */
size_t streamcl_head(enum streamcl_framing f, uint64_t len, uint8_t out[STREAMCL_HEAD_MAX]);

/* What streamcl_next found. After TOO_LONG and MALFORMED where the next bundle begins is not known:
 * the connection has to end. */
enum streamcl_step {
    STREAMCL_MORE,      /* nothing is complete */
    STREAMCL_KEEPALIVE, /* a length of 0 */
    STREAMCL_BUNDLE,    /* a whole bundle */
    STREAMCL_NO_ROOM,   /* memory is out: the rest of this bundle is skipped */
    STREAMCL_SKIPPED,   /* a skipped bundle has ended */
    STREAMCL_TOO_LONG,  /* its length is above the limit */
    STREAMCL_MALFORMED  /* MTCP: no byte string of definite length begins here */
};

struct streamcl_input {
    enum streamcl_framing framing;
    uint64_t bundle_max; /* octets, >= 1 */
    struct buf *bundle;  /* of the bundle that arrives; NULL: nothing of it is kept yet */
    uint64_t left;       /* octets of it that are still to come */
    bool open;           /* a bundle arrives */
    bool skip;           /* the rest of the bundle is dropped */
    bool direct;         /* streamcl_space returned memory of `bundle` */
    uint64_t dropped;    /* dropped octets; the user resets it to 0 */
    size_t at, have;     /* [at, have) of scratch is not understood yet */
    uint8_t scratch[STREAMCL_SCRATCH];
};

void streamcl_input_init(struct streamcl_input *in, enum streamcl_framing f, uint64_t bundle_max);
void streamcl_input_fini(struct streamcl_input *in);

/* Where the next octets belong, *len >= 1 of them at most. Only after STREAMCL_MORE. */
uint8_t *streamcl_space(struct streamcl_input *in, size_t *len);
/* So many octets lie there now. */
void streamcl_fed(struct streamcl_input *in, size_t len);

/* The next step; with STREAMCL_BUNDLE *out is the caller's. */
enum streamcl_step streamcl_next(struct streamcl_input *in, struct buf **out);

/* Octets of memory of the bundle that arrives. */
static inline uint64_t streamcl_held(const struct streamcl_input *in)
{
    return in->bundle == NULL ? 0 : in->bundle->len;
}

/* Is something begun that is not complete: a bundle, or its head? */
static inline bool streamcl_within(const struct streamcl_input *in)
{
    return in->open || in->at < in->have;
}

/* Drops what was kept of the bundle that arrives, and what will come of it. */
void streamcl_shed(struct streamcl_input *in);

/* Asserts the invariants. */
void streamcl_input_check(const struct streamcl_input *in);

#endif
