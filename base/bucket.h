/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket of a link, written as a virtual serial line: free_at is when a line of the
 * nominal rate would have sent everything so far, and a segment may leave when that time has come.
 *
 * Two limits make it usable with timers that come late: at one wake-up (bucket_begin) at most
 * `burst` of air time leaves, and time lost to a late wake-up is made good only up to `slack`. With
 * both 0 the bucket is an ideal line: one segment at a time, each when the one before has left.
 * Time in which there was nothing to send (bucket_rest) is not lost, and never made good.
 */
#ifndef BASE_BUCKET_H
#define BASE_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

struct bucket {
    uint64_t rate_bps; /* bits per second on the air; 0 = not limited */
    tick burst;        /* most air time that leaves at one wake-up, ns */
    tick slack;        /* most air time that is made good after a late wake-up, ns */
    tick free_at;      /* when the line is free */
    uint64_t frac;     /* the part of free_at below 1 ns, in units of 1/rate_bps */
    tick batch;        /* air time sent since bucket_begin, ns */
    tick lost;         /* air time that late wake-ups cost beyond the slack, in all, ns */
    bool resting;
};

void bucket_init(struct bucket *b, uint64_t rate_bps, tick burst, tick slack, tick now);

/* A wake-up: a new burst may begin. */
void bucket_begin(struct bucket *b, tick now);

/* There is nothing to send until the next wake-up. */
static inline void bucket_rest(struct bucket *b)
{
    b->resting = true;
}

/* May a segment leave now? */
static inline bool bucket_ready(const struct bucket *b, tick now)
{
    return b->rate_bps == 0 || (b->free_at <= now && (b->batch == 0 || b->batch < b->burst));
}

/* Octets of a stream that may be sent now, in whole pieces of `piece` octets: what a line of this
 * rate would have sent by now, within the burst, and one piece more. 0: none now. SIZE_MAX: the
 * rate is unlimited. Otherwise below 2^30 plus some pieces. */
size_t bucket_credit(const struct bucket *b, size_t piece, tick now);

/* Octets that leave in so long a time at this rate (bit/s); 2^29 at most. */
uint64_t bucket_octets(uint64_t rate_bps, tick time);

/* Accounts for `bytes` (below 2^30) on the air that leave now. */
void bucket_spend(struct bucket *b, uint64_t bytes, tick now);

/* Octets that `lost` would have sent at the rate in force. */
static inline uint64_t bucket_lost_bytes(const struct bucket *b)
{
    return (uint64_t)((double)b->lost * (double)b->rate_bps / 8e9);
}

/* When to wake up for the next burst, given that there is something to send. Never before `now`. */
tick bucket_wake(const struct bucket *b, tick now);

#endif
