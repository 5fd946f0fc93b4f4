/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the plan service: each rule by itself, and many runs over a network that loses,
 * repeats and reorders bundles, with followers that restart. */
#include "plans/plans_follower.h"
#include "plans/plans_owner.h"

#include <stdlib.h>

#include "base/rng.h"
#include "bp/codec/bundle.h"
#include "tests/unit/suite.h"

#define EPOCH (DTN_EPOCH_UNIX * TICK_S + 800000000 * TICK_S)
#define HOUR (3600 * TICK_S)

static const struct eid owner_eid = {.scheme = EID_IPN, .node = 1, .service = 70};
static const struct eid other_eid = {.scheme = EID_IPN, .node = 9, .service = 70};

/* The contents of a version say which it is. */
static struct plans_version version_of(uint64_t number, uint64_t effect_ms)
{
    const uint32_t check = plans_check(number, effect_ms, slice_of(&number, sizeof number));
    return (struct plans_version){number, effect_ms, check};
}

static size_t write_plan(const struct plans_version *v, uint64_t contents, uint8_t *out)
{
    const size_t head = plans_message_head(v, sizeof contents, out);
    memcpy(out + head, &contents, sizeof contents);
    return head + sizeof contents;
}

static uint64_t dtn(tick wall)
{
    return plans_dtn_ms(wall);
}

/* ---- a follower ---- */

struct world {
    struct plans_follower f;
    tick now;
    uint64_t wall;
};

static void begin_follower(struct world *w)
{
    *w = (struct world){.now = 5 * TICK_S, .wall = EPOCH};
    plans_follower_init(&w->f, &owner_eid, HOUR, 0, w->now);
}

static enum plans_verdict receive(struct world *w, const struct eid *source, uint64_t number,
                                  uint64_t effect_ms)
{
    uint8_t out[128];
    struct plans_message m;
    const char *why;
    const struct plans_version v = version_of(number, effect_ms);
    const size_t n = write_plan(&v, number, out);
    const enum plans_verdict verdict =
        plans_follower_input(&w->f, source, slice_of(out, n), w->now, w->wall, &m, &why);
    if (verdict == PLANS_TAKEN)
        plans_follower_hold(&w->f, &m.version);
    (void)plans_follower_expire(&w->f, w->now, w->wall);
    plans_follower_check(&w->f);
    return verdict;
}

static void pass_time(struct world *w, tick t)
{
    w->now += t;
    w->wall += t;
    (void)plans_follower_expire(&w->f, w->now, w->wall);
    plans_follower_check(&w->f);
}

START_TEST(order_of_versions)
{
    struct world w;
    begin_follower(&w);
    ck_assert_int_eq(receive(&w, &other_eid, 1, 0), PLANS_FOREIGN);
    ck_assert_int_eq(receive(&w, &owner_eid, 3, dtn(EPOCH + HOUR)), PLANS_TAKEN);
    ck_assert_uint_eq(w.f.in_force, 0);
    ck_assert_int_eq(receive(&w, &owner_eid, 2, 0), PLANS_TAKEN);
    ck_assert_uint_eq(w.f.in_force, 2);
    ck_assert_int_eq(receive(&w, &owner_eid, 2, 0), PLANS_REPEATED);
    ck_assert_int_eq(receive(&w, &owner_eid, 2, 1), PLANS_CONFLICT);
    ck_assert_int_eq(receive(&w, &owner_eid, 1, 0), PLANS_OLD);
    pass_time(&w, HOUR - 1);
    ck_assert_uint_eq(w.f.in_force, 2);
    pass_time(&w, 1);
    ck_assert_uint_eq(w.f.in_force, 3);
    ck_assert_uint_eq(w.f.held_len, 1);
    ck_assert_uint_eq(w.f.counts[PLANS_TAKEN], 2);
    ck_assert_uint_eq(w.f.counts[PLANS_FOREIGN], 1);
}
END_TEST

/* A higher number that takes effect at once replaces those that wait below it. */
START_TEST(roll_back_replaces_later)
{
    struct world w;
    begin_follower(&w);
    ck_assert_int_eq(receive(&w, &owner_eid, 1, 0), PLANS_TAKEN);
    for (uint64_t n = 2; n < 2 + PLANS_LATER_MAX; n++)
        ck_assert_int_eq(receive(&w, &owner_eid, n, dtn(EPOCH + HOUR)), PLANS_TAKEN);
    ck_assert_int_eq(receive(&w, &owner_eid, 90, dtn(EPOCH + HOUR)), PLANS_FULL);
    ck_assert_int_eq(receive(&w, &owner_eid, 91, 0), PLANS_TAKEN);
    ck_assert_uint_eq(w.f.in_force, 91);
    ck_assert_uint_eq(w.f.held_len, 1);
    pass_time(&w, 2 * HOUR);
    ck_assert_uint_eq(w.f.in_force, 91);
}
END_TEST

/* A clock that is set back takes nothing back; one without a time has no later version in force. */
START_TEST(clock_steps)
{
    struct world w;
    begin_follower(&w);
    ck_assert_int_eq(receive(&w, &owner_eid, 1, dtn(EPOCH)), PLANS_TAKEN);
    ck_assert_int_eq(receive(&w, &owner_eid, 2, dtn(EPOCH + HOUR)), PLANS_TAKEN);
    ck_assert_uint_eq(w.f.in_force, 1);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 1);
    plans_follower_applied(&w.f, 1, true, w.now);
    struct plans_state s;
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    const tick next = plans_follower_deadline(&w.f, w.now, w.wall, true);
    ck_assert(next > w.now && next <= w.now + PLANS_LOOK);
    w.wall -= 24 * HOUR;
    pass_time(&w, TICK_S);
    ck_assert_uint_eq(w.f.in_force, 1);
    w.wall = 0;
    (void)plans_follower_expire(&w.f, w.now, w.wall);
    ck_assert(plans_follower_deadline(&w.f, w.now, 0, false) > w.now);
    w.wall = EPOCH + HOUR;
    pass_time(&w, 0);
    ck_assert_uint_eq(w.f.in_force, 2);
}
END_TEST

START_TEST(node_is_tried_again)
{
    struct world w;
    begin_follower(&w);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 0);
    (void)receive(&w, &owner_eid, 4, 0);
    tick pause = PLANS_APPLY_PAUSE;
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 4);
        ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 0); /* one at a time */
        plans_follower_applied(&w.f, 4, false, w.now);
        ck_assert_uint_eq(plans_follower_deadline(&w.f, w.now, w.wall, false), w.now + pause);
        pass_time(&w, pause - 1);
        ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 0);
        pass_time(&w, 1);
        pause = tick_min(2 * pause, PLANS_APPLY_PAUSE_MAX);
    }
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 4);
    /* another version is in force before the node has answered */
    (void)receive(&w, &owner_eid, 5, 0);
    plans_follower_applied(&w.f, 4, true, w.now);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 5);
    plans_follower_applied(&w.f, 5, true, w.now);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 0);
    plans_follower_renew(&w.f, w.now);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 5);
}
END_TEST

START_TEST(states_are_paced)
{
    struct world w;
    struct plans_state s;
    begin_follower(&w);
    (void)plans_follower_expire(&w.f, w.now, w.wall);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert(s.asks);
    for (int i = 0; i < 100; i++)
        (void)receive(&w, &owner_eid, 1, 0);
    ck_assert(!plans_follower_poll(&w.f, w.now, &s));
    ck_assert_uint_eq(plans_follower_deadline(&w.f, w.now, w.wall, true), 0); /* to the node */
    pass_time(&w, PLANS_REPORT_PAUSE);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert(!s.asks);
    ck_assert_uint_eq(s.len, 1);
    ck_assert(!plans_follower_poll(&w.f, w.now + HOUR / 2, &s));
    pass_time(&w, HOUR);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert(s.asks);
}
END_TEST

START_TEST(refusals_are_reported)
{
    struct world w;
    struct plans_state s;
    begin_follower(&w);
    plans_follower_refuse(&w.f, 3, PLANS_UNREADABLE);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert_uint_eq(s.refused, 3);
    ck_assert_int_eq(s.reason, PLANS_UNREADABLE);
    (void)receive(&w, &owner_eid, 3, 0);
    pass_time(&w, PLANS_REPORT_PAUSE);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert_uint_eq(s.refused, 0);
}
END_TEST

START_TEST(restart_of_a_follower)
{
    struct world w;
    const struct plans_version old = version_of(3, 0), now = version_of(4, dtn(EPOCH + HOUR)),
                               later = version_of(6, dtn(EPOCH + 2 * HOUR));
    begin_follower(&w);
    plans_follower_init(&w.f, &owner_eid, HOUR, 4, w.now);
    ck_assert(!plans_follower_restore(&w.f, &old));
    ck_assert(
        plans_follower_restore(&w.f, &now)); /* its node follows it, whatever the clock says */
    ck_assert(plans_follower_restore(&w.f, &later));
    plans_follower_check(&w.f);
    ck_assert_uint_eq(w.f.in_force, 4);
    ck_assert_uint_eq(plans_follower_apply(&w.f, w.now), 0);
    ck_assert_int_eq(receive(&w, &owner_eid, 3, 0), PLANS_OLD);
    /* the file of the version that the node follows is lost */
    plans_follower_init(&w.f, &owner_eid, HOUR, 4, w.now);
    struct plans_state s;
    (void)plans_follower_expire(&w.f, w.now, w.wall);
    ck_assert(plans_follower_poll(&w.f, w.now, &s));
    ck_assert_uint_eq(s.applied, 0);
    ck_assert_int_eq(receive(&w, &owner_eid, 3, 0), PLANS_OLD);
    ck_assert_int_eq(receive(&w, &owner_eid, 4, 0), PLANS_TAKEN);
}
END_TEST

/* ---- an owner ---- */

static struct eid follower_eid(uint64_t node)
{
    return eid_ipn(0, node, 71);
}

static struct plans_owner new_owner(size_t followers)
{
    struct plans_owner o;
    struct eid eids[8];
    for (size_t i = 0; i < followers; i++)
        eids[i] = follower_eid(i + 2);
    ck_assert_int_eq(plans_owner_init(&o, eids, followers, false, HOUR, 10 * TICK_S), 0);
    return o;
}

static bool publish(struct plans_owner *o, uint64_t number, uint64_t effect_ms)
{
    const struct plans_version v = version_of(number, effect_ms);
    const bool taken = plans_owner_publish(o, &v, 0, EPOCH);
    plans_owner_check(o);
    return taken;
}

static enum plans_verdict hear(struct plans_owner *o, uint64_t node, const struct plans_state *s,
                               tick now)
{
    uint8_t out[PLANS_STATE_MAX];
    const char *why;
    size_t peer;
    const struct eid from = follower_eid(node);
    const size_t n = plans_state_write(s, out);
    const enum plans_verdict v = plans_owner_input(o, &from, slice_of(out, n), now, &peer, &why);
    plans_owner_check(o);
    return v;
}

static size_t count_pushes(struct plans_owner *o, tick now)
{
    struct plans_push p;
    size_t n = 0;
    while (plans_owner_poll(o, now, EPOCH, &p))
        n++;
    return n;
}

START_TEST(pushed_until_acknowledged)
{
    struct plans_owner o = new_owner(3);
    struct plans_state s = {.applied = 1, .len = 1};
    ck_assert(publish(&o, 1, 0));
    ck_assert_uint_eq(count_pushes(&o, TICK_S), 3);
    ck_assert_uint_eq(count_pushes(&o, TICK_S), 0);
    s.held[0].number = 1;
    s.held[0].check = version_of(1, 0).check;
    ck_assert_int_eq(hear(&o, 2, &s, 2 * TICK_S), PLANS_TAKEN);
    ck_assert_int_eq(hear(&o, 9, &s, 2 * TICK_S), PLANS_FOREIGN);
    ck_assert_uint_eq(plans_owner_deadline(&o), TICK_S + HOUR);
    ck_assert_uint_eq(count_pushes(&o, TICK_S + HOUR), 2);
    /* a node that does not take a bundle is tried sooner */
    const struct plans_push push = {1, 1};
    plans_owner_refused(&o, &push, HOUR + 2 * TICK_S);
    ck_assert_uint_eq(count_pushes(&o, HOUR + 2 * TICK_S + PLANS_REFUSED_PAUSE), 1);
    plans_owner_fini(&o);
}
END_TEST

/* Once to the group; then by itself to each follower that has not reported it, or asks. */
START_TEST(group_is_first)
{
    struct plans_owner o = new_owner(3);
    struct plans_push p;
    const struct plans_state asks = {.asks = true};
    struct plans_state has = {.applied = 1, .len = 1};
    has.held[0].number = 1;
    has.held[0].check = version_of(1, 0).check;
    o.group = true;
    ck_assert(publish(&o, 1, 0) && publish(&o, 2, dtn(EPOCH + HOUR)));
    ck_assert_uint_eq(plans_owner_deadline(&o), 0);
    for (uint64_t number = 1; number <= 2; number++) {
        ck_assert(plans_owner_poll(&o, 0, EPOCH, &p));
        ck_assert(p.peer == PLANS_GROUP && p.number == number);
        plans_owner_refused(&o, &p, 0);
    }
    ck_assert_uint_eq(count_pushes(&o, TICK_S), 0);
    (void)hear(&o, 2, &has, TICK_S);
    (void)hear(&o, 3, &asks, TICK_S);
    ck_assert_uint_eq(count_pushes(&o, 10 * TICK_S - 1), 0); /* it may still arrive */
    ck_assert_uint_eq(count_pushes(&o, 10 * TICK_S), 2);
    ck_assert_uint_eq(count_pushes(&o, HOUR), 1 + 2);
    plans_owner_fini(&o);
}
END_TEST

START_TEST(answers_are_paced)
{
    struct plans_owner o = new_owner(1);
    const struct plans_state asks = {.asks = true};
    ck_assert(publish(&o, 1, 0) && publish(&o, 2, dtn(EPOCH + HOUR)));
    ck_assert_uint_eq(count_pushes(&o, TICK_S), 2);
    size_t pushes = 0;
    for (tick t = 2 * TICK_S; t < 102 * TICK_S; t += TICK_S / 10) { /* it asks ten times a second */
        (void)hear(&o, 2, &asks, t);
        pushes += count_pushes(&o, t);
    }
    ck_assert_uint_eq(pushes, 2 * 3); /* all it lacks: after 10 s, 20 s, 40 s */
    ck_assert_uint_gt(o.counts[PLANS_EARLY], 900);
    plans_owner_fini(&o);
}
END_TEST

START_TEST(unreadable_is_not_sent_again)
{
    struct plans_owner o = new_owner(1);
    struct plans_state s = {.asks = true, .refused = 1, .reason = PLANS_UNREADABLE};
    ck_assert(publish(&o, 1, 0));
    (void)hear(&o, 2, &s, TICK_S);
    ck_assert_uint_eq(count_pushes(&o, 10 * HOUR), 0);
    s.reason = PLANS_UNSTORED;
    (void)hear(&o, 2, &s, 10 * HOUR);
    ck_assert_uint_eq(count_pushes(&o, 10 * HOUR), 1);
    plans_owner_fini(&o);
}
END_TEST

START_TEST(only_what_matters_is_sent)
{
    struct plans_owner o = new_owner(1);
    for (uint64_t n = 1; n <= 5; n++)
        ck_assert(publish(&o, n, 0));
    ck_assert_uint_eq(o.versions_len, 1);
    ck_assert(!publish(&o, 3, 0) && !publish(&o, 5, 0));
    for (uint64_t n = 6; n < 6 + PLANS_LATER_MAX; n++)
        ck_assert(publish(&o, n, dtn(EPOCH + HOUR)));
    ck_assert(!publish(&o, 50, dtn(EPOCH + HOUR)));
    ck_assert(publish(&o, 51, 0));
    ck_assert_uint_eq(o.versions_len, 1);
    ck_assert_uint_eq(count_pushes(&o, 0), 1);
    plans_owner_fini(&o);
}
END_TEST

START_TEST(lost_folder_is_noticed)
{
    struct plans_owner o = new_owner(1);
    struct plans_state s = {.applied = 7, .len = 1};
    s.held[0].number = 7;
    ck_assert(publish(&o, 1, 0));
    ck_assert_int_eq(hear(&o, 2, &s, TICK_S), PLANS_AHEAD);
    ck_assert_uint_eq(count_pushes(&o, TICK_S), 0); /* it would be refused as old */
    ck_assert(publish(&o, 7, 0));
    ck_assert_int_eq(hear(&o, 2, &s, TICK_S), PLANS_CONFLICT);
    plans_owner_fini(&o);
}
END_TEST

/* ---- both, over a bad network ---- */

#define NODES 3
#define FLYING 512

struct flying {
    tick at;
    size_t to; /* NODES: the owner */
    struct eid from;
    uint8_t octets[PLANS_STATE_MAX];
    size_t len;
};

struct run {
    struct rng rng;
    struct plans_owner owner;
    struct plans_follower followers[NODES];
    struct plans_version disk[NODES][PLANS_LISTED_MAX * 64];
    size_t disk_len[NODES];
    uint64_t mark[NODES], last_force[NODES];
    struct flying flying[FLYING];
    size_t flying_len;
    tick now;
    uint64_t last;
    double loss;
};

static void fly(struct run *r, size_t to, const struct eid *from, const uint8_t *octets, size_t len)
{
    const int copies = rng_chance(&r->rng, 0.2) ? 2 : 1;
    for (int i = 0; i < copies && r->flying_len < FLYING; i++) {
        if (rng_chance(&r->rng, r->loss))
            continue;
        struct flying *f = &r->flying[r->flying_len++];
        *f = (struct flying){.at = r->now + rng_below(&r->rng, 300 * TICK_S), .to = to};
        f->from = *from;
        f->len = len;
        memcpy(f->octets, octets, len);
        if (rng_chance(&r->rng, r->loss / 4))
            f->octets[rng_below(&r->rng, len)] ^= (uint8_t)(1 + rng_below(&r->rng, 255));
    }
}

static void land_at_follower(struct run *r, size_t i, const struct flying *b)
{
    struct plans_message m;
    const char *why;
    struct plans_follower *f = &r->followers[i];
    if (plans_follower_input(f, &b->from, slice_of(b->octets, b->len), r->now, EPOCH + r->now, &m,
                             &why) != PLANS_TAKEN)
        return;
    uint64_t contents;
    ck_assert_uint_eq(m.contents.len, sizeof contents);
    memcpy(&contents, m.contents.data, sizeof contents);
    r->disk[i][r->disk_len[i]++] = m.version;
    if (rng_chance(&r->rng, 0.1))
        return; /* killed before it was held */
    plans_follower_hold(f, &m.version);
}

static void restart_follower(struct run *r, size_t i)
{
    struct plans_follower *f = &r->followers[i];
    plans_follower_init(f, &owner_eid, HOUR, r->mark[i], r->now);
    for (size_t k = 0; k < r->disk_len[i]; k++)
        (void)plans_follower_restore(f, &r->disk[i][k]);
    (void)plans_follower_expire(f, r->now, EPOCH + r->now);
    plans_follower_check(f);
}

static void land_all(struct run *r)
{
    for (size_t k = 0; k < r->flying_len;) {
        struct flying b = r->flying[k];
        if (b.at > r->now) {
            k++;
            continue;
        }
        r->flying[k] = r->flying[--r->flying_len];
        size_t peer;
        const char *why;
        if (b.to == NODES)
            (void)plans_owner_input(&r->owner, &b.from, slice_of(b.octets, b.len), r->now, &peer,
                                    &why);
        else
            land_at_follower(r, b.to, &b);
    }
}

static void drive_follower(struct run *r, size_t i)
{
    uint8_t out[PLANS_STATE_MAX];
    struct plans_state s;
    struct plans_follower *f = &r->followers[i];
    (void)plans_follower_expire(f, r->now, EPOCH + r->now);
    plans_follower_check(f);
    ck_assert_uint_ge(f->in_force, r->last_force[i]);
    r->last_force[i] = f->in_force;
    const uint64_t number = plans_follower_apply(f, r->now);
    if (number != 0) {
        const bool good = !rng_chance(&r->rng, 0.3);
        r->mark[i] = good ? number : r->mark[i];
        plans_follower_applied(f, number, good, r->now);
    }
    const struct eid from = follower_eid(i + 2);
    while (plans_follower_poll(f, r->now, &s))
        fly(r, NODES, &from, out, plans_state_write(&s, out));
}

static void drive_owner(struct run *r)
{
    struct plans_push p;
    uint8_t out[128];
    while (plans_owner_poll(&r->owner, r->now, EPOCH + r->now, &p))
        for (size_t i = 0; i < r->owner.versions_len; i++)
            for (size_t k = 0; k < NODES; k++)
                if (r->owner.versions[i].number == p.number &&
                    (p.peer == k || p.peer == PLANS_GROUP))
                    fly(r, k, &owner_eid, out, write_plan(&r->owner.versions[i], p.number, out));
    plans_owner_check(&r->owner);
}

static void disturb(struct run *r)
{
    uint8_t junk[32];
    const size_t to = (size_t)rng_below(&r->rng, NODES);
    if (rng_chance(&r->rng, 0.02) && r->last < 100) {
        const uint64_t wait = rng_chance(&r->rng, 0.5) ? 0 : rng_below(&r->rng, 4 * HOUR);
        const struct plans_version v =
            version_of(++r->last, wait == 0 ? 0 : dtn(EPOCH + r->now + wait));
        (void)plans_owner_publish(&r->owner, &v, r->now, EPOCH + r->now);
    }
    if (rng_chance(&r->rng, 0.02))
        restart_follower(r, to);
    if (rng_chance(&r->rng, 0.05)) {
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (uint8_t)rng_below(&r->rng, 256);
        fly(r, to, rng_chance(&r->rng, 0.5) ? &owner_eid : &other_eid, junk, sizeof junk);
    }
    if (rng_chance(&r->rng, 0.05)) { /* forged: with a number above all */
        const struct plans_version v = version_of(5000, 0);
        uint8_t out[128];
        fly(r, to, &other_eid, out, write_plan(&v, 5000, out));
    }
}

static void run_seed(uint64_t seed)
{
    struct run *r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    rng_init(&r->rng, seed);
    r->owner = new_owner(NODES);
    r->owner.group = seed % 2 == 0;
    r->loss = 0.4;
    for (size_t i = 0; i < NODES; i++)
        plans_follower_init(&r->followers[i], &owner_eid, HOUR, 0, 0);
    for (int step = 0; step < 4000; step++) {
        const bool quiet = step >= 2500;
        r->loss = quiet ? 0 : r->loss;
        r->now += rng_below(&r->rng, 30 * TICK_S);
        if (!quiet)
            disturb(r);
        land_all(r);
        for (size_t i = 0; i < NODES; i++)
            drive_follower(r, i);
        drive_owner(r);
    }
    for (size_t i = 0; i < NODES; i++) {
        const uint64_t want = r->owner.versions_len > 0 ? r->owner.versions[0].number : 0;
        ck_assert_msg(r->followers[i].in_force == want && r->followers[i].applied == want,
                      "seed %llu: follower %zu has %llu, follows %llu, instead of %llu",
                      (unsigned long long)seed, i, (unsigned long long)r->followers[i].in_force,
                      (unsigned long long)r->followers[i].applied, (unsigned long long)want);
        ck_assert_uint_eq(r->owner.peers[i].state.applied, want);
    }
    plans_owner_fini(&r->owner);
    free(r);
}

START_TEST(bad_networks)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        run_seed(seed);
}
END_TEST

SUITE(plans_engines, t)
{
    tcase_add_test(t, order_of_versions);
    tcase_add_test(t, roll_back_replaces_later);
    tcase_add_test(t, clock_steps);
    tcase_add_test(t, node_is_tried_again);
    tcase_add_test(t, states_are_paced);
    tcase_add_test(t, refusals_are_reported);
    tcase_add_test(t, restart_of_a_follower);
    tcase_add_test(t, pushed_until_acknowledged);
    tcase_add_test(t, group_is_first);
    tcase_add_test(t, answers_are_paced);
    tcase_add_test(t, unreadable_is_not_sent_again);
    tcase_add_test(t, only_what_matters_is_sent);
    tcase_add_test(t, lost_folder_is_noticed);
    tcase_add_test(t, bad_networks);
}
