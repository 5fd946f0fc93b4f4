/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of frames for a port: those that wait for it, and those that it has taken and still uses.
 *
 *   put ──► waiting ──take──► used ──release, clear──► freed
 *   keep ────────────────────► used
 */
#ifndef CLA_FRAME_QUEUE_H
#define CLA_FRAME_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/slice.h"

#define FRAME_QUEUE_MAX 1024 /* frames that wait for a port while another one reads */

struct frame_queue {
    struct list waiting, used;
    size_t len; /* of those that wait: at most FRAME_QUEUE_MAX */
};

void frame_queue_init(struct frame_queue *q);
void frame_queue_fini(struct frame_queue *q);

/* Frees the used frames. */
void frame_queue_clear(struct frame_queue *q);
/* Likewise, but for the one that was taken or kept last. */
void frame_queue_release(struct frame_queue *q);

/* A copy waits. False: the queue is full, or memory is out. */
bool frame_queue_put(struct frame_queue *q, struct slice frame);
/* The first that waits is used now: *frame is valid until release or clear. False: none waits. */
bool frame_queue_take(struct frame_queue *q, struct slice *frame);
/* *frame becomes a used copy of itself. False: memory is out. */
bool frame_queue_keep(struct frame_queue *q, struct slice *frame);

#endif
