/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link of a received datagram: the one whose remote address and port is the source; else one
 * whose remote host is the source; else the link that accepts unconfigured peers; else none. What
 * can go wrong: no link, no bundle, no memory; all counted.
 */
#include <assert.h>
#include <string.h>

#include "cla/udp/udpcl_link.h"

#define SAY_PAUSE (10 * TICK_S)

/* *known: the sender is the remote of a link. NULL: no link accepts it. */
static struct udpcl_link *find_link(struct udpcl_port *p, const struct address *from, bool *known)
{
    struct udpcl_link *by_host = NULL, *open = NULL;
    *known = true;
    list_for_each (it, &p->common.links) {
        struct udpcl_link *l = container_of(it, struct udpcl_link, cla.node);
        if (address_equal(&l->to.address, from))
            return l;
        if (by_host == NULL && l->config->any_port &&
            address_passes(from, &l->to.address, ADDRESS_CHECK_HOST))
            by_host = l;
        if (open == NULL && l->config->accept_unknown)
            open = l;
    }
    *known = by_host != NULL;
    return by_host != NULL ? by_host : open;
}

static void refuse_datagram(struct udpcl_port *p, const struct address *from)
{
    char text[ADDRESS_TEXT_MAX];
    p->unknown_refused++;
    if (p->now < p->say_after || list_empty(&p->common.links))
        return;
    p->say_after = tick_add(p->now, SAY_PAUSE);
    cla_say(local_endpoint_link(&p->common), 1,
            "no link names %s: its datagrams are refused (%llu so far); accept_unknown: yes would "
            "let them in",
            address_write(from, text), (unsigned long long)p->unknown_refused);
}

void udpcl_input(struct udpcl_port *p, struct slice datagram, const struct address *from)
{
    assert(!p->common.ending && !list_empty(&p->common.links));
    bool known;
    struct udpcl_link *l = find_link(p, from, &known);
    if (l == NULL) {
        refuse_datagram(p, from);
        return;
    }
    enum udpcl_verdict v = udpcl_judge(datagram);
    l->n.verdicts[v]++;
    l->n.unknown_accepted += !known;
    l->n.rx_bytes += datagram.len;
    if (known)
        l->n.heard = p->now;
    if (v != UDPCL_BUNDLE)
        return;
    struct buf *b = buf_new(0, datagram.len);
    if (b == NULL) {
        l->n.no_memory++;
        return;
    }
    memcpy(buf_append(b, datagram.len), datagram.data, datagram.len);
    l->n.bundles_received++;
    l->env.events.received(l->env.events.context, &l->cla, b, 0);
}
