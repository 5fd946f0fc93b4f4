/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories in which every outcome may come late: of the store, the links and the
 * applications. Meanwhile links go and come back, applications leave, bundles expire or are
 * deleted. Bundles are for neighbours, for endpoints here that several applications share, and for
 * groups; some are fragments, some are critical. The invariants are checked after each call. At the
 * end all outcomes come, every lifetime ends, and nothing is left.
 */
#include "base/rng.h"
#include "bp_agent_help.h"

#define KEYS 8192
#define STEPS 1500
#define LINKS 4
#define REGS 5
#define PIECE 10 /* bytes of a fragment; its bundle has four of them */

static const char *const peers[LINKS] = {"ipn:1.0", "ipn:3.0", "ipn:4.0", "ipn:6.0"};
static const char *const endpoints[REGS] = {"ipn:2.5", "ipn:2.6", "ipn:2.6", "ipn:2.7", "imc:5.1"};
static const char *const destinations[] = {"ipn:3.1", "ipn:4.1", "ipn:6.1", "ipn:2.5", "ipn:2.6",
                                           "ipn:2.7", "imc:5.1", "imc:5.2", "ipn:9.1"};
static const char *const gathered[] = {"ipn:2.5", "ipn:2.6", "imc:5.1", "ipn:2.7"};

/* What the agent asked for. */
struct task {
    enum agent_action_kind kind;
    uint64_t key, reg;
    uint32_t link;
};

struct world {
    struct agent *a;
    struct agent_now now;
    struct rng rng;
    struct buf *stored[KEYS];
    struct task tasks[KEYS];
    size_t tasks_len;
    uint64_t sequence, token;
};

static uint64_t pick(struct world *w, uint64_t n)
{
    return rng_below(&w->rng, n);
}

static void add_task(struct world *w, const struct agent_action *x)
{
    ck_assert_uint_lt(w->tasks_len, KEYS);
    w->tasks[w->tasks_len++] =
        (struct task){.kind = x->kind, .key = x->key, .reg = x->reg, .link = x->link};
}

/* All of this kind that were given to a link, or to a registration; and of one bundle, if a key is
 * given. */
static void drop_tasks(struct world *w, enum agent_action_kind kind, uint64_t of, uint64_t key)
{
    for (size_t i = w->tasks_len; i-- > 0;) {
        const struct task *t = &w->tasks[i];
        const uint64_t to = kind == AGENT_SEND ? t->link : t->reg;
        if (t->kind == kind && to == of && (key == 0 || t->key == key))
            w->tasks[i] = w->tasks[--w->tasks_len];
    }
}

static void drop_stored(struct world *w, uint64_t key)
{
    buf_drop(w->stored[key]);
    w->stored[key] = NULL;
}

static void poll_agent(struct world *w, uint64_t most)
{
    struct agent_action x;
    while (most-- > 0 && agent_poll(w->a, &x)) {
        ck_assert_uint_lt(x.key, KEYS);
        if (x.kind == AGENT_STORE)
            w->stored[x.key] = buf_keep(x.bundle);
        if (x.kind == AGENT_REMOVE)
            drop_stored(w, x.key);
        if (x.kind == AGENT_RECALL && !x.from_link) {
            drop_tasks(w, AGENT_DELIVER, x.reg, x.key);
            agent_recalled(w->a, x.reg, w->now);
        }
        if (x.kind <= AGENT_DELIVER && x.kind != AGENT_REMOVE)
            add_task(w, &x);
        if (x.kind == AGENT_STORE || x.kind == AGENT_SEND || x.kind == AGENT_DELIVER)
            buf_drop(x.bundle);
    }
}

static struct buf *copy_stored(const struct world *w, uint64_t key)
{
    const struct slice s = buf_slice(w->stored[key]);
    struct buf *b = buf_new(BUNDLE_HEAD_MAX, s.len);
    ck_assert_ptr_nonnull(b);
    memcpy(buf_append(b, s.len), s.data, s.len);
    return b;
}

/* how: 0 to 19; the lower ones are successes. */
static void end_store(struct world *w, const struct task *t, uint64_t how)
{
    if (how >= 19)
        drop_stored(w, t->key);
    agent_stored(w->a, t->key, how < 19, w->now);
}

static void end_load(struct world *w, const struct task *t, uint64_t how)
{
    struct buf *b = how < 18 && w->stored[t->key] != NULL ? copy_stored(w, t->key) : NULL;
    agent_loaded(w->a, t->key, b, w->now);
}

static void end_send(struct world *w, const struct task *t, uint64_t how)
{
    if (how < 11)
        agent_sent(w->a, t->key, true, w->now);
    else if (how < 13)
        agent_failed(w->a, t->key, "failed", w->now);
    else if (how < 15)
        agent_refused(w->a, t->key, "refused", w->now);
    else if (how < 16)
        agent_declined(w->a, t->key, "declined", w->now);
    else
        agent_lost(w->a, t->key, pick(w, 3), "lost", w->now);
}

static void end_delivery(struct world *w, const struct task *t, uint64_t how)
{
    if (how < 16)
        agent_delivered(w->a, t->key, how < 13, w->now);
    else
        agent_put_off(w->a, t->key, "no room", w->now);
}

static void end_task(struct world *w, size_t i, uint64_t how)
{
    const struct task t = w->tasks[i];
    w->tasks[i] = w->tasks[--w->tasks_len];
    if (t.kind == AGENT_STORE)
        end_store(w, &t, how);
    else if (t.kind == AGENT_LOAD)
        end_load(w, &t, how);
    else if (t.kind == AGENT_SEND)
        end_send(w, &t, how);
    else
        end_delivery(w, &t, how);
}

/* One of several fragments of a bundle, which all have the same destination. */
static void cut(struct world *w, struct bundle *b, const char *text)
{
    const uint64_t which = pick(w, 12), at = pick(w, 4);
    b->id.source = eid_of("ipn:1.1");
    b->destination = eid_of(gathered[which % 4]);
    b->flags |= BUNDLE_IS_FRAGMENT;
    b->id.fragment = true;
    b->id.sequence = 1000000 + which + 12 * (w->sequence / 60);
    b->id.total = 4 * PIECE;
    b->id.offset = at * PIECE;
    b->payload = slice_of(text + b->id.offset, PIECE * (at < 3 ? 1 + pick(w, 2) : 1));
}

static void receive(struct world *w)
{
    char text[2500];
    memset(text, 'x', sizeof text);
    struct bundle b = peer_bundle("ipn:1.2", destinations[pick(w, 9)], ++w->sequence);
    b.flags |= pick(w, 4) == 0 ? BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_DELETION : 0;
    b.id.time_ms = w->now.dtn_ms;
    b.lifetime_ms = pick(w, 4) == 0 ? 200 + pick(w, 30000) : 3600000;
    b.payload = slice_of(text, 1 + pick(w, pick(w, 3) == 0 ? sizeof text : 200));
    if (pick(w, 3) == 0)
        cut(w, &b, text);
    uint8_t content[QOS_CONTENT_MAX];
    struct bundle_qos q = bundle_qos_none();
    q.priority = (enum bundle_priority)pick(w, BUNDLE_PRIORITIES);
    q.flags = pick(w, 2) == 0 ? QOS_CRITICAL : 0;
    q.ordinal = pick(w, 2) == 0 ? 5 : 0;
    if (pick(w, 3) == 0)
        b.others[b.others_len++] = (struct bundle_block){
            .type = BLOCK_QOS, .crc = CRC_32C, .data = slice_of(content, qos_encode(&q, content))};
    struct buf *whole = bundle_encode_copy(&b);
    ck_assert_ptr_nonnull(whole);
    (void)agent_receive(w->a, (uint32_t)pick(w, LINKS), whole, ++w->token, w->now);
}

static void add_route(struct world *w, const char *pattern, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_route_add(w->a, &p, link), 0);
}

static void add_link(struct world *w, uint32_t link)
{
    static const char *const routes[LINKS] = {"ipn:1.*", "ipn:3.*", "ipn:4.*", "ipn:6.*"};
    const struct eid e = eid_of(peers[link]);
    ck_assert_int_eq(agent_link_add(w->a, link, &e, 1 + (uint32_t)pick(w, 4)), 0);
    add_route(w, routes[link], link);
    if (link == 1 || link == 2)
        add_route(w, "imc:5.*", link);
    if (link == 2)
        add_route(w, "ipn:6.*", link);
}

static void change_links(struct world *w, uint64_t what)
{
    const uint32_t link = (uint32_t)pick(w, LINKS);
    if (what < 6) {
        agent_link(w->a, link, pick(w, 3) > 0, w->now);
    } else if (agent_link_remove(w->a, link, w->now) == 0) {
        drop_tasks(w, AGENT_SEND, link, 0);
    } else {
        add_link(w, link);
        agent_link(w->a, link, true, w->now);
    }
}

static void change_registrations(struct world *w, uint64_t what)
{
    const uint64_t i = pick(w, REGS);
    const struct eid e = eid_of(endpoints[i]);
    if (what < 5) {
        (void)agent_register(w->a, 10 + i, &e, 1 + (uint32_t)pick(w, 3), w->now);
    } else {
        agent_unregister(w->a, 10 + i, w->now);
        drop_tasks(w, AGENT_DELIVER, 10 + i, 0);
    }
}

static void delete_one(struct world *w)
{
    struct agent_bundle_info info[64];
    const size_t n = agent_bundles(w->a, info, 64);
    if (n == 0)
        return;
    /* Routes may have changed: then it can end before, as the call begins. */
    const int r = agent_delete(w->a, info[pick(w, n)].key, w->now);
    ck_assert(r == 0 || r == HELIO_ENOENT);
}

static void pass_time(struct world *w, tick by)
{
    w->now.now += by;
    w->now.dtn_ms += by / TICK_MS;
    while (agent_deadline(w->a) <= w->now.now)
        agent_expire(w->a, w->now);
}

static void push(struct world *w)
{
    const uint64_t what = pick(w, 100);
    if (what < 20)
        receive(w);
    else if (what < 65 && w->tasks_len > 0)
        end_task(w, pick(w, w->tasks_len), pick(w, 20));
    else if (what < 80)
        pass_time(w, pick(w, pick(w, 4) > 0 ? TICK_S / 20 : TICK_S));
    else if (what < 87)
        change_links(w, what - 80);
    else if (what < 95)
        change_registrations(w, what - 88);
    else if (what < 97)
        delete_one(w);
    else if (what < 98)
        agent_link_limit(w->a, (uint32_t)pick(w, LINKS), pick(w, 2) * (150 + pick(w, 400)), w->now);
    else
        agent_heard(w->a, (uint32_t)pick(w, LINKS), w->now);
}

/* scarce: of the memory of all bundles. */
static void init_world(struct world *w, uint64_t seed, bool scarce)
{
    *w = (struct world){.now = {.now = TICK_S, .dtn_ms = START_MS}};
    rng_init(&w->rng, seed);
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = pick(w, 4) > 0 ? 3000 + pick(w, 10000) : 0;
    c.total_bytes = scarce ? c.memory_bytes + 20000 + pick(w, 60000) : 0;
    c.held_bundles = pick(w, 2) == 0 ? 20 + pick(w, 200) : 0;
    c.drop_when_full = pick(w, 2) == 0;
    c.reassemblies_max = pick(w, 2) == 0 ? 6 : 0;
    c.reassembly_idle = TICK_S;
    c.place_slice = pick(w, 3) == 0 ? 4 : 0;
    c.status_reports = true;
    c.retry_min = TICK_S / 10;
    ck_assert_int_eq(agent_new(&w->a, &c), 0);
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse("ipn:2.6", &p), 0);
    ck_assert_int_eq(agent_share_endpoints(w->a, &p, AGENT_SHARE_ALL), 0);
    for (uint32_t i = 0; i < LINKS; i++)
        add_link(w, i);
}

/* Outcomes of all that was asked for. */
static void end_tasks(struct world *w)
{
    do {
        while (w->tasks_len > 0)
            end_task(w, 0, 0);
        poll_agent(w, UINT64_MAX);
    } while (w->tasks_len > 0);
}

/* Every lifetime ends; then that of the reports about it. */
static void finish_world(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        end_tasks(w);
        pass_time(w, 100000 * TICK_S);
    }
    end_tasks(w);
    agent_check(w->a);
    const struct agent_counters *k = agent_counters(w->a);
    ck_assert_uint_eq(k->bundles + k->bytes + k->memory_bytes + k->record_bytes, 0);
    ck_assert_uint_eq(k->storing_bytes + k->sending_bytes + k->fragments + k->reassemblies, 0);
    for (size_t i = 0; i < KEYS; i++)
        ck_assert_ptr_null(w->stored[i]);
    agent_free(w->a);
}

static void play(uint64_t seed, bool scarce)
{
    struct world *w = malloc(sizeof *w);
    ck_assert_ptr_nonnull(w);
    init_world(w, seed, scarce);
    for (int step = 0; step < STEPS; step++) {
        push(w);
        if (pick(w, 3) > 0)
            poll_agent(w, scarce ? UINT64_MAX : 1 + pick(w, 6));
        agent_check(w->a);
    }
    finish_world(w);
    free(w);
}

START_TEST(outcomes_that_come_late)
{
    play((uint64_t)_i + 1, false);
}
END_TEST

/* Bundles wait for each other's bytes: each poll ends nevertheless. */
START_TEST(little_memory)
{
    play((uint64_t)_i + 1, true);
}
END_TEST

SUITE(bp_agent_late, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, outcomes_that_come_late, 0, 60);
    tcase_add_loop_test(t, little_memory, 0, 100);
}
