/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: peers, services and links of one process, and its one agenda of times. What happens
 * in an association is in the other files.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/engine_private.h"

static void set_defaults(struct csts_config *c)
{
    struct sle_tml_terms *t = &c->tml;
    t->heartbeat_s = t->heartbeat_s == 0 ? 25 : t->heartbeat_s;
    t->dead_factor = t->dead_factor == 0 ? 5 : t->dead_factor;
    t->heartbeat_min_s = t->heartbeat_min_s == 0 ? 1 : t->heartbeat_min_s;
    t->heartbeat_max_s = t->heartbeat_max_s == 0 ? 3600 : t->heartbeat_max_s;
    t->dead_min = t->dead_min == 0 ? 1 : t->dead_min;
    t->dead_max = t->dead_max == 0 ? 100 : t->dead_max;
    t->establish = t->establish == 0 ? 60 * TICK_S : t->establish;
    t->close_wait = t->close_wait == 0 ? 5 * TICK_S : t->close_wait;
    t->message_max = t->message_max == 0 ? 1 << 20 : t->message_max;
    c->auth_delay = c->auth_delay == 0 ? 180 * TICK_S : c->auth_delay;
    c->links_max = c->links_max == 0 ? 64 : c->links_max;
    c->backlog_max = c->backlog_max == 0 ? 1 << 20 : c->backlog_max;
    c->return_timeout_s = c->return_timeout_s == 0 ? 60 : c->return_timeout_s;
}

struct csts *csts_new(const struct csts_config *config)
{
    struct csts *s = sle_authority_ok(config->self.id) ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    s->config = *config;
    set_defaults(&s->config);
    list_init(&s->links);
    list_init(&s->services);
    list_init(&s->peers);
    agenda_init(&s->agenda);
    rng_init(&s->rng, config->seed);
    return s;
}

void csts_free(struct csts *s)
{
    struct list *node;
    if (s == NULL)
        return;
    while ((node = list_first(&s->links)) != NULL)
        csts_link_free(container_of(node, struct csts_link, node));
    while ((node = list_first(&s->services)) != NULL)
        assoc_service_free(container_of(node, struct csts_service, node));
    while ((node = list_first(&s->peers)) != NULL) {
        struct peer *p = container_of(node, struct peer, node);
        replay_fini(&p->replay);
        list_sub(node);
        free(p);
    }
    agenda_fini(&s->agenda);
    free(s);
}

void csts_clock_set(struct csts *s, uint64_t unix_ns)
{
    s->config.unix_ns = unix_ns;
}

struct sle_time assoc_time(const struct csts *s, tick now)
{
    return sle_time_of(s->config.unix_ns + now);
}

struct peer *assoc_peer(const struct csts *s, const char *id)
{
    list_for_each (it, &s->peers) {
        struct peer *p = container_of(it, struct peer, node);
        if (strcmp(p->p.who.id, id) == 0)
            return p;
    }
    return NULL;
}

int csts_peer_set(struct csts *s, const struct sle_peer *peer)
{
    if (!sle_authority_ok(peer->who.id) || (unsigned)peer->level > SLE_AUTH_ALL ||
        (peer->level != SLE_AUTH_NONE && s->config.hash == NULL) ||
        (unsigned)peer->hash > SLE_SHA256)
        return HELIO_EINVAL;
    struct peer *p = assoc_peer(s, peer->who.id);
    if (p == NULL) {
        p = malloc(sizeof *p);
        if (p == NULL)
            return HELIO_ENOMEM;
        replay_init(&p->replay);
        list_add_tail(&s->peers, &p->node);
    }
    p->p = *peer;
    return HELIO_OK;
}

const struct csts_counts *csts_counts(const struct csts *s)
{
    return &s->counts;
}

/* ---- times ---- */

void assoc_timer_init(struct timer *t, enum timer_kind kind, struct csts_link *l)
{
    heap_node_init(&t->node);
    t->kind = kind;
    t->link = l;
}

/* What ends a link comes before what it sends. */
void assoc_timer_set(struct timer *t, tick due)
{
    struct agenda *a = &t->link->csts->agenda;
    if (due == TICK_NEVER) {
        agenda_sub(a, &t->node);
        return;
    }
    const int e = agenda_set(a, &t->node, due, t->kind < TIMER_CLOSE ? 0 : 1);
    assert(e == HELIO_OK); /* there is room for all timers of all links */
    (void)e;
}

tick csts_deadline(const struct csts *s)
{
    return agenda_due(&s->agenda);
}

bool csts_expire(struct csts *s, struct csts_link **link, tick now)
{
    while (agenda_due(&s->agenda) <= now) {
        struct timer *t = container_of(agenda_first(&s->agenda), struct timer, node);
        agenda_sub(&s->agenda, &t->node);
        *link = t->link;
        if (t->kind == TIMER_REPORT) {
            assoc_provider_report(container_of(t, struct procedure, timer), now);
            return true;
        }
        if (assoc_serve(t->link, t->kind, now))
            return true;
    }
    return false;
}
