/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decapsulation (draft-ietf-dtn-bibe-00 §4.4, §4.5): what comes for the local endpoint is a bundle
 * that this node has received, as over any other link. The encapsulating bundle stays the node's
 * until the bundle in it is stored, or refused; one of segments is done with when its segment is
 * here. What can go wrong is thrown away, each kind counted: nobody would hear of it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/bibe/bibe_link.h"

static struct bibe_link *link_of(struct cla *c)
{
    return container_of(c, struct bibe_link, cla);
}

static void end_delivery(struct bibe_link *l, uint64_t key)
{
    l->env.self.taken(l->env.self.context, key);
}

/* Takes the buffer. key NULL: of segments. */
static bool add_arrival(struct bibe_link *l, struct buf *bundle, const uint64_t *key)
{
    const unsigned most = (unsigned)l->config->nesting;
    /* What is in it is one encapsulation less than what came. */
    bool nested = bibe_depth(buf_slice(bundle), most) >= most;
    struct bibe_arrival *a = nested ? NULL : calloc(1, sizeof *a);
    if (a == NULL) {
        l->n.nested += nested;
        l->n.no_memory += !nested;
        buf_drop(bundle);
        return false;
    }
    *a = (struct bibe_arrival){.bundle = bundle,
                               .token = l->next_arrival++,
                               .has_key = key != NULL,
                               .key = key == NULL ? 0 : *key};
    list_add_tail(&l->arrivals, &a->node);
    l->heard = world_now(l->env.world);
    l->arrivals_len++;
    bibe_kick(l);
    return true;
}

static bool take_whole(struct bibe_link *l, const struct cla_delivery *d, struct slice data)
{
    if (data.len > l->env.bundle_max) {
        l->n.too_long++;
        return false;
    }
    struct buf *bundle = buf_new(0, data.len);
    if (bundle == NULL) {
        l->n.no_memory++;
        return false;
    }
    if (data.len > 0)
        memcpy(buf_append(bundle, data.len), data.data, data.len);
    return add_arrival(l, bundle, &d->key);
}

static void take_segment(struct bibe_link *l, const struct cla_delivery *d,
                         const struct bibe_payload *p)
{
    const tick now = world_now(l->env.world);
    tick left = d->left_ms > l->config->hold / TICK_MS ? l->config->hold : d->left_ms * TICK_MS;
    struct buf *whole = NULL;
    l->n.segments++;
    bibe_joins_expire(&l->joins, now);
    switch (bibe_joins_add(&l->joins, d->source, d->destination, p, tick_add(now, left), &whole)) {
    case BIBE_TAKEN:
        alarm_set(&l->alarm, tick_min(alarm_due(&l->alarm), bibe_joins_deadline(&l->joins)));
        break;
    case BIBE_COMPLETE:
        (void)add_arrival(l, whole, NULL); /* or it is counted */
        break;
    case BIBE_TOO_LONG:
        l->n.too_long++;
        break;
    case BIBE_CORRUPT:
        l->n.corrupt++;
        break;
    case BIBE_FULL:
        l->n.full++;
        break;
    case BIBE_NO_MEMORY:
        l->n.no_memory++;
        break;
    }
}

void bibe_delivered(struct cla *c, const struct cla_delivery *d)
{
    struct bibe_link *l = link_of(c);
    struct bibe_payload p;
    bool waits = false;
    int rc = bibe_decode(d->payload, &p);
    if (!l->config->any_source && !eid_equal(d->source, &l->config->remote))
        l->n.foreign++;
    else if (rc == HELIO_ENOENT)
        l->n.reserved++;
    else if (rc < 0)
        l->n.malformed++;
    else if (p.segment)
        take_segment(l, d, &p);
    else
        waits = take_whole(l, d, p.data);
    if (!waits)
        end_delivery(l, d->key);
}

void bibe_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    struct bibe_link *l = link_of(c);
    list_for_each (it, &l->arrivals) {
        struct bibe_arrival *a = container_of(it, struct bibe_arrival, node);
        if (a->token != token || a->bundle != NULL)
            continue;
        const bool has_key = a->has_key;
        const uint64_t key = a->key;
        assert(l->arrivals_len > 0);
        list_sub(&a->node);
        l->arrivals_len--;
        free(a);
        l->n.bundles_refused += verdict != CLA_ACCEPTED;
        if (has_key)
            end_delivery(l, key);
        return;
    }
}

/* The next one that the node has not got; NULL: it has all. */
static struct bibe_arrival *find_waiting(struct bibe_link *l)
{
    list_for_each (it, &l->arrivals) {
        struct bibe_arrival *a = container_of(it, struct bibe_arrival, node);
        if (a->bundle != NULL)
            return a;
    }
    return NULL;
}

void bibe_take_turn(struct bibe_link *l)
{
    struct bibe_arrival *a;
    while ((a = find_waiting(l)) != NULL) {
        struct buf *bundle = a->bundle;
        a->bundle = NULL; /* it may be confirmed, and gone, within the call */
        l->n.bundles_received++;
        l->env.events.received(l->env.events.context, &l->cla, bundle, a->token);
    }
    bibe_joins_expire(&l->joins, world_now(l->env.world));
}

void bibe_take_forget(struct bibe_link *l)
{
    while (!list_empty(&l->arrivals)) {
        struct bibe_arrival *a = container_of(list_first(&l->arrivals), struct bibe_arrival, node);
        list_sub(&a->node);
        buf_drop(a->bundle);
        free(a);
    }
    l->arrivals_len = 0;
    bibe_joins_fini(&l->joins);
}
