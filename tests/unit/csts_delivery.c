/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered data delivery: data in order, windows, latency, slow users, notifications, refusals,
 * drawn sessions. */
#include "csts/delivery.h"
#include "tests/unit/csts_pair.h"

#define SERVICE "1.3.112.4.4.1.2.99" /* of no book */
enum { DATUM = 100, INSTANCE = 9, GOT_MAX = 4096 };

static const struct csts_window always;

/* What the user got since START: numbers of data, and events. */
static struct got {
    uint32_t numbers[GOT_MAX];
    size_t data, events;
    enum csts_known last_event;
    struct csts_oid id, type; /* of it, and of its value */
    enum csts_production production;
} got;

static void note_event(const struct csts_notice *n)
{
    static const enum csts_known known[] = {CSTS_DELIVERY_DISCARDED, CSTS_DELIVERY_OVERFLOW,
                                            CSTS_DELIVERY_END};
    const struct csts_name *event = &n->pdu.u.notify.event;
    struct slice rest = n->pdu.u.notify.values;
    struct csts_value value;
    got.events++;
    got.id = event->id;
    got.last_event = csts_production_is(event) ? CSTS_PRODUCTION_CHANGE : CSTS_KNOWN_COUNT;
    for (unsigned i = 0; i < 3; i++)
        if (csts_oid_is(&event->id, known[i]))
            got.last_event = known[i];
    if (csts_values_next(&rest, &value)) {
        got.production = (enum csts_production)value.pdv.data.data[2];
        got.type = value.pdv.oid;
    }
}

/* Before the slices are gone. */
static void note_delivery(const struct csts_notice *n)
{
    const struct csts_transfer *t = &n->pdu.u.transfer;
    if (n->kind == CSTS_TOLD_EVENT)
        note_event(n);
    if (n->kind != CSTS_TOLD_DATA)
        return;
    ck_assert(!t->data.extended && got.data < GOT_MAX);
    ck_assert(got.data == 0 || t->sequence > got.numbers[got.data - 1]);
    for (size_t i = 0; i < t->data.opaque.len; i++)
        ck_assert_uint_eq(t->data.opaque.data[i], (uint8_t)t->sequence);
    got.numbers[got.data++] = t->sequence;
}

static struct csts_instance_id delivery_id(void)
{
    struct csts_instance_id id = instance_of(INSTANCE);
    id.type = oid_of(SERVICE);
    return id;
}

static struct pair delivery_pair(enum sle_auth_level level, struct csts_delivery_config c)
{
    struct pair p = new_pair(level);
    const struct csts_service_config s = {.id = delivery_id(), .initiator = "MISSION"};
    p.service = csts_service_new(p.provider.csts, &s);
    c.resource = oid_of(RESOURCE);
    ck_assert_int_eq(csts_delivery_set(p.service, &c), HELIO_OK);
    ck_assert_int_eq(csts_delivery_set(p.service, &c), HELIO_EINVAL); /* it has one */
    p.user.note = note_delivery;
    memset(&got, 0, sizeof got);
    return p;
}

static void bind_delivery(struct pair *p)
{
    connect_to(p, "BDD", delivery_id());
    ck_assert_int_eq(csts_link_state(p->user.link), CSTS_BOUND);
}

static void start(struct pair *p, struct csts_window w, bool positive)
{
    memset(&got, 0, sizeof got);
    ck_assert_int_ge(csts_start_delivery(p->user.link, NULL, &w, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STARTED);
    ck_assert_int_eq(p->user.last.pdu.positive, positive);
    ck_assert_int_eq(csts_delivery_window(p->service) != NULL, positive);
}

static struct sle_time time_at(tick t)
{
    return sle_time_of(UINT64_C(1700000000) * TICK_S + t);
}

static struct csts_window window_of(tick from, tick to)
{
    return (struct csts_window){{true, time_at(from)}, {true, time_at(to)}};
}

static struct pair active_pair(enum sle_auth_level level, struct csts_delivery_config c)
{
    struct pair p = delivery_pair(level, c);
    bind_delivery(&p);
    start(&p, c.real_time ? always : window_of(0, 1000 * TICK_S), true);
    return p;
}

/* A datum that was generated then; the octets are `number`. */
static int give(struct pair *p, uint32_t number, size_t len, tick generated)
{
    static uint8_t octets[70000];
    memset(octets, (int)number, len);
    const struct csts_data data = {.opaque = slice_of(octets, len)};
    return csts_deliver(p->service, time_at(generated), &data, p->now);
}

static void give_some(struct pair *p, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        ck_assert_int_eq(give(p, i, DATUM, p->now), HELIO_OK);
    pump(p);
}

static void expect_data(uint32_t count)
{
    ck_assert_uint_eq(got.data, count);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(got.numbers[i], i);
}

static void stop(struct pair *p)
{
    ck_assert_int_ge(csts_stop_delivery(p->user.link, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STOPPED);
    ck_assert_ptr_null(csts_delivery_window(p->service));
}

START_TEST(data_in_order)
{
    static const enum sle_auth_level levels[] = {SLE_AUTH_NONE, SLE_AUTH_BIND, SLE_AUTH_ALL};
    struct pair p = delivery_pair(levels[_i], (struct csts_delivery_config){.buffer_max = 7});
    p.piece = _i == 0 ? 7 : SIZE_MAX;
    bind_delivery(&p);
    ck_assert_int_eq(csts_stop_delivery(p.user.link, p.now), HELIO_ESTOPPED);
    ck_assert_int_eq(give(&p, 0, DATUM, p.now), HELIO_ESTOPPED);
    start(&p, window_of(10 * TICK_S, 20 * TICK_S), true);
    ck_assert_int_eq(csts_start_delivery(p.user.link, NULL, &always, p.now), HELIO_EINVAL);
    const struct csts_window *w = csts_delivery_window(p.service);
    ck_assert_int_eq(sle_time_compare(w->latest.at, time_at(20 * TICK_S)), 0);
    ck_assert_int_eq(give(&p, 99, DATUM, 10 * TICK_S - TICK_MS), HELIO_OK); /* too early */
    for (uint32_t i = 0; i <= 100; i++)
        ck_assert_int_eq(give(&p, i, i, 10 * TICK_S + i * 100 * TICK_MS), HELIO_OK);
    ck_assert_int_eq(give(&p, 99, DATUM, 20 * TICK_S + TICK_MS), HELIO_OK); /* too late */
    pump(&p);
    ck_assert_uint_eq(got.data, 98); /* of full return buffers */
    ck_assert_int_eq(csts_delivery_end(p.service, p.now), HELIO_OK);
    ck_assert_int_eq(csts_delivery_end(p.service, p.now), HELIO_ESTOPPED);
    ck_assert_int_eq(give(&p, 101, DATUM, 15 * TICK_S), HELIO_ESTOPPED);
    pump(&p);
    expect_data(101);
    ck_assert_uint_eq(got.events, 1);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_EVENT); /* behind all data */
    ck_assert_int_eq(got.last_event, CSTS_DELIVERY_END);
    stop(&p);
    start(&p, window_of(0, TICK_S), true); /* again, from 0 on */
    ck_assert_int_eq(give(&p, 0, DATUM, TICK_S), HELIO_OK);
    stop(&p); /* the rest comes before its return */
    expect_data(1);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_int_eq(p.user.last.end, SLE_END_UNBOUND);
    const struct csts_delivery_counts *c = csts_delivery_counts(p.service);
    ck_assert(c->offered == 104 && c->filtered == 2 && c->delivered == 102);
    free_pair(&p);
}
END_TEST

/* A return buffer that is not full waits for the latency limit, from its first element on. */
START_TEST(latency)
{
    struct pair p = active_pair(
        SLE_AUTH_NONE, (struct csts_delivery_config){.real_time = _i == 1, .latency = TICK_S / 2});
    const tick begin = p.now;
    give_some(&p, 0, 3);
    run_until(&p, begin + TICK_S / 4);
    give_some(&p, 3, 1);
    run_until(&p, begin + TICK_S / 2 - 1);
    expect_data(0);
    run_until(&p, begin + TICK_S / 2);
    expect_data(4);
    give_some(&p, 4, 1);
    run_until(&p, begin + TICK_S - 1);
    expect_data(4);
    run_until(&p, begin + TICK_S);
    expect_data(5);
    free_pair(&p);
}
END_TEST

START_TEST(complete_waits)
{
    struct pair p = active_pair(SLE_AUTH_ALL, (struct csts_delivery_config){.buffer_max = 10});
    uint32_t next = 0;
    p.blocked = true;
    while (give(&p, next, 1000, p.now) == HELIO_OK)
        ck_assert_uint_lt(++next, 1000);
    ck_assert_int_eq(give(&p, next, 1000, p.now), HELIO_EAGAIN);
    run_until(&p, p.now + 5 * TICK_S);
    ck_assert_int_eq(give(&p, next, 1000, p.now), HELIO_EAGAIN);
    ck_assert(csts_link_backlog(p.provider.link) < 2 * (64 << 10));
    p.blocked = false;
    pump(&p);
    ck_assert_int_eq(give(&p, next, 1000, p.now), HELIO_OK);
    stop(&p);
    expect_data(next + 1);
    ck_assert_uint_eq(got.events, 0);
    free_pair(&p);
}
END_TEST

START_TEST(real_time_discards)
{
    struct pair p = active_pair(SLE_AUTH_ALL,
                                (struct csts_delivery_config){.real_time = true, .buffer_max = 10});
    const struct csts_delivery_counts *c = csts_delivery_counts(p.service);
    uint32_t next = 0;
    p.blocked = true;
    for (; next < 500; next++) {
        ck_assert_int_eq(give(&p, next, 1000, p.now), HELIO_OK);
        csts_check(p.provider.csts);
    }
    ck_assert(csts_link_backlog(p.provider.link) < 2 * (64 << 10));
    const uint64_t discarded = c->discarded;
    ck_assert_uint_gt(discarded, 300);
    run_until(&p, p.now + 5 * TICK_S); /* what is left becomes too old */
    ck_assert_uint_eq(c->delivered + c->discarded, 500);
    p.blocked = false;
    pump(&p);
    run_until(&p, p.now + TICK_S);
    ck_assert_uint_eq(got.events, 1); /* one gap */
    ck_assert_int_eq(got.last_event, CSTS_DELIVERY_DISCARDED);
    ck_assert_uint_eq(got.data, c->delivered);
    give_some(&p, next, 10);
    ck_assert_uint_eq(got.numbers[got.data - 1], 509);
    ck_assert_uint_eq(got.data, c->delivered);
    stop(&p);
    free_pair(&p);
}
END_TEST

START_TEST(notifications)
{
    struct pair p = active_pair(
        SLE_AUTH_NONE, (struct csts_delivery_config){.real_time = _i == 1, .buffer_max = 5});
    give_some(&p, 0, 2);
    csts_delivery_production(p.service, CSTS_CONFIGURED, p.now); /* it is */
    pump(&p);
    expect_data(0);
    csts_delivery_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    expect_data(2); /* with the notification, at once */
    ck_assert(got.last_event == CSTS_PRODUCTION_CHANGE && got.production == CSTS_OPERATIONAL);
    csts_delivery_overflow(p.service, p.now);
    pump(&p);
    ck_assert_int_eq(got.last_event, CSTS_DELIVERY_OVERFLOW);
    csts_delivery_production(p.service, CSTS_HALTED, p.now);
    pump(&p);
    ck_assert_uint_eq(got.events, 3);
    stop(&p);
    start(&p, _i == 1 ? always : window_of(0, TICK_S), false);
    ck_assert_str_eq(p.user.text, "production is halted");
    csts_delivery_production(p.service, CSTS_OPERATIONAL, p.now); /* nobody is told */
    csts_delivery_overflow(p.service, p.now);
    ck_assert_int_eq(csts_delivery_end(p.service, p.now), HELIO_ESTOPPED);
    pump(&p);
    ck_assert_uint_eq(got.events, 0);
    free_pair(&p);
}
END_TEST

static void expect_oid(const struct csts_oid *oid, const char *text)
{
    char is[CSTS_OID_TEXT];
    ck_assert(csts_oid_text(oid, is));
    ck_assert_str_eq(is, text);
}

/* SANA's, those of the framework's issue 1, and ones that both ends agreed upon. */
START_TEST(identifiers_of_events)
{
    static const struct {
        const char *change, *events, *is, *type, *end;
    } cases[] = {
        {NULL, NULL, RESOURCE ".2.1.1", RESOURCE ".2.1.1.1", "1.3.112.4.4.1.1.4.3.2.3"},
        {"1.3.112.4.4.1.1.5.2.1.1", NULL, "1.3.112.4.4.1.1.5.2.1.1", "1.3.112.4.4.1.1.5.1.1.1",
         "1.3.112.4.4.1.1.4.3.2.3"},
        {"2.999.4", "2.999.5", "2.999.4", "2.999.4.1", "2.999.5.3"},
    };
    struct csts_delivery_config c = {.buffer_max = 5};
    if (cases[_i].change != NULL)
        c.change = oid_of(cases[_i].change);
    if (cases[_i].events != NULL)
        c.events = oid_of(cases[_i].events);
    struct pair p = active_pair(SLE_AUTH_NONE, c);
    csts_delivery_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    expect_oid(&got.id, cases[_i].is);
    expect_oid(&got.type, cases[_i].type);
    ck_assert_int_eq(got.last_event, _i < 2 ? CSTS_PRODUCTION_CHANGE : CSTS_KNOWN_COUNT);
    ck_assert_int_eq(got.production, CSTS_OPERATIONAL);
    ck_assert_int_eq(csts_delivery_end(p.service, p.now), HELIO_OK);
    pump(&p);
    expect_oid(&got.id, cases[_i].end);
    stop(&p);
    free_pair(&p);
}
END_TEST

START_TEST(start_refused)
{
    struct pair p =
        delivery_pair(SLE_AUTH_ALL, (struct csts_delivery_config){.real_time = _i == 1});
    const struct csts_window turned = window_of(TICK_S, TICK_S - 1000),
                             half = {.earliest = {true, time_at(0)}};
    bind_delivery(&p);
    start(&p, turned, false);
    ck_assert_str_eq(p.user.text, "the stop time is before the start time");
    ck_assert_int_eq(p.user.refused_kind, CSTS_REFUSED_INCONSISTENT_TIMES);
    start(&p, half, _i == 1);
    if (_i == 0)
        ck_assert_int_eq(p.user.refused_kind, CSTS_REFUSED_MISSING_TIME);
    if (_i == 1)
        stop(&p);
    start(&p, window_of(TICK_S, TICK_S), true); /* a point in time */
    free_pair(&p);
}
END_TEST

START_TEST(too_long)
{
    struct pair p = active_pair(SLE_AUTH_NONE, (struct csts_delivery_config){0});
    static uint8_t octets[1 << 20];
    const struct csts_data data = {.opaque = slice_of(octets, sizeof octets)};
    ck_assert_int_eq(csts_deliver(p.service, time_at(p.now), &data, p.now), HELIO_EINVAL);
    ck_assert_uint_eq(csts_delivery_counts(p.service)->refused, 1);
    for (uint32_t i = 0; i < 19; i++) { /* two messages, though there is room for more elements */
        ck_assert_int_eq(give(&p, i, 60000, p.now), HELIO_OK);
        pump(&p);
        ck_assert_uint_eq(got.data, i < 17 ? 0 : 17);
    }
    stop(&p);
    expect_data(19);
    free_pair(&p);
}
END_TEST

/* A derived procedure has an identifier of its own, and extended data. */
START_TEST(derived)
{
    static const uint8_t octets[] = {5, 0};
    const struct csts_oid type = oid_of(SERVICE ".3.1");
    struct pair p = delivery_pair(
        SLE_AUTH_ALL,
        (struct csts_delivery_config){.real_time = true, .type = type, .buffer_max = 1});
    const struct csts_data data = {true, .pdv = {oid_of(RESOURCE), slice_of(octets, 2)}};
    bind_delivery(&p);
    p.user.note = NULL;
    ck_assert_int_ge(csts_start_delivery(p.user.link, &type, &always, p.now), 0);
    pump(&p);
    ck_assert(p.user.last.kind == CSTS_TOLD_STARTED && p.user.last.pdu.positive);
    ck_assert_int_eq(csts_deliver(p.service, time_at(p.now), &data, p.now), HELIO_OK);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_DATA);
    ck_assert(p.user.last.pdu.u.transfer.data.extended);
    ck_assert(csts_procedure_same(&p.user.last.pdu.procedure,
                                  &(struct csts_procedure){.type = type, .role = CSTS_PRIME}));
    free_pair(&p);
}
END_TEST

/* What is no part of the procedure, or of its state, at the provider. */
START_TEST(aborted)
{
    struct pair p = active_pair(SLE_AUTH_NONE, (struct csts_delivery_config){0});
    struct csts_pdu pdu = {
        .kind = CSTS_PDU_START,
        .procedure = {.type = csts_known_oid(CSTS_BUFFERED_DATA_DELIVERY), .role = CSTS_PRIME}};
    unsigned want = CSTS_ABORT_PROTOCOL_ERROR; /* it is active */
    if (_i == 1) {
        stop(&p);
        want = CSTS_ABORT_ENCODING_ERROR; /* without times */
    } else if (_i == 2) {
        stop(&p);
        pdu.kind = CSTS_PDU_STOP;
    } else if (_i == 3) {
        pdu = (struct csts_pdu){.kind = CSTS_PDU_RETURN_BUFFER};
    } else if (_i == 4) {
        pdu.procedure.type = csts_known_oid(CSTS_CYCLIC_REPORT); /* another prime procedure */
        want = CSTS_ABORT_INVALID_PROCEDURE;
    } else if (_i == 5) {
        pdu.kind = CSTS_PDU_UNBIND;
        pdu.procedure.type = csts_known_oid(CSTS_ASSOCIATION_CONTROL);
        pdu.procedure.role = CSTS_ASSOCIATION;
    }
    give_some(&p, 0, _i == 0 || _i > 2 ? 3 : 0);
    feed_pdu(&p.provider, &pdu, p.now);
    pump(&p);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_OVER);
    ck_assert_uint_eq(p.user.last.abort, want);
    ck_assert_uint_eq(csts_delivery_counts(p.service)->dropped, _i == 0 || _i > 2 ? 3 : 0);
    free_pair(&p);
}
END_TEST

/* And at the user: a return buffer without START, and of another procedure. */
START_TEST(aborted_by_the_user)
{
    struct pair p = active_pair(SLE_AUTH_NONE, (struct csts_delivery_config){0});
    uint8_t element[256];
    struct csts_pdu one = {.kind = CSTS_PDU_TRANSFER_DATA,
                           .procedure = {.type = csts_known_oid(CSTS_CYCLIC_REPORT)}};
    one.u.transfer.generated = time_at(0);
    const size_t n = csts_element_write(&one, CSTS_PDU_RETURN_BUFFER, element, sizeof element);
    const struct csts_pdu pdu = {.kind = CSTS_PDU_RETURN_BUFFER, .u.buffer = slice_of(element, n)};
    if (_i == 1)
        stop(&p);
    feed_pdu(&p.user, &pdu, p.now);
    ck_assert_int_eq(p.user.last.kind, CSTS_TOLD_OVER);
    ck_assert_uint_eq(p.user.last.abort,
                      _i == 1 ? CSTS_ABORT_PROTOCOL_ERROR : CSTS_ABORT_INVALID_PROCEDURE);
    free_pair(&p);
}
END_TEST

/* Elements whose credentials are wrong are passed over. */
START_TEST(wrong_credentials)
{
    struct pair p = active_pair(SLE_AUTH_ALL, (struct csts_delivery_config){0});
    uint8_t element[512];
    static const uint8_t wrong[40] = {1};
    struct csts_pdu one = {.kind = CSTS_PDU_TRANSFER_DATA,
                           .credentials = slice_of(wrong, sizeof wrong),
                           .procedure = {.type = csts_known_oid(CSTS_BUFFERED_DATA_DELIVERY)}};
    one.u.transfer.generated = time_at(0);
    const size_t n = csts_element_write(&one, CSTS_PDU_RETURN_BUFFER, element, sizeof element);
    const struct csts_pdu pdu = {.kind = CSTS_PDU_RETURN_BUFFER, .u.buffer = slice_of(element, n)};
    feed_pdu(&p.user, &pdu, p.now);
    ck_assert_uint_eq(csts_counts(p.user.csts)->ignored, 1);
    give_some(&p, 0, 20);
    expect_data(20);
    free_pair(&p);
}
END_TEST

/* ---- drawn sessions ---- */

static void act_as_user(struct pair *p, struct rng *r)
{
    const struct csts_window w = window_of(p->now - rng_below(r, TICK_S), p->now + TICK_S);
    if (rng_below(r, 4) == 0) {
        (void)csts_start_delivery(p->user.link, NULL, rng_below(r, 2) == 0 ? &always : &w, p->now);
        memset(&got, 0, sizeof got);
    } else if (rng_below(r, 8) == 0) {
        (void)csts_stop_delivery(p->user.link, p->now);
    } else if (rng_below(r, 100) == 0) {
        csts_link_abort(p->user.link, CSTS_ABORT_OTHER, p->now);
    }
}

static void act_as_host(struct pair *p, struct rng *r, uint32_t *next)
{
    if (csts_delivery_window(p->service) == NULL)
        *next = 0;
    const uint64_t before = csts_delivery_counts(p->service)->filtered;
    switch (rng_below(r, 8)) {
    case 0:
        csts_delivery_production(p->service, (enum csts_production)rng_below(r, 4), p->now);
        break;
    case 1:
        if (rng_below(r, 10) == 0)
            (void)csts_delivery_end(p->service, p->now);
        break;
    default:
        for (uint64_t k = rng_below(r, 30); k > 0; k--)
            if (give(p, *next, rng_below(r, 1000), p->now) == HELIO_OK)
                *next += csts_delivery_counts(p->service)->filtered == before;
    }
}

START_TEST(drawn)
{
    uint64_t delivered = 0, discarded = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng r;
        rng_init(&r, seed);
        struct pair p = delivery_pair(
            _i < 2 ? SLE_AUTH_NONE : SLE_AUTH_ALL,
            (struct csts_delivery_config){.real_time = _i % 2 == 1,
                                          .buffer_max = 1 + (uint32_t)rng_below(&r, 30),
                                          .latency = 1 + rng_below(&r, 50 * TICK_MS)});
        uint32_t next = 0;
        bind_delivery(&p);
        for (unsigned step = 0; step < 300; step++) {
            if (csts_link_state(p.user.link) == CSTS_ENDED) {
                p.blocked = false;
                csts_link_free(p.user.link);
                csts_link_free(p.provider.link);
                bind_delivery(&p);
            }
            p.blocked = p.blocked != (rng_below(&r, 20) == 0);
            act_as_user(&p, &r);
            pump(&p);
            act_as_host(&p, &r, &next);
            pump(&p);
            p.user.told_len = p.provider.told_len = 0;
            run_until(&p, p.now + rng_below(&r, 20 * TICK_MS));
            p.user.told_len = p.provider.told_len = 0;
        }
        delivered += csts_delivery_counts(p.service)->delivered;
        discarded += csts_delivery_counts(p.service)->discarded;
        free_pair(&p);
    }
    ck_assert(delivered > 1000 && (discarded > 100 || _i % 2 == 0));
}
END_TEST

SUITE(csts_delivery, t)
{
    tcase_add_loop_test(t, data_in_order, 0, 3);
    tcase_add_loop_test(t, latency, 0, 2);
    tcase_add_test(t, complete_waits);
    tcase_add_test(t, real_time_discards);
    tcase_add_loop_test(t, notifications, 0, 2);
    tcase_add_loop_test(t, identifiers_of_events, 0, 3);
    tcase_add_loop_test(t, start_refused, 0, 2);
    tcase_add_test(t, too_long);
    tcase_add_test(t, derived);
    tcase_add_loop_test(t, aborted, 0, 6);
    tcase_add_loop_test(t, aborted_by_the_user, 0, 2);
    tcase_add_test(t, wrong_credentials);
    tcase_add_loop_test(t, drawn, 0, 4);
}
