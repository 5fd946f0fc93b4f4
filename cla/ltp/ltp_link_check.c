/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of links, of their local endpoint and of its engine, between two turns. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "cla/ltp/ltp_link.h"

static size_t count_nodes(const struct list *head)
{
    size_t n = 0;
    list_for_each (it, head)
        n++;
    return n;
}

static void check_outgoing(const struct ltp_endpoint *h)
{
    list_for_each (it, &h->outgoing) {
        const struct outgoing *x = container_of(it, struct outgoing, node);
        assert(x->count >= 1 && x->over <= x->count);
        assert(x->link == NULL || x->link->endpoint == h);
    }
}

static void check_incoming(const struct ltp_endpoint *h)
{
    for (struct hash_node *n = hash_walk(&h->incoming, NULL); n != NULL;
         n = hash_walk(&h->incoming, n)) {
        const struct incoming *x = container_of(n, struct incoming, node);
        assert(n->hash < h->next_token);
        assert(x->link->endpoint == h);
        assert(x->group == NULL || (x->group->left >= 1 && !x->group->gone));
    }
}

/* Who has something to do is woken up for it in time. */
static void check_endpoint(const struct ltp_endpoint *h)
{
    assert(!h->busy && !h->ending);
    assert(h->port != NULL && h->io == h->port->io);
    assert(h->now <= world_now(h->world));
    assert(alarm_due(&h->alarm) <= h->due);
    assert(h->gather.until == TICK_NEVER || h->gather.wait > 0);
    assert(count_nodes(&h->halves) == h->halves_len);
    assert(h->host == NULL || h->host->endpoint == h);
    check_outgoing(h);
    check_incoming(h);
    ltp_check(h->engine);
}

void link_check(const struct cla *c)
{
    const struct link *l = container_of((struct cla *)(uintptr_t)c, struct link, cla);
    uint64_t bytes = 0;
    list_for_each (it, &l->waiting)
        bytes += sda_size(LTP_SERVICE_BUNDLES, container_of(it, struct waiting, node)->bundle->len);
    assert(bytes == l->waiting_bytes && count_nodes(&l->waiting) == l->waiting_len);
    assert(l->cla.limits.window >= 1);
    assert(ltp_endpoint_link(l->endpoint, l->peer) == l);
    bool seen =
        !list_empty(&l->active) || alarm_due(&l->endpoint->alarm) <= world_now(l->endpoint->world);
    assert(seen || !link_is_active(l));              /* nobody with something to do is forgotten */
    if (list_first(&l->endpoint->links) == &l->node) /* one of them is enough */
        check_endpoint(l->endpoint);
}
