/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a wide area network, without I/O. All connections share its line: flows that
 * have octets take turns of one piece each, a piece takes its time at the rate, and is there a
 * delay later. The line rests in stalls. Octets of a flow keep their order, and so does its end.
 *
 *   added ──► waiting for the line ──► on the line, or on its way ──► there ──► taken
 *        room: wan_line.room_bytes          a mark for each piece
 *   └──────────────────── at most wan_config.limit_bytes ─────────────────────┘
 */
#ifndef CHANNEL_EMU_WAN_LINE_H
#define CHANNEL_EMU_WAN_LINE_H

#include "base/list.h"
#include "channel-emu/scenario/emu_pace.h"
#include "channel-emu/wan/wan_bytes.h"
#include "channel-emu/wan/wan_stalls.h"

#define WAN_LIMIT_LEAST (UINT64_C(64) << 10)
/* For `limit: auto` on a line without a rate. */
#define WAN_RATE_ASSUMED UINT64_C(2500000000)
#define WAN_AHEAD (2 * TICK_MS) /* pieces get their time so long before the line is free */

struct wan_config {
    uint64_t rate_bps; /* 0: not limited */
    tick delay;
    uint64_t limit_bytes; /* of one flow: read and not yet taken; 0: auto */
    struct wan_stalls stalls;
};

/* Of all connections together. in = out + lost + queued. */
struct wan_account {
    uint64_t in_bytes, out_bytes, lost_bytes, queued_bytes;
    uint64_t queued_most; /* of queued_bytes */
};

struct wan_line {
    const struct wan_config *config; /* borrowed */
    struct wan_pool *pool;           /* borrowed */
    uint64_t limit_bytes, room_bytes, piece_bytes;
    tick step;        /* pieces that are there within it share a mark */
    tick begin;       /* since when stalls are counted */
    tick still;       /* until then the line stands still by a change */
    tick free_at;     /* when the line has sent what it was given */
    uint64_t frac;    /* the part of it below 1 ns, in 1/rate_bps */
    struct list turn; /* flows that have octets for it */
    struct wan_account account;
    struct emu_late late; /* marks: from when they were due until they were seen */
};

struct wan_mark {
    tick first, due;
    uint64_t until; /* octets before this one are there at `due` */
};

struct wan_flow {
    struct wan_line *line;
    struct list node; /* of line->turn, while it has octets for the line */
    struct wan_bytes bytes;
    /* Counts of octets: taken <= there <= lined <= added. */
    uint64_t added, lined, there, taken;
    tick since; /* when the octets that wait for the line began to */
    struct wan_mark *marks;
    size_t first, len, cap; /* a ring; cap is a power of 2 */
    bool ending;            /* nothing more is added */
    tick end;               /* when the end is there; TICK_NEVER: not known */
    tick last;              /* the time of the last mark */
};

/* The value of `limit: auto`: the octets in transit during the delay and 20 ms more, at least 4
 * MiB. */
uint64_t wan_config_limit(const struct wan_config *c);

/* The line begins at `now`. */
void wan_line_init(struct wan_line *l, const struct wan_config *c, struct wan_pool *pool, tick now);
/* Its config is another one from `now` on. Pieces that have their time keep it, and so does the
 * order of octets. A stall that has begun ends as it was planned. */
void wan_line_change(struct wan_line *l, tick now);
/* The line stalls from `now` until `until`, which replaces the former time: no piece gets its time
 * meanwhile. */
void wan_line_stall(struct wan_line *l, tick until, tick now);
/* Gives pieces their time while the line is free soon; flows take turns. */
void wan_line_serve(struct wan_line *l, tick now);
/* When wan_line_serve has something to do; TICK_NEVER. */
tick wan_line_deadline(const struct wan_line *l);
/* Does it stand still? */
bool wan_line_stands(const struct wan_line *l, tick now);
/* When something without length that leaves now is there. */
tick wan_line_arrival(const struct wan_line *l, tick now);

/* 0 or HELIO_ENOMEM. */
int wan_flow_init(struct wan_flow *f, struct wan_line *l);
/* What is inside counts as lost. */
void wan_flow_fini(struct wan_flow *f);

/* Must no octets be added now? They may again when there is room for a sensible read:
 * wan_flow_roomy. */
bool wan_flow_full(const struct wan_flow *f);
bool wan_flow_roomy(const struct wan_flow *f);
/* Where they are to be put, *len >= 1 at most, of a flow that is not full. NULL: memory is out. */
uint8_t *wan_flow_space(struct wan_flow *f, size_t *len);
void wan_flow_add(struct wan_flow *f, size_t len, tick now);
/* No octets follow; the end follows the last one. */
void wan_flow_end(struct wan_flow *f, tick now);

/* Octets that are there at `now` and not taken. `free_since`: when their taker was there last; what
 * was due before is not late by waiting for it. */
uint64_t wan_flow_ready(struct wan_flow *f, tick now, tick free_since);
/* The first `most` of them as parts. Returns their number. */
size_t wan_flow_parts(const struct wan_flow *f, uint64_t most, struct slice *parts, size_t max);
void wan_flow_take(struct wan_flow *f, uint64_t len);
/* All was taken, and the end is there. */
bool wan_flow_over(const struct wan_flow *f, tick now);
/* When something is there that is not now; TICK_NEVER. */
tick wan_flow_deadline(const struct wan_flow *f);
/* What is inside is lost, and nothing is added any more. */
void wan_flow_lose(struct wan_flow *f);

#endif
