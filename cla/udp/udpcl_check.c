/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a link and its port, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "cla/udp/udpcl_link.h"

static uint64_t check_waiting(const struct udpcl_link *l)
{
    uint64_t n = 0;
    list_for_each (it, &l->waiting) {
        const struct udpcl_sending *s = container_of(it, struct udpcl_sending, node);
        assert(s->bundle != NULL && s->bundle->refs >= 1 && s->bundle->len >= 1);
        n++;
    }
    return n;
}

void udpcl_check_self(const struct cla *c)
{
    const struct udpcl_link *l = container_of((struct cla *)(uintptr_t)c, struct udpcl_link, cla);
    const struct udpcl_port *p = l->port;
    assert(check_waiting(l) == l->waiting_len);
    assert(list_empty(&l->leaving)); /* what left was told in the same turn */
    assert(c->limits.window >= 1 && c->limits.bundle_max == udpcl_bundle_max(l->config));
    assert(!p->ending && p->port != NULL && p->io == p->port->io);
    assert(p->now <= world_now(p->world) && alarm_due(&p->alarm) <= p->due);
    /* who has something to send is woken up for it */
    assert(l->waiting_len == 0 || alarm_due(&p->alarm) != TICK_NEVER || udp_pending(p->io));
}
