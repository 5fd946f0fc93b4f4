/* SPDX-License-Identifier: Apache-2.0 */
/* The agent and a store that outlives it: ids of bundles that start here are never used twice,
 * whatever the clock does and whenever the node ends. */
#include "base/hash.h"
#include "bp_agent_help.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define IDS 20000

struct ids {
    size_t len;
    struct bundle_id id[IDS];
};

static void add_id(struct ids *all, const struct bundle_id *id)
{
    ck_assert_uint_lt(all->len, IDS);
    for (size_t i = all->len > 4200 ? all->len - 4200 : 0; i < all->len; i++)
        if (all->id[i].sequence == id->sequence && all->id[i].time_ms == id->time_ms)
            ck_abort_msg("id %zu came again", i);
    all->id[all->len++] = *id;
}

/* A node with a store on the medium, and a link to ipn:3 that takes everything. */
static void begin(struct binder *n, struct place *p, struct agent_config *c)
{
    *c = config_of("ipn:2.0");
    relay_init(n, c);
    n->store->ops->close(n->store);
    n->store = place_open(p, &store_lmdb, UINT64_C(1) << 30, STORE_ASYNC);
}

static void restart(struct binder *n, struct place *p, const struct agent_config *c)
{
    struct eid_pattern pattern;
    struct eid three = eid_of("ipn:3.0");
    n->store->ops->close(n->store);
    n->store = place_again(p, &store_lmdb);
    binder_restart(n, c);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &pattern), 0);
    ck_assert_int_eq(agent_route_add(n->a, &pattern, 1), 0);
}

/* Sends bundles that are gone from the store at once. */
static void send_some(struct binder *n, size_t count, struct ids *all)
{
    agent_link(n->a, 1, true, n->now);
    for (size_t i = 0; i < count; i++) {
        struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 1);
        struct bundle_id id;
        q.payload = payload_of("x");
        ck_assert_int_eq(agent_send(n->a, &q, n->now, &id), REFUSE_NONE);
        add_id(all, &id);
        n->len = 0;
        drain(n);
        struct agent_bundle_info info;
        ck_assert_uint_eq(agent_bundles(n->a, &info, 1), 1);
        agent_sent(n->a, info.key, true, n->now);
        n->len = 0;
        drain(n);
    }
    ck_assert_uint_eq(agent_counters(n->a)->bundles, 0);
}

START_TEST(ids_without_a_clock)
{
    struct binder n;
    struct place p;
    struct agent_config c;
    struct ids *all = calloc(1, sizeof *all);
    begin(&n, &p, &c);
    n.now.dtn_ms = 0;
    for (int life = 0; life < 6; life++) {
        send_some(&n, life == 2 ? 4100 : 6, all);
        restart(&n, &p, &c);
    }
    ck_assert_uint_eq(all->id[0].sequence, 0);
    ck_assert_uint_eq(all->id[6].time_ms, 0);
    ck_assert_uint_gt(all->id[6].sequence, all->id[5].sequence);
    ck_assert_uint_le(n.notes, 6 + 2); /* one a run, and one a block */
    binder_stop(&n);
    place_done(&p, n.store);
    free(all);
}
END_TEST

/* The clock comes back with the same time, an hour before, and not at all. */
START_TEST(ids_with_a_clock_that_goes_back)
{
    struct binder n;
    struct place p;
    struct agent_config c;
    struct ids *all = calloc(1, sizeof *all);
    begin(&n, &p, &c);
    const uint64_t times[] = {
        START_MS, START_MS, START_MS - 3600000, START_MS, 0, START_MS + 9999999, 0, START_MS};
    for (size_t life = 0; life < sizeof times / sizeof *times; life++) {
        n.now.dtn_ms = times[life];
        send_some(&n, 5, all);
        restart(&n, &p, &c);
    }
    binder_stop(&n);
    place_done(&p, n.store);
    free(all);
}
END_TEST

/* As long as no store has confirmed it, each further bundle brings the note again. */
START_TEST(a_note_that_failed_is_made_again)
{
    struct binder n;
    struct place p;
    struct agent_config c;
    struct ids *all = calloc(1, sizeof *all);
    begin(&n, &p, &c);
    n.now.dtn_ms = 0;
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 1);
    n.store_fails = true;
    ck_assert_int_eq(app_send(&n, &q, "refused"), REFUSE_NONE);
    drain(&n);
    ck_assert_uint_eq(n.notes, 0);
    n.store_fails = false;
    send_some(&n, 3, all);
    ck_assert_uint_eq(n.notes, 1);
    restart(&n, &p, &c);
    send_some(&n, 3, all);
    binder_stop(&n);
    place_done(&p, n.store);
    free(all);
}
END_TEST

SUITE(store_agent, t)
{
    tcase_add_test(t, ids_without_a_clock);
    tcase_add_test(t, ids_with_a_clock_that_goes_back);
    tcase_add_test(t, a_note_that_failed_is_made_again);
    tcase_set_timeout(t, 120);
}
