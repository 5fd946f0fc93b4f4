/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priorities. RFC 9171 has none; deployed stacks put theirs into a block. Ours is the one of ION
 * (bpv7/library/ext/bpq/bpq.c, block type 193 of bpv7/include/bp.h: of the numbers for private use,
 * RFC 9171 §9.1): an array of flags, priority, ordinal and data label. HDTN's is read as well
 * (common/bpcodec: block type 13, the priority alone). draft-burleigh-dtn-ecos-00 has another form
 * and no number; nobody is known to send it.
 */
#ifndef BP_QOS_H
#define BP_QOS_H

#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of RFC 5050, from the lowest. */
enum bundle_priority { BUNDLE_BULK, BUNDLE_NORMAL, BUNDLE_EXPEDITED, BUNDLE_PRIORITIES };
const char *bundle_priority_word(enum bundle_priority p); /* "bulk" …; static */

enum {
    BLOCK_QOS = 193,          /* ION's */
    BLOCK_HDTN_PRIORITY = 13, /* with a number as its content; others use this type otherwise */
    QOS_ORDINAL_MAX = 254,    /* 255 is reserved */
    QOS_CONTENT_MAX = 1 + 9 * 4,
};

enum qos_flag {
    QOS_CRITICAL = 1,    /* over all routes */
    QOS_BEST_EFFORT = 2, /* an unreliable convergence layer will do */
    QOS_RELIABLE = 8,    /* a reliable one is wanted */
};

struct bundle_qos {
    enum bundle_priority priority;
    uint8_t ordinal; /* among expedited bundles: higher ones first */
    uint64_t flags;  /* qos_flag; others are carried */
    uint64_t label;
};

/* What a bundle without such a block is: normal. */
struct bundle_qos bundle_qos_none(void);
/* False, and that of none, when no block that can be read says it. Blocks in b->rest are not read:
 * they are of unknown type. */
bool bundle_qos(const struct bundle *b, struct bundle_qos *out);
/* The same of others[i] alone. */
bool bundle_qos_read(const struct bundle *b, size_t i, struct bundle_qos *out);
/* Is others[i] of b a block that is read? Then it is none of unknown type. */
bool bundle_qos_block(const struct bundle *b, size_t i);

/* The content of a block BLOCK_QOS; returns its length. */
size_t qos_encode(const struct bundle_qos *q, uint8_t out[QOS_CONTENT_MAX]);
/* 0 or HELIO_EFORMAT. */
int qos_decode(struct slice content, struct bundle_qos *out);

#ifdef __cplusplus
}
#endif

#endif
