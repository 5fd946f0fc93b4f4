/* SPDX-License-Identifier: Apache-2.0 */
/* Forward Frame with buffered data processing: frames in order, production, full queues, refusals,
 * drawn sessions. */
#include "csts/forward.h"
#include "tests/unit/csts_pair.h"

enum { FRAME = 100, INSTANCE = 7 };

static struct pair forward_pair(enum sle_auth_level level, struct csts_forward_config c)
{
    struct pair p = new_pair(level);
    const struct csts_service_config s = {.id = frames_of(INSTANCE), .initiator = "MISSION"};
    struct csts_service *monitored = p.service;
    p.service = csts_service_new(p.provider.csts, &s);
    c.resource = oid_of(RESOURCE);
    ck_assert_int_eq(csts_forward_set(monitored, &c), HELIO_EINVAL); /* of another type */
    ck_assert_int_eq(csts_forward_set(p.service, &c), HELIO_OK);
    ck_assert_int_eq(csts_forward_set(p.service, &c), HELIO_EINVAL);
    return p;
}

static void start_forward(struct pair *p, bool positive)
{
    ck_assert_int_ge(csts_start_forward(p->user.link, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STARTED);
    ck_assert_int_eq(p->user.last.pdu.positive, positive);
}

static struct pair active_pair(enum sle_auth_level level, struct csts_forward_config c)
{
    struct pair p = forward_pair(level, c);
    bind_frames(&p, INSTANCE);
    start_forward(&p, true);
    return p;
}

/* Frames `first`… of FRAME octets, each full of its number. */
static void send_frames(struct pair *p, uint32_t first, size_t count, bool report)
{
    static uint8_t octets[512][FRAME];
    struct csts_unit units[512];
    ck_assert_uint_le(count, 512);
    for (size_t i = 0; i < count; i++) {
        memset(octets[i], (int)(first + i), FRAME);
        units[i] = (struct csts_unit){(uint32_t)(first + i), report,
                                      slice_of(octets[i], sizeof octets[i])};
    }
    ck_assert_int_eq(csts_send_frames(p->user.link, units, count, p->now), HELIO_OK);
    pump(p);
}

static void expect_next(struct pair *p, uint32_t id)
{
    struct csts_unit u;
    ck_assert(csts_forward_next(p->service, &u, p->now));
    ck_assert_uint_eq(u.id, id);
    ck_assert_uint_eq(u.data.len, FRAME);
    ck_assert_uint_eq(u.data.data[FRAME - 1], id & 0xff);
    ck_assert(!csts_forward_next(p->service, &u, p->now)); /* one at a time */
    pump(p);
}

static void radiate(struct pair *p, uint32_t id)
{
    expect_next(p, id);
    p->now += TICK_MS;
    csts_forward_done(p->service, true, p->now);
    pump(p);
}

static void stop_and_unbind(struct pair *p)
{
    ck_assert_int_ge(csts_stop_forward(p->user.link, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_STOPPED);
    ck_assert_int_ge(csts_unbind(p->user.link, p->now), 0);
    pump(p);
    ck_assert_int_eq(p->user.last.end, SLE_END_UNBOUND);
}

START_TEST(frames_in_order)
{
    static const enum sle_auth_level levels[] = {SLE_AUTH_NONE, SLE_AUTH_BIND, SLE_AUTH_ALL};
    struct pair p =
        forward_pair(levels[_i], (struct csts_forward_config){.production = CSTS_OPERATIONAL});
    p.piece = _i == 0 ? 7 : SIZE_MAX;
    bind_frames(&p, INSTANCE);
    ck_assert_int_eq(csts_send_frames(p.user.link, NULL, 0, p.now), HELIO_ESTOPPED);
    start_forward(&p, true);
    send_frames(&p, 1, 1, true);
    send_frames(&p, 2, 1, false);
    send_frames(&p, 3, 200, true); /* a forward buffer */
    ck_assert_uint_eq(csts_forward_queued(p.service), 202);
    radiate(&p, 1);
    ck_assert_uint_eq(p.user.processings, 1);
    ck_assert(p.user.processing.any && p.user.processing.any_ok && !p.user.processing.change);
    ck_assert_uint_eq(p.user.processing.last, 1);
    ck_assert_uint_eq(p.user.processing.last_ok, 1);
    ck_assert_int_eq(p.user.processing.status, CSTS_PROCESSED);
    ck_assert_int_eq(p.user.processing.production, CSTS_OPERATIONAL);
    ck_assert_int_lt(sle_time_compare(p.user.processing.started, p.user.processing.stopped), 0);
    radiate(&p, 2); /* no report was wanted */
    ck_assert_uint_eq(p.user.processings, 1);
    for (uint32_t id = 3; id < 203; id++)
        radiate(&p, id);
    ck_assert_uint_eq(p.user.processings, 201);
    ck_assert_uint_eq(p.user.processing.last_ok, 202);
    stop_and_unbind(&p);
    ck_assert_uint_eq(csts_forward_counts(p.service)->processed, 202);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->auth_failed, 0);
    ck_assert_uint_eq(csts_counts(p.user.csts)->auth_failed, 0);
    free_pair(&p);
}
END_TEST

START_TEST(production_changes)
{
    struct csts_unit u;
    struct pair p = active_pair(SLE_AUTH_NONE, (struct csts_forward_config){0});
    send_frames(&p, 1, 4, true);
    ck_assert(!csts_forward_next(p.service, &u, p.now)); /* configured only */
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 0);
    expect_next(&p, 1);
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 1);
    ck_assert(p.user.processing.change && !p.user.processing.any_ok);
    ck_assert_int_eq(p.user.processing.status, CSTS_PROCESSING_INTERRUPTED);
    ck_assert_uint_eq(p.user.processing.last, 1);
    ck_assert(!csts_forward_next(p.service, &u, p.now));
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 2);
    radiate(&p, 2);
    expect_next(&p, 3);
    csts_forward_done(p.service, false, p.now); /* its radiation failed */
    pump(&p);
    ck_assert_int_eq(p.user.processing.status, CSTS_PROCESSING_INTERRUPTED);
    ck_assert_uint_eq(p.user.processing.last_ok, 2);
    csts_forward_production(p.service, CSTS_HALTED, p.now);
    pump(&p);
    ck_assert(p.user.processing.change);
    ck_assert_uint_eq(csts_forward_queued(p.service), 0);
    ck_assert_int_ge(csts_stop_forward(p.user.link, p.now), 0);
    pump(&p);
    start_forward(&p, false);
    ck_assert_str_eq(p.user.text, "production is halted");
    /* An interruption that affects no frame is not notified, nor is its end. */
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    start_forward(&p, true);
    const unsigned before = p.user.processings;
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now);
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, before);
    stop_and_unbind(&p);
    const struct csts_forward_counts *c = csts_forward_counts(p.service);
    ck_assert_uint_eq(c->processed, 1);
    ck_assert_uint_eq(c->interrupted, 2);
    ck_assert_uint_eq(c->discarded, 1);
    free_pair(&p);
}
END_TEST

/* The queue has room for a message: with less nothing is read, and nothing is lost. */
START_TEST(complete_waits)
{
    const struct csts_forward_config c = {.production = CSTS_OPERATIONAL, .queue_max = 1};
    struct pair p = active_pair(SLE_AUTH_ALL, c);
    for (uint32_t id = 1; id <= 40; id++)
        send_frames(&p, id, 1, true);
    ck_assert_uint_eq(csts_forward_queued(p.service), 1);
    ck_assert(!csts_link_reads(p.provider.link));
    run_until(&p, p.now + 1000 * TICK_S); /* what is not read is not missed */
    ck_assert_int_eq(csts_link_state(p.provider.link), CSTS_BOUND);
    for (uint32_t id = 1; id <= 40; id++)
        radiate(&p, id);
    ck_assert_uint_eq(p.user.processings, 40);
    send_frames(&p, 41, 1, false);
    send_frames(&p, 42, 1, false);            /* not read */
    csts_link_closed(p.provider.link, p.now); /* the end is seen all the same */
    poll_side(&p.provider, p.now);
    ck_assert_int_eq(csts_link_state(p.provider.link), CSTS_ENDED);
    ck_assert_uint_eq(csts_forward_counts(p.service)->discarded, 1);
    free_pair(&p);
}
END_TEST

START_TEST(timely_discards)
{
    const struct csts_forward_config c = {.production = CSTS_OPERATIONAL,
                                          .timely = true,
                                          .queue_max = 3 * (FRAME + CSTS_UNIT_COST),
                                          .latency = 2 * TICK_S};
    struct pair p = active_pair(SLE_AUTH_NONE, c);
    send_frames(&p, 1, 2, true);
    send_frames(&p, 3, 3, true);
    ck_assert_uint_eq(csts_forward_queued(p.service), 3);
    ck_assert_uint_eq(csts_forward_counts(p.service)->overrun, 2);
    radiate(&p, 3);
    run_until(&p, p.now + TICK_S);
    send_frames(&p, 6, 1, true);
    run_until(&p, p.now + TICK_S + TICK_MS); /* 4 and 5 are too old */
    ck_assert_uint_eq(csts_forward_queued(p.service), 1);
    radiate(&p, 6);
    ck_assert_uint_eq(csts_forward_counts(p.service)->overrun, 2);
    ck_assert_uint_eq(csts_forward_counts(p.service)->late, 2);
    stop_and_unbind(&p);
    free_pair(&p);
}
END_TEST

static void expect_lost(const struct pair *p, unsigned processings, uint32_t id)
{
    ck_assert_uint_eq(p->user.processings, processings);
    ck_assert(!p->user.processing.change);
    ck_assert_uint_eq(p->user.processing.last, id);
    ck_assert_int_eq(p->user.processing.status, CSTS_PROCESSING_INTERRUPTED);
}

/* The user hears of the frame received last, though it is refused or too old: after those before.
 */
START_TEST(last_frame_lost)
{
    static const uint8_t octets[FRAME + 1];
    const struct csts_forward_config c = {
        .production = CSTS_OPERATIONAL, .timely = true, .frame_max = FRAME, .latency = 2 * TICK_S};
    struct csts_unit longer = {3, true, slice_of(octets, sizeof octets)};
    struct pair p = active_pair(SLE_AUTH_NONE, c);
    send_frames(&p, 1, 2, true);
    expect_next(&p, 1);
    ck_assert_int_eq(csts_send_frames(p.user.link, &longer, 1, p.now), HELIO_OK);
    pump(&p);
    csts_forward_done(p.service, true, p.now);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 1); /* 2 is queued */
    radiate(&p, 2);
    expect_lost(&p, 3, 3);
    ck_assert_uint_eq(p.user.processing.last_ok, 2);
    longer.report = false;
    ck_assert_int_eq(csts_send_frames(p.user.link, &longer, 1, p.now), HELIO_OK);
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 3);
    send_frames(&p, 4, 3, true);
    expect_next(&p, 4);
    run_until(&p, p.now + 3 * TICK_S); /* 5 and 6 are too old, 4 is on the air */
    ck_assert_uint_eq(csts_forward_counts(p.service)->late, 2);
    ck_assert_uint_eq(p.user.processings, 3);
    csts_forward_done(p.service, true, p.now);
    pump(&p);
    expect_lost(&p, 5, 6);
    send_frames(&p, 7, 1, true);
    csts_forward_production(p.service, CSTS_INTERRUPTED, p.now);
    run_until(&p, p.now + 3 * TICK_S); /* the link is written at that time */
    expect_lost(&p, 7, 7);
    csts_forward_production(p.service, CSTS_OPERATIONAL, p.now);
    stop_and_unbind(&p);
    free_pair(&p);
}
END_TEST

START_TEST(stop_discards)
{
    struct pair p =
        active_pair(SLE_AUTH_NONE, (struct csts_forward_config){.production = CSTS_OPERATIONAL});
    send_frames(&p, 1, 3, true);
    expect_next(&p, 1);
    ck_assert_int_ge(csts_stop_forward(p.user.link, p.now), 0);
    pump(&p);
    ck_assert_uint_eq(csts_forward_counts(p.service)->discarded, 2);
    start_forward(&p, true);
    send_frames(&p, 9, 2, true);
    csts_forward_done(p.service, true, p.now); /* of the time before: nobody is notified */
    pump(&p);
    ck_assert_uint_eq(p.user.processings, 0);
    expect_next(&p, 9);
    csts_link_free(p.user.link); /* the user goes away */
    p.user.link = NULL;
    csts_link_closed(p.provider.link, p.now);
    poll_side(&p.provider, p.now);
    csts_forward_done(p.service, true, p.now);
    csts_check(p.provider.csts);
    ck_assert_uint_eq(csts_forward_counts(p.service)->processed, 2);
    ck_assert_uint_eq(csts_forward_counts(p.service)->discarded, 3);
    csts_link_free(p.provider.link);
    p.provider.link = NULL;
    bind_frames(&p, INSTANCE);
    start_forward(&p, true);
    free_pair(&p);
}
END_TEST

static void expect_abort(struct pair *p, enum csts_abort why)
{
    pump(p);
    ck_assert_int_eq(p->user.last.kind, CSTS_TOLD_OVER);
    ck_assert_uint_eq(p->user.last.abort, why);
    ck_assert_int_eq(p->provider.last.end, SLE_END_ABORTED);
    free_pair(p);
}

START_TEST(aborted)
{
    const struct csts_forward_config c = {
        .production = CSTS_OPERATIONAL, .units_max = 10, .frame_max = FRAME - 1};
    struct pair p = active_pair(SLE_AUTH_NONE, c);
    send_frames(&p, 1, 10, true); /* each is too long */
    ck_assert_uint_eq(csts_forward_counts(p.service)->refused, 10);
    ck_assert_int_eq(csts_link_state(p.user.link), CSTS_BOUND);
    send_frames(&p, 1, 11, true);
    expect_abort(&p, CSTS_ABORT_FORWARD_BUFFER_TOO_LARGE);

    p = active_pair(SLE_AUTH_NONE, c);
    ck_assert_int_ge(csts_start_forward(p.user.link, p.now), 0);
    expect_abort(&p, CSTS_ABORT_PROTOCOL_ERROR);

    p = active_pair(SLE_AUTH_NONE, c);
    ck_assert_int_ge(csts_unbind(p.user.link, p.now), 0);
    expect_abort(&p, CSTS_ABORT_PROTOCOL_ERROR);

    p = forward_pair(SLE_AUTH_NONE, c);
    bind_frames(&p, INSTANCE);
    ck_assert_int_ge(csts_stop_forward(p.user.link, p.now), 0);
    expect_abort(&p, CSTS_ABORT_PROTOCOL_ERROR);

    p = forward_pair(SLE_AUTH_NONE, c);
    bind_frames(&p, INSTANCE);
    ck_assert_int_ge(csts_start_report(p.user.link, 0, 1000, false, &by_default, p.now), 0);
    expect_abort(&p, CSTS_ABORT_INVALID_PROCEDURE);

    p = bound_pair(); /* Monitored Data has no such procedure */
    ck_assert_int_ge(csts_start_forward(p.user.link, p.now), 0);
    expect_abort(&p, CSTS_ABORT_INVALID_PROCEDURE);
}
END_TEST

/* The credentials of one element are damaged: this frame alone is ignored. */
START_TEST(wrong_credentials)
{
    static uint8_t octets[4096];
    static const uint8_t digest[] = {0x04, 0x20};
    struct pair p =
        active_pair(SLE_AUTH_ALL, (struct csts_forward_config){.production = CSTS_OPERATIONAL});
    struct slice part;
    size_t len = 0, room, seen = 0;
    p.provider.link = NULL; /* what is sent stays in the queue */
    struct csts_link *held = csts_service_link(p.service);
    send_frames(&p, 1, 3, true);
    while (csts_link_output(p.user.link, &part, 1, p.now) > 0) {
        ck_assert_uint_le(len + part.len, sizeof octets);
        memcpy(octets + len, part.data, part.len);
        len += part.len;
        csts_link_wrote(p.user.link, part.len, p.now);
    }
    for (size_t at = 0; at + 2 < len; at++)
        if (memcmp(octets + at, digest, 2) == 0 && seen++ == 1)
            octets[at + 5] ^= 1;
    ck_assert_uint_eq(seen, 3);
    uint8_t *space = csts_link_space(held, &room);
    ck_assert_uint_ge(room, len);
    memcpy(space, octets, len);
    csts_link_fed(held, len, p.now);
    p.provider.link = held;
    poll_side(&p.provider, p.now);
    ck_assert_uint_eq(csts_forward_queued(p.service), 2);
    ck_assert_uint_eq(csts_counts(p.provider.csts)->auth_failed, 1);
    radiate(&p, 1);
    radiate(&p, 3);
    free_pair(&p);
}
END_TEST

static void do_something(struct pair *p, struct rng *r, uint32_t *id, bool *radiating)
{
    struct csts_unit u;
    switch (rng_below(r, 8)) {
    case 0:
        csts_forward_production(p->service, CSTS_CONFIGURED, p->now); /* ends what is radiated */
        csts_forward_production(p->service, (enum csts_production)rng_below(r, 4), p->now);
        csts_forward_production(p->service, CSTS_OPERATIONAL, p->now);
        *radiating = csts_forward_next(p->service, &u, p->now);
        break;
    case 1:
        if (rng_below(r, 4) == 0)
            (void)csts_stop_forward(p->user.link, p->now);
        break;
    case 2:
        (void)csts_start_forward(p->user.link, p->now);
        break;
    default:
        if (*radiating)
            csts_forward_done(p->service, rng_below(r, 8) != 0, p->now);
        *radiating = csts_forward_next(p->service, &u, p->now);
    }
    static const uint8_t octets[FRAME];
    struct csts_unit units[8];
    const size_t count = rng_below(r, 9);
    for (size_t i = 0; i < count; i++)
        units[i] = (struct csts_unit){(*id)++, rng_below(r, 2) == 0,
                                      slice_of(octets, rng_below(r, FRAME + 1))};
    (void)csts_send_frames(p->user.link, units, count, p->now);
}

START_TEST(drawn)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rng r;
        rng_init(&r, seed + 1000 * (uint64_t)_i);
        const struct csts_forward_config c = {.production = CSTS_OPERATIONAL,
                                              .timely = _i == 1,
                                              .queue_max = 2000,
                                              .latency = 300 * TICK_MS};
        struct pair p = forward_pair(SLE_AUTH_NONE, c);
        uint32_t id = 0;
        bool radiating = false;
        p.piece = 1 + (size_t)rng_below(&r, 300);
        for (unsigned step = 0; step < 200; step++) {
            if (p.user.link == NULL || csts_link_state(p.user.link) == CSTS_ENDED) {
                if (p.user.link != NULL) {
                    csts_link_free(p.user.link);
                    csts_link_free(p.provider.link);
                }
                p.user.told_len = p.provider.told_len = 0;
                bind_frames(&p, INSTANCE);
            }
            do_something(&p, &r, &id, &radiating);
            pump(&p);
            p.user.told_len = p.provider.told_len = 0;
            run_until(&p, p.now + rng_below(&r, 100 * TICK_MS));
        }
        ck_assert_msg(csts_forward_counts(p.service)->received > 50, "seed %u", (unsigned)seed);
        free_pair(&p);
    }
}
END_TEST

SUITE(csts_forward, t)
{
    tcase_add_loop_test(t, frames_in_order, 0, 3);
    tcase_add_test(t, production_changes);
    tcase_add_test(t, complete_waits);
    tcase_add_test(t, timely_discards);
    tcase_add_test(t, last_frame_lost);
    tcase_add_test(t, stop_discards);
    tcase_add_test(t, aborted);
    tcase_add_test(t, wrong_credentials);
    tcase_add_loop_test(t, drawn, 0, 2);
}
