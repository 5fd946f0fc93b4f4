/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications at a node (AAP 2.0): three connections that send, subscribe, answer, cancel and end
 * in any order. Two octets choose what is done, and by whom; messages are well formed ones, of the
 * input's octets, or cut. The node's invariants are checked after all that follows from each.
 */
#include "node/aap2/aap2_wire.h"
#include "tests/fuzz/virtual_node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CLIENTS 3
#define MOVES 60

static const char text[] = "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
                           "bundles: {max: 64KiB, memory: 1000, status_reports: yes}\n"
                           "links: [{name: l, adapter: udp, local: '127.0.0.1:4556', "
                           "remote: '127.0.0.2:4556', peer: ipn:2.0}]\n"
                           "routes: [{to: 'ipn:2.*', via: l}]\n";

static const char *const endpoints[] = {"ipn:1.5", "ipn:1.6",   "imc:2.1", "ipn:1.0",
                                        "ipn:2.5", "dtn://x/y", "",        "ipn:1.7"};

struct run {
    struct virtual_node *n;
    struct raw_peer *client[CLIENTS];
    struct feed f;
};

static const char *any_endpoint(struct run *r)
{
    return endpoints[feed_octet(&r->f) % 8];
}

static void write_message(struct run *r, struct raw_peer *c, Aap2__AAPMessage *m,
                          struct slice payload)
{
    uint8_t out[1024];
    const int n = aap2_pack(&m->base, out, sizeof out);
    (void)r;
    if (n <= 0)
        return;
    peer_write(c, out, (size_t)n);
    peer_write(c, payload.data, payload.len);
}

static void configure(struct run *r, struct raw_peer *c)
{
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    Aap2__ConnectionConfig config = AAP2__CONNECTION_CONFIG__INIT;
    const uint8_t how = feed_octet(&r->f);
    char secret[] = "secret";
    config.endpoint_id = (char *)(uintptr_t)any_endpoint(r);
    config.auth_type =
        how & 1 ? AAP2__AUTH_TYPE__AUTH_TYPE_BUNDLE_DISPATCH : AAP2__AUTH_TYPE__AUTH_TYPE_DEFAULT;
    config.is_subscriber = (how & 2) != 0;
    config.keepalive_seconds = how >> 6;
    config.secret = how & 4 ? secret : config.secret;
    m.msg_case = AAP2__AAPMESSAGE__MSG_CONFIG;
    m.config = &config;
    write_message(r, c, &m, slice_of(NULL, 0));
}

static void send_bundle(struct run *r, struct raw_peer *c)
{
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    Aap2__BundleADU adu = AAP2__BUNDLE_ADU__INIT;
    const uint8_t how = feed_octet(&r->f);
    const struct slice payload = feed_slice(&r->f, feed_octet(&r->f) & 63);
    char from[] = "ipn:1.5";
    adu.dst_eid = (char *)(uintptr_t)any_endpoint(r);
    adu.src_eid = how & 1 ? from : adu.src_eid;
    adu.payload_length = payload.len + (how & 128 ? feed_octet(&r->f) : 0);
    adu.creation_timestamp_ms = how & 2 ? feed_octet(&r->f) : 0;
    adu.lifetime_ms = how & 8 ? 1 + 50u * feed_octet(&r->f) : 0;
    adu.sequence_number = how & 4 ? feed_octet(&r->f) : 0;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &adu;
    write_message(r, c, &m, payload);
}

static void cancel_bundle(struct run *r, struct raw_peer *c)
{
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    Aap2__CancelADU cancel = AAP2__CANCEL_ADU__INIT;
    cancel.creation_timestamp_ms = feed_octet(&r->f);
    cancel.sequence_number = feed_octet(&r->f) % 4;
    m.msg_case = AAP2__AAPMESSAGE__MSG_CANCEL;
    m.cancel = &cancel;
    write_message(r, c, &m, slice_of(NULL, 0));
}

static void say_alive(struct run *r, struct raw_peer *c)
{
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    Aap2__Keepalive keepalive = AAP2__KEEPALIVE__INIT;
    m.msg_case = AAP2__AAPMESSAGE__MSG_KEEPALIVE;
    m.keepalive = &keepalive;
    write_message(r, c, &m, slice_of(NULL, 0));
}

static void answer(struct run *r, struct raw_peer *c)
{
    uint8_t out[64];
    Aap2__AAPResponse a = AAP2__AAPRESPONSE__INIT;
    a.response_status = feed_octet(&r->f) % 13;
    const int n = aap2_pack_response(&a, out, sizeof out);
    peer_write(c, out, n > 0 ? (size_t)n : 0);
}

/* Connects who is not connected; else it may end. */
static void connect_client(struct run *r, struct raw_peer *c)
{
    const struct stream_place at = {.path = NODE_SOCKET};
    if (c->stream == NULL)
        peer_connect(c, &r->n->v, &at);
    else if (feed_octet(&r->f) & 1)
        peer_close(c);
}

static void move(struct run *r)
{
    const uint8_t what = feed_octet(&r->f), who = feed_octet(&r->f);
    struct raw_peer *c = r->client[(who & 127) % CLIENTS];
    struct slice part;
    if (c->stream == NULL)
        connect_client(r, c);
    switch (what % 12) {
    case 0:
    case 1:
        configure(r, c);
        break;
    case 2:
    case 3:
    case 4:
        send_bundle(r, c);
        break;
    case 5:
    case 6:
        answer(r, c);
        break;
    case 7:
        cancel_bundle(r, c);
        break;
    case 8:
        say_alive(r, c);
        break;
    case 9:
        part = feed_slice(&r->f, feed_octet(&r->f));
        peer_write(c, part.data, part.len);
        break;
    case 10:
        if (c->stream != NULL) /* slow to read */
            stream_read(c->stream, (feed_octet(&r->f) & 1) != 0);
        break;
    default:
        connect_client(r, c);
        node_play(r->n, feed_octet(&r->f) * TICK_S / 4);
        apps_tick(r->n->node.apps, r->n->v.now);
        break;
    }
    if (who < 128)
        node_play(r->n, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct raw_peer clients[CLIENTS];
    struct run r = {.n = node_begin(node_config(text)), .f = {data, data + len}};
    memset(clients, 0, sizeof clients);
    for (size_t i = 0; i < CLIENTS; i++)
        r.client[i] = &clients[i];
    for (int i = 0; i < MOVES && r.f.p < r.f.end; i++)
        move(&r);
    node_play(r.n, TICK_S);
    for (size_t i = 0; i < CLIENTS; i++)
        peer_close(r.client[i]);
    node_play(r.n, TICK_S);
    node_end(r.n);
    return 0;
}
