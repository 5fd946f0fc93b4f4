/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself: counters of all its connections, and those that are there. Refused
 * and displaced connections are those of the local endpoint. Memory that runs out leaves fields
 * away. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>

#include "cla/stream/streamcl_link.h"
#include "conf/json_number.h"

void streamcl_gauges(const struct cla *c, struct cla_gauges *out)
{
    const struct streamcl_link *l = container_of(c, struct streamcl_link, cla);
    out->rate = l->bucket.rate_bps;
    out->tx_bytes = l->n.tx_bytes;
    out->rx_bytes = l->n.rx_bytes;
    out->heard = l->n.heard;
    out->off = !l->allowed;
    out->refused = !l->cla.told_up && streamcl_wanted(l) && l->refused;
    out->sessions = l->conns_len;
    out->unstored = l->unconfirmed;
    out->unstored_max = l->config->held_bytes;
    out->unstored_full = streamcl_full(l);
}

/* Why the link does not send now, and for how long that is known. */
static void put_reason(json_t *o, const struct streamcl_link *l)
{
    char text[256];
    const tick now = world_now(l->env.world);
    if (l->cla.told_up)
        return;
    if (!l->allowed)
        snprintf(text, sizeof text, "it is set to down; helioctl link NAME up changes that");
    else if (!streamcl_connects(l->config))
        snprintf(text, sizeof text, "it only receives (no remote, or connect: no)");
    else if (!streamcl_wanted(l))
        snprintf(text, sizeof text, "the plan has no contact to it now");
    else if (l->reason != NULL)
        snprintf(text, sizeof text, "%s%s%s", l->reason, l->reason_error != 0 ? ": " : "",
                 l->reason_error != 0 ? helio_strerror(l->reason_error) : "");
    else
        return;
    json_object_set_new(o, "down_because", json_string(text));
    if (l->reason != NULL && streamcl_wanted(l))
        json_put_number(o, "down_because_ns", now - l->reason_at);
}

static json_t *show_conn(const struct streamcl_conn *c)
{
    struct address at;
    char text[ADDRESS_TEXT_MAX];
    json_t *o = json_object();
    json_object_set_new(o, "role", json_string(c->own ? "sends" : "receives"));
    json_object_set_new(o, "state", json_string(c->connected ? "up" : "connecting"));
    if (stream_peer(c->stream, &at))
        json_object_set_new(o, "address", json_string(address_write(&at, text)));
    json_put_number(o, "arriving_bytes", c->held);
    return o;
}

static void put_counters(json_t *o, const struct streamcl_link *l)
{
    const struct {
        const char *key;
        uint64_t value;
    } of[] = {{"connects", l->n.connects},
              {"connects_failed", l->n.connects_failed},
              {"connected", l->n.connected},
              {"accepted", l->n.accepted},
              {"unknown_accepted", l->n.unknown_accepted},
              {"bundles_sent", l->n.bundles_sent},
              {"bundles_failed", l->n.bundles_failed},
              {"bundles_cut", l->n.bundles_cut},
              {"bytes_unacknowledged", l->n.bytes_unacknowledged},
              {"bundles_received", l->n.bundles_received},
              {"bundle_bytes_received", l->n.bundle_bytes_received},
              {"bundles_refused", l->n.bundles_refused},
              {"bundles_shed", l->n.bundles_shed},
              {"no_memory", l->n.no_memory},
              {"keepalives_tx", l->n.keepalives_tx},
              {"keepalives_rx", l->n.keepalives_rx},
              {"stream_bytes_tx", l->n.tx_bytes},
              {"stream_bytes_rx", l->n.rx_bytes},
              {"connections", l->endpoint->s.crowds.crowds.len + l->endpoint->named_len},
              {"connections_displaced", l->endpoint->s.displaced},
              {"unknown_refused", l->endpoint->s.unknown_refused}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        json_put_number(o, of[i].key, of[i].value);
}

void streamcl_status(struct cla *c, struct json_t *object)
{
    const struct streamcl_link *l = container_of(c, struct streamcl_link, cla);
    json_t *sessions = json_array(), *ends = json_object();
    list_for_each (it, &l->conns)
        json_array_append_new(sessions, show_conn(container_of(it, struct streamcl_conn, node)));
    for (unsigned e = 0; e < STREAMCL_END_COUNT; e++)
        if (l->n.ends[e] > 0)
            json_put_number(ends, streamcl_end_text((enum streamcl_end)e), l->n.ends[e]);
    json_object_set_new(object, "up", json_boolean(l->cla.told_up));
    put_reason(object, l);
    remote_name_status(&l->remote, object);
    json_object_set_new(object, "sessions", sessions);
    json_put_number(object, "rate_bps", l->bucket.rate_bps);
    json_put_number(object, "credit_lost", bucket_lost_bytes(&l->bucket));
    json_put_number(object, "window", l->cla.limits.window);
    json_put_number(object, "bundle_max", l->cla.limits.bundle_max);
    json_put_number(object, "in_flight", l->flight);
    json_put_number(object, "in_flight_bytes", l->flight_bytes);
    json_put_number(object, "unconfirmed_bytes", l->unconfirmed);
    json_object_set_new(object, "ends", ends);
    put_counters(object, l);
    assert(l->endpoint != NULL);
}
