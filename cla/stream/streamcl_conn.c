/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: octets are received, and each whole bundle is passed to the node. What can go
 * wrong: the connection fails, ends, or brings invalid octets or none. If the node has no room for
 * an arriving bundle, the rest of the bundle is dropped, because the protocol cannot signal that to
 * its sender. All of it is counted.
 */
#include <assert.h>
#include <stdlib.h>

#include "cla/stream/streamcl_link.h"

static const struct stream_user user;

const char *streamcl_end_text(enum streamcl_end e)
{
#define END_TEXT(name, text) [STREAMCL_END_##name] = text,
    static const char *const texts[STREAMCL_END_COUNT] = {STREAMCL_ENDS(END_TEXT)};
#undef END_TEXT
    assert((unsigned)e < STREAMCL_END_COUNT);
    return texts[e];
}

static tick now_of(const struct streamcl_conn *c)
{
    return world_now(c->endpoint->s.world);
}

/* ---- what arrives ---- */

/* What the bundle that arrives takes of the node's memory is what has come of it. */
static void settle_account(struct streamcl_conn *c)
{
    struct streamcl_link *l = c->link;
    const struct cla_events *to = &l->env.events;
    uint64_t held = streamcl_held(&c->in);
    if (held == c->held || to->reserve == NULL)
        return;
    if (held > c->held && !to->reserve(to->context, &l->cla, held - c->held)) {
        l->n.bundles_shed++;
        streamcl_shed(&c->in);
        held = 0;
    } else if (held > c->held) {
        c->held = held;
    }
    if (held < c->held)
        to->release(to->context, &l->cla, c->held - held);
    c->held = held;
    assert(c->held == streamcl_held(&c->in));
}

static void take_bundle(struct streamcl_conn *c, struct buf *bundle)
{
    struct streamcl_link *l = c->link;
    const uint64_t bytes = bundle->len;
    assert(bytes >= 1 && bytes <= c->in.bundle_max && streamcl_held(&c->in) == 0);
    settle_account(c); /* the bundle counts at the node from here on */
    c->brought = true;
    crowd_entry_active(&c->from);
    l->n.bundles_received++;
    l->n.bundle_bytes_received += bytes;
    l->unconfirmed += bytes;
    l->env.events.received(l->env.events.context, &l->cla, bundle, bytes);
}

/* Steps that it costs; 0: nothing more is complete. */
static uint32_t take_step(struct streamcl_conn *c, uint64_t *bundles, uint64_t *bytes)
{
    struct streamcl_link *l = c->link;
    struct buf *bundle = NULL;
    switch (streamcl_next(&c->in, &bundle)) {
    case STREAMCL_MORE:
        break;
    case STREAMCL_KEEPALIVE:
        l->n.keepalives_rx++;
        return 1;
    case STREAMCL_BUNDLE:
        ++*bundles;
        *bytes += bundle->len;
        take_bundle(c, bundle);
        return STREAMCL_TURN_BUNDLE;
    case STREAMCL_NO_ROOM:
        l->n.no_memory++;
        return STREAMCL_TURN_BUNDLE;
    case STREAMCL_SKIPPED:
        return STREAMCL_TURN_BUNDLE;
    case STREAMCL_TOO_LONG:
        streamcl_conn_end(c, STREAMCL_END_TOO_LONG, 0);
        break;
    case STREAMCL_MALFORMED:
        streamcl_conn_end(c, STREAMCL_END_MALFORMED, 0);
        break;
    }
    return 0;
}

/* The node, or the store, wants no more now, or its turn has to wait. */
static bool must_wait(const struct streamcl_conn *c)
{
    const struct streamcl_link *l = c->link;
    return l->paused || streamcl_full(l);
}

static bool does_rest(const struct streamcl_conn *c)
{
    return now_of(c) < rest_until(&c->link->rest, c->endpoint->s.shared);
}

/* The time of bundles, and of dropped octets, is charged to the link (base/rest.h). Otherwise a
 * peer that fills the memory would use most of the loop's reads. */
static void charge_time(struct streamcl_conn *c, tick began, uint64_t bundles, uint64_t bytes,
                        tick earned)
{
    struct streamcl_endpoint *h = c->endpoint;
    const tick now = now_of(c);
    const tick took =
        took_end(&h->s.took, h->s.world, began, now) + c->in.dropped * STREAMCL_DROP_TIME;
    c->in.dropped = 0;
    const tick fair =
        bundles * STREAMCL_BUNDLE_TIME + bytes * STREAMCL_BYTE_TIME + h->s.shared->earned - earned;
    rest_received(&c->link->rest, h->s.shared, bundles, now);
    (void)rest_spend(&c->link->rest, h->s.shared, took, fair, 1, now);
}

void streamcl_conn_take(struct streamcl_conn *c, uint32_t steps)
{
    const tick began = now_of(c), earned = c->endpoint->s.shared->earned;
    uint64_t bundles = 0, bytes = 0;
    uint32_t cost = 1;
    list_sub(&c->later);
    if (c->stream == NULL || c->taking)
        return;
    c->taking = true;
    took_begin(&c->endpoint->s.took, c->endpoint->s.world, began);
    c->more = true;
    while (c->stream != NULL && steps > 0 && !must_wait(c)) {
        cost = take_step(c, &bundles, &bytes);
        if (cost == 0)
            break;
        steps -= cost < steps ? cost : steps;
    }
    c->taking = false;
    c->more = c->stream != NULL && cost != 0;
    if (c->stream != NULL)
        settle_account(c);
    if (bundles > 0 || c->in.dropped > 0)
        charge_time(c, began, bundles, bytes, earned);
    if (c->stream != NULL)
        streamcl_conn_watch(c);
}

void streamcl_conn_watch(struct streamcl_conn *c)
{
    const bool rests = does_rest(c), waits = must_wait(c);
    assert(c->stream != NULL && !c->taking);
    const bool reads = c->connected && !waits && !rests && !c->more;
    if (reads != c->reading) {
        c->reading = reads;
        stream_read(c->stream, reads);
        c->heard = reads ? now_of(c) : c->heard;
    }
    if (!waits && (c->more || rests) && list_empty(&c->later)) {
        list_add_tail(&c->endpoint->s.stopped, &c->later);
        stream_endpoint_more_at(&c->endpoint->s,
                                rests ? rest_until(&c->link->rest, c->endpoint->s.shared) : 0);
    }
    stream_endpoint_wake_at(&c->endpoint->s, streamcl_conn_deadline(c));
}

/* ---- silence ---- */

tick streamcl_conn_deadline(const struct streamcl_conn *c)
{
    const struct streamcl_config *k = c->link->config;
    if (!c->connected)
        return tick_add(c->heard, k->timeout);
    if (!c->reading)
        return TICK_NEVER; /* this side does not listen */
    if (streamcl_within(&c->in))
        return tick_add(c->heard, k->transfer_idle);
    return c->own ? TICK_NEVER : tick_add(c->heard, k->idle);
}

void streamcl_conn_expire(struct streamcl_conn *c, tick now)
{
    if (now < streamcl_conn_deadline(c))
        return;
    streamcl_conn_end(c,
                      !c->connected             ? STREAMCL_END_TIMEOUT
                      : streamcl_within(&c->in) ? STREAMCL_END_TRANSFER_IDLE
                                                : STREAMCL_END_IDLE,
                      0);
}

/* ---- the stream ---- */

static uint8_t *give_space(void *context, size_t *len)
{
    struct streamcl_conn *c = context;
    return streamcl_space(&c->in, len);
}

static void take_bytes(void *context, size_t len)
{
    struct streamcl_conn *c = context;
    assert(len >= 1 && c->reading);
    c->heard = c->link->n.heard = now_of(c);
    c->link->n.rx_bytes += len;
    streamcl_fed(&c->in, len);
    streamcl_conn_take(c, STREAMCL_TURN);
}

static void begin_sending(struct streamcl_conn *c)
{
    struct streamcl_link *l = c->link;
    assert(l->out == c && l->begun == 0);
    c->connected = true;
    remote_name_reached(&c->link->remote);
    l->n.connected++;
    l->pause = 0;
    l->wrote_at = now_of(c);
    streamcl_conn_watch(c);
    streamcl_tell_link(l);
}

static void on_writable(void *context)
{
    struct streamcl_conn *c = context;
    if (!c->own)
        return;
    if (!c->connected)
        begin_sending(c);
    if (c->stream != NULL)
        streamcl_write(c->link);
}

static void on_ended(void *context, int error)
{
    struct streamcl_conn *c = context;
    const enum streamcl_end end = !c->connected             ? STREAMCL_END_CONNECT
                                  : error != 0              ? STREAMCL_END_STREAM
                                  : streamcl_within(&c->in) ? STREAMCL_END_CUT
                                                            : STREAMCL_END_PEER;
    streamcl_conn_end(c, end, error);
}

static const struct stream_user user = {
    .space = give_space, .fed = take_bytes, .writable = on_writable, .ended = on_ended};

/* ---- from the beginning to the end ---- */

static struct streamcl_conn *conn_new(struct streamcl_endpoint *h, struct streamcl_link *l,
                                      bool own)
{
    struct streamcl_conn *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct streamcl_conn){
        .endpoint = h, .link = l, .own = own, .connected = !own, .heard = world_now(h->s.world)};
    list_init(&c->node);
    list_init(&c->later);
    streamcl_input_init(&c->in, l->framing, l->env.bundle_max);
    return c;
}

static void set_up_stream(struct streamcl_conn *c)
{
    const struct streamcl_config *k = c->link->config;
    const int r =
        stream_endpoint_set_up(c->stream, k->socket_buffer, c->own ? k->congestion : NULL);
    if (r != 0)
        cla_say(&c->link->cla, 1, STREAM_ENDPOINT_NO_CONGESTION, k->congestion, helio_strerror(r));
}

static void add_conn(struct streamcl_conn *c)
{
    assert(c->stream != NULL && c->own == (c->link->out == c));
    list_add_tail(&c->link->conns, &c->node);
    c->link->conns_len++;
    set_up_stream(c);
}

void streamcl_conn_accept(struct streamcl_link *l, struct stream *s, const struct slice *crowd)
{
    struct streamcl_endpoint *h = l->endpoint;
    struct streamcl_conn *c = conn_new(h, l, false);
    if (c == NULL || (crowd != NULL && crowd_entry_add(&h->s.crowds, &c->from, *crowd) != 0)) {
        h->s.displaced++;
        free(c);
        stream_close(s);
        return;
    }
    c->stream = s;
    c->named = crowd == NULL;
    h->named_len += c->named;
    stream_use(s, &user, c);
    l->n.accepted++;
    add_conn(c);
    streamcl_conn_watch(c);
}

/* One attempt, to the next address of its name. */
static void connect_link(struct streamcl_link *l)
{
    struct address at;
    const struct stream_place to = {.address = &at};
    const bool known = remote_name_next(&l->remote, &at);
    assert(known && l->out == NULL);
    (void)known;
    struct streamcl_conn *c = conn_new(l->endpoint, l, true);
    l->n.connects++;
    const int r =
        c == NULL ? HELIO_ENOMEM : stream_connect(l->env.world, &c->stream, &to, &user, c);
    if (r != 0) {
        l->n.connects_failed++;
        free(c);
        streamcl_down(l, streamcl_end_text(STREAMCL_END_CONNECT), r);
        streamcl_retry_later(l, true);
        return;
    }
    l->out = c;
    add_conn(c);
    (void)stream_write(c->stream, NULL, 0); /* on_writable says that it is connected */
    stream_endpoint_wake_at(&l->endpoint->s, streamcl_conn_deadline(c));
}

void streamcl_conn_connect(struct streamcl_link *l)
{
    if (l->out != NULL || !streamcl_wanted(l))
        return;
    if (remote_name_is_name(&l->remote))
        remote_name_ask(&l->remote);
    l->resolving = l->remote.found_len == 0;
    if (!l->resolving)
        connect_link(l);
}

static void tell_failure(struct streamcl_link *l)
{
    char text[REMOTE_NAME_SAY_MAX];
    assert(l->remote.failed);
    if (l->remote.found_len == 0) {
        streamcl_down(l, l->remote.why, 0);
        return;
    }
    remote_name_failure(&l->remote, text);
    if (text[0] != '\0')
        cla_say(&l->cla, 1, "%s", text);
}

/* The last attempt used an address that is no longer the peer's. If it has failed, the next attempt
 * needs no pause; if it is unanswered, it ends. */
static void follow_name(struct streamcl_link *l)
{
    char text[REMOTE_NAME_TEXT_MAX];
    if (!streamcl_wanted(l) || (l->out != NULL && l->out->connected))
        return;
    if (l->out != NULL)
        streamcl_conn_end(l->out, STREAMCL_END_HERE, 0);
    l->retry_at = TICK_NEVER;
    connect_link(l);
    cla_say(&l->cla, 2, "remote has moved: connects to %s", remote_name_write(&l->remote, text));
}

/* Also of a look-up for the addresses of peers that connect: then no attempt waits. */
void streamcl_conn_resolved(void *link)
{
    struct streamcl_link *l = link;
    const bool connects = l->resolving && l->out == NULL && streamcl_wanted(l);
    l->resolving = false;
    if (l->remote.failed)
        tell_failure(l);
    if (connects && l->remote.found_len > 0) {
        connect_link(l);
    } else if (connects) {
        l->n.connects_failed++;
        streamcl_retry_later(l, true);
    } else if (remote_name_moved(&l->remote)) {
        follow_name(l);
    }
}

/* Removes it from its lists; it is freed in the next turn. */
static void bury_conn(struct streamcl_conn *c)
{
    struct streamcl_link *l = c->link;
    assert(l->conns_len > 0 && l->out != c);
    streamcl_shed(&c->in);
    settle_account(c);
    streamcl_input_fini(&c->in);
    stream_close(c->stream);
    c->stream = NULL;
    list_sub(&c->later);
    list_sub(&c->node);
    l->conns_len--;
    crowd_entry_sub(&c->from);
    c->endpoint->named_len -= c->named;
    list_add_tail(&c->endpoint->s.dead, &c->node);
    stream_endpoint_kick(&c->endpoint->s);
}

/* Of a peer's connection, or of one that this node wanted to end, nothing is worth a line. */
static void tell_end(struct streamcl_conn *c, enum streamcl_end end, int error)
{
    struct address from;
    char text[ADDRESS_TEXT_MAX] = "a peer";
    struct streamcl_link *l = c->link;
    if (c->own && end != STREAMCL_END_HERE)
        streamcl_down(l, streamcl_end_text(end), error);
    else if (end == STREAMCL_END_TOO_LONG || end == STREAMCL_END_MALFORMED)
        cla_say(&l->cla, 1, "a connection from %s is closed: %s",
                stream_peer(c->stream, &from) ? address_write(&from, text) : text,
                streamcl_end_text(end));
}

void streamcl_conn_end(struct streamcl_conn *c, enum streamcl_end end, int error)
{
    struct streamcl_link *l = c->link;
    const bool was_connected = c->connected;
    assert(c->stream != NULL && end < STREAMCL_END_COUNT);
    l->n.ends[end]++;
    tell_end(c, end, error);
    if (!c->own) {
        bury_conn(c);
        return;
    }
    if (end != STREAMCL_END_HERE && was_connected)
        l->n.bytes_unacknowledged += stream_unheard(c->stream);
    l->n.connects_failed += !was_connected;
    l->out = NULL;
    bury_conn(c);
    alarm_set(&l->pace, TICK_NEVER);
    streamcl_retry_later(l, !was_connected);
}
