/* SPDX-License-Identifier: Apache-2.0 */
/* Associations of Monitored Data as they should be: queries, reports, events, a slow user. */
#include "tests/unit/csts_pair.h"

START_TEST(associate)
{
    static const enum sle_auth_level levels[] = {SLE_AUTH_NONE, SLE_AUTH_BIND, SLE_AUTH_ALL};
    struct pair p = new_pair(levels[_i]);
    p.piece = _i == 0 ? 1 : SIZE_MAX;
    connect_pair(&p, 1);
    ck_assert_str_eq(csts_link_peer(p.user.link), "STATION");
    ck_assert_str_eq(csts_link_peer(p.provider.link), "MISSION");
    ck_assert_ptr_eq(csts_service_link(p.service), p.provider.link);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_OVER);
    ck_assert_int_eq(p.user.last.end, SLE_END_UNBOUND);
    ck_assert_int_eq(p.provider.last.end, SLE_END_UNBOUND);
    ck_assert_ptr_null(csts_service_link(p.service));
    ck_assert_uint_eq(csts_counts(p.provider.csts)->unbinds, 1);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->auth_failed, 0);
    free_pair(&p);
}
END_TEST

START_TEST(query)
{
    struct pair p = bound_pair();
    uint8_t items[256];
    set_value(&p, 0, 42, true);
    set_value(&p, 0, 42, false);
    ck_assert_int_ge(csts_get(p.user.link, &by_default, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_VALUES);
    ck_assert_uint_eq(p.user.values, 2); /* the label, of two instances */
    ck_assert_uint_eq(p.user.number, 42);
    struct csts_list l = {.kind = CSTS_LIST_RESOURCE, .oid = oid_of(RESOURCE), .instance = 2};
    ck_assert_int_ge(csts_get(p.user.link, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 2);
    l.kind = CSTS_LIST_RESOURCE_TYPE;
    ck_assert_int_ge(csts_get(p.user.link, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 4);
    l = (struct csts_list){.kind = CSTS_LIST_NAMED, .text = slice_of("first", 5)};
    ck_assert_int_ge(csts_get(p.user.link, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 2);
    /* Names and labels, each once however often they are there. */
    const struct csts_name names[] = {name_of(2, RESOURCE ".1.2"), name_of(2, RESOURCE ".1.2")};
    l = (struct csts_list){.kind = CSTS_LIST_NAMES};
    l.items = slice_of(items, csts_names_write(names, 2, items, sizeof items));
    ck_assert_int_ge(csts_get(p.user.link, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 1);
    const struct csts_oid labels[] = {oid_of(RESOURCE ".1.2"), oid_of(RESOURCE ".1.1"),
                                      oid_of(RESOURCE ".1.2")};
    l = (struct csts_list){.kind = CSTS_LIST_LABELS};
    l.items = slice_of(items, csts_labels_write(labels, 3, items, sizeof items));
    ck_assert_int_ge(csts_get(p.user.link, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 4);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->queries, 6);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->returns_negative, 0);
    free_pair(&p);
}
END_TEST

START_TEST(cyclic_report)
{
    struct pair p = bound_pair();
    const tick begin = p.now;
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 1000, false, &by_default, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.reports, 1); /* at once */
    ck_assert_uint_eq(p.user.sequence, 0);
    run_until(&p, begin + 10 * TICK_S);
    ck_assert_uint_eq(p.user.reports, 11);
    ck_assert_uint_eq(p.user.sequence, 10);
    ck_assert_uint_eq(p.user.values, 2);
    /* UNBIND while the prime procedure is active is no way to end. */
    ck_assert_int_ge(csts_stop_report(p.user.link, 0, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_STOPPED);
    run_until(&p, begin + 20 * TICK_S);
    ck_assert_uint_eq(p.user.reports, 11);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.end, SLE_END_UNBOUND);
    free_pair(&p);
}
END_TEST

START_TEST(on_change)
{
    struct pair p = bound_pair();
    const tick begin = p.now;
    ck_assert_int_ge(csts_start_report(p.user.link, 3, 500, true, &by_default, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.values, 2); /* all, first */
    run_until(&p, begin + 5 * TICK_S);
    ck_assert_uint_eq(p.user.reports, 1);
    set_value(&p, 2, 7, true);
    set_value(&p, 1, 8, true); /* which is not asked for */
    run_until(&p, begin + 10 * TICK_S);
    ck_assert_uint_eq(p.user.reports, 2);
    ck_assert_uint_eq(p.user.values, 1);
    ck_assert_uint_eq(p.user.number, 7);
    set_value(&p, 2, 7, false);
    run_until(&p, begin + 15 * TICK_S);
    ck_assert_uint_eq(p.user.reports, 2);
    free_pair(&p);
}
END_TEST

START_TEST(events)
{
    struct pair p = bound_pair();
    const struct csts_oid label = oid_of(RESOURCE ".2.1");
    uint8_t items[64];
    struct csts_list l = {.kind = CSTS_LIST_LABELS};
    l.items = slice_of(items, csts_labels_write(&label, 1, items, sizeof items));
    ck_assert_uint_eq(csts_event_raise(p.service, 0, slice_of(NULL, 0), p.now), 0);
    ck_assert_int_ge(csts_start_events(p.user.link, 1, &l, p.now), 0);
    ck_assert_int_ge(csts_start_events(p.user.link, 2, &l, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(csts_event_raise(p.service, 0, slice_of(NULL, 0), p.now), 2);
    pump(&p);
    ck_assert_uint_eq(csts_counts(p.user.csts)->events, 2);
    ck_assert(csts_oid_same(&p.user.last.pdu.u.notify.event.id, &label));
    ck_assert_int_ge(csts_stop_events(p.user.link, 1, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(csts_event_raise(p.service, 0, slice_of(NULL, 0), p.now), 1);
    pump(&p);
    /* Secondary procedures do not stand in the way of UNBIND. */
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.end, SLE_END_UNBOUND);
    ck_assert_uint_eq(csts_event_raise(p.service, 0, slice_of(NULL, 0), p.now), 0);
    free_pair(&p);
}
END_TEST

START_TEST(slow_user)
{
    struct pair p = bound_pair();
    const tick begin = p.now;
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, false, &by_default, p.now), 0);
    pump(&p);
    p.blocked = true;
    run_until(&p, begin + 60 * TICK_S);
    ck_assert_uint_gt(csts_counts(p.provider.csts)->reports_left_out, 0);
    ck_assert_int_eq(csts_link_state(p.provider.link), CSTS_BOUND);
    p.blocked = false;
    pump(&p);
    const uint32_t before = p.user.reports;
    run_until(&p, begin + 61 * TICK_S);
    ck_assert_uint_gt(p.user.reports, before);
    ck_assert_uint_eq(p.user.sequence + 1, p.user.reports); /* none that was counted is missing */
    free_pair(&p);
}
END_TEST

SUITE(csts_engine, t)
{
    tcase_add_loop_test(t, associate, 0, 3);
    tcase_add_test(t, query);
    tcase_add_test(t, cyclic_report);
    tcase_add_test(t, on_change);
    tcase_add_test(t, events);
    tcase_add_test(t, slow_user);
}
