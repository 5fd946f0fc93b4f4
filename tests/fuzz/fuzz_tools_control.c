/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's lines, of any octets, at a node with links of three adapters, a route and bundles:
 * each is answered, with ok, or with an error and why; the node's invariants hold after what
 * follows from it. An input's first octet chooses who asks; each line ends with a newline.
 */
#include <jansson.h>

#include "node/control/control.h"
#include "tests/fuzz/virtual_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define LINES_MAX 20

static const char text[] =
    "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
    "bundles: {max: 64KiB, status_reports: yes}\n"
    "links:\n"
    "  - {name: l, adapter: ltp-udp, engine: 1, peer_engine: 2, rto: 1s, local: '127.0.0.1:1113', "
    "remote: '127.0.0.2:1113', peer: ipn:2.0}\n"
    "  - {name: t, adapter: tcpcl, local: '127.0.0.1:4556', tls: off, peer: ipn:3.0}\n"
    "  - {name: u, adapter: udp, local: '127.0.0.1:4557', remote: '127.0.0.4:4556', peer: "
    "ipn:4.0}\n"
    "routes: [{to: 'ipn:2.*', via: l}, {to: 'ipn:3.*', via: t}]\n";

static void send_one(struct virtual_node *n, uint64_t to)
{
    struct agent_request q = {.source = eid_ipn(0, 1, 7),
                              .destination = eid_ipn(0, to, 1),
                              .report_to = eid_none(),
                              .lifetime_ms = 60000,
                              .crc = -1};
    q.payload = buf_new(BUNDLE_HEAD_MAX, 100 + BUNDLE_TAIL_MAX);
    assert(q.payload != NULL);
    memset(buf_append(q.payload, 100), 'x', 100);
    if (agent_send(n->node.agent, &q, node_now(&n->node), NULL) != REFUSE_NONE)
        buf_drop(q.payload);
    node_wake(&n->node);
}

static void ask(struct virtual_node *n, const struct control_who *who, struct slice line)
{
    json_t *answer = control_answer(&n->node, who, (const char *)line.data, line.len);
    const json_t *ok = json_object_get(answer, "ok");
    assert(json_is_boolean(ok));
    assert(json_is_true(ok) || json_string_length(json_object_get(answer, "error")) > 0);
    char *shown = json_dumps(answer, JSON_COMPACT);
    assert(shown != NULL && strchr(shown, '\n') == NULL);
    free(shown);
    json_decref(answer);
    node_play(n, 10 * TICK_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 1)
        return 0;
    const struct control_who who = {.admin = (data[0] & 7) != 0, .name = "fuzz"};
    struct virtual_node *n = node_begin(node_config(text));
    for (uint64_t to = 2; to < 6; to++)
        send_one(n, to);
    node_play(n, TICK_S);
    const uint8_t *p = data + 1, *end = data + len;
    for (int i = 0; i < LINES_MAX && p < end; i++) {
        const uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
        const uint8_t *stop = newline != NULL ? newline : end;
        ask(n, &who, slice_of(p, (size_t)(stop - p)));
        p = stop + 1;
    }
    node_play(n, TICK_S);
    node_end(n);
    return 0;
}
