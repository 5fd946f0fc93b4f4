/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unconfigured peers of a local address: LTP engines without a link that may send to it. Their
 * bundles are received by the host, the link with `unknown.accept`. Segments to them are sent to
 * the address of their first segment, all together at the host's rate. What can go wrong: no memory
 * for their addresses at the start.
 */
#include <assert.h>
#include <jansson.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/ltp/ltp_link.h"
#include "conf/json_number.h"

#define UNCONFIGURED_SHOWN 64

int unconfigured_init(struct ltp_endpoint *h, struct link *host, tick now)
{
    const struct ltp_link_config *k = host->config;
    assert(h->host == NULL && h->unconfigured_to == NULL);
    if (k->accept_unknown == 0)
        return 0;
    h->unconfigured_to = calloc(k->accept_unknown, sizeof *h->unconfigured_to);
    if (h->unconfigured_to == NULL)
        return HELIO_ENOMEM;
    h->host = host;
    bucket_init(&h->unconfigured_bucket, k->pace.rate, k->pace.burst, k->pace.slack, now);
    return 0;
}

/* A place gets another unconfigured peer only when a datagram arrives, and then no batch is being
 * built. But a batch that waits for the socket may still have segments for the former peer. */
struct udp_peer *unconfigured_peer(struct ltp_endpoint *h, const struct ltp_unconfigured *g)
{
    assert(h->host != NULL && g->place < h->host->config->accept_unknown);
    struct udp_peer *to = &h->unconfigured_to[g->place];
    struct slice source = slice_of(g->source, g->source_len);
    uint8_t key[ADDRESS_KEY_MAX];
    if (slice_equal(address_key(&to->address, key), source))
        return to;
    udp_forget(h->io, to);
    *to = (struct udp_peer){.plain = false};
    int r = address_from_key(source, &to->address);
    (void)r; /* it is what the kernel gave: else sending to it is refused, and counted */
    to->dscp = (uint8_t)h->host->config->udp.dscp;
    return to;
}

static json_t *unconfigured_json(const struct ltp_unconfigured *g, tick now)
{
    struct address from;
    char text[ADDRESS_TEXT_MAX];
    (void)address_from_key(slice_of(g->source, g->source_len), &from);
    return json_pack("{s:o s:s s:I s:I}", "engine", json_number(g->peer), "address",
                     address_write(&from, text), "sessions", (json_int_t)g->sessions, "silent_ns",
                     (json_int_t)(now > g->quiet_since ? now - g->quiet_since : 0));
}

void unconfigured_status(const struct link *l, struct json_t *object)
{
    const struct ltp_endpoint *h = l->endpoint;
    const struct ltp_counters *n = ltp_counters(h->engine);
    if (h->host != l)
        return;
    json_t *shown = json_array();
    struct ltp_unconfigured g;
    for (uint32_t i = 0; i < l->config->accept_unknown; i++) {
        if (ltp_unconfigured_at(h->engine, i, &g) && json_array_size(shown) < UNCONFIGURED_SHOWN)
            json_array_append_new(shown, unconfigured_json(&g, ltp_endpoint_now(l->endpoint)));
    }
    json_object_set_new(object, "unknown_places",
                        json_integer((json_int_t)l->config->accept_unknown));
    json_object_set_new(object, "unknown_in", json_integer((json_int_t)n->unconfigured));
    json_object_set_new(object, "unknown_accepted",
                        json_integer((json_int_t)n->unconfigured_accepted));
    json_object_set_new(object, "unknown_unsent", json_integer((json_int_t)n->unconfigured_unsent));
    json_object_set_new(object, "unknown", shown);
}
