/* SPDX-License-Identifier: Apache-2.0 */
/* What no contact takes as a whole goes in parts (RFC 9171 §5.8): how much of it goes first. */
#include "plan_router_help.h"
#include "route/plan_parts.h"
#include "tests/unit/suite.h"

/* A bundle of so many bytes for 4; `whole`: it must not go in fragments. */
static struct router_answer ask_class(struct world *w, uint64_t bytes, tick now, tick expires,
                                      bool whole, enum bundle_priority priority)
{
    struct eid destination = eid_ipn(0, 4, 7);
    const struct router_links links = {w, at};
    struct router_query q = {.now = now,
                             .destination = &destination,
                             .bytes = bytes,
                             .expires = expires,
                             .whole = whole,
                             .priority = priority,
                             .came_from = ROUTER_NO_LINK,
                             .avoid = ROUTER_NO_LINK,
                             .links = &links};
    return w->ops.ops->ask(w->ops.state, &q);
}

static struct router_answer ask_parts(struct world *w, uint64_t bytes, tick now, tick expires,
                                      bool whole)
{
    return ask_class(w, bytes, now, expires, whole, BUNDLE_NORMAL);
}

/* 25 MB, and no contact takes more than 10: what the first one has room for, then the second. */
START_TEST(longer_than_any_contact)
{
    struct world w;
    begin(&w);
    uint64_t rest = 25000000, sent = 0;
    struct router_answer a = ask_parts(&w, rest, 0, S(1000), false);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* for the first contact */
    ck_assert_uint_eq(a.until, S(10));
    static const struct {
        tick now;
        uint32_t link;
        uint64_t room;
    } steps[] = {{S(10), 0, 10000000}, {S(15), 1, 10000000}, {S(40), 0, 10000000}};
    for (size_t i = 0; i < 3; i++) {
        set_up(&w, steps[i].link, true, steps[i].now);
        uint64_t before = left(&w, steps[i].link + 2, steps[i].now);
        a = ask_parts(&w, rest, steps[i].now, S(1000), false);
        ck_assert_int_eq(a.verdict, ROUTER_LINK);
        ck_assert_uint_eq(a.link, steps[i].link);
        ck_assert_uint_eq(left(&w, steps[i].link + 2, steps[i].now), before); /* an answer only */
        uint64_t part = a.fits == 0 ? rest : a.fits;
        ck_assert_uint_le(part, steps[i].room);
        ck_assert_uint_ge(part, i < 2 ? steps[i].room / 10 * 9 : 1);
        note(&w, ROUTER_PLACED, a.booking);
        ck_assert_uint_eq(left(&w, steps[i].link + 2, steps[i].now), before - part);
        note(&w, ROUTER_SENT, a.booking);
        sent += part;
        rest -= part;
    }
    ck_assert_uint_eq(rest, 0);
    ck_assert_uint_eq(sent, 25000000);
    end(&w);
}
END_TEST

/* What is left of a contact that has begun. */
START_TEST(the_rest_of_a_contact)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask_parts(&w, 12000000, S(17), S(1000), false);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_ge(a.fits, 2900000); /* 3 s */
    ck_assert_uint_le(a.fits, 3000000);
    end(&w);
}
END_TEST

/* All of it in time, or none of it; and never what must stay whole. */
START_TEST(no_part_without_the_others)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    ck_assert_int_eq(ask_parts(&w, 25000000, S(10), S(1000), true).verdict, ROUTER_NONE);
    ck_assert_uint_ne(ask_parts(&w, 29000000, S(10), S(1000), false).fits, 0);
    ck_assert_int_ne(ask_parts(&w, 31000000, S(10), S(1000), false).verdict, ROUTER_LINK);
    ck_assert_int_ne(ask_parts(&w, 25000000, S(10), S(40), false).verdict, ROUTER_LINK);
    ck_assert_uint_ne(ask_parts(&w, 19000000, S(10), S(40), false).fits, 0);
    for (uint64_t to = 2; to <= 3; to++) /* looking has booked nothing */
        ck_assert_uint_eq(left(&w, to, S(15)), 10000000);
    struct plan_router_totals t;
    plan_router_totals(w.router, &t);
    ck_assert_uint_eq(t.parts, 2);
    end(&w);
}
END_TEST

/* To look for parts costs no bundle the place that it has, also where the class would allow it. */
START_TEST(looking_takes_no_place_from_others)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask_class(&w, 9000000, S(10), S(1000), false, BUNDLE_BULK);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    note(&w, ROUTER_PLACED, a.booking);
    uint64_t id = plan_at(w.plan, 1, 2, S(10));
    ck_assert_uint_eq(plan_booked(w.plan, id, PLAN_BULK), 9000000);
    a = ask_class(&w, 20000000, S(10), S(1000), false, BUNDLE_EXPEDITED);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_le(a.fits, 1000000);
    ck_assert_uint_eq(plan_booked(w.plan, id, PLAN_BULK), 9000000);
    ck_assert_uint_eq(plan_owed(w.plan, id, PLAN_BULK), 0);
    end(&w);
}
END_TEST

/* What a contact takes whole is never cut, however late it is. */
START_TEST(whole_where_one_contact_takes_it)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask_parts(&w, 9000000, S(17), S(1000), false);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* the next one to 2 */
    ck_assert_uint_eq(a.fits, 0);
    end(&w);
}
END_TEST

/* So that `room` is the inverse of what is taken, whatever the overhead. */
START_TEST(room_of_a_volume)
{
    static const uint64_t volumes[] = {0, 1, 99, 100, 101, 107, 5000, 9999999, UINT64_MAX - 1};
    for (uint64_t ppm = 0; ppm <= 70000; ppm += 35000) {
        struct plan_config config;
        struct plan *p;
        plan_config_default(&config);
        config.overhead_ppm = ppm;
        config.margin = false;
        ck_assert_int_eq(plan_new(&p, &config), 0);
        for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++) {
            uint64_t room = plan_room(p, volumes[i]);
            ck_assert_uint_le(room, volumes[i]);
            if (volumes[i] == 9999999)
                ck_assert_uint_ge(room, volumes[i] * 1000000 / (1000000 + ppm) - 200);
        }
        ck_assert_uint_eq(plan_room(p, UINT64_MAX), UINT64_MAX);
        plan_free(p);
    }
}
END_TEST

/* Many that need a look come at once: then they wait, without a search, and others go on. */
START_TEST(looks_have_a_part_of_the_time)
{
    struct world w;
    unsigned looks = 0;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask_parts(&w, 29000000, S(10), S(1000), false);
    for (; a.verdict == ROUTER_LINK && looks < 1000000; looks++)
        a = ask_parts(&w, 29000000, S(10), S(1000), false);
    ck_assert_uint_gt(looks, 100);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert(!a.too_late);
    ck_assert_uint_gt(a.until, S(10));
    ck_assert_uint_lt(a.until, S(11));
    const uint64_t work = plan_work(w.plan);
    ck_assert_int_eq(ask_parts(&w, 29000001, S(10), S(1000), false).verdict, ROUTER_WAIT);
    ck_assert_uint_eq(plan_work(w.plan), work);
    ck_assert_int_eq(ask_parts(&w, 29000000, S(10), S(1000), true).verdict, ROUTER_NONE);
    ck_assert_int_eq(ask_parts(&w, 5000, S(10), S(1000), false).verdict, ROUTER_LINK);
    ck_assert_uint_ne(ask_parts(&w, 29000000, a.until, S(1000), false).fits, 0);
    end(&w);
}
END_TEST

/* Neighbour 3 brings bundles for 4 that are too late, without end: at most a tenth of the time is
 * for them, then no search at all; what neighbour 2 brings, and this node's own, goes on. */
START_TEST(searches_without_a_route_are_paid_for)
{
    struct world w;
    unsigned asked = 0;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct eid destination = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    struct router_query q = {.now = S(10),
                             .destination = &destination,
                             .expires = S(10) + 1,
                             .came_from = 1,
                             .avoid = 1,
                             .links = &links};
    const uint64_t before = w.ops.ops->work(w.ops.state);
    struct router_answer a = {.verdict = ROUTER_NONE};
    for (; a.verdict == ROUTER_NONE && asked < 3000000; asked++) {
        q.bytes = 4000 - asked % 1000; /* no parts: it is asked for as often as it comes */
        a = w.ops.ops->ask(w.ops.state, &q);
    }
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_gt(asked, 1000);
    const uint64_t work = w.ops.ops->work(w.ops.state);
    ck_assert_uint_le(work - before, S(1) / 10 / 100 + 1000); /* units of 100 ns */
    ck_assert_int_eq(w.ops.ops->ask(w.ops.state, &q).verdict, ROUTER_WAIT);
    ck_assert_uint_eq(w.ops.ops->work(w.ops.state), work);
    ck_assert_int_eq(ask(&w, 4, 5000, S(10), ROUTER_NO_LINK, 0).verdict, ROUTER_LINK);
    ck_assert_int_eq(ask(&w, 4, 6000, S(10), 2, 0).verdict, ROUTER_LINK);
    ck_assert_uint_lt(a.until, S(11));
    q.now = a.until;
    ck_assert_int_eq(w.ops.ops->ask(w.ops.state, &q).verdict, ROUTER_NONE);
    end(&w);
}
END_TEST

/* One neighbour's bundle that is too late says nothing of another's that is in time. */
START_TEST(failures_are_each_neighbours_own)
{
    struct world w;
    struct router_answer a = {.verdict = ROUTER_NONE};
    struct eid destination = eid_ipn(0, 4, 7);
    begin(&w);
    set_up(&w, 0, true, S(10));
    const struct router_links links = {&w, at};
    struct router_query q = {.now = S(10),
                             .destination = &destination,
                             .bytes = 9000000,
                             .expires = S(15),
                             .priority = BUNDLE_NORMAL,
                             .came_from = 1,
                             .avoid = 1,
                             .links = &links};
    for (unsigned asked = 0; a.verdict != ROUTER_WAIT && asked < 3000000; asked++)
        a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_int_eq(ask(&w, 4, 9000000, S(10), ROUTER_NO_LINK, 0).verdict, ROUTER_LINK);
    ck_assert_int_eq(ask(&w, 4, 9000000, S(10), 2, 0).verdict, ROUTER_LINK);
    end(&w);
}
END_TEST

struct counted {
    struct plan *plan;
    unsigned searches;
};

/* A short one has a way by the first contact; none that is longer has one. */
static enum plan_reason count_search(void *context, struct plan_query *q, struct plan_route *out)
{
    struct counted *c = context;
    c->searches++;
    return q->bytes > PLAN_PART_MIN ? PLAN_NO_VOLUME : plan_route_find(c->plan, q, out);
}

START_TEST(a_look_has_an_end)
{
    struct world w;
    struct plan_route out;
    begin(&w);
    struct counted c = {.plan = w.plan};
    const struct plan_parts parts = {w.plan, count_search, &c};
    struct plan_query q = {.from = 1, .to = 4, .bytes = 9000000, .now = S(10), .expiry = S(1000)};
    ck_assert_uint_eq(plan_parts_first(&parts, &q, &out), 0);
    ck_assert_uint_eq(c.searches, PLAN_PARTS_SEARCHES);
    end(&w);
}
END_TEST

SUITE(tools_plan_parts, t)
{
    tcase_add_test(t, searches_without_a_route_are_paid_for);
    tcase_add_test(t, failures_are_each_neighbours_own);
    tcase_add_test(t, a_look_has_an_end);

    tcase_add_test(t, longer_than_any_contact);
    tcase_add_test(t, the_rest_of_a_contact);
    tcase_add_test(t, no_part_without_the_others);
    tcase_add_test(t, looking_takes_no_place_from_others);
    tcase_add_test(t, whole_where_one_contact_takes_it);
    tcase_add_test(t, looks_have_a_part_of_the_time);
    tcase_add_test(t, room_of_a_volume);
}
