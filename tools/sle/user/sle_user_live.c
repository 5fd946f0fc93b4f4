/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLTUs arrive as datagrams, one in each, from a mission control system. If the service is started
 * they are sent at once; they are kept until the provider has accepted them, or refused them for
 * good. Telecommand frames are encoded first, where that is wanted.
 *
 * What can go wrong: a datagram comes while the service is not started, or while USER_LIVE_MAX of
 * them wait: it is dropped, because a telecommand that is late may be worse than none. A datagram
 * that is no CLTU, or that another host sent, is dropped, too. All are counted, and logged at most
 * once each second. A CLTU whose association ends before its radiation was notified is lost: it is
 * not known whether it was radiated, so it is not sent again.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "frames/cltu.h"
#include "tools/sle/user/sle_user_run.h"

#define ROUND_READS 4u             /* then others have their turn */
#define READ_ROOM (64u * 1024u)    /* octets of datagrams of one read */
#define SOCKET_ROOM (1024u * 1024) /* octets that the socket holds, where permitted */
#define TC_HEAD 5u                 /* octets of a telecommand frame's header */
#define TC_FRAME_MAX 1024u

static_assert(CLTU_START_LEN + (TC_FRAME_MAX + 6) / 7 * 8 + CLTU_TAIL_LEN <= SLE_CLTU_MAX,
              "each frame is a CLTU");

struct live {
    struct association *association;
    struct port *port; /* NULL: no more are taken */
    struct buf *ring[USER_LIVE_MAX];
    size_t first, len;         /* indices since START: kept are first..len-1 */
    struct live_counts counts; /* of earlier STARTs, and of datagrams */
    struct live_counts told;
};

bool live_is_open(const struct live *v)
{
    return v->port != NULL;
}

struct slice live_cltu(const struct live *v, size_t index)
{
    assert(index >= v->first && index < v->len);
    return buf_slice(v->ring[index % USER_LIVE_MAX]);
}

void live_settle(struct live *v, size_t index)
{
    assert(index <= v->len);
    for (; v->first < index; v->first++) {
        buf_drop(v->ring[v->first % USER_LIVE_MAX]);
        v->ring[v->first % USER_LIVE_MAX] = NULL;
    }
}

/* ---- counts ---- */

/* What has begun and has no end yet. */
static uint64_t count_open(const struct cltus *c)
{
    const uint64_t ended = c->radiated + c->expired + c->discarded;
    return c->sent - c->answered + (c->accepted > ended ? c->accepted - ended : 0);
}

struct live_counts live_counts(const struct cltus *c)
{
    struct live_counts n = c->live->counts;
    n.sent += c->sent;
    n.accepted += c->accepted;
    n.refused += c->refused;
    n.radiated += c->radiated;
    n.other += c->other;
    n.expired += c->expired;
    n.discarded += c->discarded;
    n.interrupted += c->interrupted;
    return n;
}

void live_reset(struct association *a)
{
    struct cltus *c = &a->cltus;
    struct live *v = c->live;
    if (v == NULL)
        return;
    assert(c->next <= c->len && c->len <= v->len);
    struct live_counts n = live_counts(c);
    n.lost += count_open(c);
    n.dropped += c->len - c->next;
    v->counts = n;
    live_settle(v, v->len);
    v->first = v->len = 0;
    *c = (struct cltus){.live = v, .run_id = USER_FIRST_CLTU};
}

static void tell_more(struct association *a, const char *what, uint64_t now, uint64_t before)
{
    if (now > before)
        say(&a->user->log, LEVEL_WARNING, "%s: %" PRIu64 " CLTUs %s", a->id, now - before, what);
}

void live_second(struct association *a)
{
    struct live *v = a->cltus.live;
    if (v == NULL)
        return;
    const struct live_counts n = live_counts(&a->cltus), *t = &v->told;
    tell_more(a, "were dropped: the service was not started, or too many waited", n.dropped,
              t->dropped);
    tell_more(a, "were lost with the association: they may have been radiated or not", n.lost,
              t->lost);
    tell_more(a, "were discarded by the provider", n.discarded, t->discarded);
    tell_more(a, "were dropped: the datagrams are no CLTUs, or no telecommand frames", n.bad,
              t->bad);
    tell_more(a, "were dropped: another host sent them", n.foreign, t->foreign);
    v->told = n;
}

/* ---- datagrams ---- */

/* A telecommand frame (232.0-B-4 4.1.2) has version 0, and its length less one in ten bits. */
static bool is_frame(struct slice d)
{
    if (d.len < TC_HEAD || d.len > TC_FRAME_MAX || d.data[0] >> 6 != 0)
        return false;
    return (size_t)((d.data[2] & 3) << 8 | d.data[3]) + 1 == d.len;
}

/* NULL: it is wrong, or memory is out; *bad says which. */
static struct buf *make_cltu(const struct user_options *o, struct slice d, bool *bad)
{
    const bool encode = o->encoding != USER_CLTUS;
    *bad = encode ? !is_frame(d) : d.len == 0 || d.len > SLE_CLTU_MAX;
    if (*bad)
        return NULL;
    const size_t room = encode ? cltu_size(d.len) : d.len;
    struct buf *b = buf_new(0, room);
    if (b == NULL)
        return NULL;
    if (encode)
        b->len = cltu_write(d.data, d.len, o->encoding == USER_FRAMES_RANDOMISED, b->mem, room);
    else
        memcpy(b->mem, d.data, b->len = d.len);
    assert(b->len == room);
    return b;
}

static void take_datagram(struct live *v, struct slice d, const struct address *from)
{
    struct association *a = v->association;
    const struct user_options *o = a->user->options;
    bool bad = false;
    v->counts.received++;
    if (address_given(&o->cltu_source) &&
        !address_passes(from, &o->cltu_source, ADDRESS_CHECK_HOST)) {
        v->counts.foreign++;
        return;
    }
    if (!a->started || v->len - v->first >= USER_LIVE_MAX) {
        v->counts.dropped++;
        return;
    }
    struct buf *b = make_cltu(o, d, &bad);
    if (b == NULL) {
        v->counts.bad += bad ? 1 : 0;
        v->counts.dropped += bad ? 0 : 1;
        return;
    }
    v->ring[v->len++ % USER_LIVE_MAX] = b;
    a->cltus.len = v->len;
    say(&a->user->log, LEVEL_INFO, "%s: a CLTU of %zu octets", a->id, b->len);
}

static void on_port(void *context, bool readable, bool writable)
{
    struct live *v = context;
    struct slice d;
    (void)writable;
    if (!readable || v->port == NULL)
        return;
    struct udp_io *io = v->port->io;
    for (unsigned n = 0; n < ROUND_READS && udp_fill(io, READ_ROOM); n++)
        while (udp_next(io, &d))
            take_datagram(v, d, udp_from(io));
    association_forward(v->association);
}

static void on_closed(void *context)
{
    (void)context;
}

int live_open(struct association *a)
{
    struct user *u = a->user;
    const struct user_options *o = u->options;
    char text[ADDRESS_TEXT_MAX];
    if (!address_given(&o->cltu_at))
        return 0;
    struct live *v = calloc(1, sizeof *v);
    int e =
        v == NULL ? HELIO_ENOMEM : port_open(u->world, &v->port, &o->cltu_at, false, on_port, v);
    if (e < 0) {
        say(&u->log, LEVEL_ERROR, "--cltu-datagrams %s: %s", address_write(&o->cltu_at, text),
            helio_strerror(e));
        free(v);
        return e;
    }
    v->association = a;
    (void)udp_buffers(v->port->io, SOCKET_ROOM, 0, &(uint64_t){0}, &(uint64_t){0});
    a->cltus.live = v;
    a->cltus.run_id = USER_FIRST_CLTU;
    port_watch(v->port, true, false);
    return 0;
}

void live_finish(struct cltus *c)
{
    struct live *v = c->live;
    if (v == NULL || v->port == NULL)
        return;
    port_close(v->port, on_closed, NULL);
    v->port = NULL;
    v->counts.dropped += c->len - c->next;
    c->len = c->next;
}

void live_free(struct cltus *c)
{
    if (c->live == NULL)
        return;
    live_finish(c);
    live_settle(c->live, c->live->len);
    free(c->live);
    c->live = NULL;
}
