/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local address from its first link to its last: who connects, and turns, in which deadlines are
 * kept, links connect, and what has changed is told. What can go wrong at the beginning: the
 * address cannot be listened at; memory.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/stream/streamcl_link.h"

#define SAY_PAUSE (10 * TICK_S)

void streamcl_kick(struct streamcl_endpoint *h)
{
    streamcl_wake_at(h, 0);
}

void streamcl_wake_at(struct streamcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->alarm))
        alarm_set(&h->alarm, when);
}

void streamcl_more_at(struct streamcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->more))
        alarm_set(&h->more, when);
}

/* ---- turns ---- */

static void free_dead(struct streamcl_endpoint *h)
{
    for (struct list *l; (l = list_first(&h->dead)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct streamcl_conn, node));
    }
}

static void tell_left(struct streamcl_endpoint *h)
{
    while (!list_empty(&h->leaving)) {
        struct streamcl_link *l = container_of(list_first(&h->leaving), struct streamcl_link, node);
        void (*closed)(void *context) = l->closed;
        void *context = l->closed_context;
        list_sub(&l->node);
        free(l);
        closed(context);
    }
}

static void warn_of_exposure(struct streamcl_link *l)
{
    const char *key;
    char why[256];
    if (l->warned)
        return;
    l->warned = true;
    if (streamcl_config_warn(l->config, &l->env.node, 0, &key, why, sizeof why))
        streamcl_say(l, 1, "%s: %s", key, why);
}

/* Its connections of the next turn may read again, or not any more. */
static tick tend_conns(struct streamcl_link *l, tick now)
{
    tick due = TICK_NEVER;
    list_for_each_safe (it, &l->conns) {
        struct streamcl_conn *c = container_of(it, struct streamcl_conn, node);
        streamcl_conn_expire(c, now);
        if (c->stream == NULL)
            continue;
        if (c->connected)
            streamcl_conn_watch(c);
        due = tick_min(due, streamcl_conn_deadline(c));
    }
    return due;
}

static void tend_link(struct streamcl_link *l, tick now)
{
    warn_of_exposure(l);
    const tick due = tend_conns(l, now);
    streamcl_tell_link(l);
    if (l->out == NULL && l->flight > 0)
        streamcl_fail(l);
    if (l->retry_at <= now) {
        l->retry_at = TICK_NEVER;
        streamcl_conn_connect(l);
    }
    if (streamcl_keepalive_at(l) <= now)
        streamcl_write(l);
    streamcl_set_limits(l, true);
    streamcl_wake_at(l->endpoint, tick_min(streamcl_keepalive_at(l), tick_min(l->retry_at, due)));
}

static void fini_endpoint(struct streamcl_endpoint *h)
{
    world_detach(&h->round);
    alarm_fini(&h->alarm);
    alarm_fini(&h->more);
    crowd_place_fini(&h->crowds);
}

static void end_endpoint(struct streamcl_endpoint *h)
{
    assert(h->ending && list_empty(&h->links));
    free_dead(h);
    fini_endpoint(h); /* the node's may go with the last link */
    tell_left(h);
    free(h);
}

static void take_turn(void *context)
{
    struct streamcl_endpoint *h = context;
    if (h->ending) {
        end_endpoint(h);
        return;
    }
    const tick now = world_now(h->world);
    free_dead(h);
    list_for_each (it, &h->links)
        tend_link(container_of(it, struct streamcl_link, node), now);
    tell_left(h);
}

/* Once in each turn of the loop: those that had more than a turn takes, in their order. */
static void take_stopped(void *context)
{
    struct streamcl_endpoint *h = context;
    struct list list;
    const tick now = world_now(h->world);
    uint32_t sharing = 0;
    list_init(&list);
    list_for_each_safe (it, &h->stopped) {
        const struct streamcl_conn *c = container_of(it, struct streamcl_conn, later);
        const tick rests = rest_until(&c->link->rest, h->shared);
        if (now < rests) {
            streamcl_more_at(h, rests);
            continue;
        }
        list_sub(it);
        list_add_tail(&list, it);
        sharing++;
    }
    assert(list_empty(&h->stopped) || alarm_due(&h->more) != TICK_NEVER);
    const uint32_t all = turn_size_next(&h->turn, h->turn_follows, now);
    const uint32_t share = sharing > 1 ? all / sharing : all;
    while (!list_empty(&list))
        streamcl_conn_take(container_of(list_first(&list), struct streamcl_conn, later),
                           share < 1 ? 1 : share);
    h->turn_follows = alarm_due(&h->more) == 0;
}

/* What the node gave in this round is written. */
static bool end_round(void *context)
{
    struct streamcl_endpoint *h = context;
    const bool any = !list_empty(&h->dirty);
    for (struct list *l; (l = list_first(&h->dirty)) != NULL;)
        streamcl_write(container_of(l, struct streamcl_link, todo));
    return any;
}

/* ---- who connects ---- */

static void refuse_stream(struct streamcl_endpoint *h, struct stream *s, const struct address *from)
{
    char text[ADDRESS_TEXT_MAX];
    const tick now = world_now(h->world);
    h->unknown_refused++;
    stream_close(s);
    if (now < h->say_after || list_empty(&h->links))
        return;
    h->say_after = tick_add(now, SAY_PAUSE);
    streamcl_say(container_of(list_first(&h->links), struct streamcl_link, node), 1,
                 "no link names %s: its connections are refused (%llu so far); source: any would "
                 "let them in",
                 address_given(from) ? address_write(from, text) : "the peer",
                 (unsigned long long)h->unknown_refused);
}

/* The link whose remote it comes from, else the first that accepts any; NULL: none does. A link
 * that an operator set to down accepts nothing. */
static struct streamcl_link *find_link(struct streamcl_endpoint *h, const struct address *from,
                                       bool *named)
{
    struct streamcl_link *any = NULL;
    *named = false;
    list_for_each (it, &h->links) {
        struct streamcl_link *l = container_of(it, struct streamcl_link, node);
        *named = remote_name_has_host(&l->remote, from);
        const bool accepts = *named || l->config->source == STREAMCL_FROM_ANY;
        if (*named)
            return l->allowed ? l : NULL;
        if (any == NULL && accepts && l->allowed)
            any = l;
    }
    if (any != NULL)
        any->n.unknown_accepted++;
    return any;
}

static void displace_conn(struct crowd_entry *gives_way)
{
    struct streamcl_conn *c = container_of(gives_way, struct streamcl_conn, from);
    c->endpoint->displaced++;
    streamcl_conn_end(c, STREAMCL_END_DISPLACED, 0);
}

static bool gives_way(const struct streamcl_conn *c, const struct streamcl_conn *before)
{
    return before == NULL ||
           (c->brought != before->brought ? !c->brought : c->heard < before->heard);
}

/* Connections from the host of a link's remote are in no crowd: what other hosts do takes none of
 * them. There are as many as one address may have; one without a bundle gives way, else the one
 * that was silent for longest. */
static void clear_named(struct streamcl_link *l)
{
    struct streamcl_conn *last = NULL;
    size_t len = 0;
    list_for_each (it, &l->conns) {
        struct streamcl_conn *c = container_of(it, struct streamcl_conn, node);
        if (!c->named)
            continue;
        len++;
        if (gives_way(c, last))
            last = c;
    }
    if (len < l->config->connections_address)
        return;
    l->endpoint->displaced++;
    streamcl_conn_end(last, STREAMCL_END_DISPLACED, 0);
}

static void on_accepted(void *context, struct stream *s)
{
    struct streamcl_endpoint *h = context;
    struct address from = {.sa = {.sa_family = AF_UNSPEC}};
    uint8_t prefix[ADDRESS_PREFIX_MAX];
    (void)stream_peer(s, &from);
    bool named;
    struct streamcl_link *l = find_link(h, &from, &named);
    if (l == NULL) {
        refuse_stream(h, s, &from);
        return;
    }
    h->accepted++;
    assert(!h->ending && l->endpoint == h);
    const struct slice key = address_prefix(&from, prefix);
    if (named)
        clear_named(l);
    else
        crowd_place_clear(&h->crowds, key, l->config->connections_address, l->config->connections);
    streamcl_conn_accept(l, s, named ? NULL : &key);
}

/* ---- from the first link to the last ---- */

static struct streamcl_endpoint *find_endpoint(const struct streamcl_link *l)
{
    const struct address *local = &l->config->local;
    struct streamcl_endpoint *h = l->env.shared == NULL ? NULL : *l->env.shared;
    if (!address_given(local) || address_port(local) == 0)
        return NULL;
    while (h != NULL && (h->listener == NULL || !address_equal(&h->local, local)))
        h = h->next;
    return h;
}

static struct streamcl_endpoint *endpoint_new(const struct streamcl_link *l)
{
    struct streamcl_endpoint *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->world = l->env.world;
    h->shared = l->env.rests != NULL ? l->env.rests : &h->own_rests;
    struct crowd_room *room = l->env.room != NULL ? l->env.room : &h->own_room;
    if (crowd_place_init(&h->crowds, room, l->env.seed, displace_conn) != 0) {
        free(h);
        return NULL;
    }
    list_init(&h->links);
    list_init(&h->leaving);
    list_init(&h->dirty);
    list_init(&h->stopped);
    list_init(&h->dead);
    turn_size_init(&h->turn, STREAMCL_TURN_LEAST, STREAMCL_TURN);
    alarm_init(&h->alarm, h->world, ALARM_LINK, take_turn, h);
    alarm_init(&h->more, h->world, ALARM_LINK, take_stopped, h);
    h->round = (struct round_end){.run = end_round, .context = h};
    world_attach(h->world, &h->round);
    if (l->env.shared != NULL) {
        h->anchor = (struct streamcl_endpoint **)(void *)l->env.shared;
        h->next = *h->anchor;
        *h->anchor = h;
    }
    return h;
}

static void forget_endpoint(struct streamcl_endpoint *h)
{
    for (struct streamcl_endpoint **at = h->anchor; at != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
}

static int listen_at(struct streamcl_endpoint *h, const struct address *at, char *why,
                     size_t why_cap)
{
    char text[ADDRESS_TEXT_MAX];
    const struct stream_place place = {.address = at};
    const int r = stream_listen(h->world, &h->listener, &place, on_accepted, h);
    h->local = *at;
    if (r == 0)
        return 0;
    h->listener = NULL;
    snprintf(why, why_cap, "local: cannot listen at %s: %s", address_write(at, text),
             helio_strerror(r));
    return r;
}

/* Two links that accept the same host's connections: which is meant nobody could say. */
static bool is_ambiguous(const struct streamcl_endpoint *h, const struct streamcl_link *l)
{
    list_for_each (it, &h->links) {
        if (streamcl_ambiguous(container_of(it, struct streamcl_link, node)->config, l->config))
            return true;
    }
    return false;
}

int streamcl_join(struct streamcl_link *l, char *why, size_t why_cap)
{
    struct streamcl_endpoint *h = find_endpoint(l);
    if (h != NULL && is_ambiguous(h, l)) {
        snprintf(why, why_cap,
                 "remote: another link of this local address accepts the same connections");
        return HELIO_EEXIST;
    }
    if (h == NULL) {
        h = endpoint_new(l);
        if (h == NULL)
            return HELIO_ENOMEM;
        const bool listens = address_given(&l->config->local);
        const int r = listens ? listen_at(h, &l->config->local, why, why_cap) : 0;
        if (r != 0) {
            forget_endpoint(h);
            fini_endpoint(h);
            free(h);
            return r;
        }
    }
    l->endpoint = h;
    rest_init(&l->rest, h->shared);
    list_add_tail(&h->links, &l->node);
    return 0;
}

void streamcl_leave(struct streamcl_link *l)
{
    struct streamcl_endpoint *h = l->endpoint;
    assert(!h->ending && list_empty(&l->conns));
    list_sub(&l->todo);
    list_sub(&l->node);
    list_add_tail(&h->leaving, &l->node);
    streamcl_kick(h);
    if (!list_empty(&h->links))
        return;
    h->ending = true;
    forget_endpoint(h);
    if (h->listener != NULL)
        stream_unlisten(h->listener);
    h->listener = NULL;
}
