/* SPDX-License-Identifier: Apache-2.0 */
/* The engine itself: who we are, whom we know, which instances there are. */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

static void fill_defaults(struct sle_config *c)
{
    struct sle_tml_terms *t = &c->tml;
#define DEFAULT(field, value) (field) = (field) == 0 ? (value) : (field)
    DEFAULT(t->heartbeat_s, 25);
    DEFAULT(t->dead_factor, 5);
    DEFAULT(t->heartbeat_min_s, 1);
    DEFAULT(t->heartbeat_max_s, 3600);
    DEFAULT(t->dead_min, 1);
    DEFAULT(t->dead_max, 100);
    DEFAULT(t->establish, 60 * TICK_S);
    DEFAULT(t->close_wait, 5 * TICK_S);
    DEFAULT(t->message_max, UINT32_C(4) << 20);
    DEFAULT(c->auth_delay, 180 * TICK_S);
    DEFAULT(c->links_max, 1024);
    DEFAULT(c->receive_bytes, UINT32_C(256) << 10);
}

struct sle *sle_new(const struct sle_config *config)
{
    if (!sle_authority_ok(config->self.id) || config->self.password_len > SLE_PASSWORD_MAX)
        return NULL;
    struct sle *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    fill_defaults(&s->config);
    list_init(&s->links);
    list_init(&s->instances);
    list_init(&s->peers);
    agenda_init(&s->agenda);
    rng_init(&s->rng, config->seed);
    assert(s->config.links_max > 0 && s->config.receive_bytes > 0);
    return s;
}

static void free_peer(struct peer *p)
{
    replay_fini(&p->replay);
    free(p);
}

void sle_free(struct sle *s)
{
    if (s == NULL)
        return;
    list_for_each_safe (it, &s->links)
        sle_link_free(container_of(it, struct sle_link, node));
    list_for_each_safe (it, &s->instances)
        sle_instance_free(container_of(it, struct sle_instance, node));
    list_for_each_safe (it, &s->peers)
        free_peer(container_of(it, struct peer, node));
    buf_drop(s->rx_spare);
    assert(s->link_count == 0 && list_empty(&s->links) && list_empty(&s->instances));
    assert(s->kept_max == 0);
    agenda_fini(&s->agenda);
    free(s);
}

void sle_clock_set(struct sle *s, uint64_t unix_ns)
{
    if (s->config.unix_ns == unix_ns)
        return;
    s->config.unix_ns = unix_ns;
    list_for_each (it, &s->instances) {
        struct sle_instance *i = container_of(it, struct sle_instance, node);
        if (i->provides)
            provider_clock(i);
    }
}

struct sle_time sle_now(const struct sle *s, tick now)
{
    return sle_time_of(s->config.unix_ns + now);
}

struct peer *engine_peer(const struct sle *s, const char *id)
{
    list_for_each (it, &s->peers) {
        struct peer *p = container_of(it, struct peer, node);
        if (strcmp(p->p.who.id, id) == 0)
            return p;
    }
    return NULL;
}

int sle_peer_set(struct sle *s, const struct sle_peer *peer)
{
    if (!sle_authority_ok(peer->who.id) || peer->who.password_len > SLE_PASSWORD_MAX ||
        peer->level > SLE_AUTH_ALL || peer->hash > SLE_SHA256)
        return HELIO_EINVAL;
    struct peer *p = engine_peer(s, peer->who.id);
    if (p == NULL) {
        p = malloc(sizeof *p);
        if (p == NULL)
            return HELIO_ENOMEM;
        replay_init(&p->replay);
        list_add_tail(&s->peers, &p->node);
    }
    p->p = *peer;
    assert(engine_peer(s, peer->who.id) == p);
    return HELIO_OK;
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
    list_for_each (it, &s->links) {
        struct sle_link *l = container_of(it, struct sle_link, node);
        if (l->instance == i) {
            assert(l->state == SLE_ENDED);
            link_drop_queue(l);
            l->instance = NULL;
        }
    }
    buffer_clear(i);
    forward_clear(i);
    assert(i->p.fill == NULL && list_empty(&i->p.f.queue));
    if (i->p.f.on_air != NULL)
        kept_release(s, 1);
    free(i->p.f.on_air);
    while (i->p.spare != NULL) {
        struct out *o = i->p.spare;
        i->p.spare = o->node.next == NULL ? NULL : container_of(o->node.next, struct out, node);
        out_free(o);
    }
    for (unsigned k = KEPT_OF_LINK; k < KEPT_END; k++)
        kept_set(s, instance_kept(i, (enum kept_kind)k), TICK_NEVER);
    kept_release(s, KEPT_OF_INSTANCE);
    list_sub(&i->node);
    free((void *)(uintptr_t)i->p.c.gvcids);
    free(i->initiators);
    free(i);
}
