/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of RFC 8289 section 5 takes frames until one may pass; here each frame is asked for by
 * itself, so what the loop would know of the frame before is kept. Nothing can fail.
 */
#include "channel-emu/chan/chan_codel.h"

#include <assert.h>
#include <math.h>

#define AGAIN                                                                                      \
    16 /* intervals: a queue that fills again sooner goes on with its former rate of drops */

void chan_codel_init(struct chan_codel *c, tick target, tick interval, bool marks)
{
    assert(target > 0 && interval > 0);
    *c = (struct chan_codel){
        .target = target, .interval = interval, .marks = marks, .first_above = TICK_NEVER};
}

tick chan_codel_law(const struct chan_codel *c, tick t, uint64_t count)
{
    assert(count > 0);
    return tick_add(t, (tick)((double)c->interval / sqrt((double)count)));
}

/* dodequeue(): have waits been too long for an interval? */
static bool above_long(struct chan_codel *c, tick now, tick waited, bool backlog)
{
    if (waited < c->target || !backlog) {
        c->first_above = TICK_NEVER;
        return false;
    }
    if (c->first_above == TICK_NEVER) {
        c->first_above = tick_add(now, c->interval);
        return false;
    }
    return now >= c->first_above;
}

static enum chan_codel_verdict take_out(struct chan_codel *c, bool markable)
{
    c->dropped = !(c->marks && markable);
    return c->dropped ? CHAN_CODEL_DROP : CHAN_CODEL_MARK;
}

static enum chan_codel_verdict enter_dropping(struct chan_codel *c, tick now, bool markable)
{
    uint64_t more = c->count - c->before;
    tick since = now > c->next ? now - c->next : 0;
    c->dropping = c->entered = true;
    c->count = more > 1 && since < AGAIN * c->interval ? more : 1;
    c->before = c->count;
    c->next = chan_codel_law(c, now, c->count);
    assert(c->count >= 1 && c->next >= now);
    return take_out(c, markable);
}

enum chan_codel_verdict chan_codel_take(struct chan_codel *c, tick now, tick waited, bool backlog,
                                        bool markable)
{
    bool above = above_long(c, now, waited, backlog), after = c->dropped, entered = c->entered;
    c->dropped = c->entered = false;
    if (after && entered)
        return CHAN_CODEL_PASS;
    if (!c->dropping)
        return above ? enter_dropping(c, now, markable) : CHAN_CODEL_PASS;
    c->dropping = above;
    if (after && above)
        c->next = chan_codel_law(c, c->next, c->count);
    if (!above || now < c->next)
        return CHAN_CODEL_PASS;
    c->count++;
    enum chan_codel_verdict v = take_out(c, markable);
    if (v == CHAN_CODEL_MARK)
        c->next = chan_codel_law(c, c->next, c->count);
    assert(c->dropping && c->count > 1);
    return v;
}

void chan_codel_empty(struct chan_codel *c)
{
    c->first_above = TICK_NEVER;
    c->dropping = c->dropping && c->entered;
    c->dropped = c->entered = false;
}
