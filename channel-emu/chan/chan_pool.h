/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for frames in flight. A returned frame is reused for the next one of about its size, so
 * that a steady stream allocates nothing.
 */
#ifndef CHANNEL_EMU_CHAN_POOL_H
#define CHANNEL_EMU_CHAN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "channel-emu/chan/chan_flip.h"

#define CHAN_POOL_CLASSES 30

/* What is drawn for a frame when it enters: numbers from 0 to 1, and jitter, for it and its copy.
 */
struct chan_draw {
    double random, burst, duplicate, power;
    tick jitter[2];
    struct chan_flip flip[2];
};

struct chan;

struct chan_frame {
    struct list link;      /* in the line (order of arrival), waiting for it, or in the pool */
    struct heap_node node; /* by time of arrival, when frames may overtake */
    struct list note;      /* while its fate must be reported: */
    uint16_t notes;        /* a bit for each enum chan_reason */
    struct chan_draw draw; /* while it waits for the line */
    struct chan *owner;    /* … that several may share */
    tick cut;              /* … the first one after it entered; TICK_NEVER: none */
    bool by_rule;
    tick due, entered;
    tick air_start, air_end; /* its time on the air */
    uint64_t tag, number;
    uint32_t len, kept; /* on the air; of these, here */
    uint8_t size_class;
    uint8_t reason; /* enum chan_reason, after it was lost */
    bool lost;      /* in an outage */
    bool copy, corrupted, marked;
    uint8_t ecn;
    uint8_t data[];
};

struct chan_pool {
    struct list free[CHAN_POOL_CLASSES];
};

void chan_pool_init(struct chan_pool *p);
/* Frees returned frames; frames still in use leak. */
void chan_pool_fini(struct chan_pool *p);

/* A frame with memory for so many bytes (<= CHAN_FRAME_MAX) and no fate to report; only size_class
 * and kept are set. NULL: no memory. */
struct chan_frame *chan_pool_take(struct chan_pool *p, size_t kept);
void chan_pool_give(struct chan_pool *p, struct chan_frame *f);

#endif
