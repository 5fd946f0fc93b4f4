/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local endpoint of a link (cla/stream_endpoint.h). In its turns it serves deadlines of links
 * and sessions, and links connect. It also has the connections whose peer has not identified
 * itself. What can go wrong: too many of them; then one is displaced.
 */
#include <assert.h>

#include "cla/tcpcl/tcpcl_link.h"

void tcpcl_pace_at(struct tcpcl_endpoint *h, tick when)
{
    if (when < alarm_due(&h->pace))
        alarm_set(&h->pace, when);
}

/* ---- turns ---- */

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
    stream_endpoint_kick(&h->s);
}

static void go_on_securing(struct tcpcl_endpoint *h)
{
    if (!h->files_read)
        return;
    h->files_read = false;
    secure_waiting(&h->unidentified);
    list_for_each (it, &h->s.common.links)
        secure_waiting(&container_of(it, struct tcpcl_link, cla.node)->conns);
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
    char why[256];
    if (l->warned || l->unconfigured || !tcpcl_plain(l->config, why, sizeof why))
        return;
    l->warned = true;
    cla_say(&l->cla, 1, "%s", why);
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
    stream_endpoint_wake_at(&l->endpoint->s,
                            tick_min(claims, tick_min(l->retry_at, next_deadline(&l->conns))));
}

static void tend_links(struct stream_endpoint *s, tick now)
{
    struct tcpcl_endpoint *h = container_of(s, struct tcpcl_endpoint, s);
    expire_conns(&h->unidentified, now);
    go_on_securing(h);
    list_for_each (it, &s->common.links)
        tend_link(container_of(it, struct tcpcl_link, cla.node), now);
    stream_endpoint_wake_at(s, next_deadline(&h->unidentified));
}

static void take_later(struct list *later, uint32_t messages)
{
    tcpcl_conn_turn(container_of(later, struct tcpcl_conn, later), messages);
}

static tick rests_until(struct list *later)
{
    return tcpcl_rests_until(container_of(later, struct tcpcl_conn, later));
}

static void write_conn(struct list *todo)
{
    tcpcl_conn_pump(container_of(todo, struct tcpcl_conn, todo));
}

static void pace_links(void *context)
{
    tcpcl_pace_go_on(context);
}

/* ---- accepted connections ---- */

static void drop_unidentified(struct crowd_entry *gives_way)
{
    struct tcpcl_conn *c = container_of(gives_way, struct tcpcl_conn, from);
    c->endpoint->s.displaced++;
    tcpcl_conn_drop(c);
}

static void on_accepted(void *context, struct stream *s)
{
    struct tcpcl_endpoint *h = context;
    const struct tcpcl_config *k = tcpcl_first_link(h)->config;
    struct address peer = {.sa = {.sa_family = AF_UNSPEC}};
    uint8_t prefix[ADDRESS_PREFIX_MAX];
    h->s.accepted++;
    (void)stream_peer(s, &peer); /* UNIX sockets have none: they are one crowd, without a limit */
    const struct slice from = address_prefix(&peer, prefix);
    const uint64_t each = from.len > 0 ? k->unidentified_address : UINT64_MAX;
    crowd_place_clear(&h->s.crowds, from, each, k->unidentified);
    tcpcl_conn_accept(h, s, from);
}

/* ---- links come and leave ---- */

static void end_unidentified(struct stream_endpoint *s)
{
    struct tcpcl_endpoint *h = container_of(s, struct tcpcl_endpoint, s);
    while (!list_empty(&h->unidentified))
        tcpcl_conn_drop(container_of(list_first(&h->unidentified), struct tcpcl_conn, node));
    alarm_fini(&h->pace);
}

static const struct stream_endpoint_ops endpoint_ops = {
    .size = sizeof(struct tcpcl_endpoint),
    .turn = TCPCL_TURN,
    .turn_short = TCPCL_TURN_SHORT,
    .turn_least = TCPCL_TURN_LEAST,
    .tend = tend_links,
    .take = take_later,
    .rests_until = rests_until,
    .write = write_conn,
    .accepted = on_accepted,
    .displaced = drop_unidentified,
    .end = end_unidentified,
};

int tcpcl_join(struct tcpcl_link *l, char *why, size_t why_cap)
{
    struct stream_place at;
    const bool listens = tcpcl_local(l->config, &at);
    struct stream_endpoint *s = listens ? stream_endpoint_find(&l->env, &at) : NULL;
    static_assert(offsetof(struct tcpcl_conn, node) == 0, "freed by it (stream_endpoint.dead)");
    if (s == NULL) {
        const int r =
            stream_endpoint_open(&s, &endpoint_ops, &l->env, listens ? &at : NULL, why, why_cap);
        if (r != 0)
            return r;
        struct tcpcl_endpoint *h = container_of(s, struct tcpcl_endpoint, s);
        list_init(&h->unidentified);
        alarm_init(&h->pace, s->world, ALARM_LINK, pace_links, h);
    }
    tcpcl_enter(container_of(s, struct tcpcl_endpoint, s), l);
    return 0;
}

void tcpcl_enter(struct tcpcl_endpoint *h, struct tcpcl_link *l)
{
    l->endpoint = h;
    rest_init(&l->late, h->s.shared);
    local_endpoint_enter(&h->s.common, &l->cla);
}

void tcpcl_leave(struct tcpcl_link *l)
{
    assert(list_empty(&l->conns));
    stream_endpoint_leave(&l->endpoint->s, &l->cla);
}
