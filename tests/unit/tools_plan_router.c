/* SPDX-License-Identifier: Apache-2.0 */
/* A contact plan as the agent's router: what it answers when, what it books, and what makes answers
 * others. The agent is played. */
#include "plan_router_help.h"
#include "tests/unit/suite.h"

START_TEST(waits_for_the_contact)
{
    struct world w;
    begin(&w);
    struct router_answer a = ask(&w, 4, 1000000, 0, ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(10));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(10));
    ck_assert(!w.ops.ops->expire(w.ops.state, S(9)));
    ck_assert(w.ops.ops->expire(w.ops.state, S(10)));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(15));
    ck_assert(set_up(&w, 0, true, S(10)));
    ck_assert(!set_up(&w, 0, true, S(10)));
    a = ask(&w, 4, 1000000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_eq(a.link, 0);
    ck_assert_uint_ne(a.booking, 0);
    end(&w);
}
END_TEST

/* An urgent bundle's volume is lost to all, a bulk one's to bulk only; each is given back as what
 * it was booked. */
START_TEST(books_by_priority)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    const uint64_t contact = plan_at(w.plan, 1, 2, S(10));
    static const uint64_t expected[][BUNDLE_PRIORITIES] = {
        {6000000, 6000000, 6000000}, {3000000, 6000000, 6000000}, {7000000, 10000000, 10000000}};
    w.priority = BUNDLE_EXPEDITED;
    const uint64_t urgent = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, 0).booking;
    note(&w, ROUTER_PLACED, urgent);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        ck_assert_uint_eq(plan_left(w.plan, contact, (enum plan_priority)p), expected[0][p]);
    w.priority = BUNDLE_BULK;
    const uint64_t bulk = ask(&w, 4, 3000000, S(10), ROUTER_NO_LINK, 0).booking;
    note(&w, ROUTER_PLACED, bulk);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        ck_assert_uint_eq(plan_left(w.plan, contact, (enum plan_priority)p), expected[1][p]);
    note(&w, ROUTER_TAKEN_BACK, urgent);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        ck_assert_uint_eq(plan_left(w.plan, contact, (enum plan_priority)p), expected[2][p]);
    note(&w, ROUTER_TAKEN_BACK, bulk);
    ck_assert_uint_eq(plan_left(w.plan, contact, PLAN_BULK), 10000000);
    end(&w);
}
END_TEST

START_TEST(books_what_is_placed)
{
    struct world w;
    struct plan_router_totals t;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_uint_eq(left(&w, 2, S(10)), 10000000); /* an answer binds nothing */
    note(&w, ROUTER_PLACED, a.booking);
    ck_assert_uint_eq(left(&w, 2, S(10)), 6000000);
    plan_router_totals(w.router, &t);
    ck_assert_uint_eq(t.booked, 1);
    /* Asked again, its own volume does not stand in its way. */
    struct router_answer b = ask(&w, 4, 9000000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(b.verdict, ROUTER_WAIT); /* the first contact has 6 MB left: by 3 */
    ck_assert_uint_eq(b.until, S(15));
    b = ask(&w, 4, 9000000, S(10), ROUTER_NO_LINK, a.booking);
    ck_assert_int_eq(b.verdict, ROUTER_LINK);
    ck_assert_uint_eq(left(&w, 2, S(10)), 6000000);
    note(&w, ROUTER_TAKEN_BACK, a.booking);
    ck_assert_uint_eq(left(&w, 2, S(10)), 10000000);
    a = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, 0);
    note(&w, ROUTER_PLACED, a.booking);
    note(&w, ROUTER_SENT, a.booking); /* what was sent has used its volume */
    ck_assert_uint_eq(left(&w, 2, S(10)), 6000000);
    plan_router_totals(w.router, &t);
    ck_assert_uint_eq(t.booked, 0);
    a = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, 0);
    note(&w, ROUTER_PLACED, a.booking);
    note(&w, ROUTER_FAILED, a.booking);
    ck_assert_uint_eq(left(&w, 2, S(10)), 6000000);
    end(&w);
}
END_TEST

START_TEST(full_contacts_send_on)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    int placed = 0;
    for (int i = 0; i < 20; i++) {
        struct router_answer a = ask(&w, 4, 1000000, S(10), ROUTER_NO_LINK, 0);
        if (a.verdict == ROUTER_LINK) {
            note(&w, ROUTER_PLACED, a.booking);
            w.link[0].bytes += 1000000;
            placed++;
        } else {
            ck_assert_uint_eq(a.until, S(15));
        }
    }
    ck_assert_int_ge(placed, 5); /* some go earlier by the next contact than behind the queue */
    ck_assert_int_le(placed, 10);
    end(&w);
}
END_TEST

START_TEST(missed_contacts)
{
    struct world w;
    begin(&w);
    set_up(&w, 1, true, S(5));
    /* Its link may take a moment to come up. */
    struct router_answer a = ask(&w, 4, 1000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_eq(a.link, 0);
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(10));
    ck_assert(!w.ops.ops->expire(w.ops.state, S(10)));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(11));
    ck_assert(w.ops.ops->expire(w.ops.state, S(11)));
    a = ask(&w, 4, 1000, S(11), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* for 3 */
    ck_assert_uint_eq(a.until, S(15));
    ck_assert(set_up(&w, 0, true, S(12)));
    a = ask(&w, 4, 1000, S(12), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    /* No other way at all: it waits for what may change. */
    set_up(&w, 0, false, S(41));
    a = ask(&w, 4, 1000, S(45), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* the edges were not looked at meanwhile */
    ck_assert_uint_eq(a.until, S(45) + 1);
    ck_assert(w.ops.ops->expire(w.ops.state, S(45)));
    a = ask(&w, 4, 1000, S(45), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(50));
    end(&w);
}
END_TEST

static void expect_touched(const struct world *w, bool first, bool second, bool apart)
{
    ck_assert_int_eq(w->ops.ops->touches(w->ops.state, 0), first);
    ck_assert_int_eq(w->ops.ops->touches(w->ops.state, 1), second);
    ck_assert_int_eq(w->ops.ops->touches(w->ops.state, ROUTER_NO_LINK), apart);
}

/* A beginning touches what waits apart, an end the queue of its link as well; a link that comes up
 * all that went elsewhere while it was down, and none when none did. */
START_TEST(what_a_change_touches)
{
    struct world w;
    begin(&w);
    ck_assert(set_up(&w, 0, true, S(5))); /* it is new */
    expect_touched(&w, true, true, true);
    ck_assert(set_up(&w, 1, true, S(5)));
    ck_assert(w.ops.ops->expire(w.ops.state, S(10)));
    expect_touched(&w, false, false, true);
    ck_assert_int_eq(ask(&w, 4, 1000, S(11), ROUTER_NO_LINK, 0).verdict, ROUTER_LINK);
    ck_assert(w.ops.ops->expire(w.ops.state, S(15)));
    expect_touched(&w, false, false, true);
    ck_assert(w.ops.ops->expire(w.ops.state, S(20))); /* the contact with 2 has ended */
    expect_touched(&w, true, false, true);
    ck_assert(w.ops.ops->expire(w.ops.state, S(25)));
    expect_touched(&w, false, true, true);
    ck_assert(w.ops.ops->expire(w.ops.state, S(40)));
    expect_touched(&w, false, false, true);
    ck_assert(!set_up(&w, 0, false, S(41)));
    ck_assert(!set_up(&w, 0, true, S(41) + 1)); /* nobody was told otherwise */
    ck_assert(!set_up(&w, 0, false, S(42)));
    ck_assert(w.ops.ops->expire(w.ops.state, S(43))); /* it is down for too long */
    expect_touched(&w, true, false, false);
    ck_assert_int_eq(ask(&w, 4, 1000, S(43), ROUTER_NO_LINK, 0).verdict, ROUTER_WAIT);
    ck_assert(set_up(&w, 0, true, S(44)));
    expect_touched(&w, true, true, true);
    /* A second link to 2. */
    ck_assert_int_eq(plan_router_link(w.router, 1, 2), 0);
    ck_assert(set_up(&w, 1, true, S(44)));
    ck_assert(set_up(&w, 0, false, S(45)));
    expect_touched(&w, true, true, false);
    /* The plan has no contact with 4: no answer changes with its link. */
    ck_assert(!set_up(&w, 2, false, S(46)));
    ask(&w, 99, 1000, S(46), ROUTER_NO_LINK, 0);
    ck_assert(!set_up(&w, 2, true, S(46)));
    ck_assert(!set_up(&w, 2, false, S(47)));
    expect_touched(&w, false, false, false);
    end(&w);
}
END_TEST

/* A contact begins or ends at this very moment, and the router was not told of it yet: a way that
 * is down for now is a way all the same. */
START_TEST(missed_at_an_edge)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    ck_assert(w.ops.ops->expire(w.ops.state, S(10)));
    set_up(&w, 0, false, S(12));
    ck_assert(w.ops.ops->expire(w.ops.state, S(13)));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(15));
    struct router_answer a = ask(&w, 2, 1000, S(14), ROUTER_NO_LINK, 0);
    ck_assert(a.verdict == ROUTER_WAIT && a.until == S(15));
    for (tick now = S(15); now < S(18); now += S(1)) {
        a = ask(&w, 2, 1000, now, ROUTER_NO_LINK, 0);
        ck_assert_int_eq(a.verdict, ROUTER_WAIT);
        ck_assert_uint_eq(a.until, now + 1);
    }
    ck_assert(w.ops.ops->expire(w.ops.state, S(18)));
    a = ask(&w, 2, 1000, S(18), ROUTER_NO_LINK, 0);
    ck_assert(a.verdict == ROUTER_WAIT && a.until == S(20));
    end(&w);
}
END_TEST

START_TEST(other_answers)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask(&w, 99, 1000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_LINK); /* not in the plan */
    ck_assert_uint_eq(a.link, 2);
    ck_assert_uint_eq(w.others, 1);
    /* Not back where it came from. */
    a = ask(&w, 4, 1000, S(10), 0, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(15));
    a = ask(&w, 4, 1000, S(50), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_NONE); /* no contact any more */
    /* A neighbour of the plan without a link is no way. */
    plan_router_unlink(w.router, 0);
    a = ask(&w, 4, 1000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(15));
    end(&w);
}
END_TEST

START_TEST(contacts_are_cut)
{
    struct world w;
    begin(&w);
    ck_assert_uint_eq(plan_router_node(w.router), 1);
    ck_assert_int_eq(plan_remove(w.plan, plan_find(w.plan, 1, 3, S(15))), 0);
    ck_assert_int_eq(plan_remove_range(w.plan, 1, 3, S(15)), 0);
    plan_router_changed(w.router, S(10));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(20));
    struct router_answer a = ask(&w, 4, 9000000, S(12), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(40));
    end(&w);
}
END_TEST

/* The plan's clock is a day ahead, then an hour more: times of answers are the agent's. */
START_TEST(clocks_differ)
{
    struct world w;
    begin(&w);
    const tick day = S(86400);
    struct plan_contact c = {1, 2, day + S(10), day + S(20), 8 * MBIT, 1};
    struct plan_range r = {1, 2, day, 2 * day, TICK_MS, false},
                      on = {2, 4, day, 2 * day, TICK_MS, false};
    struct plan_contact next = {2, 4, day, 2 * day, 8 * MBIT, 1};
    uint64_t id;
    ck_assert_int_eq(plan_add(w.plan, &c, &id) | plan_add(w.plan, &next, &id), 0);
    ck_assert_int_eq(plan_add_range(w.plan, &r) | plan_add_range(w.plan, &on), 0);
    plan_router_ahead(w.router, day, S(2));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(10));
    struct router_answer a = ask(&w, 4, 1000000, S(2), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(10));
    set_up(&w, 0, true, S(10));
    ck_assert_int_eq(ask(&w, 4, 1000000, S(10), ROUTER_NO_LINK, 0).verdict, ROUTER_LINK);
    plan_router_ahead(w.router, day - S(4), S(10)); /* the wall clock steps back */
    a = ask(&w, 4, 1000000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(14));
    end(&w);
}
END_TEST

/* What is booked of a plan that is no more is nothing to the next one. */
START_TEST(another_plan)
{
    struct world w, other;
    begin(&w);
    begin(&other);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, 0);
    note(&w, ROUTER_PLACED, a.booking);
    struct router_answer b = ask(&w, 4, 1000000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(plan_remove(other.plan, plan_find(other.plan, 1, 2, S(10))), 0);
    plan_router_replace(w.router, other.plan, S(10));
    ck_assert_uint_eq(w.ops.ops->deadline(w.ops.state), S(15));
    note(&w, ROUTER_PLACED, b.booking); /* an answer of the former plan */
    struct router_answer c = ask(&w, 4, 4000000, S(10), ROUTER_NO_LINK, a.booking);
    ck_assert_int_eq(c.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(c.until, S(15));
    note(&w, ROUTER_TAKEN_BACK, a.booking);
    note(&w, ROUTER_TAKEN_BACK, b.booking);
    ck_assert_uint_eq(plan_left(other.plan, plan_at(other.plan, 1, 3, 0), PLAN_NORMAL), 10000000);
    plan_check(other.plan);
    plan_router_replace(w.router, w.plan, S(10));
    end(&w);
    end(&other);
}
END_TEST

/* A contact has begun, its light time is known later only. */
START_TEST(waits_for_a_light_time)
{
    struct world w;
    begin(&w);
    ck_assert_int_eq(plan_remove_range(w.plan, 1, 2, S(10)), 0);
    struct plan_range r = {1, 2, S(12), S(20), TICK_MS, false};
    ck_assert_int_eq(plan_add_range(w.plan, &r), 0);
    set_up(&w, 0, true, S(10));
    struct router_answer a = ask(&w, 4, 1000, S(10), ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(12));
    ck_assert_int_eq(ask(&w, 4, 1000, S(12), ROUTER_NO_LINK, 0).verdict, ROUTER_LINK);
    end(&w);
}
END_TEST

/* What nothing brings in time: refused with the reason, or kept until something changes. */
START_TEST(too_late)
{
    struct world w;
    begin(&w);
    struct eid far = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    struct router_query q = {.destination = &far,
                             .bytes = 1000,
                             .expires = S(10),
                             .came_from = ROUTER_NO_LINK,
                             .avoid = ROUTER_NO_LINK,
                             .links = &links};
    struct router_answer a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_NONE && a.too_late && !a.too_long);
    ck_assert_uint_eq(a.arrival, S(10) + 4 * TICK_MS); /* 1 ms each to be sent, 1 ms of light */
    q.came_from = 0;
    first_is(&w, &q, S(15) + 4 * TICK_MS); /* never back */
    q.came_from = ROUTER_NO_LINK;
    w.link[0].forbidden = true;
    first_is(&w, &q, S(15) + 4 * TICK_MS);
    w.link[0].forbidden = false;
    plan_router_ahead(w.router, S(2), 0);
    first_is(&w, &q, 0); /* 10 s of the plan are 8 s here: in time */
    q.expires = S(8);
    first_is(&w, &q, S(8) + 4 * TICK_MS);
    plan_router_ahead(w.router, 0, 0);
    q.expires = S(100);
    q.bytes = 20000000; /* contacts carry 10 MB, and it must stay whole */
    q.whole = true;
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_NONE && !a.too_late && a.too_long);
    plan_router_rules(w.router, true, NULL, 0);
    q.bytes = 1000;
    q.expires = S(10);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_WAIT && a.too_late);
    ck_assert_uint_eq(a.arrival, S(10) + 4 * TICK_MS);
    const uint64_t three = 3;
    plan_router_rules(w.router, true, &three, 1);
    plan_router_unlink(w.router, 0);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_WAIT && a.too_late && a.arrival == 0);
    plan_router_rules(w.router, true, NULL, 0);
    first_is(&w, &q, S(15) + 4 * TICK_MS);
    ck_assert_int_eq(plan_router_link(w.router, 0, 2), 0);
    ck_assert_uint_eq(a.until, S(10)); /* the next contact: something may change */
    q.expires = S(1000);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_WAIT && !a.too_late);
    end(&w);
}
END_TEST

/* A neighbour that declined a bundle does not get it again, whatever the plan says. */
START_TEST(declined_by_neighbours)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    struct eid far = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    static const uint32_t declined[] = {0, 1};
    struct router_query q = {.now = S(10),
                             .destination = &far,
                             .bytes = 1000,
                             .expires = S(1000),
                             .came_from = ROUTER_NO_LINK,
                             .avoid = ROUTER_NO_LINK,
                             .links = &links};
    ck_assert_int_eq(w.ops.ops->ask(w.ops.state, &q).verdict, ROUTER_LINK);
    q.declined = declined;
    q.declined_len = 1;
    struct router_answer a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(15)); /* by 3 */
    q.declined_len = 2;
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_NONE);
    plan_router_rules(w.router, true, NULL, 0);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* for a change of the plan */
    end(&w);
}
END_TEST

/* 2 is not to be used, but for what goes to itself. */
START_TEST(excluded_neighbours)
{
    struct world w;
    static const uint64_t two = 2, both[] = {2, 3};
    begin(&w);
    plan_router_rules(w.router, false, &two, 1);
    struct router_answer a = ask(&w, 4, 1000, 0, ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(15));
    a = ask(&w, 2, 1000, 0, ROUTER_NO_LINK, 0);
    ck_assert_uint_eq(a.until, S(10));
    plan_router_rules(w.router, false, both, 2);
    a = ask(&w, 4, 1000, 0, ROUTER_NO_LINK, 0);
    ck_assert_int_eq(a.verdict, ROUTER_NONE);
    end(&w);
}
END_TEST

/* By 2 and by 3, each of them booked; but not back to where it came from. */
START_TEST(critical_goes_all_ways)
{
    struct world w;
    begin(&w);
    struct eid far = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    struct router_query q = {.destination = &far,
                             .bytes = 1000000,
                             .expires = S(1000),
                             .priority = BUNDLE_NORMAL,
                             .critical = true,
                             .came_from = ROUTER_NO_LINK,
                             .avoid = ROUTER_NO_LINK,
                             .links = &links};
    struct router_answer a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_LINK);
    ck_assert_uint_eq(a.link, 0); /* arrives first */
    ck_assert_uint_eq(a.also_len, 1);
    ck_assert_uint_eq(a.also[0].link, 1);
    const uint64_t second = a.also[0].booking;
    ck_assert_uint_ne(a.booking, second);
    note(&w, ROUTER_PLACED, a.booking);
    note(&w, ROUTER_PLACED, second);
    ck_assert_uint_eq(left(&w, 2, S(10)), 9000000);
    ck_assert_uint_eq(left(&w, 3, S(15)), 9000000);
    note(&w, ROUTER_TAKEN_BACK, second);
    ck_assert_uint_eq(left(&w, 3, S(15)), 10000000);
    q.came_from = 0;
    a = w.ops.ops->ask(w.ops.state, &q); /* one way is as for any other: it waits */
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.also_len, 0);
    ck_assert_uint_eq(a.until, S(15));
    end(&w);
}
END_TEST

/* The only contacts that lead there are with the neighbour that brought the bundle: no route,
 * unless the operator wants it kept. A link that is down is a route. */
START_TEST(no_way_back)
{
    struct world w;
    static const uint64_t three = 3;
    begin(&w);
    struct eid two = eid_ipn(0, 2, 7), far = eid_ipn(0, 4, 7);
    const struct router_links links = {&w, at};
    struct router_query q = {.destination = &far,
                             .bytes = 1000,
                             .expires = S(1000),
                             .came_from = 0,
                             .avoid = 0,
                             .onward = true,
                             .links = &links};
    struct router_answer a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT); /* by 3, later */
    plan_router_rules(w.router, false, &three, 1);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_NONE);
    ck_assert(!a.too_long);
    q.destination = &two;
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert(a.verdict == ROUTER_NONE && !a.too_late);
    plan_router_rules(w.router, true, &three, 1);
    a = w.ops.ops->ask(w.ops.state, &q);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    end(&w);
}
END_TEST

/* Bundles of 1 to 50 kB, one at a time or `deep` of them in queues, by ways that differ by
 * `later`. Returns the share of the bytes that goes by 3. */
static double share_of_3(tick later, unsigned deep)
{
    struct world w;
    uint64_t booking[64] = {0}, sent[2] = {0}, bytes[64], seed = 7;
    uint32_t link[64];
    begin(&w);
    /* 1 meets 5 and 6, both of which meet 7 */
    const struct plan_contact to_6 = {1, 6, S(100), S(900), 8 * MBIT, 1};
    const struct plan_range light = {1, 6, S(100), S(900), TICK_MS + later, false};
    uint64_t id;
    contact(&w, 1, 5, S(100), S(900));
    contact(&w, 5, 7, S(100), S(900));
    contact(&w, 6, 7, S(100), S(900));
    ck_assert_int_eq(plan_add(w.plan, &to_6, &id), 0);
    ck_assert_int_eq(plan_add_range(w.plan, &light), 0);
    ck_assert_int_eq(plan_router_link(w.router, 0, 5), 0);
    ck_assert_int_eq(plan_router_link(w.router, 1, 6), 0);
    plan_router_changed(w.router, S(101));
    (void)set_up(&w, 0, true, S(101));
    (void)set_up(&w, 1, true, S(101));
    for (unsigned i = 0; i < 200; i++) {
        const unsigned at = i % deep;
        if (booking[at] != 0) {
            w.link[link[at]].bytes_of[BUNDLE_NORMAL] -= bytes[at];
            note(&w, ROUTER_SENT, booking[at]);
        }
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        bytes[at] = 1000 + (seed >> 33) % 49000;
        const struct router_answer a =
            ask(&w, 7, bytes[at], S(102) + i * TICK_MS, ROUTER_NO_LINK, 0);
        ck_assert_int_eq(a.verdict, ROUTER_LINK);
        const struct router_note n = {.kind = ROUTER_PLACED, .booking = a.booking, .link = a.link};
        w.ops.ops->note(w.ops.state, &n);
        booking[at] = a.booking;
        link[at] = a.link;
        w.link[a.link].bytes_of[BUNDLE_NORMAL] += bytes[at];
        sent[a.link] += bytes[at];
    }
    end(&w);
    return (double)sent[1] / (double)(sent[0] + sent[1]);
}

/* Two ways that arrive at the same time, or nearly so, get half of the bytes each, whether bundles
 * wait or not; one that is clearly later gets none while nothing waits. */
START_TEST(equal_ways_share)
{
    static const struct {
        tick later;
        unsigned deep;
        double least, most;
    } cases[] = {{0, 1, 0.45, 0.55},
                 {10 * TICK_US, 1, 0.45, 0.55},
                 {0, 20, 0.4, 0.6},
                 {10 * TICK_US, 20, 0.4, 0.6},
                 {S(1), 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double share = share_of_3(cases[i].later, cases[i].deep);
        ck_assert_msg(share >= cases[i].least && share <= cases[i].most, "%zu: %.3f", i, share);
    }
}
END_TEST

SUITE(tools_plan_router, t)
{
    tcase_add_test(t, waits_for_the_contact);
    tcase_add_test(t, books_by_priority);
    tcase_add_test(t, books_what_is_placed);
    tcase_add_test(t, full_contacts_send_on);
    tcase_add_test(t, missed_contacts);
    tcase_add_test(t, what_a_change_touches);
    tcase_add_test(t, what_a_change_touches);
    tcase_add_test(t, missed_at_an_edge);
    tcase_add_test(t, other_answers);
    tcase_add_test(t, contacts_are_cut);
    tcase_add_test(t, clocks_differ);
    tcase_add_test(t, too_late);
    tcase_add_test(t, critical_goes_all_ways);
    tcase_add_test(t, declined_by_neighbours);
    tcase_add_test(t, excluded_neighbours);
    tcase_add_test(t, another_plan);
    tcase_add_test(t, waits_for_a_light_time);
    tcase_add_test(t, no_way_back);
    tcase_add_test(t, equal_ways_share);
}
