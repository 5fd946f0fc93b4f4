/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring has the frames in the order of their arrival. With a constant delay that is the order of
 * sending, except for a late frame. What can go wrong: the test sends more frames than the ring can
 * hold; they are counted.
 */
#include "tests/sim/duo.h"

#include <stdlib.h>
#include <string.h>

void duo_init(struct duo *d)
{
    d->flying = malloc(DUO_FLYING * sizeof *d->flying);
    if (d->flying == NULL)
        abort();
}

void duo_fini(struct duo *d)
{
    free(d->flying);
    d->flying = NULL;
}

static bool is_lost(struct duo *d, size_t number)
{
    if (d->now < d->dark_until) {
        d->dark_from = d->dark_to == 0 ? number : d->dark_from;
        d->dark_to = number + 1;
        return true;
    }
    for (size_t i = 0; i < d->lost_len; i++)
        if (d->lost[i] == number)
            return true;
    return false;
}

/* Room for a frame that arrives then, behind those that arrive no later; NULL: there is none. */
static struct duo_frame *make_room(struct duo *d, tick due)
{
    if (d->len == DUO_FLYING)
        return NULL;
    size_t at = d->len++;
    for (; at > 0 && d->flying[(d->head + at - 1) % DUO_FLYING].due > due; at--)
        d->flying[(d->head + at) % DUO_FLYING] = d->flying[(d->head + at - 1) % DUO_FLYING];
    return &d->flying[(d->head + at) % DUO_FLYING];
}

static void launch_frame(struct duo *d, size_t from, size_t number, const uint8_t *data, size_t len)
{
    tick due = d->now + d->delay + (number == d->late ? d->later : 0);
    struct duo_frame *f = make_room(d, due);
    if (f == NULL) {
        d->overrun++;
        return;
    }
    f->due = due;
    f->to = 1 - from;
    f->len = len;
    memcpy(f->bytes, data, len);
}

void duo_drain(struct duo *d, size_t end)
{
    uint8_t frame[DUO_FRAME];
    size_t len;
    while ((len = d->end[end].ops->output(d->end[end].self, frame, d->now)) > 0) {
        size_t number = d->sent++;
        bool lost = is_lost(d, number);
        if (d->tell != NULL)
            d->tell(d->context, end, number, lost, frame, len);
        if (!lost)
            launch_frame(d, end, number, frame, len);
    }
}

static void finish_touch(struct duo *d, size_t end)
{
    duo_drain(d, end);
    d->touched[end]++;
    if (d->touch != NULL)
        d->touch(d->context, end);
}

static void take_arrival(struct duo *d)
{
    const struct duo_frame *f = &d->flying[d->head];
    d->head = (d->head + 1) % DUO_FLYING;
    d->len--;
    d->end[f->to].ops->input(d->end[f->to].self, f->bytes, f->len, d->now);
    finish_touch(d, f->to);
}

bool duo_step(struct duo *d, tick until)
{
    tick due = d->len > 0 ? d->flying[d->head].due : TICK_NEVER;
    size_t timer = 2;
    for (size_t i = 0; i < 2; i++) {
        tick t = d->end[i].ops->deadline(d->end[i].self);
        if (t < due) {
            due = t;
            timer = i;
        }
    }
    if (due >= until) {
        d->now = until;
        return false;
    }
    d->now = due > d->now ? due : d->now;
    if (timer == 2) {
        take_arrival(d);
        return true;
    }
    d->end[timer].ops->expire(d->end[timer].self, d->now);
    finish_touch(d, timer);
    return true;
}
