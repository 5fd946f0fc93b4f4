/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A version arrives, is held, takes effect, and is followed by the node; each step is reported to
 * the owner. What can go wrong: bundles of other sources, bundles that are no message, versions
 * that are old, repeated or too many, or that have the number of another one (all counted); a node
 * that does not take a plan, which is tried again.
 */
#include "plans/plans_follower.h"

#include <assert.h>

void plans_follower_init(struct plans_follower *f, const struct eid *owner, tick ask_every,
                         uint64_t applied, tick now)
{
    assert(ask_every > 0);
    *f = (struct plans_follower){.owner = *owner,
                                 .applied = applied,
                                 .heard_at = TICK_NEVER,
                                 .ask_every = ask_every,
                                 .ask_at = now,
                                 .apply_pause = PLANS_APPLY_PAUSE};
}

static const struct plans_version *find_version(const struct plans_follower *f, uint64_t number)
{
    for (size_t i = 0; i < f->held_len; i++)
        if (f->held[i].number == number)
            return &f->held[i];
    return NULL;
}

static bool insert_version(struct plans_follower *f, const struct plans_version *v)
{
    size_t at = f->held_len;
    if (f->held_len == PLANS_LISTED_MAX || find_version(f, v->number) != NULL)
        return false;
    for (; at > 0 && f->held[at - 1].number > v->number; at--)
        f->held[at] = f->held[at - 1];
    f->held[at] = *v;
    f->held_len++;
    return true;
}

/* The lowest one that the node does not follow makes room for a higher one. */
static void make_room(struct plans_follower *f, uint64_t number)
{
    size_t at = f->held[0].number == f->applied;
    if (f->held_len < PLANS_LISTED_MAX || (f->held[at].number >= number && number != f->applied))
        return;
    f->held_len--;
    for (; at < f->held_len; at++)
        f->held[at] = f->held[at + 1];
}

/* What the node followed before a restart was in force, whatever the clock says now. */
bool plans_follower_restore(struct plans_follower *f, const struct plans_version *v)
{
    if (v->number < f->applied || find_version(f, v->number) != NULL)
        return false;
    make_room(f, v->number);
    if (!insert_version(f, v))
        return false;
    if (v->number == f->applied)
        f->in_force = v->number;
    return true;
}

static void drop_below(struct plans_follower *f, uint64_t number)
{
    size_t drop = 0;
    while (drop < f->held_len && f->held[drop].number < number)
        drop++;
    f->held_len -= drop;
    for (size_t i = 0; i < f->held_len; i++)
        f->held[i] = f->held[i + drop];
}

static bool advance_version(struct plans_follower *f, uint64_t wall)
{
    for (size_t i = f->held_len; i-- > 0;) {
        const uint64_t number = f->held[i].number;
        if (number <= f->in_force)
            return false;
        if (!plans_version_begun(&f->held[i], wall))
            continue;
        f->in_force = number;
        f->apply_at = 0;
        f->apply_pause = PLANS_APPLY_PAUSE;
        drop_below(f, number);
        return true;
    }
    return false;
}

/* ---- input ---- */

static enum plans_verdict judge_version(const struct plans_follower *f,
                                        const struct plans_version *v, uint64_t wall)
{
    const struct plans_version *held = find_version(f, v->number);
    const size_t later = f->held_len - (f->in_force != 0);
    if (held != NULL)
        return held->check == v->check ? PLANS_REPEATED : PLANS_CONFLICT;
    if (v->number < f->in_force || v->number < f->applied)
        return PLANS_OLD;
    if (f->held_len == PLANS_LISTED_MAX) /* after a restart with a clock that was set back */
        return PLANS_FULL;
    return later >= PLANS_LATER_MAX && !plans_version_begun(v, wall) ? PLANS_FULL : PLANS_TAKEN;
}

enum plans_verdict plans_follower_input(struct plans_follower *f, const struct eid *source,
                                        struct slice in, tick now, uint64_t wall,
                                        struct plans_message *out, const char **why)
{
    enum plans_verdict v = PLANS_FOREIGN;
    *why = NULL;
    if (!eid_equal(source, &f->owner)) {
        f->counts[v]++;
        return v;
    }
    f->heard_at = now;
    (void)advance_version(f, wall);
    if (!plans_message_parse(in, out, why) || out->kind != PLANS_PLAN)
        v = PLANS_MALFORMED;
    else
        v = judge_version(f, &out->version, wall);
    if (v == PLANS_TAKEN)
        return v; /* counted when it is kept */
    f->counts[v]++;
    f->reports = f->reports || v != PLANS_MALFORMED;
    if (v == PLANS_CONFLICT || v == PLANS_FULL) {
        f->refused = out->version.number;
        f->reason = v;
    }
    return v;
}

void plans_follower_hold(struct plans_follower *f, const struct plans_version *v)
{
    const bool kept = insert_version(f, v);
    assert(kept);
    f->counts[PLANS_TAKEN] += kept;
    f->reports = true;
    if (f->refused == v->number)
        f->refused = 0;
}

void plans_follower_refuse(struct plans_follower *f, uint64_t number, enum plans_verdict why)
{
    assert(why == PLANS_UNREADABLE || why == PLANS_UNSTORED);
    f->counts[why]++;
    f->refused = number;
    f->reason = why;
    f->reports = true;
}

/* ---- time and the node ---- */

bool plans_follower_expire(struct plans_follower *f, tick now, uint64_t wall)
{
    if (now >= f->ask_at) {
        f->reports = f->asks = true;
        f->ask_at = tick_add(now, f->ask_every);
    }
    return advance_version(f, wall);
}

static bool needs_apply(const struct plans_follower *f)
{
    return f->in_force != 0 && (f->in_force != f->applied || f->doubt);
}

uint64_t plans_follower_apply(struct plans_follower *f, tick now)
{
    if (f->applying || !needs_apply(f) || now < f->apply_at)
        return 0;
    f->applying = true;
    f->doubt = false; /* a node that returns from now on is asked again */
    return f->in_force;
}

void plans_follower_applied(struct plans_follower *f, uint64_t number, bool good, tick now)
{
    assert(f->applying);
    f->applying = false;
    if (!good) {
        f->doubt = true;
        f->apply_at = tick_add(now, f->apply_pause);
        f->apply_pause = tick_min(2 * f->apply_pause, PLANS_APPLY_PAUSE_MAX);
        return;
    }
    f->reports = f->reports || f->applied != number;
    f->applied = number;
    f->apply_pause = PLANS_APPLY_PAUSE;
}

void plans_follower_lose(struct plans_follower *f, uint64_t number, tick now)
{
    size_t at = 0;
    while (at < f->held_len && f->held[at].number != number)
        at++;
    if (at == f->held_len)
        return;
    f->held_len--;
    for (; at < f->held_len; at++)
        f->held[at] = f->held[at + 1];
    if (f->in_force == number)
        f->in_force = 0;
    f->ask_at = now;
}

void plans_follower_renew(struct plans_follower *f, tick now)
{
    f->doubt = true;
    f->apply_at = f->ask_at = now;
}

/* ---- what the owner hears ---- */

bool plans_follower_poll(struct plans_follower *f, tick now, struct plans_state *out)
{
    if (!f->reports || now < f->report_at)
        return false;
    /* A version that the node follows and whose file is lost is needed again. */
    *out = (struct plans_state){.asks = f->asks,
                                .applied = f->in_force != 0 ? f->applied : 0,
                                .len = f->held_len,
                                .refused = f->refused,
                                .reason = f->refused != 0 ? f->reason : PLANS_TAKEN};
    for (size_t i = 0; i < f->held_len; i++) {
        out->held[i].number = f->held[i].number;
        out->held[i].check = f->held[i].check;
    }
    f->reports = f->asks = false;
    f->report_at = tick_add(now, PLANS_REPORT_PAUSE);
    return true;
}

/* The next time of effect, but soon enough to see a step of the clock. */
static tick find_effect(const struct plans_follower *f, tick now, uint64_t wall)
{
    tick next = TICK_NEVER;
    for (size_t i = 0; i < f->held_len; i++) {
        const tick at = plans_wall(f->held[i].effect_ms);
        const tick wait = wall == 0 ? PLANS_LOOK : at > wall ? at - wall : 0;
        if (f->held[i].number > f->in_force)
            next = tick_min(next, tick_add(now, tick_min(wait, PLANS_LOOK)));
    }
    return next;
}

tick plans_follower_deadline(const struct plans_follower *f, tick now, uint64_t wall, bool sends)
{
    tick next = tick_min(f->ask_at, find_effect(f, now, wall));
    if (f->reports && sends)
        next = tick_min(next, f->report_at);
    if (!f->applying && needs_apply(f))
        next = tick_min(next, f->apply_at);
    return next;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void plans_follower_check(const struct plans_follower *f)
{
    assert(f->held_len <= PLANS_LISTED_MAX);
    for (size_t i = 0; i < f->held_len; i++) {
        assert(f->held[i].number > 0);
        assert(i == 0 || f->held[i].number > f->held[i - 1].number);
    }
    assert(f->in_force == 0 || (f->held_len > 0 && f->held[0].number == f->in_force));
    assert(f->apply_pause >= PLANS_APPLY_PAUSE && f->apply_pause <= PLANS_APPLY_PAUSE_MAX);
}
