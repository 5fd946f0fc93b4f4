/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles in segments (draft-ietf-dtn-bibe-00 §4.5, §4.6). A transfer is identified by source and
 * destination of its encapsulating bundles and its transfer number. It ends with its last byte, its
 * timeout, or a contradiction. Number and bytes are limited. Pure: the caller passes the time.
 */
#ifndef CLA_BIBE_JOIN_H
#define CLA_BIBE_JOIN_H

#include "base/list.h"
#include "base/tick.h"
#include "bp/codec/bibe.h"
#include "bp/codec/eid.h"

struct bibe_joins {
    struct list all;             /* struct bibe_join, the oldest first */
    uint64_t len, bytes;         /* transfers; of their whole lengths */
    uint64_t len_max, bytes_max; /* limits of these */
    uint64_t bundle_max;         /* of one */
    uint64_t got;                /* bytes of them that are here */
    uint64_t charged;            /* memory that these take, pages that are begun included */
    uint64_t expired;            /* expired transfers */
    uint64_t displaced;          /* transfers that were displaced by one with more bytes */
};

/* A segment raises `charged` by no more than its length and this. */
#define BIBE_SEGMENT_COST 8192

/* A transfer without new data for so long may be displaced. Retransmissions of a lost segment, or
 * of a postponed one (a minute at most), arrive earlier. */
#define BIBE_SILENT (90 * TICK_S)

#define BIBE_GAPS_MAX 1024 /* ranges of one transfer */

enum bibe_verdict {
    BIBE_TAKEN,    /* one segment more, or one that was there already */
    BIBE_COMPLETE, /* the last one: the bundle is *out, the caller's */
    BIBE_TOO_LONG, /* of more than bundle_max in all */
    BIBE_CORRUPT,  /* it contradicts earlier segments: the transfer has ended */
    BIBE_FULL,     /* no room for another transfer, or a limit of this one */
    BIBE_NO_MEMORY,
};

void bibe_joins_init(struct bibe_joins *j, uint64_t len_max, uint64_t bytes_max,
                     uint64_t bundle_max);
void bibe_joins_fini(struct bibe_joins *j);

/* `until`: when a segment's bundle's lifetime ends, or this node waits no longer; a transfer waits
 * as long as any of its segments says. */
struct bibe_times {
    tick now, until;
};

/* Adds a segment p. If there is no room for another transfer, it displaces transfers that have
 * fewer bytes than p and were silent for BIBE_SILENT: fewest bytes first, then the oldest. */
enum bibe_verdict bibe_joins_add(struct bibe_joins *j, const struct eid *source,
                                 const struct eid *destination, const struct bibe_payload *p,
                                 struct bibe_times at, struct buf **out);

/* A segment of this transfer is postponed for lack of room, so the transfer's timeout is
 * extended. */
void bibe_joins_prolong(struct bibe_joins *j, const struct eid *source,
                        const struct eid *destination, uint64_t transfer, struct bibe_times at);
/* Ends expired transfers. */
void bibe_joins_expire(struct bibe_joins *j, tick now);
tick bibe_joins_deadline(const struct bibe_joins *j);
void bibe_joins_check(const struct bibe_joins *j);

#endif
