/* SPDX-License-Identifier: Apache-2.0 */
/* FCLTU: the window, times, events, notifications, what becomes of CLTUs that are not radiated. */
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

static struct pair pair;
static const struct sle_start from_one = {.first_cltu = 1};
static uint8_t data[4096];

static struct sle_when in_ms(int64_t ms)
{
    int64_t unix_ns = (int64_t)(UNIX_NS + pair.now) + ms * (int64_t)TICK_MS;
    return (struct sle_when){true, sle_time_of((uint64_t)unix_ns)};
}

static void begin_cltu(struct sle_provider_config *c)
{
    c->id = CLTU_ID;
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, c, 5);
    pair_connect(&pair);
    pair_start(&pair, &from_one);
    ck_assert_int_eq(sle_link_state(pair.user.link), SLE_ACTIVE);
}

static void send_cltu(struct sle_cltu c, unsigned diag)
{
    c.data = c.data.len > 0 ? c.data : slice_of(data, 100);
    ck_assert_int_eq(sle_user_cltu(pair.asks, &c, NULL, pair.now), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].diag, diag);
}

static uint32_t radiate_next(void)
{
    struct sle_cltu_out out;
    if (!sle_provider_cltu_next(pair.serves, &out, pair.now))
        return 0;
    sle_provider_cltu_started(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
    sle_provider_cltu_radiated(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
    pair_settle(&pair);
    return out.id;
}

START_TEST(one_by_one)
{
    struct sle_provider_config c = {0};
    begin_cltu(&c);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].cltu_id, 1);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].u.cltu_return.next_id, 2);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].u.cltu_return.buffer_available,
                      (1u << 20) - 100);
    ck_assert_uint_eq(pair.provider.seen[SLE_CLTU_READY], 1);
    struct sle_cltu_out out, none;
    ck_assert(sle_provider_cltu_next(pair.serves, &out, pair.now));
    ck_assert(out.id == 1 && out.data.len == 100 &&
              !sle_provider_cltu_next(pair.serves, &none, pair.now));
    struct sle_time at = sle_now(pair.provider.sle, pair.now);
    sle_provider_cltu_started(pair.serves, at, pair.now);
    sle_provider_cltu_radiated(pair.serves, at, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 2); /* radiated, buffer empty */
    const struct sle_async *a = &pair.user.of[SLE_NOTIFIED].u.async;
    ck_assert(a->notification == SLE_ASYNC_BUFFER_EMPTY && a->last_ok.any && a->last_ok.id == 1);
    ck_assert(a->last_processed.status == SLE_CLTU_RADIATED &&
              sle_time_compare(a->last_ok.stop, at) == 0);
    send_cltu((struct sle_cltu){.notify = false}, SLE_OK);
    ck_assert_uint_eq(radiate_next(), 2);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 3); /* only that the buffer is empty */
    struct sle_schedule now = {SLE_REPORT_NOW, 0};
    ck_assert_int_eq(sle_user_schedule(pair.asks, &now, pair.now), 0);
    pair_settle(&pair);
    const struct sle_status *s = &pair.user.of[SLE_STATUS].u.status;
    ck_assert(s->received == 2 && s->processed == 2 && s->radiated == 2 &&
              s->buffer_available == 1u << 20);
    pair_fini(&pair);
}
END_TEST

START_TEST(order_of_refusals)
{
    struct sle_provider_config c = {.cltu_max = 200, .cltu_buffer = 250, .minimum_delay_us = 10};
    c.begin = (struct sle_when){true, sle_time_of(UNIX_NS - TICK_S)};
    c.end = (struct sle_when){true, sle_time_of(UNIX_NS + 100 * TICK_S)};
    begin_cltu(&c);
    static const struct sle_when never;
    send_cltu((struct sle_cltu){.earliest = in_ms(20), .latest = in_ms(10), .delay_us = 10},
              SLE_CLTU_INCONSISTENT_TIME);
    send_cltu((struct sle_cltu){.earliest = never, .latest = in_ms(-10), .delay_us = 10},
              SLE_CLTU_LATE);
    send_cltu((struct sle_cltu){.earliest = in_ms(200000), .latest = never, .delay_us = 10},
              SLE_CLTU_INVALID_TIME);
    send_cltu((struct sle_cltu){.delay_us = 9}, SLE_CLTU_INVALID_DELAY);
    send_cltu((struct sle_cltu){.delay_us = 10, .data = slice_of(data, 201)}, SLE_CLTU_ERROR);
    send_cltu((struct sle_cltu){.delay_us = 10, .data = slice_of(data, 200)}, SLE_OK);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].cltu_id,
                      1); /* the id goes on where it was refused */
    send_cltu((struct sle_cltu){.delay_us = 10, .data = slice_of(data, 51)},
              SLE_CLTU_UNABLE_TO_STORE);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].u.cltu_return.buffer_available, 50);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_refused, 6);
    sle_provider_production(pair.serves, SLE_UP_INTERRUPTED, pair.now);
    pair_settle(&pair);
    ck_assert_int_eq(pair.user.of[SLE_NOTIFIED].u.async.notification, SLE_ASYNC_INTERRUPTED);
    send_cltu((struct sle_cltu){.delay_us = 10}, SLE_CLTU_UNABLE_TO_PROCESS);
    sle_provider_production(pair.serves, SLE_OPERATIONAL, pair.now);
    send_cltu((struct sle_cltu){.delay_us = 10},
              SLE_CLTU_UNABLE_TO_PROCESS); /* until the next START */
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_discarded, 1);
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    pair_start(&pair, &from_one);
    send_cltu((struct sle_cltu){.delay_us = 10}, SLE_OK);
    pair_fini(&pair);
}
END_TEST

/* Pipelined: a refusal in the midst of them, then all that were behind it, then the id goes on. */
START_TEST(pipelined_refusal)
{
    struct sle_provider_config c = {.cltu_max = 200};
    begin_cltu(&c);
    unsigned refused = 0, accepted = 0;
    struct sle_cltu cltu = {.data = slice_of(data, 100)};
    for (int k = 0; k < 10; k++) {
        cltu.data.len = k == 4 ? 201 : 100;
        ck_assert_int_eq(sle_user_cltu(pair.asks, &cltu, NULL, pair.now), 0);
    }
    pair_settle(&pair);
    const struct sle_counts *n = sle_instance_counts(pair.asks);
    accepted = (unsigned)n->cltus;
    refused = (unsigned)n->cltus_refused;
    ck_assert(accepted == 4 && refused == 6);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].diag, SLE_CLTU_OUT_OF_SEQUENCE);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].cltu_id, 5);
    for (uint32_t k = 1; k <= 5; k++)
        ck_assert_uint_eq(radiate_next(), k);
    ck_assert_uint_eq(radiate_next(), 0);
    pair_fini(&pair);
}
END_TEST

START_TEST(window)
{
    struct sle_provider_config c = {.cltu_buffer = 10000};
    struct sle_cltu cltu = {.data = slice_of(data, 1000)};
    unsigned sent = 0, radiated = 0;
    begin_cltu(&c);
    send_cltu(cltu, SLE_OK); /* now it knows the room */
    for (sent = 1; radiated < 50;) {
        while (sent < 50 && sle_user_cltu(pair.asks, &cltu, NULL, pair.now) == 0) {
            sent++;
            ck_assert_uint_le(sle_instance_counts(pair.serves)->cltus_refused, 10);
        }
        pair_settle(&pair);
        radiated += radiate_next() > 0;
    }
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_radiated, 50);
    pair_fini(&pair);
}
END_TEST

START_TEST(times_of_radiation)
{
    struct sle_provider_config c = {0};
    begin_cltu(&c);
    send_cltu((struct sle_cltu){.earliest = in_ms(100), .delay_us = 5000}, SLE_OK);
    send_cltu((struct sle_cltu){.latest = in_ms(102), .notify = true}, SLE_OK);
    send_cltu((struct sle_cltu){.latest = in_ms(110)}, SLE_OK);
    ck_assert_uint_eq(radiate_next(), 0);
    ck_assert_uint_eq(sle_provider_cltu_deadline(pair.serves), pair.now + 100 * TICK_MS);
    pair.now += 100 * TICK_MS;
    ck_assert_uint_eq(radiate_next(), 1);
    ck_assert_uint_eq(radiate_next(), 0); /* 5 ms behind it */
    ck_assert_uint_eq(sle_provider_cltu_deadline(pair.serves), pair.now + 5 * TICK_MS);
    pair.now += 5 * TICK_MS;
    ck_assert_uint_eq(radiate_next(), 0); /* the second one is too late, the third is gone, too */
    pair_settle(&pair);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_expired, 1);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_discarded, 1);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 2); /* expired, buffer empty */
    pair_fini(&pair);
}
END_TEST

/* Behind one that expired nothing is radiated, and nothing is accepted before a new START; the
 * production status is what it was. What is on the air goes on, and is told. */
START_TEST(expiry_blocks)
{
    struct sle_provider_config c = {0};
    struct sle_cltu_out out;
    begin_cltu(&c);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert(sle_provider_cltu_next(pair.serves, &out, pair.now));
    sle_provider_cltu_started(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
    send_cltu((struct sle_cltu){.latest = in_ms(10)}, SLE_OK);
    send_cltu((struct sle_cltu){.latest = in_ms(1000)}, SLE_OK);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    pair_run(&pair, pair.now + 10 * TICK_MS);
    const struct sle_async *a = &pair.user.of[SLE_NOTIFIED].u.async;
    ck_assert_int_eq(a->notification, SLE_ASYNC_EXPIRED);
    ck_assert(a->last_processed.id == 2 && a->last_processed.status == SLE_CLTU_EXPIRED);
    ck_assert(!a->last_processed.start.known && a->production == SLE_OPERATIONAL);
    ck_assert_uint_eq(pair.provider.seen[SLE_CLTUS_CLEARED], 1);
    send_cltu((struct sle_cltu){.notify = true}, SLE_CLTU_UNABLE_TO_PROCESS);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].u.cltu_return.next_id, 5);
    sle_provider_cltu_radiated(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
    pair_settle(&pair);
    ck_assert(a->last_ok.any && a->last_ok.id == 1);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 3); /* expired, radiated, buffer empty */
    ck_assert_uint_eq(radiate_next(), 0);
    const struct sle_counts *n = sle_instance_counts(pair.serves);
    ck_assert(n->cltus_expired == 1 && n->cltus_discarded == 2 && n->cltus_radiated == 1);
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    pair_start(&pair, &from_one);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert_uint_eq(radiate_next(), 1);
    pair_fini(&pair);
}
END_TEST

START_TEST(stop_and_abort_discard)
{
    struct sle_provider_config c = {.continue_on_abort = _i == 1};
    begin_cltu(&c);
    struct sle_cltu_out out;
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert(sle_provider_cltu_next(pair.serves, &out, pair.now));
    if (_i == 2) {
        ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
        pair_settle(&pair);
        ck_assert_uint_eq(pair.provider.seen[SLE_CLTUS_CLEARED], 1);
    } else {
        sle_link_abort(pair.user.link, SLE_ABORT_OTHER, pair.now);
        pair_settle(&pair);
        ck_assert(pair.provider.over && pair.provider.last.abort == SLE_ABORT_OTHER);
    }
    sle_provider_cltu_radiated(pair.serves, sle_now(pair.provider.sle, pair.now),
                               pair.now); /* that one goes on */
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_radiated, 1);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_discarded, _i != 1);
    ck_assert_uint_eq(sle_provider_cltu_next(pair.serves, &out, pair.now), _i == 1);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 0); /* nobody is told of what was before */
    pair_fini(&pair);
}
END_TEST

/* Production that is interrupted or halted ends what is on the air: processed, not radiated. */
START_TEST(interrupted_on_the_air)
{
    struct sle_provider_config c = {0};
    bool begun = _i < 2;
    unsigned how = _i % 2 == 0 ? SLE_UP_INTERRUPTED : SLE_UP_HALTED;
    begin_cltu(&c);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    ck_assert_uint_eq(radiate_next(), 1);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    send_cltu((struct sle_cltu){.notify = true}, SLE_OK);
    struct sle_cltu_out out;
    struct sle_time at = sle_now(pair.provider.sle, pair.now);
    ck_assert(sle_provider_cltu_next(pair.serves, &out, pair.now) && out.id == 2);
    if (begun)
        sle_provider_cltu_started(pair.serves, at, pair.now);
    pair.now += TICK_MS;
    sle_provider_production(pair.serves, how, pair.now);
    pair_settle(&pair);
    const struct sle_async *a = &pair.user.of[SLE_NOTIFIED].u.async;
    ck_assert_int_eq(a->notification, _i % 2 == 0 ? SLE_ASYNC_INTERRUPTED : SLE_ASYNC_HALTED);
    ck_assert(a->last_processed.any && a->last_processed.id == 2 &&
              a->last_processed.status == (begun ? SLE_CLTU_INTERRUPTED : SLE_CLTU_NOT_STARTED));
    ck_assert(a->last_processed.start.known == begun && a->last_ok.any && a->last_ok.id == 1);
    ck_assert(!begun || sle_time_compare(a->last_processed.start.at, at) == 0);
    sle_provider_cltu_radiated(pair.serves, at, pair.now); /* a host that has not noticed */
    ck_assert(!sle_provider_cltu_next(pair.serves, &out, pair.now));
    struct sle_schedule now = {SLE_REPORT_NOW, 0};
    ck_assert_int_eq(sle_user_schedule(pair.asks, &now, pair.now), 0);
    pair_settle(&pair);
    const struct sle_status *s = &pair.user.of[SLE_STATUS].u.status;
    ck_assert(s->received == 3 && s->processed == 2 && s->radiated == 1 &&
              s->buffer_available == 1u << 20);
    const struct sle_counts *n = sle_instance_counts(pair.serves);
    ck_assert(n->cltus_interrupted == 1 && n->cltus_discarded == 1 && n->cltus_radiated == 1);
    pair_fini(&pair);
}
END_TEST

static unsigned throw_event(uint32_t invocation)
{
    struct sle_event e = {.invocation = invocation, .event = 7, .qualifier = slice_of("on", 2)};
    return (unsigned)sle_user_event(pair.asks, &e, pair.now);
}

static void answer_event(unsigned diag)
{
    sle_provider_answer_event(pair.serves, pair.provider.of[SLE_EVENT_THROWN].invoke_id, diag,
                              pair.now);
    pair_settle(&pair);
}

static const struct sle_notice *last_answer(unsigned diag, uint32_t next)
{
    const struct sle_notice *n = &pair.user.of[SLE_EVENT_ANSWER];
    ck_assert_uint_eq(n->diag, diag);
    ck_assert_uint_eq(n->u.event_return.next_invocation, next);
    return n;
}

START_TEST(events)
{
    struct sle_provider_config c = {0};
    begin_cltu(&c);
    ck_assert_uint_eq(throw_event(0), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.provider.of[SLE_EVENT_THROWN].u.event.event, 7);
    ck_assert_uint_eq(pair.user.seen[SLE_EVENT_ANSWER], 0);
    answer_event(SLE_EVENT_UNKNOWN); /* uses up no number */
    last_answer(SLE_EVENT_UNKNOWN, 0);
    ck_assert_uint_eq(throw_event(1), 0);
    pair_settle(&pair);
    last_answer(SLE_EVENT_OUT_OF_SEQUENCE, 0);
    ck_assert_uint_eq(throw_event(0), 0);
    pair_settle(&pair);
    answer_event(SLE_OK);
    last_answer(SLE_OK, 1);
    ck_assert_uint_eq(throw_event(0), 0);
    pair_settle(&pair);
    last_answer(SLE_EVENT_OUT_OF_SEQUENCE, 1);
    ck_assert_uint_eq(pair.provider.seen[SLE_EVENT_THROWN], 2);
    sle_provider_event_done(pair.serves, 0, SLE_ASYNC_ACTIONS_DONE, pair.now);
    pair_settle(&pair);
    ck_assert_int_eq(pair.user.of[SLE_NOTIFIED].u.async.notification, SLE_ASYNC_ACTIONS_DONE);
    ck_assert_uint_eq(pair.user.of[SLE_NOTIFIED].u.async.invocation, 0);
    pair_fini(&pair);
}
END_TEST

/* Several under way: what is behind a refused one is out of sequence, the host is not asked. */
START_TEST(events_pipelined)
{
    struct sle_provider_config c = {0};
    begin_cltu(&c);
    uint16_t ids[3];
    for (uint32_t k = 0; k < 3; k++) {
        ck_assert_uint_eq(throw_event(k), 0);
        pair_settle(&pair);
        ids[k] = pair.provider.of[SLE_EVENT_THROWN].invoke_id;
    }
    ck_assert_uint_eq(pair.provider.seen[SLE_EVENT_THROWN], 3);
    sle_provider_answer_event(pair.serves, ids[0], SLE_OK, pair.now);
    pair_settle(&pair);
    last_answer(SLE_OK, 3);
    sle_provider_answer_event(pair.serves, ids[1], SLE_EVENT_UNKNOWN, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_EVENT_ANSWER], 3);
    last_answer(SLE_EVENT_OUT_OF_SEQUENCE, 1);
    sle_provider_answer_event(pair.serves, ids[2], SLE_OK, pair.now); /* too late */
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_EVENT_ANSWER], 3);
    ck_assert_uint_eq(throw_event(1), 0);
    pair_settle(&pair);
    answer_event(SLE_OK);
    last_answer(SLE_OK, 2);
    pair_fini(&pair);
}
END_TEST

/* 64 that the host has not answered; one more is refused, and uses up no number. */
START_TEST(events_limit)
{
    struct sle_provider_config c = {0};
    begin_cltu(&c);
    for (uint32_t k = 0; k < 65; k++) {
        ck_assert_uint_eq(throw_event(k), 0);
        pair_settle(&pair);
    }
    ck_assert_uint_eq(pair.provider.seen[SLE_EVENT_THROWN], 64);
    ck_assert_uint_eq(pair.user.seen[SLE_EVENT_ANSWER], 1);
    last_answer(SLE_OTHER_REASON, 64);
    pair_fini(&pair);
}
END_TEST

/* Before START: the event and how it went. What is not answered ends with the association. */
START_TEST(events_when_ready)
{
    struct sle_provider_config c = {.id = CLTU_ID};
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    ck_assert_uint_eq(throw_event(0), 0);
    pair_settle(&pair);
    answer_event(SLE_OK);
    sle_provider_event_done(pair.serves, 0, SLE_ASYNC_CONDITION_FALSE, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 1);
    ck_assert_int_eq(pair.user.of[SLE_NOTIFIED].u.async.notification, SLE_ASYNC_CONDITION_FALSE);
    ck_assert_uint_eq(throw_event(1), 0);
    pair_settle(&pair);
    sle_link_abort(pair.user.link, SLE_ABORT_OTHER, pair.now);
    pair_settle(&pair);
    ck_assert(pair.provider.over);
    answer_event(SLE_OK); /* to nobody */
    sle_provider_event_done(pair.serves, 0, SLE_ASYNC_ACTIONS_DONE, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.seen[SLE_EVENT_ANSWER], 1);
    ck_assert_uint_eq(pair.user.seen[SLE_NOTIFIED], 1);
    pair_fini(&pair);
}
END_TEST

SUITE(sle_cltu, t)
{
    tcase_add_test(t, one_by_one);
    tcase_add_test(t, order_of_refusals);
    tcase_add_test(t, pipelined_refusal);
    tcase_add_test(t, window);
    tcase_add_test(t, times_of_radiation);
    tcase_add_test(t, expiry_blocks);
    tcase_add_loop_test(t, stop_and_abort_discard, 0, 3);
    tcase_add_loop_test(t, interrupted_on_the_air, 0, 4);
    tcase_add_test(t, events);
    tcase_add_test(t, events_pipelined);
    tcase_add_test(t, events_limit);
    tcase_add_test(t, events_when_ready);
}
