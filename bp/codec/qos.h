/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priorities. RFC 9171 has none; deployed stacks use a block of their own. Heliograph uses that of
 * ION (bpv7/library/ext/bpq/bpq.c, block type 193 of bpv7/include/bp.h, from the private-use range
 * of RFC 9171 §9.1): an array of flags, priority, ordinal and data label. HDTN's block is read as
 * well (common/bpcodec: block type 13, only the priority). draft-burleigh-dtn-ecos-00 has another
 * form without a block type number; no known implementation sends it.
 */
#ifndef BP_QOS_H
#define BP_QOS_H

#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The priorities of RFC 5050, lowest first. */
enum bundle_priority { BUNDLE_BULK, BUNDLE_NORMAL, BUNDLE_EXPEDITED, BUNDLE_PRIORITIES };
const char *bundle_priority_word(enum bundle_priority p); /* "bulk" …; static */

enum {
    BLOCK_QOS = 193, /* ION's */
    /* content: a number; other implementations use the type for other purposes */
    BLOCK_HDTN_PRIORITY = 13,
    QOS_ORDINAL_MAX = 254, /* 255 is reserved */
    QOS_CONTENT_MAX = 1 + 9 * 4,
};

enum qos_flag {
    QOS_CRITICAL = 1,    /* transmit over all routes */
    QOS_BEST_EFFORT = 2, /* an unreliable convergence layer is sufficient */
    QOS_RELIABLE = 8,    /* a reliable convergence layer is requested */
};

struct bundle_qos {
    enum bundle_priority priority;
    uint8_t ordinal; /* order of expedited bundles: higher ones first */
    uint64_t flags;  /* enum qos_flag; other bits are kept */
    uint64_t label;
};

/* The default of bundles without such a block: normal priority. */
struct bundle_qos bundle_qos_none(void);
/* Reads the QoS block of a bundle. False: no readable block; *out is then bundle_qos_none. Blocks
 * in b->rest are ignored, because they are of unknown type. */
bool bundle_qos(const struct bundle *b, struct bundle_qos *out);
/* The same for the block others[i] only. */
bool bundle_qos_read(const struct bundle *b, size_t i, struct bundle_qos *out);

/* The content of a block BLOCK_QOS; returns its length. */
size_t qos_encode(const struct bundle_qos *q, uint8_t out[QOS_CONTENT_MAX]);
/* 0 or HELIO_EFORMAT. */
int qos_decode(struct slice content, struct bundle_qos *out);

#ifdef __cplusplus
}
#endif

#endif
