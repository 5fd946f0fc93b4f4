/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local endpoint of a link (cla/stream_endpoint.h). In its turns it serves deadlines, and links
 * connect. The source address of a connection selects its link. What can go wrong: no link accepts
 * a connection, which is refused; too many connect, and one is displaced.
 */
#include <assert.h>
#include <stdio.h>

#include "cla/stream/streamcl_link.h"

#define SAY_PAUSE (10 * TICK_S)

static void warn_of_exposure(struct streamcl_link *l)
{
    const char *key;
    char why[256];
    if (l->warned)
        return;
    l->warned = true;
    if (streamcl_config_warn(l->config, &l->env.node, 0, &key, why, sizeof why))
        cla_say(&l->cla, 1, "%s: %s", key, why);
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
    stream_endpoint_wake_at(&l->endpoint->s,
                            tick_min(streamcl_keepalive_at(l), tick_min(l->retry_at, due)));
}

static void tend_links(struct stream_endpoint *h, tick now)
{
    list_for_each (it, &h->common.links)
        tend_link(container_of(it, struct streamcl_link, cla.node), now);
}

static void take_later(struct list *later, uint32_t steps)
{
    streamcl_conn_take(container_of(later, struct streamcl_conn, later), steps);
}

static tick rests_until(struct list *later)
{
    const struct streamcl_conn *c = container_of(later, struct streamcl_conn, later);
    return rest_until(&c->link->rest, c->endpoint->s.shared);
}

static void write_link(struct list *todo)
{
    streamcl_write(container_of(todo, struct streamcl_link, todo));
}

/* ---- accepted connections ---- */

static void refuse_stream(struct streamcl_endpoint *h, struct stream *s, const struct address *from)
{
    char text[ADDRESS_TEXT_MAX];
    const tick now = world_now(h->s.world);
    h->s.unknown_refused++;
    stream_close(s);
    if (now < h->say_after || list_empty(&h->s.common.links))
        return;
    h->say_after = tick_add(now, SAY_PAUSE);
    cla_say(local_endpoint_link(&h->s.common), 1,
            "no link names %s: its connections are refused (%llu so far); source: any would "
            "let them in",
            address_given(from) ? address_write(from, text) : "the peer",
            (unsigned long long)h->s.unknown_refused);
}

/* The link whose remote is the source, else the first that accepts any source; NULL: none. A link
 * that an operator set to down accepts nothing. */
static struct streamcl_link *find_link(struct streamcl_endpoint *h, const struct address *from,
                                       bool *named)
{
    struct streamcl_link *any = NULL;
    *named = false;
    list_for_each (it, &h->s.common.links) {
        struct streamcl_link *l = container_of(it, struct streamcl_link, cla.node);
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
    c->endpoint->s.displaced++;
    streamcl_conn_end(c, STREAMCL_END_DISPLACED, 0);
}

static bool gives_way(const struct streamcl_conn *c, const struct streamcl_conn *before)
{
    return before == NULL ||
           (c->brought != before->brought ? !c->brought : c->heard < before->heard);
}

/* Connections from the host of a link's remote are in no crowd, so other hosts cannot displace
 * them. They have the limit of one address. Beyond it, one without a bundle is closed, else the one
 * with the longest silence. */
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
    l->endpoint->s.displaced++;
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
    h->s.accepted++;
    assert(!h->s.common.ending && l->endpoint == h);
    const struct slice key = address_prefix(&from, prefix);
    if (named)
        clear_named(l);
    else
        crowd_place_clear(&h->s.crowds, key, l->config->connections_address,
                          l->config->connections);
    streamcl_conn_accept(l, s, named ? NULL : &key);
}

/* ---- links come and leave ---- */

static const struct stream_endpoint_ops endpoint_ops = {
    .size = sizeof(struct streamcl_endpoint),
    .turn = STREAMCL_TURN,
    .turn_short = STREAMCL_TURN_LEAST,
    .turn_least = 1,
    .tend = tend_links,
    .take = take_later,
    .rests_until = rests_until,
    .write = write_link,
    .accepted = on_accepted,
    .displaced = displace_conn,
};

/* Two links would accept connections of the same host: the right one is undefined. */
static bool is_ambiguous(const struct stream_endpoint *h, const struct streamcl_link *l)
{
    list_for_each (it, &h->common.links) {
        if (streamcl_ambiguous(container_of(it, struct streamcl_link, cla.node)->config, l->config))
            return true;
    }
    return false;
}

int streamcl_join(struct streamcl_link *l, char *why, size_t why_cap)
{
    const struct stream_place at = {.address = &l->config->local};
    const bool listens = address_given(at.address);
    struct stream_endpoint *h = listens ? stream_endpoint_find(&l->env, &at) : NULL;
    if (h != NULL && is_ambiguous(h, l)) {
        snprintf(why, why_cap,
                 "remote: another link of this local address accepts the same connections");
        return HELIO_EEXIST;
    }
    const int r = h != NULL ? 0
                            : stream_endpoint_open(&h, &endpoint_ops, &l->env, listens ? &at : NULL,
                                                   why, why_cap);
    if (r != 0)
        return r;
    static_assert(offsetof(struct streamcl_conn, node) == 0, "freed by it (stream_endpoint.dead)");
    l->endpoint = container_of(h, struct streamcl_endpoint, s);
    rest_init(&l->rest, h->shared);
    local_endpoint_enter(&h->common, &l->cla);
    return 0;
}

void streamcl_leave(struct streamcl_link *l)
{
    assert(list_empty(&l->conns));
    list_sub(&l->todo);
    stream_endpoint_leave(&l->endpoint->s, &l->cla);
}
