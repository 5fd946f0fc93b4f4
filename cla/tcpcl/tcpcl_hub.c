/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local address from its first link to its last: who connects, and turns, in which deadlines are
 * kept, links connect, and what has changed is told. What can go wrong at the beginning: the
 * address cannot be listened at; memory.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_link.h"

void tcpcl_kick(struct tcpcl_hub *h)
{
    tcpcl_wake_at(h, 0);
}

void tcpcl_wake_at(struct tcpcl_hub *h, tick when)
{
    if (when < alarm_due(&h->alarm))
        alarm_set(&h->alarm, when);
}

/* ---- turns ---- */

static void free_dead(struct tcpcl_hub *h)
{
    for (struct list *l; (l = list_first(&h->dead)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct tcpcl_conn, node));
    }
}

static void tell_left(struct tcpcl_hub *h)
{
    while (!list_empty(&h->leaving)) {
        struct tcpcl_link *l = container_of(list_first(&h->leaving), struct tcpcl_link, node);
        void (*closed)(void *context) = l->closed;
        void *context = l->closed_context;
        list_sub(&l->node);
        free(l);
        closed(context);
    }
}

static void expire_conns(struct list *conns, tick now)
{
    bool again = true;
    while (again) { /* from the beginning: one that ends takes itself out */
        again = false;
        list_for_each (it, conns) {
            struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
            if (now < tcpcl_deadline(c->session))
                continue;
            tcpcl_expire(c->session, now);
            tcpcl_conn_pump(c);
            again = true;
            break;
        }
    }
}

static tick next_deadline(const struct list *conns)
{
    tick due = TICK_NEVER;
    list_for_each (it, conns)
        due = tick_min(due, tcpcl_deadline(container_of(it, struct tcpcl_conn, node)->session));
    return due;
}

static void tend_link(struct tcpcl_link *l, tick now)
{
    expire_conns(&l->conns, now);
    if (l->retry_at <= now) {
        l->retry_at = TICK_NEVER;
        tcpcl_conn_connect(l);
    }
    tcpcl_tell_link(l);
    tcpcl_set_limits(l, true);
    tcpcl_wake_at(l->hub, tick_min(l->retry_at, next_deadline(&l->conns)));
}

static void end_hub(struct tcpcl_hub *h)
{
    assert(h->ending && list_empty(&h->links) && list_empty(&h->newcomers));
    world_detach(&h->round);
    alarm_fini(&h->alarm);
    free_dead(h);
    tell_left(h);
    free(h);
}

/* Links come and go at the list's end only while it is gone through: those who come in, and those
 * that the node closes, which it does not within an event. */
static void take_turn(void *context)
{
    struct tcpcl_hub *h = context;
    if (h->ending) {
        end_hub(h);
        return;
    }
    tick now = world_now(h->world);
    free_dead(h);
    expire_conns(&h->newcomers, now);
    list_for_each (it, &h->links)
        tend_link(container_of(it, struct tcpcl_link, node), now);
    tcpcl_wake_at(h, next_deadline(&h->newcomers));
    tell_left(h);
}

/* What the node gave in this round, and confirmed, is written. */
static bool end_round(void *context)
{
    struct tcpcl_hub *h = context;
    bool any = !list_empty(&h->dirty);
    for (struct list *l; (l = list_first(&h->dirty)) != NULL;)
        tcpcl_conn_pump(container_of(l, struct tcpcl_conn, todo));
    return any;
}

/* ---- who connects ---- */

static void on_accepted(void *context, struct stream *s)
{
    struct tcpcl_hub *h = context;
    const struct tcpcl_link *first = container_of(list_first(&h->links), struct tcpcl_link, node);
    h->accepted++;
    if (h->newcomers_len >= first->config->newcomers) { /* whoever has waited longest gives way */
        h->turned_away++;
        tcpcl_conn_drop(container_of(list_first(&h->newcomers), struct tcpcl_conn, node));
    }
    tcpcl_conn_accept(h, s);
}

/* ---- from the first link to the last ---- */

static bool same_place(const struct tcpcl_hub *h, const struct stream_place *p)
{
    if (h->listener == NULL)
        return false;
    if (p->path != NULL)
        return strcmp(h->path, p->path) == 0;
    return h->path[0] == '\0' && address_port(p->address) != 0 &&
           address_equal(&h->local, p->address);
}

static struct tcpcl_hub *find_hub(const struct tcpcl_link *l, const struct stream_place *at)
{
    struct tcpcl_hub *h = l->env.shared == NULL ? NULL : *l->env.shared;
    while (h != NULL && !same_place(h, at))
        h = h->next;
    return h;
}

static struct tcpcl_hub *hub_new(const struct tcpcl_link *l)
{
    struct tcpcl_hub *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->world = l->env.world;
    list_init(&h->links);
    list_init(&h->leaving);
    list_init(&h->newcomers);
    list_init(&h->dead);
    list_init(&h->dirty);
    alarm_init(&h->alarm, h->world, ALARM_LINK, take_turn, h);
    h->round = (struct round_end){.run = end_round, .context = h};
    world_attach(h->world, &h->round);
    if (l->env.shared != NULL) {
        h->anchor = (struct tcpcl_hub **)(void *)l->env.shared;
        h->next = *h->anchor;
        *h->anchor = h;
    }
    return h;
}

static void forget_hub(struct tcpcl_hub *h)
{
    for (struct tcpcl_hub **at = h->anchor; at != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
}

static int listen_at(struct tcpcl_hub *h, const struct stream_place *at, char *why, size_t why_cap)
{
    char text[TCPCL_PLACE_MAX];
    int r = stream_listen(h->world, &h->listener, at, on_accepted, h);
    if (r == 0) {
        h->local = *at->address;
        snprintf(h->path, sizeof h->path, "%s", at->path == NULL ? "" : at->path);
        return 0;
    }
    h->listener = NULL;
    snprintf(why, why_cap, "%s: cannot listen at %s: %s", at->path == NULL ? "local" : "local_path",
             tcpcl_place_text(at, text), helio_strerror(r));
    return r;
}

int tcpcl_join(struct tcpcl_link *l, char *why, size_t why_cap)
{
    struct stream_place at;
    bool listens = tcpcl_local(l->config, &at);
    struct tcpcl_hub *h = listens ? find_hub(l, &at) : NULL;
    if (h == NULL) {
        h = hub_new(l);
        if (h == NULL)
            return HELIO_ENOMEM;
        int r = listens ? listen_at(h, &at, why, why_cap) : 0;
        if (r != 0) {
            forget_hub(h);
            world_detach(&h->round);
            alarm_fini(&h->alarm);
            free(h);
            return r;
        }
    }
    tcpcl_enter(h, l);
    return 0;
}

void tcpcl_enter(struct tcpcl_hub *h, struct tcpcl_link *l)
{
    assert(!h->ending);
    l->hub = h;
    list_add_tail(&h->links, &l->node);
}

void tcpcl_leave(struct tcpcl_link *l)
{
    struct tcpcl_hub *h = l->hub;
    assert(!h->ending && list_empty(&l->conns));
    list_sub(&l->node);
    list_add_tail(&h->leaving, &l->node);
    tcpcl_kick(h);
    if (!list_empty(&h->links))
        return;
    h->ending = true;
    forget_hub(h);
    while (!list_empty(&h->newcomers))
        tcpcl_conn_drop(container_of(list_first(&h->newcomers), struct tcpcl_conn, node));
    if (h->listener != NULL)
        stream_unlisten(h->listener);
    h->listener = NULL;
}
