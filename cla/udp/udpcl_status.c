/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself. Counters of the socket, and of senders that no link names, are those
 * of the local address. Memory that runs out leaves fields away. */
#include <jansson.h>

#include "cla/udp/udpcl_link.h"
#include "conf/json_number.h"

static void put(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_number(v));
}

static void put_socket(json_t *o, const struct udp_io *io)
{
    const struct udp_counters *n = udp_counters(io);
    put(o, "local_port", udp_port(io));
    put(o, "datagrams_tx", n->tx_datagrams);
    put(o, "datagrams_rx", n->rx_datagrams);
    put(o, "socket_bytes_tx", n->tx_bytes);
    put(o, "socket_bytes_rx", n->rx_bytes);
    put(o, "socket_blocked", n->tx_blocked);
    put(o, "socket_refused", n->tx_refused);
    put(o, "socket_errors", n->tx_errors);
    put(o, "socket_drops", n->rx_socket_drops);
}

void udpcl_status(struct cla *c, struct json_t *object)
{
    const struct udpcl_link *l = container_of(c, struct udpcl_link, cla);
    json_object_set_new(object, "up", json_boolean(l->up));
    put(object, "window", l->cla.limits.window);
    put(object, "bundle_max", l->cla.limits.bundle_max);
    put(object, "rate_bps", l->config->pace.rate);
    put(object, "overhead", l->config->pace.overhead);
    put(object, "bundles_waiting", l->waiting_len);
    put(object, "bundles_sent", l->n.bundles_sent);
    put(object, "bundles_failed", l->n.bundles_failed);
    put(object, "bundles_received", l->n.bundles_received);
    put(object, "bundles_refused", l->n.bundles_refused);
    put(object, "unknown_accepted", l->n.unknown_accepted);
    put(object, "unknown_refused", l->port->unknown_refused);
    put(object, "no_memory", l->n.no_memory);
    put(object, "air_bytes", l->n.air_bytes);
    put(object, "credit_lost",
        (uint64_t)((double)l->bucket.lost * (double)l->bucket.rate_bps / 8e9));
    json_t *verdicts = json_object();
    for (int v = 0; v < UDPCL_VERDICT_COUNT; v++)
        put(verdicts, udpcl_verdict_name((enum udpcl_verdict)v), l->n.verdicts[v]);
    json_object_set_new(object, "verdicts", verdicts);
    put_socket(object, l->port->io);
}
