/* SPDX-License-Identifier: Apache-2.0 */
/* What changes at known times: when a line is on contact, by a table of windows (without windows it
 * always is), and its propagation delay, by a table of points. */
#ifndef CHANNEL_EMU_CHAN_TABLE_H
#define CHANNEL_EMU_CHAN_TABLE_H

#include "channel-emu/chan/chan.h"

struct chan_contact {
    const struct chan_window *windows; /* borrowed */
    size_t count;
    bool off;    /* the windows are time off contact */
    tick origin; /* of the windows' times */
};

/* A position in time, which only moves forward; zeroed at first. */
struct chan_contact_at {
    size_t next; /* the first window that has not ended */
    tick inside; /* time within the windows before it */
};

/* Rising, not overlapping, none empty, not too many. */
bool chan_contact_valid(const struct chan_window *windows, size_t count);

/* On contact for all of [from, to), or at the instant from when empty? */
bool chan_contact_covers(const struct chan_contact *c, struct chan_contact_at *at, tick from,
                         tick to);

/* The first time on contact from t on; TICK_NEVER when there is none. */
tick chan_contact_next(const struct chan_contact *c, struct chan_contact_at *at, tick t);

/* Time on contact before t. */
tick chan_contact_time(const struct chan_contact *c, struct chan_contact_at *at, tick t);

/* ---- delay ---- */

/* Rising in time, not too many. */
bool chan_delay_valid(const struct chan_point *points, size_t count);

/* The delay `t` after the origin, ns: linear between two points (rounded down), constant before the
 * first and after the last. `place` keeps the position in the table; 0 at first; times must not
 * decrease. count >= 1. */
tick chan_delay_at(const struct chan_point *points, size_t count, size_t *place, tick t);

#endif
