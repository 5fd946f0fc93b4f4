/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came in is here, or left for a reason that is counted: of bundles, fragments, reassemblies
 * and ADUs, each in its own unit, after every step of random histories with fragments, duplicates,
 * expiry, refusals of the store, losses, deletions and restarts. The test keeps books of its own
 * from what it gave and what it was asked to do, and compares; agent_check asserts the agent's.
 */
#include <signal.h>

#include "base/rng.h"
#include "bp_agent_piece.h"
#include "bp_log_books.h"
#include "histories.h"
#include "tests/unit/suite.h"

#define HISTORIES HISTORIES_OF(200)
#define STEPS 300

struct books {
    struct binder n;
    struct agent_config c;
    struct rng r;
    struct log_books log;
    uint64_t offered, confirmed, refused, stored, removed, delivered, sent, restored;
    uint64_t open[64]; /* keys given away, whose outcome is due */
    size_t open_len;
};

static uint64_t below(struct books *b, uint64_t n)
{
    return rng_below(&b->r, n);
}

static uint64_t sum_of(const uint64_t v[END_COUNT])
{
    uint64_t sum = 0;
    for (int i = 0; i < END_COUNT; i++)
        sum += v[i];
    return sum;
}

static void store_one(struct books *b, struct agent_action *x)
{
    bool ok = below(b, 8) != 0;
    if (ok) {
        ck_assert_int_eq(store_memory.begin(b->n.store), 0);
        ck_assert_int_eq(store_memory.put(b->n.store, x->key, x->head, buf_slice(x->bundle)), 0);
        ck_assert_int_eq(store_memory.commit(b->n.store), 0);
        b->stored++;
    }
    buf_drop(x->bundle);
    agent_stored(b->n.a, x->key, ok, b->n.now);
}

static void give_away(struct books *b, const struct agent_action *x)
{
    buf_drop(x->bundle);
    ck_assert_uint_lt(b->open_len, 64);
    b->open[b->open_len++] = x->key;
}

static void act(struct books *b, struct agent_action *x)
{
    switch (x->kind) {
    case AGENT_STORE:
        store_one(b, x);
        break;
    case AGENT_LOAD:
        b->n.load_fails = below(b, 10) == 0;
        do_load(&b->n, x);
        break;
    case AGENT_REMOVE:
        do_remove(&b->n, x);
        b->removed++;
        break;
    case AGENT_SEND:
    case AGENT_DELIVER:
        give_away(b, x);
        break;
    case AGENT_CONFIRM:
        b->confirmed += x->refusal == REFUSE_NONE;
        b->refused += x->refusal != REFUSE_NONE;
        break;
    case AGENT_RECALL: /* from now on the answer is for nobody */
        if (!x->from_link && below(b, 2))
            agent_recalled(b->n.a, x->reg, b->n.now);
        break;
    case AGENT_REFUSED:
        b->refused++;
        break;
    }
}

static void compare(const struct books *b)
{
    const struct agent_counters *c = agent_counters(b->n.a);
    ck_assert_uint_eq(b->offered, c->offered - c->reports_sent);
    ck_assert_uint_eq(b->stored, c->accepted_local + c->received);
    ck_assert_uint_eq(b->removed, sum_of(c->ended));
    ck_assert_uint_eq(b->restored, c->restored);
    ck_assert_uint_eq(b->sent, c->ended[END_FORWARDED]);
    ck_assert_uint_eq(b->delivered, c->delivered);
    ck_assert_uint_eq(c->storing, 0);
    ck_assert_uint_eq(c->bundles, b->restored + b->stored - b->removed);
}

static void work(struct books *b)
{
    struct agent_action x;
    agent_check(b->n.a);
    while (agent_poll(b->n.a, &x)) {
        act(b, &x);
        agent_check(b->n.a);
    }
    compare(b);
}

static void send_one(struct books *b)
{
    struct agent_request q = request_of("ipn:2.7", below(b, 2) ? "ipn:3.9" : "ipn:2.5", 1);
    q.flags = below(b, 2) ? BUNDLE_REPORT_DELETION | BUNDLE_REPORT_DELIVERY : 0;
    q.lifetime_ms = 1 + below(b, 20000);
    if (below(b, 10) == 0)
        q.destination = eid_of("ipn:9.1"); /* no route */
    b->offered++;
    (void)app_send(&b->n, &q, "mine");
}

static void receive_one(struct books *b)
{
    struct bundle x = peer_bundle("ipn:1.4", below(b, 2) ? "ipn:3.5" : "ipn:2.5", below(b, 30));
    x.id.time_ms = b->n.now.dtn_ms - below(b, 4);
    x.lifetime_ms = below(b, 20000);
    x.flags = below(b, 2) ? BUNDLE_REPORT_DELETION : 0;
    b->offered++;
    (void)link_receive(&b->n, 0, &x, 2);
}

static void receive_piece(struct books *b)
{
    size_t lo = (size_t)below(b, sizeof TEXT - 1);
    size_t hi = lo + 1 + (size_t)below(b, sizeof TEXT - 1 - lo);
    struct bundle x = piece_of(TEXT, below(b, 4), lo, hi);
    x.id.time_ms = START_MS + b->n.now.dtn_ms / 30000 * 30000 - START_MS / 30000 * 30000;
    x.lifetime_ms = 5000 + below(b, 30000);
    if (below(b, 8) == 0) { /* the bundle itself */
        x.flags = 0;
        x.id.fragment = false;
        x.id.offset = x.id.total = 0;
        x.payload = slice_of(TEXT, sizeof TEXT - 1);
    }
    if (below(b, 20) == 0)
        x.id.total++;
    b->offered++;
    (void)link_receive(&b->n, 0, &x, 3);
}

/* The outcome of something that was given away; the agent counts it when it still holds it. */
static void answer_one(struct books *b)
{
    if (b->open_len == 0)
        return;
    size_t i = (size_t)below(b, b->open_len);
    uint64_t key = b->open[i];
    b->open[i] = b->open[--b->open_len];
    const struct agent_counters *c = agent_counters(b->n.a);
    uint64_t before = c->ended[END_FORWARDED] + c->delivered;
    bool ok = below(b, 3) > 0;
    uint64_t sent = c->ended[END_FORWARDED];
    if (below(b, 6) == 0)
        agent_lost(b->n.a, key, 1, "lost", b->n.now);
    else
        agent_sent(b->n.a, key, ok, b->n.now);
    agent_delivered(b->n.a, key, ok, b->n.now); /* one of them is the right one */
    ck_assert(ok || c->ended[END_FORWARDED] + c->delivered == before);
    b->sent += c->ended[END_FORWARDED] - sent;
    b->delivered +=
        c->ended[END_FORWARDED] + c->delivered - before - (c->ended[END_FORWARDED] - sent);
}

static void add_members(struct books *b)
{
    struct eid_pattern p;
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0"), here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_link_add(b->n.a, 0, &one, 2), 0);
    ck_assert_int_eq(agent_link_add(b->n.a, 1, &three, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:1.*", &p), 0);
    ck_assert_int_eq(agent_route_add(b->n.a, &p, 0), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &p), 0);
    ck_assert_int_eq(agent_route_add(b->n.a, &p, 1), 0);
    (void)agent_register(b->n.a, 9, &here, 3, b->n.now);
}

static void restart(struct books *b)
{
    b->log = (struct log_books){0};
    binder_restart(&b->n, &b->c);
    b->restored = agent_counters(b->n.a)->bundles;
    b->offered = b->confirmed = b->refused = b->stored = b->removed = b->delivered = b->sent = 0;
    b->open_len = 0;
    add_members(b);
}

static void step(struct books *b)
{
    struct eid here = eid_of("ipn:2.5");
    switch (below(b, 12)) {
    case 0:
    case 1:
        send_one(b);
        break;
    case 2:
        receive_one(b);
        break;
    case 3:
    case 4:
    case 5:
        receive_piece(b);
        break;
    case 6:
        pass(&b->n, below(b, 3) * TICK_S);
        break;
    case 7:
        agent_link(b->n.a, (uint32_t)below(b, 2), below(b, 3) > 0, b->n.now);
        break;
    case 8:
        if (below(b, 2))
            agent_unregister(b->n.a, 9, b->n.now);
        else
            (void)agent_register(b->n.a, 9, &here, 3, b->n.now);
        break;
    case 9:
        if (below(b, 4) == 0)
            (void)agent_delete(b->n.a, 1 + below(b, 60), b->n.now);
        if (below(b, 25) == 0)
            restart(b);
        break;
    default:
        answer_one(b);
        break;
    }
}

START_TEST(every_unit_balances_at_every_step)
{
    struct books b = {.c = config_of("ipn:2.0")};
    uint64_t seed = (uint64_t)_i + 1;
    rng_init(&b.r, seed);
    b.c.status_reports = true;
    b.c.held_bundles = 25;
    b.c.memory_bytes = 4000;
    b.c.reassemblies_max = 3;
    b.c.fragments_max = 8;
    b.c.fragments_all_max = 14;
    b.c.reassembly_idle = TICK_S;
    b.c.reserve_percent = (uint64_t)(_i % 3) * 30;
    b.c.source_percent = 80;
    b.c.lifetime_max_ms = 15000;
    b.c.sink = log_take;
    b.c.sink_context = &b.log;
    binder_init(&b.n, &b.c);
    add_members(&b);
    for (int i = 0; i < STEPS; i++) {
        step(&b);
        work(&b);
        log_compare(&b.log, agent_counters(b.n.a));
    }
    binder_fini(&b.n);
}
END_TEST

/* What the four numbers of a bundle of three fragments are. */
START_TEST(three_fragments_are_one_delivery)
{
    struct binder n;
    start(&n);
    listen(&n, 1);
    piece(&n, 1, 0, 7);
    piece(&n, 1, 7, 12);
    piece(&n, 1, 5, 9); /* nothing new */
    piece(&n, 1, 12, 20);
    skip(&n);
    const struct agent_counters *c = agent_counters(n.a);
    ck_assert_uint_eq(c->fragments, 3);
    ck_assert_uint_eq(c->reassemblies, 1);
    agent_delivered(n.a, 5, true, n.now);
    drain(&n);
    ck_assert_uint_eq(c->offered, 4);
    ck_assert_uint_eq(c->received, 4);
    ck_assert_uint_eq(c->ended[END_DELIVERED], 3);
    ck_assert_uint_eq(c->ended[END_REDUNDANT], 1);
    ck_assert_uint_eq(c->fragments_ended[END_DELIVERED], 3);
    ck_assert_uint_eq(c->reassemblies_ended[END_DELIVERED], 1);
    ck_assert_uint_eq(c->delivered, 1);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(a_false_counter_does_not_pass)
{
    struct binder n;
    start(&n);
    ((struct agent_counters *)agent_counters(n.a))->received++;
    agent_check(n.a);
}
END_TEST

SUITE(bp_agent_balance, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test_raise_signal(t, a_false_counter_does_not_pass, SIGABRT);
    tcase_add_test(t, three_fragments_are_one_delivery);
    tcase_add_loop_test(t, every_unit_balances_at_every_step, 0, HISTORIES);
}
