/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a byte stream over a way that loses, delays and bounds its frames: what TCP
 * makes of it. Losses become delay: what did not come goes again, and octets come in order.
 *
 * Pure; it knows octets by their number only, and hands out the heads of frames. Both ends of the
 * direction are in it, so acknowledgements take no line and are never lost, but they take time: a
 * frame that was overtaken by four others goes again after the time that one of these took, the
 * oldest one of which nothing is heard after four times that, 200 ms at least, and twice as long
 * each time.
 *
 * Without congestion control (path_control) who bounds what is under way is the stream's room. With
 * it the sender hears what has come as late as the shortest way is long, and what may go is its
 * window's affair; the wait's end counts all that is under way as lost.
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
#define PATH_PATIENCE (900 * TICK_S) /* without word of what went */

struct path {
    uint64_t given;     /* octets to bring */
    uint64_t limit;     /* of these, may go */
    uint64_t sent;      /* of these, went at least once */
    struct ranges came; /* at the far end */
    uint64_t frames;    /* that went */
    struct list under;  /* way: struct path_flight, in the order of going */
    struct list lost;   /* to go again, in the order of their time */
    struct list again;  /* with flow: of these, the sender knows, and waits for the window */
    struct list acks;   /* with flow: on their way back */
    struct flow flow;   /* kind FLOW_NONE: none */
    tick back;          /* with flow: the shortest way */
    tick way;           /* that the last one took; 0: not known */
    tick heard;         /* when one came, or the first went after all had come */
    tick armed;         /* when the wait for the oldest one began */
    unsigned tries;     /* of the oldest one, without word */
    bool broken;        /* no memory */
};

/* What a frame begins with, about as long as TCP's head; then room for the octets. */
struct path_head {
    uint64_t stream, number, lo;
    tick at;
    uint32_t len;
};

void path_init(struct path *p);
void path_fini(struct path *p);

/* From now on congestion control decides what goes; before anything has gone. */
void path_control(struct path *p, enum flow_kind kind, uint64_t most);

/* The next frame that goes now, whose head is written with `stream`: its length, head included; 0:
 * none does. */
size_t path_output(struct path *p, uint64_t stream, struct path_head *head, tick now);

/* Octets that went and that the sender has heard nothing of, with those that have not gone. */
uint64_t path_unheard(const struct path *p);

/* When path_output has one again, as far as time decides; TICK_NEVER. */
tick path_due(const struct path *p);

/* Nothing was heard for PATH_PATIENCE, or there is no memory. */
bool path_is_dead(const struct path *p, tick now);

/* False: it is cut, or no frame of a path. */
bool path_parse(struct slice frame, struct path_head *out);

/* It came. Returns how many octets have come in order, from the first on. */
uint64_t path_input(struct path *p, const struct path_head *h, tick now);

/* Its own invariants, asserted. */
void path_check(const struct path *p);

#endif
