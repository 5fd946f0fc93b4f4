/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles of one neighbour fill a contact. What has its turn before them has a place in it. */
#include "plan_router_help.h"
#include "route/plan_router_impl.h"
#include "tests/unit/suite.h"

#define MB UINT64_C(1000000)

/* A bundle of a MB for the neighbour of link 0; `behind`: bytes of others that it need not wait
 * for. */
static struct router_answer ask_turn(struct world *w, uint64_t behind, uint64_t booking)
{
    w->link[0].behind = behind;
    const struct router_answer a = ask(w, 2, MB, S(10), ROUTER_NO_LINK, booking);
    w->link[0].behind = 0;
    return a;
}

static void place_answer(struct world *w, const struct router_answer *a)
{
    const struct router_note n = {.kind = ROUTER_PLACED, .booking = a->booking, .link = a->link};
    ck_assert_int_eq(a->verdict, ROUTER_LINK);
    ck_assert_uint_eq(a->link, 0);
    w->ops.ops->note(w->ops.state, &n);
    w->link[0].bytes_of[BUNDLE_NORMAL] += MB;
}

static void take_back(struct world *w, uint64_t booking)
{
    note(w, ROUTER_TAKEN_BACK, booking);
    w->link[0].bytes_of[BUNDLE_NORMAL] -= MB;
}

static void has(const struct world *w, uint64_t booked, uint64_t owed)
{
    const uint64_t contact = plan_at(w->plan, 1, 2, S(10));
    ck_assert_uint_eq(plan_booked(w->plan, contact, PLAN_NORMAL), booked * MB);
    ck_assert_uint_eq(plan_owed(w->plan, contact, PLAN_NORMAL), owed * MB);
    plan_check(w->plan);
}

/* All ten MB of the contact; the next bundle of this neighbour waits for the next contact. */
static uint64_t fill_contact(struct world *w)
{
    struct router_answer a;
    uint64_t first = 0;
    set_up(w, 0, true, S(10));
    for (int i = 0; i < 10; i++) {
        a = ask_turn(w, 0, 0);
        first = i == 0 ? a.booking : first;
        place_answer(w, &a);
    }
    a = ask_turn(w, 0, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(40));
    has(w, 10, 0);
    return first;
}

START_TEST(turns_have_places_in_a_full_contact)
{
    struct world w;
    begin(&w);
    const uint64_t first = fill_contact(&w);
    struct router_answer a = ask_turn(&w, 9 * MB, 0);
    has(&w, 10, 0); /* a question changes nothing */
    place_answer(&w, &a);
    has(&w, 10, 1);
    /* Asked again, it keeps its place; so do the bookings. */
    const struct router_answer again = ask_turn(&w, 9 * MB, a.booking);
    ck_assert_int_eq(again.verdict, ROUTER_LINK);
    has(&w, 10, 1);
    /* All who take turns with it have had theirs: nothing yields any more. */
    ck_assert_int_eq(ask_turn(&w, 0, 0).verdict, ROUTER_WAIT);
    take_back(&w, first);
    has(&w, 10, 0);
    take_back(&w, a.booking);
    has(&w, 9, 0);
    end(&w);
}
END_TEST

/* Its turn is half of what is left of the contact, and no more. */
START_TEST(turns_end_with_the_contact)
{
    struct world w;
    begin(&w);
    (void)fill_contact(&w);
    for (uint64_t own = 0; own < 5; own++) {
        const struct router_answer a = ask_turn(&w, (10 - own - 1) * MB, 0);
        place_answer(&w, &a);
        has(&w, 10, own + 1);
    }
    const struct router_answer a = ask_turn(&w, 4 * MB, 0);
    ck_assert_int_eq(a.verdict, ROUTER_WAIT);
    ck_assert_uint_eq(a.until, S(40));
    end(&w);
}
END_TEST

/* Higher classes have their turns first, and further hops have no turns here. */
START_TEST(turns_are_of_one_class_and_hop)
{
    struct world w;
    begin(&w);
    set_up(&w, 0, true, S(10));
    w.priority = BUNDLE_EXPEDITED;
    const struct router_answer a = ask(&w, 2, 10 * MB, S(10), ROUTER_NO_LINK, 0);
    note(&w, ROUTER_PLACED, a.booking);
    w.link[0].bytes_of[BUNDLE_EXPEDITED] = 10 * MB;
    w.priority = BUNDLE_NORMAL;
    w.link[0].bytes_of[BUNDLE_NORMAL] = 5 * MB;
    ck_assert_int_eq(ask_turn(&w, 5 * MB, 0).verdict, ROUTER_WAIT);
    end(&w);
}
END_TEST

SUITE(tools_plan_router_turns, t)
{
    tcase_add_test(t, turns_have_places_in_a_full_contact);
    tcase_add_test(t, turns_end_with_the_contact);
    tcase_add_test(t, turns_are_of_one_class_and_hop);
}
