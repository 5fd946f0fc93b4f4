/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each query is for a time at or after the former one, so a position moves over the table once.
 * Adjacent windows are joined: frames that cross their border are not lost. Delays are integers, so
 * that they are the same on every machine. Nothing can fail.
 */
#include "channel-emu/chan/chan_table.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide;

bool chan_contact_valid(const struct chan_window *windows, size_t count)
{
    if (count > CHAN_TABLE_MAX || (count > 0 && windows == NULL))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (windows[i].from >= windows[i].to || (i > 0 && windows[i].from < windows[i - 1].to))
            return false;
    }
    return true;
}

static tick window_begin(const struct chan_contact *c, size_t i)
{
    assert(i < c->count);
    return tick_add(c->origin, c->windows[i].from);
}

static tick window_end(const struct chan_contact *c, size_t i)
{
    assert(i < c->count);
    return tick_add(c->origin, c->windows[i].to);
}

static void seek_window(const struct chan_contact *c, struct chan_contact_at *at, tick t)
{
    assert(at->next <= c->count);
    while (at->next < c->count && window_end(c, at->next) <= t) {
        at->inside += window_end(c, at->next) - window_begin(c, at->next);
        at->next++;
    }
}

/* Is it on contact at t, where `at` is, and until when does that last? */
static bool state_at(const struct chan_contact *c, const struct chan_contact_at *at, tick t,
                     tick *until)
{
    assert(at->next <= c->count);
    if (at->next == c->count) {
        *until = TICK_NEVER;
        return c->off || c->count == 0;
    }
    bool inside = window_begin(c, at->next) <= t;
    *until = inside ? window_end(c, at->next) : window_begin(c, at->next);
    return inside != c->off;
}

bool chan_contact_covers(const struct chan_contact *c, struct chan_contact_at *at, tick from,
                         tick to)
{
    assert(from <= to);
    tick until;
    seek_window(c, at, from);
    struct chan_contact_at ahead = *at;
    while (state_at(c, &ahead, from, &until)) {
        if (to <= until)
            return true;
        from = until;
        seek_window(c, &ahead, from);
    }
    return false;
}

tick chan_contact_next(const struct chan_contact *c, struct chan_contact_at *at, tick t)
{
    tick until;
    seek_window(c, at, t);
    struct chan_contact_at ahead = *at;
    while (!state_at(c, &ahead, t, &until) && t != TICK_NEVER) {
        t = until;
        seek_window(c, &ahead, t);
    }
    return t;
}

tick chan_contact_time(const struct chan_contact *c, struct chan_contact_at *at, tick t)
{
    if (c->count == 0)
        return t;
    seek_window(c, at, t);
    tick inside = at->inside;
    if (at->next < c->count && t > window_begin(c, at->next))
        inside += t - window_begin(c, at->next);
    assert(inside <= t);
    return c->off ? t - inside : inside;
}

bool chan_delay_valid(const struct chan_point *points, size_t count)
{
    if (count > CHAN_TABLE_MAX || (count > 0 && points == NULL))
        return false;
    for (size_t i = 1; i < count; i++) {
        if (points[i].at <= points[i - 1].at)
            return false;
    }
    return true;
}

tick chan_delay_at(const struct chan_point *points, size_t count, size_t *place, tick t)
{
    assert(count > 0 && *place < count);
    while (*place + 1 < count && points[*place + 1].at <= t)
        (*place)++;
    const struct chan_point *a = &points[*place];
    if (t <= a->at || *place + 1 == count)
        return a->delay;
    const struct chan_point *b = a + 1;
    assert(a->at < t && t < b->at);
    bool rises = b->delay > a->delay;
    tick change = rises ? b->delay - a->delay : a->delay - b->delay;
    change = (tick)((wide)change * (t - a->at) / (b->at - a->at));
    return rises ? a->delay + change : a->delay - change;
}
