/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself. Counters of the socket, and of senders that no link names, are those
 * of the local address. Memory that runs out leaves fields away. */
#include <assert.h>
#include <jansson.h>

#include "cla/udp/udpcl_link.h"
#include "conf/json_number.h"

static void put_socket(json_t *o, const struct udp_io *io)
{
    const struct udp_counters *n = udp_counters(io);
    json_put_number(o, "local_port", udp_port(io));
    json_put_number(o, "datagrams_tx", n->tx_datagrams);
    json_put_number(o, "datagrams_rx", n->rx_datagrams);
    json_put_number(o, "socket_bytes_tx", n->tx_bytes);
    json_put_number(o, "socket_bytes_rx", n->rx_bytes);
    json_put_number(o, "socket_blocked", n->tx_blocked);
    json_put_number(o, "socket_refused", n->tx_refused);
    json_put_number(o, "socket_errors", n->tx_errors);
    json_put_number(o, "socket_drops", n->rx_socket_drops);
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
    json_put_number(object, "window", l->cla.limits.window);
    json_put_number(object, "bundle_max", l->cla.limits.bundle_max);
    json_put_number(object, "rate_bps", l->rate_bps);
    json_put_number(object, "overhead", l->config->pace.overhead);
    json_put_number(object, "bundles_waiting", l->waiting_len);
    json_put_number(object, "bundles_sent", l->n.bundles_sent);
    json_put_number(object, "bundles_failed", l->n.bundles_failed);
    json_put_number(object, "bundles_received", l->n.bundles_received);
    json_put_number(object, "bundles_refused", l->n.bundles_refused);
    json_put_number(object, "unknown_accepted", l->n.unknown_accepted);
    json_put_number(object, "unknown_refused", l->port->unknown_refused);
    json_put_number(object, "no_memory", l->n.no_memory);
    json_put_number(object, "air_bytes", l->n.air_bytes);
    json_put_number(object, "late_ns", l->port->late_ns);
    json_put_number(object, "late_wakeups", l->port->late_wakeups);
    json_put_number(object, "credit_lost", bucket_lost_bytes(&l->bucket));
    json_t *verdicts = json_object();
    for (int v = 0; v < UDPCL_VERDICT_COUNT; v++)
        json_put_number(verdicts, udpcl_verdict_name((enum udpcl_verdict)v), l->n.verdicts[v]);
    json_object_set_new(object, "verdicts", verdicts);
    put_socket(object, l->port->io);
}
