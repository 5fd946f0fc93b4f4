/* SPDX-License-Identifier: Apache-2.0 */
/* The engine itself: which instances there are, and whose time has come. */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

static_assert((size_t)ISP1_COUNT * sizeof(uint64_t) <= sizeof(struct sle_counts),
              "SLE_COUNTS begins with ISP1_COUNTS");

struct sle *sle_new(const struct sle_config *config)
{
    struct sle *s = calloc(1, sizeof *s);
    if (s == NULL || !isp1_init(&s->isp, config, &link_service, (uint64_t *)&s->counts)) {
        free(s);
        return NULL;
    }
    list_init(&s->instances);
    return s;
}

void sle_free(struct sle *s)
{
    if (s == NULL)
        return;
    list_for_each_safe (it, &s->isp.links)
        sle_link_free(container_of(it, struct sle_link, isp.node));
    list_for_each_safe (it, &s->instances)
        sle_instance_free(container_of(it, struct sle_instance, node));
    assert(list_empty(&s->instances));
    isp1_fini(&s->isp);
    free(s);
}

struct isp1 *sle_isp1(struct sle *s)
{
    return &s->isp;
}

void sle_clock_set(struct sle *s, uint64_t unix_ns)
{
    if (s->isp.config.unix_ns == unix_ns)
        return;
    s->isp.config.unix_ns = unix_ns;
    list_for_each (it, &s->instances) {
        struct sle_instance *i = container_of(it, struct sle_instance, node);
        if (i->provides)
            provider_clock(i);
    }
}

struct sle_time sle_now(const struct sle *s, tick now)
{
    return isp1_time(&s->isp, now);
}

int sle_peer_set(struct sle *s, const struct sle_peer *peer)
{
    return isp1_peer_set(&s->isp, peer);
}

const struct sle_counts *sle_counts(const struct sle *s)
{
    return &s->counts;
}

const struct sle_counts *sle_instance_counts(const struct sle_instance *i)
{
    return &i->counts;
}

struct sle_link *sle_instance_link(const struct sle_instance *i)
{
    return i->link;
}

const char *sle_instance_id(const struct sle_instance *i)
{
    return i->id.text;
}

bool sle_instance_provides(const struct sle_instance *i)
{
    return i->provides;
}

enum sle_service sle_instance_service(const struct sle_instance *i)
{
    return i->service;
}

struct sle_instance *sle_instance_find(const struct sle *s, const char *id)
{
    list_for_each (it, &s->instances) {
        struct sle_instance *i = container_of(it, struct sle_instance, node);
        if (strcmp(i->id.text, id) == 0)
            return i;
    }
    return NULL;
}

void sle_instance_free(struct sle_instance *i)
{
    assert(i->link == NULL);
    struct sle *s = i->sle;
    list_for_each (it, &s->isp.links) {
        struct sle_link *l = container_of(it, struct sle_link, isp.node);
        if (l->instance == i) {
            assert(l->state == SLE_ENDED);
            isp1_drop_queue(&l->isp);
            l->instance = NULL;
            l->isp.instance_counts = NULL;
        }
    }
    buffer_clear(i);
    forward_clear(i);
    assert(i->p.fill == NULL && list_empty(&i->p.f.queue));
    if (i->p.f.on_air != NULL)
        kept_release(&s->isp, 1);
    free(i->p.f.on_air);
    while (i->p.spare != NULL) {
        struct out *o = i->p.spare;
        i->p.spare = o->node.next == NULL ? NULL : container_of(o->node.next, struct out, node);
        out_free(o);
    }
    for (unsigned k = KEPT_OF_LINK; k < KEPT_END; k++)
        kept_set(&s->isp, instance_kept(i, (enum kept_kind)k), TICK_NEVER);
    kept_release(&s->isp, KEPT_OF_INSTANCE);
    list_sub(&i->node);
    free((void *)(uintptr_t)i->p.c.gvcids);
    free(i->initiators);
    free(i);
}

/* ---- times ---- */

tick sle_deadline(const struct sle *s)
{
    return agenda_due(&s->isp.agenda);
}

static struct sle_instance *instance_of(struct kept *k)
{
    return container_of(k - (k->kind - KEPT_OF_LINK), struct sle_instance, kept[0]);
}

static bool serve_kept(struct kept *k, struct sle_due *out, tick now)
{
    if (k->kind < KEPT_OF_LINK) {
        struct isp1_link *isp = isp1_link_of(k);
        *out = (struct sle_due){.link = container_of(isp, struct sle_link, isp)};
        return link_serve(out->link, k->kind, now);
    }
    struct cltu *c = container_of(k, struct cltu, expiry);
    struct sle_instance *i = k->kind == KEPT_EXPIRY ? c->instance : instance_of(k);
    *out = (struct sle_due){.link = i->link, .instance = i};
    return k->kind == KEPT_EXPIRY ? forward_expire(c, now)
                                  : provider_serve(i, (enum kept_kind)k->kind, now);
}

bool sle_expire(struct sle *s, struct sle_due *out, tick now)
{
    struct kept *k;
    while ((k = kept_next(&s->isp, now)) != NULL)
        if (serve_kept(k, out, now))
            return true;
    return false;
}
