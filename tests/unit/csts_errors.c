/* SPDX-License-Identifier: Apache-2.0 */
/* Associations of Monitored Data that go wrong: refusals, PEER-ABORTs, time-outs, damage. */
#include "tests/unit/csts_pair.h"

START_TEST(bind_refused)
{
    struct pair p = new_pair(SLE_AUTH_NONE);
    connect_pair(&p, 2);
    ck_assert_int_eq(p.user.last.end, SLE_END_REFUSED);
    ck_assert_uint_eq(p.user.last.bind_diag, CSTS_BIND_NO_INSTANCE);
    csts_link_free(p.user.link);
    csts_link_free(p.provider.link);
    connect_pair(&p, 1);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    /* A second one while the first is bound; another version. */
    struct csts_link *first = p.user.link, *held = p.provider.link;
    connect_pair(&p, 1);
    ck_assert_uint_eq(p.user.last.bind_diag, CSTS_BIND_ALREADY_BOUND);
    ck_assert_int_eq(csts_link_state(first), CSTS_BOUND);
    ck_assert_int_eq(csts_link_state(held), CSTS_BOUND);
    struct csts_user_config c = {
        .responder = "STATION", .port = "MD", .id = instance_of(1), .version = 1};
    p.user.link = csts_connect(p.user.csts, &c, p.now);
    p.provider.link = csts_accept(p.provider.csts, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.last.bind_diag, CSTS_BIND_VERSION);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->binds_refused, 3);
    free_pair(&p);
}
END_TEST

START_TEST(wrong_password)
{
    struct pair p = new_pair(SLE_AUTH_ALL);
    struct sle_peer peer = {.level = SLE_AUTH_ALL, .who.id = "MISSION"};
    ck_assert(sle_password_read("99", &peer.who));
    ck_assert_int_eq(csts_peer_set(p.provider.csts, &peer), HELIO_OK);
    connect_pair(&p, 1);
    ck_assert_int_eq(p.provider.last.end, SLE_END_AUTH);
    ck_assert_int_eq(p.user.last.end, SLE_END_CLOSED); /* without a word */
    ck_assert_uint_eq(csts_counts(p.provider.csts)->auth_failed, 1);
    free_pair(&p);
}
END_TEST

/* Where peers authenticate, an unknown initiator sees what one with a wrong password sees. */
START_TEST(unknown_as_wrong)
{
    struct pair p = new_pair(SLE_AUTH_ALL);
    csts_free(p.user.csts);
    p.user.csts = new_engine("NOBODY", "STATION", SLE_AUTH_ALL);
    connect_pair(&p, 1);
    ck_assert_int_eq(p.provider.last.end, SLE_END_AUTH);
    ck_assert_int_eq(p.user.last.end, SLE_END_CLOSED);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->auth_failed, 1);
    free_pair(&p);
    p = new_pair(SLE_AUTH_NONE);
    csts_free(p.user.csts);
    p.user.csts = new_engine("NOBODY", "STATION", SLE_AUTH_NONE);
    connect_pair(&p, 1);
    ck_assert_int_eq(p.user.last.end, SLE_END_REFUSED);
    ck_assert_uint_eq(p.user.last.bind_diag, CSTS_BIND_ACCESS_DENIED);
    free_pair(&p);
}
END_TEST

START_TEST(replayed_bind)
{
    struct pair p = new_pair(SLE_AUTH_ALL);
    struct csts_user_config c = {.responder = "STATION", .port = "MD", .id = instance_of(1)};
    uint8_t recorded[512];
    size_t len = 0, room;
    struct slice part;
    struct csts_notice n;
    p.user.link = csts_connect(p.user.csts, &c, p.now);
    while (csts_link_output(p.user.link, &part, 1, p.now) > 0) {
        memcpy(recorded + len, part.data, part.len);
        len += part.len;
        csts_link_wrote(p.user.link, part.len, p.now);
    }
    for (unsigned i = 0; i < 2; i++) {
        p.provider.link = csts_accept(p.provider.csts, p.now);
        memcpy(csts_link_space(p.provider.link, &room), recorded, len);
        ck_assert_uint_ge(room, len);
        csts_link_fed(p.provider.link, len, p.now);
        ck_assert(csts_link_poll(p.provider.link, &n, p.now));
        ck_assert_int_eq(n.kind, i == 0 ? CSTS_TOLD_BOUND : CSTS_TOLD_OVER);
        csts_link_free(p.provider.link);
        p.now += 20 * TICK_S;
    }
    ck_assert_int_eq(n.end, SLE_END_REPLAY);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->replays, 1);
    free_pair(&p);
}
END_TEST

START_TEST(query_refused)
{
    struct pair p = bound_pair();
    uint8_t items[256];
    const struct csts_oid labels[] = {oid_of(RESOURCE ".1.1"), oid_of(RESOURCE ".1.9")};
    const struct csts_list lists[] = {
        {.kind = CSTS_LIST_RESOURCE, .oid = oid_of(RESOURCE), .instance = 3},
        {.kind = CSTS_LIST_RESOURCE_TYPE, .oid = oid_of("1.3.112.9")},
        {.kind = CSTS_LIST_LABELS,
         .items = slice_of(items, csts_labels_write(labels, 2, items, sizeof items))},
        {.kind = CSTS_LIST_NAMED, .text = slice_of("none", 4)},
        {.kind = CSTS_LIST_PROCEDURE_TYPE, .oid = oid_of("1.3.112.9")},
    };
    static const enum csts_list_diag_kind why[] = {
        CSTS_UNKNOWN_RESOURCE, CSTS_UNKNOWN_RESOURCE_TYPE, CSTS_UNKNOWN_IDENTIFIER,
        CSTS_UNKNOWN_LIST, CSTS_UNKNOWN_PROCEDURE_TYPE};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ck_assert_int_ge(csts_get(p.user.link, &lists[i], p.now), 0);
        pump(&p);
        ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_VALUES);
        ck_assert(!p.user.last.pdu.positive);
        ck_assert_int_eq(p.user.refused.kind, why[i]);
    }
    ck_assert_uint_eq(csts_counts(p.provider.csts)->returns_negative, 5);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    free_pair(&p);
}
END_TEST

START_TEST(start_refused)
{
    struct pair p = bound_pair();
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 99, false, &by_default, p.now), 0);
    pump(&p);
    ck_assert(!p.user.last.pdu.positive);
    ck_assert_str_eq(p.user.text, "delivery cycle too short");
    const struct csts_list none = {.kind = CSTS_LIST_NAMED, .text = slice_of("x", 1)};
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, false, &none, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.refused.kind, CSTS_UNKNOWN_LIST);
    ck_assert_int_eq(csts_start_report(p.user.link, 0, 0, false, &none, p.now), HELIO_EINVAL);
    /* As many at once as there may be, and one more. */
    for (uint32_t i = 1; i <= CSTS_PROCEDURES_MAX; i++)
        ck_assert_int_ge(csts_start_report(p.user.link, i, 100, false, &by_default, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.reports, CSTS_PROCEDURES_MAX);
    ck_assert_int_ge(csts_start_report(p.user.link, 99, 100, false, &by_default, p.now), 0);
    pump(&p);
    ck_assert(!p.user.last.pdu.positive);
    ck_assert_str_eq(p.user.text, "too many procedures");
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    free_pair(&p);
}
END_TEST

/* What the user sends when it must not: the provider aborts with the octet of the book. */
START_TEST(aborted)
{
    static const struct {
        enum csts_pdu_kind kind;
        enum csts_known type;
        enum csts_role role;
        enum csts_abort abort;
    } rows[] = {
        {CSTS_PDU_STOP, CSTS_CYCLIC_REPORT, CSTS_PRIME, CSTS_ABORT_PROTOCOL_ERROR},
        {CSTS_PDU_STOP, CSTS_NOTIFICATION, CSTS_SECONDARY, CSTS_ABORT_PROTOCOL_ERROR},
        {CSTS_PDU_START, CSTS_INFORMATION_QUERY, CSTS_SECONDARY, CSTS_ABORT_PROTOCOL_ERROR},
        {CSTS_PDU_START, CSTS_BUFFERED_DATA_DELIVERY, CSTS_PRIME, CSTS_ABORT_INVALID_PROCEDURE},
        {CSTS_PDU_GET, CSTS_NOTIFICATION, CSTS_SECONDARY, CSTS_ABORT_PROTOCOL_ERROR},
        {CSTS_PDU_START, CSTS_CYCLIC_REPORT, CSTS_PRIME, CSTS_ABORT_ENCODING_ERROR},
        {CSTS_PDU_GET_RETURN, CSTS_INFORMATION_QUERY, CSTS_PRIME, CSTS_ABORT_UNSOLICITED_INVOKE_ID},
        {CSTS_PDU_NOTIFY, CSTS_NOTIFICATION, CSTS_SECONDARY, CSTS_ABORT_PROTOCOL_ERROR},
    };
    struct pair p = new_pair(SLE_AUTH_NONE);
    connect_pair(&p, 1);
    struct csts_pdu pdu = {.kind = rows[_i].kind};
    pdu.procedure = (struct csts_procedure){
        .type = csts_known_oid(rows[_i].type), .role = rows[_i].role, .number = 1};
    pdu.positive = true;
    pdu.u.notify.kind = CSTS_EVENT_EMPTY;
    if (pdu.kind == CSTS_PDU_NOTIFY)
        pdu.u.notify.event = name_of(1, RESOURCE ".2.1");
    if (pdu.kind == CSTS_PDU_GET)
        pdu.u.list = by_default;
    feed_pdu(&p.provider, &pdu, p.now);
    pump(&p);
    ck_assert_int_eq(p.provider.last.end, SLE_END_ABORTED);
    ck_assert_uint_eq(p.provider.last.abort, rows[_i].abort);
    ck_assert_int_eq(p.user.last.end, SLE_END_PEER_ABORT);
    ck_assert_uint_eq(p.user.last.abort, rows[_i].abort);
    ck_assert_str_ne(csts_abort_text(rows[_i].abort), "unknown reason");
    free_pair(&p);
}
END_TEST

START_TEST(started_twice)
{
    struct pair p = bound_pair();
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, false, &by_default, p.now), 0);
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, false, &by_default, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.last.abort, CSTS_ABORT_PROTOCOL_ERROR);
    ck_assert_uint_eq(csts_deadline(p.provider.csts), p.now + 5 * TICK_S); /* only the closing */
    free_pair(&p);
}
END_TEST

/* A BIND return with another invoke id than the BIND's is of no use. */
START_TEST(bind_return_of_another)
{
    struct pair p = new_pair(SLE_AUTH_NONE);
    struct csts_user_config c = {.responder = "STATION", .port = "MD", .id = instance_of(1)};
    struct csts_pdu pdu = {
        .kind = CSTS_PDU_BIND_RETURN, .invoke_id = 7, .positive = true, .u.responder = "STATION"};
    p.user.link = csts_connect(p.user.csts, &c, p.now);
    feed_pdu(&p.user, &pdu, p.now);
    ck_assert_int_eq(p.user.last.end, SLE_END_ABORTED);
    ck_assert_uint_eq(p.user.last.abort, CSTS_ABORT_UNSOLICITED_INVOKE_ID);
    free_pair(&p);
}
END_TEST

START_TEST(unbound_while_active)
{
    struct pair p = bound_pair();
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, false, &by_default, p.now), 0);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(p.user.last.abort, CSTS_ABORT_PROTOCOL_ERROR);
    free_pair(&p);
}
END_TEST

START_TEST(silence)
{
    struct pair p = bound_pair();
    const tick begin = p.now;
    run_until(&p, begin + 3600 * TICK_S); /* heartbeats keep it */
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    ck_assert_int_ge(csts_get(p.user.link, &by_default, p.now), 0);
    struct csts_link *gone = p.provider.link;
    p.provider.link = NULL; /* nothing passes any more, in either way */
    run_until(&p, p.now + 29 * TICK_S);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    run_until(&p, p.now + TICK_S);
    ck_assert_int_eq(p.user.last.end, SLE_END_ABORTED);
    ck_assert_uint_eq(p.user.last.abort, CSTS_ABORT_RETURN_TIMEOUT);
    run_until(&p, p.now + 125 * TICK_S);
    ck_assert_int_eq(csts_link_state(gone), CSTS_ENDED);
    ck_assert_ptr_null(csts_service_link(p.service));
    free_pair(&p);
}
END_TEST

START_TEST(nobody_binds)
{
    struct pair p = new_pair(SLE_AUTH_NONE);
    p.provider.link = csts_accept(p.provider.csts, p.now);
    run_until(&p, p.now + 60 * TICK_S);
    ck_assert_int_eq(p.provider.last.end, SLE_END_TML);
    ck_assert_uint_eq(p.provider.last.abort, SLE_ABORT_TML_ESTABLISH_TIMEOUT);
    free_pair(&p);
}
END_TEST

/* Octets drawn at random, mutated messages of an association: no crash, and the invariants hold. */
START_TEST(mutated)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 1);
    for (unsigned round = 0; round < 40; round++) {
        struct pair p = new_pair(SLE_AUTH_NONE);
        connect_pair(&p, 1);
        ck_assert_int_ge(csts_get(p.user.link, &by_default, p.now), 0);
        ck_assert_int_ge(csts_start_report(p.user.link, 0, 100, true, &by_default, p.now), 0);
        struct slice part;
        while (csts_link_output(p.user.link, &part, 1, p.now) > 0 &&
               csts_link_reads(p.provider.link)) {
            size_t room;
            uint8_t *space = csts_link_space(p.provider.link, &room);
            const size_t n = part.len < room ? part.len : room;
            memcpy(space, part.data, n);
            if (n > SLE_TML_HEADER)
                space[SLE_TML_HEADER + rng_below(&rng, n - SLE_TML_HEADER)] =
                    (uint8_t)rng_below(&rng, 256);
            csts_link_wrote(p.user.link, n, p.now);
            csts_link_fed(p.provider.link, n, p.now);
            poll_side(&p.provider, p.now);
        }
        run_until(&p, p.now + 2 * TICK_S);
        free_pair(&p);
    }
}
END_TEST

SUITE(csts_errors, t)
{
    tcase_add_test(t, bind_refused);
    tcase_add_test(t, wrong_password);
    tcase_add_test(t, unknown_as_wrong);
    tcase_add_test(t, replayed_bind);
    tcase_add_test(t, query_refused);
    tcase_add_test(t, start_refused);
    tcase_add_loop_test(t, aborted, 0, 8);
    tcase_add_test(t, started_twice);
    tcase_add_test(t, bind_return_of_another);
    tcase_add_test(t, unbound_while_active);
    tcase_add_test(t, silence);
    tcase_add_test(t, nobody_binds);
    tcase_add_loop_test(t, mutated, 0, 10);
}
