/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the plan service when something is wrong: forged questions, too many versions, a
 * clock that jumps, a node that returns at the wrong moment, a lost file, an owner with an old
 * folder. */
#include <stdlib.h>

#include "bp/codec/bundle.h"
#include "plans/plans_follower.h"
#include "plans/plans_owner.h"
#include "tests/unit/suite.h"

#define EPOCH (DTN_EPOCH_UNIX * TICK_S + 800000000 * TICK_S)
#define HOUR (3600 * TICK_S)
#define DAY (24 * HOUR)

static const struct eid owner_eid = {.scheme = EID_IPN, .node = 1, .service = 70};
static const struct eid peer_eid = {.scheme = EID_IPN, .node = 2, .service = 71};

static struct plans_version version_of(uint64_t number, tick effect)
{
    const uint64_t ms = effect == 0 ? 0 : plans_dtn_ms(effect);
    const uint32_t check = plans_check(number, ms, slice_of(&number, sizeof number));
    return (struct plans_version){number, ms, check};
}

/* ---- an owner ---- */

static struct plans_owner new_owner(tick again, tick pause)
{
    struct plans_owner o;
    ck_assert_int_eq(plans_owner_init(&o, &peer_eid, 1, false, again, pause), 0);
    return o;
}

static void publish(struct plans_owner *o, uint64_t number, tick effect)
{
    const struct plans_version v = version_of(number, effect);
    ck_assert(plans_owner_publish(o, &v, 0, EPOCH));
}

static enum plans_verdict hear(struct plans_owner *o, const struct plans_state *s, tick now)
{
    uint8_t out[PLANS_STATE_MAX];
    const char *why;
    size_t peer;
    const size_t n = plans_state_write(s, out);
    return plans_owner_input(o, &peer_eid, slice_of(out, n), now, &peer, &why);
}

static size_t count_pushes(struct plans_owner *o, tick now)
{
    struct plans_push p;
    size_t n = 0;
    while (plans_owner_poll(o, now, EPOCH, &p))
        n++;
    return n;
}

/* Somebody asks each second for a day, in the follower's name; then the follower itself asks. */
START_TEST(forged_questions)
{
    for (tick pause = 0; pause <= 10 * TICK_S; pause += 10 * TICK_S) {
        struct plans_owner o = new_owner(DAY, pause);
        const struct plans_state asks = {.asks = true};
        struct plans_state has = {.applied = 1, .len = 1};
        has.held[0].number = 1;
        has.held[0].check = version_of(1, 0).check;
        publish(&o, 1, 0);
        size_t pushes = count_pushes(&o, 0);
        for (tick t = TICK_S; t < DAY; t += TICK_S) {
            (void)hear(&o, t % (8 * TICK_S) == 0 ? &has : &asks, t);
            pushes += count_pushes(&o, t);
        }
        ck_assert_uint_le(pushes, 18);
        (void)hear(&o, &asks, 2 * DAY);
        ck_assert_uint_eq(count_pushes(&o, 2 * DAY), 1);
        /* a new version is not late for that */
        publish(&o, 2, 0);
        ck_assert_uint_eq(count_pushes(&o, 2 * DAY), 1);
        (void)hear(&o, &asks, 2 * DAY + 20 * TICK_S);
        ck_assert_uint_eq(count_pushes(&o, 2 * DAY + 20 * TICK_S), 1);
        plans_owner_fini(&o);
    }
}
END_TEST

START_TEST(other_contents)
{
    struct plans_owner o = new_owner(DAY, TICK_S);
    struct plans_state s = {.applied = 1, .len = 1};
    s.held[0].number = 1;
    s.held[0].check = version_of(1, 0).check;
    publish(&o, 1, 0);
    (void)hear(&o, &s, 0);
    ck_assert(!plans_owner_conflicts(&o, &o.peers[0], 0));
    s.held[0].check++;
    ck_assert_int_eq(hear(&o, &s, 0), PLANS_CONFLICT);
    ck_assert(plans_owner_conflicts(&o, &o.peers[0], 0));
    plans_owner_fini(&o);
}
END_TEST

START_TEST(follower_is_early)
{
    struct plans_owner o = new_owner(DAY, TICK_S);
    struct plans_state s = {.applied = 1};
    publish(&o, 1, 0);
    publish(&o, 2, EPOCH + HOUR);
    (void)hear(&o, &s, 0);
    ck_assert(!plans_owner_early(&o, &o.peers[0], EPOCH));
    s.applied = 2;
    (void)hear(&o, &s, 0);
    ck_assert(plans_owner_early(&o, &o.peers[0], EPOCH));
    ck_assert(!plans_owner_early(&o, &o.peers[0], EPOCH + HOUR));
    plans_owner_fini(&o);
}
END_TEST

/* ---- a follower ---- */

static enum plans_verdict receive(struct plans_follower *f, uint64_t number, tick effect, tick wall)
{
    uint8_t out[128];
    struct plans_message m;
    const char *why;
    const struct plans_version v = version_of(number, effect);
    const size_t head = plans_message_head(&v, sizeof number, out);
    memcpy(out + head, &number, sizeof number);
    const enum plans_verdict verdict =
        plans_follower_input(f, &owner_eid, slice_of(out, head + sizeof number), 0, wall, &m, &why);
    if (verdict == PLANS_TAKEN)
        plans_follower_hold(f, &m.version);
    plans_follower_check(f);
    return verdict;
}

/* More files than versions that can be held, in any order: the highest matter, and the one that the
 * node follows. */
START_TEST(many_files)
{
    for (uint64_t applied = 0; applied <= 3; applied += 3) {
        for (int down = 0; down < 2; down++) {
            struct plans_follower f;
            plans_follower_init(&f, &owner_eid, HOUR, applied, 0);
            for (uint64_t i = 1; i <= 30; i++) {
                const struct plans_version v = version_of(down ? 31 - i : i, 0);
                (void)plans_follower_restore(&f, &v);
                plans_follower_check(&f);
            }
            ck_assert_uint_eq(f.in_force, applied);
            ck_assert_uint_eq(f.held_len, PLANS_LISTED_MAX);
            ck_assert(plans_follower_expire(&f, 0, EPOCH));
            ck_assert_uint_eq(f.in_force, 30);
            plans_follower_check(&f);
        }
    }
}
END_TEST

/* 18 are held, as the clock was set back after one of them had begun: one more has no room. */
START_TEST(no_room_after_a_clock_step)
{
    struct plans_follower f;
    plans_follower_init(&f, &owner_eid, HOUR, 1, 0);
    for (uint64_t n = 1; n <= PLANS_LISTED_MAX; n++) {
        const struct plans_version v = version_of(n, n == 1 ? 0 : EPOCH + HOUR);
        ck_assert(plans_follower_restore(&f, &v));
    }
    ck_assert_int_eq(receive(&f, 90, 0, EPOCH), PLANS_FULL);
    ck_assert_int_eq(receive(&f, 90, 0, EPOCH + HOUR), PLANS_TAKEN);
}
END_TEST

/* A node that returns while it is asked may have lost what it was told. */
START_TEST(node_returns_meanwhile)
{
    struct plans_follower f;
    plans_follower_init(&f, &owner_eid, HOUR, 0, 0);
    (void)receive(&f, 1, 0, EPOCH);
    (void)plans_follower_expire(&f, 0, EPOCH);
    ck_assert_uint_eq(plans_follower_apply(&f, 0), 1);
    plans_follower_renew(&f, TICK_S);
    plans_follower_applied(&f, 1, true, 2 * TICK_S);
    ck_assert_uint_eq(plans_follower_apply(&f, 2 * TICK_S), 1);
    plans_follower_applied(&f, 1, false, 3 * TICK_S);
    ck_assert_uint_eq(plans_follower_apply(&f, HOUR), 1); /* it is still not known */
    plans_follower_applied(&f, 1, true, HOUR);
    ck_assert_uint_eq(plans_follower_apply(&f, HOUR), 0);
}
END_TEST

START_TEST(lost_file_is_needed_again)
{
    struct plans_follower f;
    struct plans_state s;
    plans_follower_init(&f, &owner_eid, HOUR, 0, 0);
    (void)receive(&f, 1, 0, EPOCH);
    (void)receive(&f, 2, EPOCH + HOUR, EPOCH);
    (void)plans_follower_expire(&f, 0, EPOCH);
    ck_assert(plans_follower_poll(&f, 0, &s));
    ck_assert_uint_eq(plans_follower_apply(&f, 0), 1);
    plans_follower_applied(&f, 1, false, 0);
    plans_follower_lose(&f, 1, TICK_S);
    plans_follower_lose(&f, 7, TICK_S); /* not held */
    plans_follower_check(&f);
    (void)plans_follower_expire(&f, TICK_S, EPOCH);
    ck_assert(plans_follower_poll(&f, TICK_S, &s));
    ck_assert(s.asks);
    ck_assert_uint_eq(s.len, 1);
    ck_assert_uint_eq(s.held[0].number, 2);
    ck_assert_int_eq(receive(&f, 1, 0, EPOCH), PLANS_TAKEN);
    (void)plans_follower_expire(&f, TICK_S, EPOCH);
    ck_assert_uint_eq(plans_follower_apply(&f, HOUR), 1);
}
END_TEST

SUITE(plans_faults, t)
{
    tcase_add_test(t, forged_questions);
    tcase_add_test(t, other_contents);
    tcase_add_test(t, follower_is_early);
    tcase_add_test(t, many_files);
    tcase_add_test(t, no_room_after_a_clock_step);
    tcase_add_test(t, node_returns_meanwhile);
    tcase_add_test(t, lost_file_is_needed_again);
}
