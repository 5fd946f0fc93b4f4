/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of a scripted exchange fails in turn. Whatever it was: nothing leaks, the
 * invariants hold, every bundle that was confirmed is delivered or forwarded once memory is back,
 * and every bundle that was not is the caller's as before.
 */
#include "bp_agent_piece.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

#include <limits.h>

static struct {
    bool armed;
    long count, fail_at, fail_for; /* allocations [fail_at, fail_at + fail_for) fail */
} script;

static bool fails(size_t size)
{
    (void)size;
    if (!script.armed)
        return false;
    long i = script.count++;
    return i >= script.fail_at && i < script.fail_at + script.fail_for;
}

/* The agent may meet the failure; the test and its store may not. */
#define AGENT(call) (script.armed = true, result = (int)(call), script.armed = false, result)
#define AGENT_VOID(call) (script.armed = true, (call), script.armed = false)

#define KEYS 128
#define ROUNDS 5

struct exchange {
    struct agent *a;
    struct agent_now now;
    struct buf *stored[KEYS];
    unsigned confirmed, refused, sent, delivered, removed, spoiled;
    bool taken[ROUNDS][2]; /* fragments of the bundles 30, 31 ... */
};

static void on_action(struct exchange *x, struct agent_action *t)
{
    ck_assert_uint_lt(t->key, KEYS);
    struct buf *copy = NULL;
    switch (t->kind) {
    case AGENT_STORE:
        x->stored[t->key] = t->bundle; /* the store's copy is the reference itself */
        AGENT_VOID(agent_stored(x->a, t->key, true, x->now));
        break;
    case AGENT_LOAD:
        copy = buf_new(0, x->stored[t->key]->len);
        memcpy(buf_append(copy, x->stored[t->key]->len), buf_data(x->stored[t->key]),
               x->stored[t->key]->len);
        AGENT_VOID(agent_loaded(x->a, t->key, copy, x->now));
        break;
    case AGENT_REMOVE:
        buf_drop(x->stored[t->key]);
        x->stored[t->key] = NULL;
        x->removed++;
        break;
    case AGENT_SEND:
        buf_drop(t->bundle);
        x->sent++;
        AGENT_VOID(agent_sent(x->a, t->key, true, x->now));
        break;
    case AGENT_DELIVER:
        x->spoiled += t->id.sequence >= 30 && !slice_equal(t->payload, slice_of(TEXT, 20));
        buf_drop(t->bundle);
        x->delivered++;
        AGENT_VOID(agent_delivered(x->a, t->key, true, x->now));
        break;
    case AGENT_RECALL:
        break;
    case AGENT_CONFIRM:
        x->confirmed++;
        break;
    case AGENT_REFUSED:
        x->refused++;
        break;
    }
}

static void work(struct exchange *x)
{
    struct agent_action t;
    int result;
    while (AGENT(agent_poll(x->a, &t))) {
        on_action(x, &t);
        agent_check(x->a);
    }
}

static void send_one(struct exchange *x, const char *to, unsigned *accepted)
{
    struct agent_request q = request_of("ipn:2.7", to, 1);
    int result;
    q.payload = payload_of("payload");
    if (AGENT(agent_send(x->a, &q, x->now, NULL)) == REFUSE_NONE) {
        ++*accepted;
    } else {
        ck_assert(slice_equal(buf_slice(q.payload), slice_of("payload", 7)));
        buf_drop(q.payload);
    }
    work(x);
}

static void receive_one(struct exchange *x, const char *to, uint64_t sequence, unsigned *accepted)
{
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.flags |= BUNDLE_REPORT_RECEPTION;
    b.report_to = eid_of("ipn:3.1");
    struct buf *whole = bundle_encode_copy(&b);
    int result;
    if (AGENT(agent_receive(x->a, 0, whole, sequence, x->now)) == REFUSE_NONE)
        ++*accepted;
    work(x);
}

/* The fragments that were not taken yet, as a peer would send them. */
static void receive_pieces(struct exchange *x, uint64_t i, unsigned *accepted)
{
    int result;
    for (size_t k = 0; k < 2; k++) {
        if (x->taken[i][k])
            continue;
        struct bundle b = piece_of(TEXT, 30 + i, k * 8, k == 0 ? 12 : 20);
        struct buf *whole = bundle_encode_copy(&b);
        x->taken[i][k] = AGENT(agent_receive(x->a, 0, whole, i, x->now)) == REFUSE_NONE;
        *accepted += x->taken[i][k];
        work(x);
    }
}

/* Link, route and registration; tried again while memory is out, as a person would. */
static bool set_up(struct exchange *x)
{
    struct agent_config c = config_of("ipn:2.0");
    struct eid three = eid_of("ipn:3.0");
    struct eid_pattern p;
    int result;
    c.status_reports = true;
    c.memory_bytes = 5000;
    c.retry_max = 10 * TICK_S;
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &p), 0);
    return AGENT(agent_new(&x->a, &c)) == 0 && agent_link_add(x->a, 1, &three, 2) == 0 &&
           AGENT(agent_route_add(x->a, &p, 1)) == 0;
}

static unsigned run_script(struct exchange *x)
{
    unsigned accepted = 0;
    struct eid here = eid_of("ipn:2.5");
    int result;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        send_one(x, "ipn:3.9", &accepted);
        receive_one(x, "ipn:2.5", 10 + i, &accepted);
        receive_one(x, "ipn:3.5", 20 + i, &accepted);
        receive_pieces(x, i, &accepted);
    }
    AGENT_VOID(agent_link(x->a, 1, true, x->now));
    work(x);
    for (int tries = 0; tries < 3; tries++) {
        if (AGENT(agent_register(x->a, 1, &here, 2, x->now)) == 0)
            break;
    }
    work(x);
    return accepted;
}

static long exchange(long fail_at, long fail_for)
{
    struct exchange x = {.now = {.now = TICK_S, .dtn_ms = START_MS}};
    script.count = 0;
    script.fail_at = fail_at;
    script.fail_for = fail_for;
    script.armed = false;
    if (set_up(&x)) {
        unsigned accepted = run_script(&x);
        script.fail_for = 0;
        for (uint64_t i = 0; i < ROUNDS; i++)
            receive_pieces(&x, i, &accepted);
        for (int i = 0; i < 40; i++) { /* memory is back */
            x.now.now += TICK_S;
            agent_expire(x.a, x.now);
            work(&x);
        }
        struct eid here = eid_of("ipn:2.5");
        (void)agent_register(x.a, 2, &here, 2, x.now);
        work(&x);
        const struct agent_counters *c = agent_counters(x.a);
        /* None expired; two removals for each bundle that came in fragments. */
        ck_assert_uint_eq(c->ended[END_FORWARDED] + c->delivered + ROUNDS, x.removed);
        ck_assert_uint_eq(x.spoiled, 0);
        ck_assert_uint_eq(x.removed, accepted + c->reports_sent);
        ck_assert_uint_eq(c->bundles, 0);
        ck_assert_uint_eq(c->memory_bytes, 0);
        ck_assert_uint_eq(x.confirmed, accepted);
    }
    agent_free(x.a);
    for (size_t i = 0; i < KEYS; i++)
        ck_assert_ptr_null(x.stored[i]);
    return script.count;
}

START_TEST(each_allocation_fails_once)
{
    long all = exchange(0, 0);
    ck_assert_int_gt(all, 30);
    for (long i = 0; i < all; i++) {
        exchange(i, 1);
        exchange(i, 3);
        exchange(i, 1000);
    }
}
END_TEST

/* Whichever allocation fails when a bundle comes: one answer for it, by return or by action. */
START_TEST(each_arrival_has_one_answer)
{
    bool unanswered = false, ok = false;
    for (long at = 0; !ok; at++) {
        struct exchange x = {0};
        struct agent_config c = config_of("ipn:2.0");
        struct eid peer = eid_of("ipn:1.0"), here = eid_of("ipn:2.5");
        int result;
        x.now = (struct agent_now){.now = TICK_S, .dtn_ms = START_MS};
        ck_assert_int_eq(agent_new(&x.a, &c), 0);
        ck_assert_int_eq(agent_link_add(x.a, 0, &peer, 1), 0);
        ck_assert_int_eq(agent_register(x.a, 900, &here, 1, x.now), 0);
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
        struct buf *whole = bundle_encode_copy(&b);
        script.count = 0;
        script.fail_at = at;
        script.fail_for = 1;
        int got = AGENT(agent_receive(x.a, 0, whole, 7, x.now));
        ok = script.count <= at;
        script.fail_at = LONG_MAX;
        work(&x);
        ck_assert_uint_eq(x.confirmed + x.refused + (got == REFUSE_NO_MEMORY), 1);
        unanswered = unanswered || got == REFUSE_NO_MEMORY;
        for (size_t i = 0; i < KEYS; i++)
            buf_drop(x.stored[i]);
        agent_free(x.a);
    }
    ck_assert(unanswered);
}
END_TEST

static void use_script(void)
{
    memory.refuses = fails;
}

SUITE(bp_agent_memory, t)
{
    tcase_add_checked_fixture(t, use_script, NULL);
    tcase_add_test(t, each_allocation_fails_once);
    tcase_add_test(t, each_arrival_has_one_answer);
    tcase_set_timeout(t, 120);
}
