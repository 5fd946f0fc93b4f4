/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself. Counters of the socket, and of senders that no link names, are those
 * of the local address. Memory that runs out leaves fields away. */
#include <assert.h>
#include <jansson.h>

#include "cla/udp/udpcl_link.h"
#include "conf/json_number.h"

static void put_number(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_number(v));
}

static void put_socket(json_t *o, const struct udp_io *io)
{
    const struct udp_counters *n = udp_counters(io);
    put_number(o, "local_port", udp_port(io));
    put_number(o, "datagrams_tx", n->tx_datagrams);
    put_number(o, "datagrams_rx", n->rx_datagrams);
    put_number(o, "socket_bytes_tx", n->tx_bytes);
    put_number(o, "socket_bytes_rx", n->rx_bytes);
    put_number(o, "socket_blocked", n->tx_blocked);
    put_number(o, "socket_refused", n->tx_refused);
    put_number(o, "socket_errors", n->tx_errors);
    put_number(o, "socket_drops", n->rx_socket_drops);
}

void udpcl_gauges(const struct cla *c, struct cla_gauges *out)
{
    const struct udpcl_link *l = container_of(c, struct udpcl_link, cla);
    assert(l->port != NULL);
    out->rate = l->rate_bps;
    out->tx_bytes = l->n.air_bytes;
    out->rx_bytes = l->n.rx_bytes;
    out->heard = l->n.heard;
    out->off = !l->allowed;
}

void udpcl_status(struct cla *c, struct json_t *object)
{
    const struct udpcl_link *l = container_of(c, struct udpcl_link, cla);
    assert(object != NULL && l->port != NULL && l->port->io != NULL);
    json_object_set_new(object, "up", json_boolean(l->up));
    remote_name_status(&l->remote, object);
    put_number(object, "window", l->cla.limits.window);
    put_number(object, "bundle_max", l->cla.limits.bundle_max);
    put_number(object, "rate_bps", l->rate_bps);
    put_number(object, "overhead", l->config->pace.overhead);
    put_number(object, "bundles_waiting", l->waiting_len);
    put_number(object, "bundles_sent", l->n.bundles_sent);
    put_number(object, "bundles_failed", l->n.bundles_failed);
    put_number(object, "bundles_received", l->n.bundles_received);
    put_number(object, "bundles_refused", l->n.bundles_refused);
    put_number(object, "unknown_accepted", l->n.unknown_accepted);
    put_number(object, "unknown_refused", l->port->unknown_refused);
    put_number(object, "no_memory", l->n.no_memory);
    put_number(object, "air_bytes", l->n.air_bytes);
    put_number(object, "late_ns", l->port->late_ns);
    put_number(object, "late_wakeups", l->port->late_wakeups);
    put_number(object, "credit_lost",
               (uint64_t)((double)l->bucket.lost * (double)l->bucket.rate_bps / 8e9));
    json_t *verdicts = json_object();
    for (int v = 0; v < UDPCL_VERDICT_COUNT; v++)
        put_number(verdicts, udpcl_verdict_name((enum udpcl_verdict)v), l->n.verdicts[v]);
    json_object_set_new(object, "verdicts", verdicts);
    put_socket(object, l->port->io);
}
