/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP over one direction of a channel that loses, delays and limits frames. Losses become delay:
 * lost octets are retransmitted, and octets are delivered in order.
 *
 * Pure. It knows octets by their numbers only, and returns the headers of frames. Both ends of the
 * direction are in it. So acknowledgements use no capacity and are never lost, but they take time.
 * A frame that was overtaken by four others is retransmitted after the time that one of these took.
 * The oldest unacknowledged frame is retransmitted after four times that, at least 200 ms, and
 * twice as long each time.
 *
 * Without congestion control (path_control), the stream's buffer limits the octets in transit. With
 * congestion control, an acknowledgement takes as long as the shortest frame did, and the window
 * limits the octets in transit; when the timer expires, everything in transit counts as lost.
 */
#ifndef SIM_PATH_H
#define SIM_PATH_H

#include <stdbool.h>

#include "base/list.h"
#include "base/ranges.h"
#include "base/slice.h"
#include "base/tick.h"
#include "sim/flow.h"

#define PATH_OCTETS 1428 /* of the stream, in a frame */
#define PATH_FRAME_MAX (sizeof(struct path_head) + PATH_OCTETS)
#define PATH_PATIENCE (900 * TICK_S) /* without an acknowledgement */

struct path {
    uint64_t given;     /* octets to bring */
    uint64_t limit;     /* of these, may go */
    uint64_t sent;      /* of these, transmitted at least once */
    struct ranges came; /* at the far end */
    uint64_t frames;    /* transmitted */
    struct list under;  /* in transit: struct path_flight, in the order of sending */
    struct list lost;   /* to go again, in the order of their time */
    struct list again;  /* with flow: of these, the sender knows, and waits for the window */
    struct list acks;   /* with flow: in transit */
    struct flow flow;   /* kind FLOW_NONE: none */
    tick back;          /* with flow: the shortest delay */
    tick transit;       /* that the last one took; 0: not known */
    tick heard;         /* when one arrived, or the first was sent after all had arrived */
    tick armed;         /* when the wait for the oldest one began */
    unsigned tries;     /* of the oldest one, without word */
    bool broken;        /* no memory */
};

/* The header of a frame, about as long as TCP's; the octets follow. */
struct path_head {
    uint64_t stream, number, lo;
    tick at;
    uint32_t len;
};

void path_init(struct path *p);
void path_fini(struct path *p);

/* Enables congestion control; before anything is sent. */
void path_control(struct path *p, enum flow_kind kind, uint64_t most);

/* The next frame to send now, whose header is written with `stream`. Returns its length with the
 * header; 0: none. */
size_t path_output(struct path *p, uint64_t stream, struct path_head *head, tick now);

/* Octets that are not acknowledged, with those that have not been sent. */
uint64_t path_unheard(const struct path *p);

/* When path_output has one again, as far as time decides; TICK_NEVER. */
tick path_due(const struct path *p);

/* Nothing was heard for PATH_PATIENCE, or there is no memory. */
bool path_is_dead(const struct path *p, tick now);

/* False: it is cut, or no frame of a path. */
bool path_parse(struct slice frame, struct path_head *out);

/* The frame arrived. Returns how many octets have arrived in order, from the first on. */
uint64_t path_input(struct path *p, const struct path_head *h, tick now);

/* Its own invariants, asserted. */
void path_check(const struct path *p);

#endif
