/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence-controlled data processing: numbers, times, locks, the directive "reset", drawn
 * sessions. */
#include "csts/forward.h"
#include "tests/unit/csts_pair.h"

enum { FRAME = 100, INSTANCE = 8 };

static const struct csts_window any_time;

static struct pair sequence_pair(enum sle_auth_level level, struct csts_forward_config c)
{
    struct pair p = new_pair(level);
    const struct csts_service_config s = {.id = frames_of(INSTANCE), .initiator = "MISSION"};
    p.service = csts_service_new(p.provider.csts, &s);
    c.sequenced = c.timely = true;
    ck_assert_int_eq(csts_forward_set(p.service, &c), HELIO_EINVAL); /* there is no such mode */
    c.timely = false;
    c.resource = oid_of(RESOURCE);
    ck_assert_int_eq(csts_forward_set(p.service, &c), HELIO_OK);
    bind_frames(&p, INSTANCE);
    return p;
}

static void start(struct pair *p, uint32_t first, bool positive)
{
    ck_assert_int_ge(csts_start_sequence(p->user.link, first, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STARTED);
    ck_assert_int_eq(p->user.last.pdu.positive, positive);
}

static struct pair active_pair(enum sle_auth_level level)
{
    struct pair p =
        sequence_pair(level, (struct csts_forward_config){.production = CSTS_OPERATIONAL});
    start(&p, 1, true);
    return p;
}

static struct sle_when when_of(tick t)
{
    return (struct sle_when){t > 0, sle_time_of(UINT64_C(1700000000) * TICK_S + t)};
}

static int send_octets(struct pair *p, uint32_t id, size_t len, struct csts_window w)
{
    static uint8_t octets[70000];
    memset(octets, (int)id, len);
    const struct csts_unit u = {id, true, slice_of(octets, len)};
    const int e = csts_send_unit(p->user.link, &u, &w, p->now);
    pump(p);
    return e;
}

/* Its return. */
static void expect_answer(const struct pair *p, unsigned diag, uint32_t next)
{
    const struct csts_notice *n = &p->user.last;
    ck_assert_int_eq(n->kind, CSTS_TOLD_ANSWER);
    ck_assert(n->has_next && n->pdu.positive == (diag == CSTS_UNIT_NO_DIAG));
    ck_assert_uint_eq(n->unit_diag, diag);
    ck_assert_uint_eq(n->next_unit, next);
}

static void accept_unit(struct pair *p, uint32_t id, tick earliest, tick latest)
{
    const struct csts_window w = {when_of(earliest), when_of(latest)};
    ck_assert_int_ge(send_octets(p, id, FRAME, w), 0);
    expect_answer(p, CSTS_UNIT_NO_DIAG, id + 1);
}

static void refuse_unit(struct pair *p, uint32_t id, size_t len, struct csts_window w,
                        unsigned diag, uint32_t next)
{
    ck_assert_int_ge(send_octets(p, id, len, w), 0);
    expect_answer(p, diag, next);
}

static bool takes(struct pair *p, uint32_t id)
{
    struct csts_unit u = {0};
    const bool next = csts_forward_next(p->service, &u, p->now);
    ck_assert(!next || u.id == id);
    pump(p);
    return next;
}

static void radiate(struct pair *p, uint32_t id)
{
    ck_assert(takes(p, id));
    p->now += TICK_MS;
    csts_forward_done(p->service, true, p->now);
    pump(p);
    ck_assert_int_eq(p->user.processing.status, CSTS_PROCESSED);
    ck_assert_uint_eq(p->user.processing.last_ok, id);
}

static void expect_locked(const struct pair *p)
{
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_PROCESSED);
    ck_assert(csts_oid_is(&p->user.last.pdu.u.notify.event.id, CSTS_SEQUENCE_LOCKED));
    ck_assert_uint_eq(csts_forward_queued(p->service), 0);
}

static void reset(struct pair *p, uint32_t next)
{
    p->user.told_len = 0;
    ck_assert_int_ge(csts_reset(p->user.link, next, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.told[0], CSTS_TOLD_DIRECTIVE);
}

static void expect_reset(const struct pair *p, bool positive)
{
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_DIRECTIVE);
    ck_assert_int_eq(p->user.last.pdu.kind, CSTS_PDU_DIRECTIVE_RETURN);
    ck_assert_int_eq(p->user.last.pdu.positive, positive);
}

static void stop(struct pair *p)
{
    ck_assert_int_ge(csts_stop_forward(p->user.link, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STOPPED);
}

START_TEST(units_in_order)
{
    static const enum sle_auth_level levels[] = {SLE_AUTH_NONE, SLE_AUTH_BIND, SLE_AUTH_ALL};
    struct pair p =
        sequence_pair(levels[_i], (struct csts_forward_config){.production = CSTS_OPERATIONAL});
    const struct csts_unit none = {0};
    ck_assert_int_eq(csts_send_unit(p.user.link, &none, &any_time, p.now), HELIO_ESTOPPED);
    ck_assert_int_eq(csts_reset(p.user.link, 1, p.now), HELIO_ESTOPPED);
    start(&p, 7, true);
    ck_assert_int_eq(csts_send_frames(p.user.link, &none, 1, p.now), HELIO_ESTOPPED);
    for (uint32_t id = 7; id < 60; id++)
        accept_unit(&p, id, 0, 0);
    for (uint32_t id = 7; id < 60; id++)
        radiate(&p, id);
    stop(&p);
    start(&p, UINT32_MAX, true); /* any number */
    accept_unit(&p, UINT32_MAX, 0, 0);
    radiate(&p, UINT32_MAX);
    stop(&p);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.end, SLE_END_UNBOUND);
    ck_assert_uint_eq(csts_forward_counts(p.service)->processed, 54);
    free_pair(&p);
}
END_TEST

START_TEST(earliest_and_latest)
{
    struct pair p = active_pair(SLE_AUTH_NONE);
    const tick at = p.now + 300 * TICK_MS;
    accept_unit(&p, 1, at, at + TICK_MS);
    accept_unit(&p, 2, at + 100 * TICK_MS, 0);
    ck_assert(!takes(&p, 1));
    p.provider.told_len = 0;
    run_until(&p, at - 1);
    ck_assert_uint_eq(p.provider.told_len, 0);
    run_until(&p, at);
    ck_assert_uint_eq(p.provider.told_len, 1);
    ck_assert_int_eq(p.provider.told[0], CSTS_TOLD_UNITS);
    radiate(&p, 1);
    ck_assert(!takes(&p, 2));
    run_until(&p, at + 100 * TICK_MS);
    ck_assert_uint_eq(p.provider.told_len, 2);
    radiate(&p, 2);
    /* the clock is set forward by an hour: its time has come */
    accept_unit(&p, 3, p.now + 3600 * TICK_S, 0);
    csts_clock_set(p.provider.csts, UINT64_C(1700003600) * TICK_S);
    run_until(&p, p.now);
    ck_assert_uint_eq(p.provider.told_len, 4);
    radiate(&p, 3);
    /* the latest time is in time */
    csts_clock_set(p.provider.csts, UINT64_C(1700000000) * TICK_S);
    accept_unit(&p, 4, 0, p.now + TICK_MS);
    run_until(&p, p.now + TICK_MS);
    radiate(&p, 4);
    free_pair(&p);
}
END_TEST

START_TEST(refused_units)
{
    struct pair p =
        sequence_pair(SLE_AUTH_ALL, (struct csts_forward_config){.production = CSTS_OPERATIONAL,
                                                                 .queue_max = 3 * (FRAME + 128),
                                                                 .frame_min = 2,
                                                                 .frame_max = FRAME});
    start(&p, 1, true);
    const tick now = p.now;
    const struct csts_window turned = {when_of(now + 2 * TICK_MS), when_of(now + TICK_MS)},
                             point = {when_of(now + TICK_MS), when_of(now + TICK_MS)},
                             past = {when_of(now - 2 * TICK_MS), when_of(now)};
    refuse_unit(&p, 2, 1, turned, CSTS_UNIT_OUT_OF_SEQUENCE, 1);
    refuse_unit(&p, 1, 1, turned, CSTS_UNIT_INCONSISTENT_TIMES, 1);
    refuse_unit(&p, 1, 1, point, CSTS_UNIT_INCONSISTENT_TIMES, 1);
    refuse_unit(&p, 1, 1, past, CSTS_UNIT_LATE, 1);
    refuse_unit(&p, 1, 1, any_time, CSTS_UNIT_DATA_ERROR, 1);
    refuse_unit(&p, 1, FRAME + 1, any_time, CSTS_UNIT_DATA_ERROR, 1);
    for (uint32_t id = 1; id <= 3; id++)
        accept_unit(&p, id, 0, 0);
    refuse_unit(&p, 4, FRAME, any_time, CSTS_UNIT_UNABLE_TO_STORE, 4);
    ck_assert_str_eq(csts_unit_text(CSTS_UNIT_UNABLE_TO_STORE), "unable to store");
    radiate(&p, 1);
    accept_unit(&p, 4, 0, 0);
    stop(&p);
    const struct csts_forward_counts *c = csts_forward_counts(p.service);
    ck_assert_uint_eq(c->refused, 7);
    ck_assert_uint_eq(c->discarded, 3);
    free_pair(&p);
}
END_TEST

START_TEST(expired_is_locked)
{
    struct pair p = active_pair(SLE_AUTH_ALL);
    accept_unit(&p, 1, p.now + 10 * TICK_MS, p.now + 20 * TICK_MS);
    accept_unit(&p, 2, 0, 0);
    const unsigned before = p.user.processings;
    run_until(&p, p.now + 20 * TICK_MS);
    ck_assert_uint_eq(p.user.processings, before);
    run_until(&p, p.now + TICK_MS); /* by the engine's own time */
    ck_assert_uint_eq(p.user.processings, before + 2);
    ck_assert_int_eq(p.user.processing.status, CSTS_PROCESSING_EXPIRED);
    ck_assert_uint_eq(p.user.processing.last, 1);
    expect_locked(&p);
    ck_assert(!takes(&p, 2));
    refuse_unit(&p, 3, FRAME, any_time, CSTS_UNIT_LOCKED, 3);
    reset(&p, 40);
    expect_reset(&p, true);
    refuse_unit(&p, 3, FRAME, any_time, CSTS_UNIT_OUT_OF_SEQUENCE, 40);
    accept_unit(&p, 40, 0, 0);
    radiate(&p, 40);
    /* a host that takes it too late */
    accept_unit(&p, 41, 0, p.now + TICK_MS);
    p.now += 2 * TICK_MS;
    ck_assert(!takes(&p, 41));
    expect_locked(&p);
    stop(&p);
    start(&p, 1, true); /* so is this a way out */
    accept_unit(&p, 1, 0, 0);
    const struct csts_forward_counts *c = csts_forward_counts(p.service);
    ck_assert_uint_eq(c->late, 2);
    ck_assert_uint_eq(c->discarded, 1);
    free_pair(&p);
}
END_TEST

START_TEST(production_locks)
{
    struct pair p = active_pair(SLE_AUTH_NONE);
    accept_unit(&p, 1, 0, 0);
    accept_unit(&p, 2, 0, 0);
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now); /* none is being processed */
    ck_assert(!takes(&p, 1));
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    ck_assert(takes(&p, 1));
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now);
    pump(&p);
    ck_assert_int_eq(p.user.processing.status, CSTS_PROCESSING_INTERRUPTED);
    expect_locked(&p);
    reset(&p, 2); /* waits until production is operational */
    ck_assert_int_eq(p.user.last.pdu.kind, CSTS_PDU_DIRECTIVE_ACKNOWLEDGE);
    ck_assert(p.user.last.pdu.positive);
    refuse_unit(&p, 2, FRAME, any_time, CSTS_UNIT_LOCKED, 3);
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    expect_reset(&p, true);
    accept_unit(&p, 2, 0, 0);
    csts_forward_production(p.service, CSTS_HALTED, p.now);
    pump(&p);
    expect_locked(&p);
    stop(&p);
    start(&p, 1, false);
    ck_assert_str_eq(p.user.text, "production is halted");
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now);
    start(&p, 1, false);
    ck_assert_str_eq(p.user.text, "production is interrupted");
    free_pair(&p);
}
END_TEST

START_TEST(reset_waits_for_a_unit)
{
    struct pair p = active_pair(SLE_AUTH_ALL);
    accept_unit(&p, 1, 0, 0);
    accept_unit(&p, 2, 0, 0);
    ck_assert(takes(&p, 1));
    reset(&p, 9);
    ck_assert(p.user.last.pdu.positive);
    ck_assert_uint_eq(csts_forward_queued(p.service), 0);
    ck_assert_int_ge(csts_reset(p.user.link, 10, p.now), 0); /* another one meanwhile */
    pump(&p);
    ck_assert_int_eq(p.user.last.pdu.kind, CSTS_PDU_DIRECTIVE_ACKNOWLEDGE);
    ck_assert(!p.user.last.pdu.positive);
    csts_forward_done(p.service, true, p.now);
    pump(&p);
    expect_reset(&p, true);
    accept_unit(&p, 9, 0, 0);
    ck_assert(takes(&p, 9));
    reset(&p, 20);
    p.user.told_len = 0;
    stop(&p); /* it is not done any more */
    ck_assert_int_eq(p.user.told[0], CSTS_TOLD_DIRECTIVE);
    ck_assert_int_eq(p.user.told[1], CSTS_TOLD_STOPPED);
    start(&p, 5, true);
    accept_unit(&p, 5, 0, 0);
    csts_forward_done(p.service, true, p.now); /* of the time before */
    pump(&p);
    radiate(&p, 5);
    run_until(&p, p.now + 100 * TICK_S); /* nothing is awaited */
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    free_pair(&p);
}
END_TEST

/* One that was taken before STOP is still being processed. */
START_TEST(reset_waits_for_an_old_unit)
{
    struct pair p = active_pair(SLE_AUTH_NONE);
    accept_unit(&p, 1, 0, 0);
    ck_assert(takes(&p, 1));
    stop(&p);
    start(&p, 5, true);
    accept_unit(&p, 5, 0, 0);
    reset(&p, 30);
    ck_assert_int_eq(p.user.last.pdu.kind, CSTS_PDU_DIRECTIVE_ACKNOWLEDGE);
    ck_assert(p.user.last.pdu.positive);
    csts_forward_done(p.service, true, p.now);
    pump(&p);
    expect_reset(&p, true);
    accept_unit(&p, 30, 0, 0);
    radiate(&p, 30);
    free_pair(&p);
}
END_TEST

/* The acknowledgement does not go to the user: it has not asked. */
static void refuse_directive(struct pair *p, const struct csts_directive *d, unsigned diag)
{
    struct csts_pdu pdu = {
        .kind = CSTS_PDU_EXECUTE_DIRECTIVE,
        .invoke_id = 77,
        .procedure = {.type = csts_known_oid(CSTS_SEQUENCE_CONTROLLED), .role = CSTS_PRIME}};
    struct slice out, names;
    unsigned told;
    pdu.u.directive = *d;
    feed_pdu(&p->provider, &pdu, p->now);
    ck_assert_uint_eq(csts_link_output(p->provider.link, &out, 1, p->now), 1);
    const struct slice body = slice_of(out.data + SLE_TML_HEADER, out.len - SLE_TML_HEADER);
    ck_assert_int_eq(csts_pdu_read(body, &pdu), CSTS_PDU_OK);
    ck_assert_int_eq(pdu.kind, CSTS_PDU_DIRECTIVE_ACKNOWLEDGE);
    ck_assert(!pdu.positive && csts_oid_is(&pdu.diagnostic.pdv.oid, CSTS_DIRECTIVE_DIAGNOSTIC));
    ck_assert(csts_directive_diag_read(pdu.diagnostic.pdv.data, &told, &names));
    ck_assert_uint_eq(told, diag);
    csts_link_wrote(p->provider.link, out.len, p->now);
}

START_TEST(refused_directives)
{
    static const uint8_t number[] = {2, 1, 5}, text[] = {0x1a, 1, 'x'};
    struct pair p = active_pair(SLE_AUTH_NONE);
    struct csts_directive d = {
        .id = oid_of(RESOURCE ".3.1"),
        .kind = CSTS_QUALIFIER_VALUE,
        .pdv = {csts_known_oid(CSTS_SEQUENCE_UNIT_ID), slice_of(number, sizeof number)}};
    refuse_directive(&p, &d, CSTS_DIRECTIVE_UNKNOWN);
    d.id = csts_known_oid(CSTS_SEQUENCE_RESET);
    d.kind = CSTS_QUALIFIER_NONE;
    refuse_directive(&p, &d, CSTS_DIRECTIVE_QUALIFIER);
    d.kind = CSTS_QUALIFIER_VALUE;
    d.pdv.data = slice_of(text, sizeof text);
    refuse_directive(&p, &d, CSTS_DIRECTIVE_QUALIFIER);
    d.pdv.data = slice_of(number, sizeof number);
    d.target = CSTS_OF_RESOURCE;
    d.resource = oid_of(RESOURCE);
    d.instance = 1;
    refuse_directive(&p, &d, CSTS_DIRECTIVE_QUALIFIER);
    accept_unit(&p, 1, 0, 0); /* nothing has changed */
    free_pair(&p);
}
END_TEST

/* A provider that returns a refused directive, as cstsapi-j: once. Another return is not awaited.
 */
START_TEST(return_of_a_refused_directive)
{
    struct pair p = active_pair(SLE_AUTH_NONE);
    accept_unit(&p, 1, 0, 0);
    ck_assert(takes(&p, 1));
    reset(&p, 9);
    const int id = csts_reset(p.user.link, 10, p.now);
    ck_assert_int_ge(id, 0);
    pump(&p);
    ck_assert(p.user.last.pdu.kind == CSTS_PDU_DIRECTIVE_ACKNOWLEDGE && !p.user.last.pdu.positive);
    p.user.told_len = 0;
    const struct csts_pdu pdu = {.kind = CSTS_PDU_DIRECTIVE_RETURN,
                                 .invoke_id = (uint32_t)id,
                                 .diagnostic.kind = CSTS_OTHER_REASON};
    feed_pdu(&p.user, &pdu, p.now);
    ck_assert_uint_eq(p.user.told_len, 0);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    csts_forward_done(p.service, true, p.now); /* the first one is done */
    pump(&p);
    expect_reset(&p, true);
    accept_unit(&p, 9, 0, 0);
    feed_pdu(&p.user, &pdu, p.now);
    ck_assert_uint_eq(p.user.last.abort, CSTS_ABORT_UNSOLICITED_INVOKE_ID);
    free_pair(&p);
}
END_TEST

/* What is no part of the procedure, or of its state. */
START_TEST(aborted)
{
    static const uint8_t octets[FRAME];
    struct pair p = active_pair(SLE_AUTH_NONE);
    struct csts_pdu pdu = {
        .kind = CSTS_PDU_PROCESS_DATA,
        .procedure = {.type = csts_known_oid(CSTS_SEQUENCE_CONTROLLED), .role = CSTS_PRIME}};
    pdu.u.process = (struct csts_process){1, {.opaque = slice_of(octets, FRAME)}};
    unsigned want = CSTS_ABORT_ENCODING_ERROR; /* it has no times */
    if (_i == 1) {
        want = CSTS_ABORT_PROTOCOL_ERROR;
        stop(&p);
    } else if (_i == 2) {
        want = CSTS_ABORT_PROTOCOL_ERROR; /* there are no buffers */
        pdu = (struct csts_pdu){.kind = CSTS_PDU_FORWARD_BUFFER};
    } else if (_i == 3) {
        want = CSTS_ABORT_INVALID_PROCEDURE;
        pdu.procedure.type = csts_known_oid(CSTS_BUFFERED_DATA_PROCESSING);
    } else if (_i == 4) {
        want = CSTS_ABORT_ENCODING_ERROR; /* without a first number */
        stop(&p);
        pdu.kind = CSTS_PDU_START;
    }
    feed_pdu(&p.provider, &pdu, p.now);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_OVER);
    ck_assert_uint_eq(p.user.last.abort, want);
    free_pair(&p);
}
END_TEST

/* ---- drawn sessions ---- */

static void act_as_user(struct pair *p, struct rng *r, uint32_t *next)
{
    const tick earliest = rng_below(r, 3) == 0 ? p->now + rng_below(r, 50 * TICK_MS) : 0;
    const tick latest = rng_below(r, 3) == 0 ? p->now + rng_below(r, 100 * TICK_MS) : 0;
    const struct csts_window w = {when_of(earliest), when_of(latest)};
    switch (rng_below(r, 12)) {
    case 0:
        *next = (uint32_t)rng_below(r, 1000);
        (void)csts_start_sequence(p->user.link, *next, p->now);
        break;
    case 1:
        (void)csts_stop_forward(p->user.link, p->now);
        break;
    case 2:
    case 3:
        if (csts_reset(p->user.link, 500, p->now) >= 0)
            *next = 500;
        break;
    default:
        if (send_octets(p, *next, rng_below(r, 2000), w) >= 0 && p->user.last.has_next)
            *next = p->user.last.next_unit;
    }
}

static void act_as_host(struct pair *p, struct rng *r, bool *radiating)
{
    struct csts_unit u;
    const enum csts_production production =
        rng_below(r, 3) > 0 ? CSTS_OPERATIONAL : (enum csts_production)rng_below(r, 4);
    switch (rng_below(r, 4)) {
    case 0:
        csts_forward_production(p->service, production, p->now);
        *radiating = *radiating && production == CSTS_OPERATIONAL;
        break;
    case 1:
        if (*radiating)
            csts_forward_done(p->service, rng_below(r, 5) > 0, p->now);
        *radiating = false;
        break;
    default:
        *radiating = csts_forward_next(p->service, &u, p->now) || *radiating;
    }
}

START_TEST(drawn)
{
    uint64_t processed = 0, late = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng r;
        rng_init(&r, seed);
        struct pair p = sequence_pair(
            _i == 0 ? SLE_AUTH_NONE : SLE_AUTH_ALL,
            (struct csts_forward_config){.production = CSTS_OPERATIONAL, .queue_max = 5000});
        uint32_t next = 1;
        bool radiating = false;
        for (unsigned step = 0; step < 300; step++) {
            if (csts_link_state(p.user.link) == CSTS_ENDED) {
                csts_link_free(p.user.link);
                csts_link_free(p.provider.link);
                bind_frames(&p, INSTANCE);
            }
            act_as_user(&p, &r, &next);
            pump(&p);
            act_as_host(&p, &r, &radiating);
            pump(&p);
            p.user.told_len = p.provider.told_len = 0;
            run_until(&p, p.now + rng_below(&r, 20 * TICK_MS));
            p.user.told_len = p.provider.told_len = 0;
        }
        processed += csts_forward_counts(p.service)->processed;
        late += csts_forward_counts(p.service)->late;
        free_pair(&p);
    }
    ck_assert(processed > 50 && late > 5);
}
END_TEST

SUITE(csts_sequence, t)
{
    tcase_add_loop_test(t, units_in_order, 0, 3);
    tcase_add_test(t, earliest_and_latest);
    tcase_add_test(t, refused_units);
    tcase_add_test(t, expired_is_locked);
    tcase_add_test(t, production_locks);
    tcase_add_test(t, reset_waits_for_a_unit);
    tcase_add_test(t, reset_waits_for_an_old_unit);
    tcase_add_test(t, refused_directives);
    tcase_add_test(t, return_of_a_refused_directive);
    tcase_add_loop_test(t, aborted, 0, 5);
    tcase_add_loop_test(t, drawn, 0, 2);
}
