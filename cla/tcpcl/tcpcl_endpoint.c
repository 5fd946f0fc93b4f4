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

void tcpcl_kick(struct tcpcl_endpoint *h)
{
    tcpcl_wake_at(h, 0);
}

void tcpcl_wake_at(struct tcpcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->alarm))
        alarm_set(&h->alarm, when);
}

void tcpcl_more_at(struct tcpcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->more))
        alarm_set(&h->more, when);
}

void tcpcl_pace_at(struct tcpcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->pace))
        alarm_set(&h->pace, when);
}

/* ---- turns ---- */

static void free_dead(struct tcpcl_endpoint *h)
{
    for (struct list *l; (l = list_first(&h->dead)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct tcpcl_conn, node));
    }
}

static void tell_left(struct tcpcl_endpoint *h)
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

static void secure_waiting(struct list *conns)
{
    bool again = true;
    while (again) { /* likewise */
        again = false;
        list_for_each (it, conns) {
            struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
            if (!c->awaits_files || tcpcl_tls_reading(c))
                continue;
            tcpcl_conn_secure(c);
            again = true;
            break;
        }
    }
}

void tcpcl_files_read(struct tcpcl_endpoint *h)
{
    h->files_read = true;
    tcpcl_kick(h);
}

static void go_on_securing(struct tcpcl_endpoint *h)
{
    if (!h->files_read)
        return;
    h->files_read = false;
    secure_waiting(&h->unidentified);
    list_for_each (it, &h->links)
        secure_waiting(&container_of(it, struct tcpcl_link, node)->conns);
}

static tick next_deadline(const struct list *conns)
{
    tick due = TICK_NEVER;
    list_for_each (it, conns)
        due = tick_min(due, tcpcl_deadline(container_of(it, struct tcpcl_conn, node)->session));
    return due;
}

static void warn_of_plain(struct tcpcl_link *l)
{
    char text[TCPCL_PLACE_MAX];
    struct stream_place at;
    if (l->warned || l->unconfigured || !tcpcl_exposed(l->config) || !tcpcl_local(l->config, &at))
        return;
    l->warned = true;
    if (l->config->tls == TCPCL_TLS_OFF)
        tcpcl_tell(
            l, 1,
            "listens at %s without TLS (tls: off): any peer that reaches it can say that it is any "
            "node",
            tcpcl_place_text(&at, text));
}

static void tend_link(struct tcpcl_link *l, tick now)
{
    warn_of_plain(l);
    expire_conns(&l->conns, now);
    const tick claims = tcpcl_claim_tend(l, now);
    if (l->retry_at <= now) {
        l->retry_at = TICK_NEVER;
        tcpcl_remote_connect(l);
    }
    tcpcl_tell_link(l);
    tcpcl_set_limits(l, true);
    tcpcl_wake_at(l->endpoint, tick_min(claims, tick_min(l->retry_at, next_deadline(&l->conns))));
}

static void end_endpoint(struct tcpcl_endpoint *h)
{
    assert(h->ending && list_empty(&h->links) && list_empty(&h->unidentified));
    world_detach(&h->round);
    alarm_fini(&h->alarm);
    alarm_fini(&h->more);
    alarm_fini(&h->pace);
    free_dead(h);
    crowd_place_fini(&h->crowds); /* the room may go with the last link */
    tell_left(h);
    free(h);
}

/* Links come and go at the list's end only while it is gone through: those who come in, and those
 * that the node closes, which it does not within an event. */
static void take_turn(void *context)
{
    struct tcpcl_endpoint *h = context;
    if (h->ending) {
        end_endpoint(h);
        return;
    }
    tick now = world_now(h->world);
    free_dead(h);
    expire_conns(&h->unidentified, now);
    go_on_securing(h);
    list_for_each (it, &h->links)
        tend_link(container_of(it, struct tcpcl_link, node), now);
    tcpcl_wake_at(h, next_deadline(&h->unidentified));
    tell_left(h);
}

/* So many sessions share the messages of the turn that begins. */
static uint32_t share_turn(struct tcpcl_endpoint *h, uint32_t sessions, tick now)
{
    const uint32_t all = turn_size_next(&h->turn, h->turn_follows, now);
    const uint32_t least = all < TCPCL_TURN ? 1 : TCPCL_TURN_LEAST;
    const uint32_t share = sessions == 0 ? all : all / sessions;
    return share < least ? least : share;
}

/* Once in each turn of the loop: those that had more to say than a turn takes, in their order. */
static void take_stopped(void *context)
{
    struct tcpcl_endpoint *h = context;
    struct list list;
    const tick now = world_now(h->world);
    uint32_t sessions = 0;
    list_init(&list);
    list_for_each_safe (it, &h->stopped) {
        const struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, later);
        if (tcpcl_conn_rests(c, now)) {
            tcpcl_more_at(h, tcpcl_rests_until(c));
            continue;
        }
        list_sub(it);
        list_add_tail(&list, it);
        sessions++;
    }
    h->sharing = sessions < 1 ? 1 : sessions;
    const uint32_t messages = share_turn(h, sessions, now);
    while (!list_empty(&list))
        tcpcl_conn_turn(container_of(list_first(&list), struct tcpcl_conn, later), messages);
    h->turn_follows = alarm_due(&h->more) == 0;
}

static void pace_links(void *context)
{
    tcpcl_pace_go_on(context);
}

/* What the node gave in this round, and confirmed, is written. */
static bool end_round(void *context)
{
    struct tcpcl_endpoint *h = context;
    bool any = !list_empty(&h->dirty);
    h->rounds++;
    for (struct list *l; (l = list_first(&h->dirty)) != NULL;)
        tcpcl_conn_pump(container_of(l, struct tcpcl_conn, todo));
    return any;
}

/* ---- who connects ---- */

static const struct tcpcl_link *first_of(const struct tcpcl_endpoint *h)
{
    return container_of(list_first(&h->links), struct tcpcl_link, node);
}

static void drop_unidentified(struct crowd_entry *gives_way)
{
    struct tcpcl_conn *c = container_of(gives_way, struct tcpcl_conn, from);
    c->endpoint->turned_away++;
    tcpcl_conn_drop(c);
}

static void on_accepted(void *context, struct stream *s)
{
    struct tcpcl_endpoint *h = context;
    const struct tcpcl_config *k = first_of(h)->config;
    struct address peer = {.sa = {.sa_family = AF_UNSPEC}};
    uint8_t prefix[ADDRESS_PREFIX_MAX];
    h->accepted++;
    (void)stream_peer(s, &peer); /* UNIX sockets have none: they are one crowd, without a limit */
    const struct slice from = address_prefix(&peer, prefix);
    const uint64_t each = from.len > 0 ? k->unidentified_address : UINT64_MAX;
    crowd_place_clear(&h->crowds, from, each, k->unidentified);
    tcpcl_conn_accept(h, s, from);
}

/* ---- from the first link to the last ---- */

static bool same_place(const struct tcpcl_endpoint *h, const struct stream_place *p)
{
    if (h->listener == NULL)
        return false;
    if (p->path != NULL)
        return strcmp(h->path, p->path) == 0;
    return h->path[0] == '\0' && address_port(p->address) != 0 &&
           address_equal(&h->local, p->address);
}

static struct tcpcl_endpoint *find_endpoint(const struct tcpcl_link *l,
                                            const struct stream_place *at)
{
    struct tcpcl_endpoint *h = l->env.shared == NULL ? NULL : *l->env.shared;
    while (h != NULL && !same_place(h, at))
        h = h->next;
    return h;
}

static struct tcpcl_endpoint *endpoint_new(const struct tcpcl_link *l)
{
    struct tcpcl_endpoint *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->world = l->env.world;
    h->shared = l->env.rests != NULL ? l->env.rests : &h->own_rests;
    struct crowd_room *room = l->env.room != NULL ? l->env.room : &h->own_room;
    if (crowd_place_init(&h->crowds, room, l->env.seed, drop_unidentified) != 0) {
        free(h);
        return NULL;
    }
    list_init(&h->links);
    list_init(&h->leaving);
    list_init(&h->unidentified);
    list_init(&h->dead);
    list_init(&h->dirty);
    list_init(&h->stopped);
    h->sharing = 1;
    turn_size_init(&h->turn, TCPCL_TURN_SHORT, TCPCL_TURN);
    alarm_init(&h->alarm, h->world, ALARM_LINK, take_turn, h);
    alarm_init(&h->more, h->world, ALARM_LINK, take_stopped, h);
    alarm_init(&h->pace, h->world, ALARM_LINK, pace_links, h);
    h->round = (struct round_end){.run = end_round, .context = h};
    world_attach(h->world, &h->round);
    if (l->env.shared != NULL) {
        h->anchor = (struct tcpcl_endpoint **)(void *)l->env.shared;
        h->next = *h->anchor;
        *h->anchor = h;
    }
    return h;
}

static void forget_endpoint(struct tcpcl_endpoint *h)
{
    for (struct tcpcl_endpoint **at = h->anchor; at != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
}

static int listen_at(struct tcpcl_endpoint *h, const struct stream_place *at, char *why,
                     size_t why_cap)
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
    struct tcpcl_endpoint *h = listens ? find_endpoint(l, &at) : NULL;
    if (h == NULL) {
        h = endpoint_new(l);
        if (h == NULL)
            return HELIO_ENOMEM;
        int r = listens ? listen_at(h, &at, why, why_cap) : 0;
        if (r != 0) {
            forget_endpoint(h);
            world_detach(&h->round);
            alarm_fini(&h->alarm);
            alarm_fini(&h->more);
            alarm_fini(&h->pace);
            crowd_place_fini(&h->crowds);
            free(h);
            return r;
        }
    }
    tcpcl_enter(h, l);
    return 0;
}

void tcpcl_enter(struct tcpcl_endpoint *h, struct tcpcl_link *l)
{
    assert(!h->ending);
    l->endpoint = h;
    rest_init(&l->late, h->shared);
    list_add_tail(&h->links, &l->node);
}

void tcpcl_leave(struct tcpcl_link *l)
{
    struct tcpcl_endpoint *h = l->endpoint;
    assert(!h->ending && list_empty(&l->conns));
    list_sub(&l->node);
    list_add_tail(&h->leaving, &l->node);
    tcpcl_kick(h);
    if (!list_empty(&h->links))
        return;
    h->ending = true;
    forget_endpoint(h);
    while (!list_empty(&h->unidentified))
        tcpcl_conn_drop(container_of(list_first(&h->unidentified), struct tcpcl_conn, node));
    if (h->listener != NULL)
        stream_unlisten(h->listener);
    h->listener = NULL;
}
