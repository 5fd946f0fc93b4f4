/* SPDX-License-Identifier: Apache-2.0 */
/* How much one request of a deletion by destination does, and that the next one does the rest. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "node/control/control.h"
#include "node/control/control_list.h"
#include "tests/fuzz/virtual_node.h"
#include "tests/unit/suite.h"

#define DELETED_MAX 10000u /* of node/control/control_bundles.c */
#define LOOKED_MAX 200000u
#define FOR_US 500u

/* Nobody connects: all bundles stay. */
static const char text[] =
    "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
    "links:\n"
    "  - {name: t, adapter: tcpcl, local: '127.0.0.1:4556', tls: off, peer: ipn:4.0}\n"
    "routes: [{to: 'ipn:*.*', via: t}]\n";

static void send_to(struct virtual_node *n, uint64_t node)
{
    struct agent_request q = {.source = eid_ipn(0, 1, 5),
                              .destination = eid_ipn(0, node, 7),
                              .report_to = eid_none(),
                              .lifetime_ms = 86400000,
                              .crc = -1};
    q.payload = buf_new(BUNDLE_HEAD_MAX, 1 + BUNDLE_TAIL_MAX);
    ck_assert_ptr_nonnull(q.payload);
    memset(buf_append(q.payload, 1), 'x', 1);
    ck_assert_int_eq(agent_send(n->node.agent, &q, node_now(&n->node), NULL), REFUSE_NONE);
    node_wake(&n->node);
}

static uint64_t bundles(const struct virtual_node *n)
{
    return agent_counters(n->node.agent)->bundles;
}

/* A request from that place on, all of its steps. Returns how many were deleted; *after: where the
 * next request goes on, 0: nowhere. */
static uint64_t delete_from(struct virtual_node *n, uint64_t *after)
{
    const struct control_who who = {true, "the test"};
    char line[128], from[40] = "";
    if (*after != 0)
        snprintf(from, sizeof from, ", \"after\": %" PRIu64, *after);
    const int len =
        snprintf(line, sizeof line, "{\"cmd\": \"delete\", \"destination\": \"ipn:4.*\"%s}", from);
    const uint64_t before = bundles(n);
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, line, (size_t)len, &l);
    ck_assert_ptr_nonnull(l);
    control_list_all(l, out);
    const uint64_t deleted = (uint64_t)json_integer_value(json_object_get(out, "deleted"));
    *after = (uint64_t)json_integer_value(json_object_get(out, "after"));
    json_decref(out);
    node_play(n, TICK_S);
    ck_assert_uint_eq(before - bundles(n), deleted);
    return deleted;
}

/* The limit is of bundles: the last chain may have a few more. */
START_TEST(deleted_by_one_request)
{
    struct virtual_node *n = node_begin(node_config(text));
    uint64_t after = 0;
    for (uint64_t i = 0; i < DELETED_MAX + FOR_US; i++)
        send_to(n, 4);
    node_play(n, TICK_S);
    const uint64_t first = delete_from(n, &after);
    ck_assert_uint_ge(first, DELETED_MAX);
    ck_assert_uint_lt(first, DELETED_MAX + 16);
    ck_assert_uint_ne(after, 0);
    ck_assert_uint_eq(delete_from(n, &after), DELETED_MAX + FOR_US - first);
    ck_assert_uint_eq(after, 0);
    ck_assert_uint_eq(bundles(n), 0);
    node_end(n);
}
END_TEST

static void pass_bundle(void *context, const struct agent_bundle_info *b)
{
    (void)context;
    (void)b;
}

/* Bundles that do not fit cost a look each: a table of 2^18 chains is looked at in two requests. */
START_TEST(looked_at_by_one_request)
{
    struct virtual_node *n = node_begin(node_config(text));
    uint64_t after = 0, place = 0, deleted, others = 3u << 16;
    for (uint64_t i = 0; i < others; i++)
        send_to(n, 5);
    for (uint64_t i = 0; i < FOR_US; i++)
        send_to(n, 4);
    node_play(n, TICK_S);
    for (unsigned i = 0; i < LOOKED_MAX; i++)
        place = agent_bundles_scan(n->node.agent, place, pass_bundle, NULL);
    ck_assert_uint_ne(place, 0);
    deleted = delete_from(n, &after);
    ck_assert_uint_eq(after, place);
    ck_assert(deleted > 0 && deleted < FOR_US);
    ck_assert_uint_eq(delete_from(n, &after), FOR_US - deleted);
    ck_assert_uint_eq(after, 0);
    ck_assert_uint_eq(bundles(n), others);
    node_end(n);
}
END_TEST

SUITE(tools_control_delete, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, deleted_by_one_request);
    tcase_add_test(t, looked_at_by_one_request);
}
