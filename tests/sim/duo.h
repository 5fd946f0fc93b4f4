/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends and a line in each direction, in virtual time. An end is an engine of ours or a model of
 * another implementation. The test chooses the fate of each frame by the frame's number. At equal
 * times arrivals are before timers, and end 0 before end 1.
 */
#ifndef TESTS_SIM_DUO_H
#define TESTS_SIM_DUO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

#define DUO_FRAME 256   /* longest frame */
#define DUO_FLYING 1024 /* frames in transit; more are lost */

/* What an end can do. output writes one frame and returns its length, or 0: nothing to send. */
struct duo_ops {
    void (*input)(void *self, const uint8_t *data, size_t len, tick now);
    size_t (*output)(void *self, uint8_t out[DUO_FRAME], tick now);
    void (*expire)(void *self, tick now);
    tick (*deadline)(const void *self);
};

struct duo_end {
    const struct duo_ops *ops;
    void *self;
};

struct duo_frame {
    tick due;
    size_t to, len;
    uint8_t bytes[DUO_FRAME];
};

struct duo {
    tick now, delay;
    struct duo_end end[2];
    size_t sent;        /* frames that entered a line, of both ends: their numbers are 0, 1 … */
    size_t touched[2];  /* things that happened to each end */
    const size_t *lost; /* the numbers of frames that are lost, ascending */
    size_t lost_len;    /* of them */
    size_t late;        /* this frame takes `later` more; SIZE_MAX: none does */
    tick later;
    size_t dark_from, dark_to; /* the numbers of frames that were lost so */
    tick dark_until;           /* until then everything is lost */
    size_t overrun;            /* frames that exceeded the ring: an error of the test */
    void (*touch)(void *context, size_t end); /* after each thing that happened; NULL: none */
    void (*tell)(void *context, size_t from, size_t number, bool lost, const uint8_t *data,
                 size_t len); /* called with each frame; NULL: not */
    void *context;
    struct duo_frame *flying; /* a ring, in the order of arrival */
    size_t head, len;
};

/* Everything of *d is zero but what the user set; aborts without memory. */
void duo_init(struct duo *d);
void duo_fini(struct duo *d);

/* To be called after a push from outside. */
void duo_drain(struct duo *d, size_t end);

/* Does the next thing; false: nothing will happen before `until`, and it is `until` now. */
bool duo_step(struct duo *d, tick until);

#endif
