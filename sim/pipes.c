/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A write becomes a piece in transit to the other end, with its time of arrival. While that end
 * reads, its user gets the piece. What can go wrong: no listener at the place, or a second one; no
 * memory, then a write accepts nothing and its stream ends.
 */
#include "sim/pipes_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "os/net/address.h"

static struct pipe_end *end_of(struct stream *s)
{
    return container_of(s, struct pipe_end, base);
}

/* ---- what is due ---- */

struct pipe_event pipe_event_at(struct pipes *p, tick delay)
{
    return (struct pipe_event){tick_add(world_now(p->world), delay), ++p->made};
}

static tick delay_to(const struct pipe_end *e)
{
    return e->served ? 0 : e->pipes->delay;
}

static bool comes_before(struct pipe_event a, struct pipe_event b)
{
    return a.due < b.due || (a.due == b.due && a.number < b.number);
}

struct pipe_piece *pipe_first_piece(const struct pipe_end *e)
{
    struct list *l = list_first(&e->pieces);
    return l == NULL ? NULL : container_of(l, struct pipe_piece, node);
}

/* The first thing that this end waits for. */
struct pipe_event pipe_next_event(const struct pipe_end *e)
{
    const struct pipe_piece *piece = pipe_first_piece(e);
    if (e->closed || e->told)
        return PIPE_NEVER;
    if (e->accept.due != TICK_NEVER)
        return e->accept;
    if (e->listener != NULL)
        return e->direction != NULL ? e->direction->again : PIPE_NEVER; /* it has no owner yet */
    if (e->error < 0)
        return e->end;
    struct pipe_event next = e->room;
    if (e->direction != NULL && comes_before(e->direction->again, next))
        next = e->direction->again;
    if (e->direction != NULL && e->reading && comes_before(e->direction->come, next))
        next = e->direction->come;
    if (e->reading && piece != NULL && comes_before(piece->there, next))
        next = piece->there;
    bool ends = e->full || (e->reading && piece == NULL);
    return ends && comes_before(e->end, next) ? e->end : next;
}

static struct pipe_end *first_end(const struct pipes *p, struct pipe_event *when)
{
    struct pipe_end *first = NULL;
    *when = PIPE_NEVER;
    list_for_each (l, &p->ends) {
        struct pipe_end *e = container_of(l, struct pipe_end, node);
        struct pipe_event next = pipe_next_event(e);
        if (next.due == TICK_NEVER || !comes_before(next, *when))
            continue;
        *when = next;
        first = e;
    }
    return first;
}

/* Something is due that was not. */
void pipe_wake(struct pipes *p, struct pipe_event e)
{
    if (p->busy == NULL && e.due < alarm_due(&p->alarm))
        alarm_set(&p->alarm, e.due);
}

void pipe_look_again(struct pipes *p)
{
    struct pipe_event when;
    (void)first_end(p, &when);
    alarm_set(&p->alarm, when.due);
}

/* ---- one thing ---- */

void pipe_piece_free(struct pipe_piece *piece)
{
    list_sub(&piece->node);
    for (size_t i = 0; i < piece->runs_len; i++)
        buf_drop(piece->runs[i].owner);
    free(piece);
}

static void drop_pieces(struct pipe_end *e)
{
    while (!list_empty(&e->pieces))
        pipe_piece_free(pipe_first_piece(e));
    e->held = 0;
}

void pipe_fail(struct pipe_end *e, int error)
{
    e->error = error;
    e->end = pipe_event_at(e->pipes, 0);
}

size_t pipe_most(const struct pipe_end *e)
{
    const struct pipe_direction *w = e->direction;
    bool grows = w != NULL && w->path.flow.kind != FLOW_NONE && !w->fixed;
    return grows ? (size_t)flow_buffer(&w->path.flow) : e->most;
}

/* Half of the buffer is free: a waiting writer continues. */
static void tell_room(struct pipe_end *e)
{
    struct pipe_end *writer = e->other;
    if (writer == NULL || !writer->full || e->held > pipe_most(e) / 2)
        return;
    writer->full = false;
    writer->room = pipe_event_at(e->pipes, 0);
}

static void read_piece(struct pipe_piece *piece, uint8_t *at, size_t len)
{
    assert(len <= piece->len - piece->off);
    piece->off += len;
    while (len > 0) {
        struct slice *s = &piece->runs[piece->next].bytes;
        size_t n = s->len < len ? s->len : len;
        memcpy(at, s->data, n);
        at += n;
        len -= n;
        *s = slice_of(s->data + n, s->len - n);
        piece->next += s->len == 0;
    }
}

/* At most `most` octets of the first piece. Returns how many were taken. */
size_t pipe_hand_over(struct pipe_end *e, struct pipe_piece *piece, size_t most)
{
    size_t taken = 0;
    while (!e->closed && e->reading && piece->off < piece->len && taken < most) {
        size_t room = 0, left = piece->len - piece->off;
        uint8_t *at = e->base.user->space(e->base.context, &room);
        if (at == NULL) {
            pipe_fail(e, HELIO_ENOMEM);
            break;
        }
        left = left < most - taken ? left : most - taken;
        room = room < left ? room : left;
        read_piece(piece, at, room);
        e->held -= room;
        taken += room;
        e->base.user->fed(e->base.context, room);
    }
    if (e->closed)
        return taken; /* the pieces are gone with it */
    if (piece->off == piece->len)
        pipe_piece_free(piece);
    tell_room(e);
    return taken;
}

static void do_event(struct pipe_end *e, struct pipe_event what)
{
    struct pipe_piece *piece = pipe_first_piece(e);
    e->pipes->world->owner = e->owner;
    if (e->direction != NULL && what.number == e->direction->again.number) {
        pipe_repeat(e);
    } else if (e->direction != NULL && what.number == e->direction->come.number) {
        pipe_read_come(e);
    } else if (what.number == e->accept.number) {
        struct stream_listener *l = &e->listener->base;
        e->accept = PIPE_NEVER;
        e->listener = NULL;
        l->accepted(l->context, &e->base);
    } else if (what.number == e->room.number) {
        e->room = PIPE_NEVER;
        e->base.user->writable(e->base.context);
    } else if (what.number == e->end.number) {
        int error = e->error == 0 && e->direction != NULL ? e->direction->reset : e->error;
        e->told = true;
        e->base.user->ended(e->base.context,
                            e->full && error == 0 ? helio_from_errno(EPIPE) : error);
    } else {
        assert(piece != NULL && piece->there.number == what.number);
        (void)pipe_hand_over(e, piece, SIZE_MAX);
    }
}

static void free_end(struct pipe_end *e)
{
    list_sub(&e->node);
    drop_pieces(e);
    pipe_direction_free(e->direction);
    free(e);
}

bool pipes_step(struct pipes *p)
{
    struct pipe_event when;
    struct pipe_end *e = first_end(p, &when);
    assert(p->busy == NULL); /* not from within an event */
    if (e == NULL || when.due > world_now(p->world)) {
        alarm_set(&p->alarm, when.due);
        return false;
    }
    p->busy = e;
    do_event(e, when);
    p->busy = NULL;
    if (e->closed)
        free_end(e);
    pipe_look_again(p);
    return true;
}

static void on_alarm(void *context)
{
    while (pipes_step(context))
        continue;
}

/* ---- the table ---- */

/* An address that is unspecified is that of every host. */
static bool is_there(const struct pipe_listener *l, const struct stream_place *p)
{
    if (p->path != NULL || l->path[0] != '\0')
        return p->path != NULL && strcmp(l->path, p->path) == 0;
    struct address any = address_any(p->address);
    address_set_port(&any, address_port(p->address));
    return address_equal(&l->address, p->address) || address_equal(&l->address, &any);
}

static struct pipe_listener *find_listener(const struct pipes *p, const struct stream_place *at)
{
    list_for_each (l, &p->listeners) {
        struct pipe_listener *there = container_of(l, struct pipe_listener, node);
        if (is_there(there, at))
            return there;
    }
    return NULL;
}

bool pipes_reach(const struct pipes *p, const struct stream_place *to)
{
    return find_listener(p, to) != NULL;
}

static int listen_at(struct world *w, struct stream_listener **out, const struct stream_place *at)
{
    size_t len = at->path == NULL ? 0 : strlen(at->path);
    if (at->path != NULL ? len == 0 : address_port(at->address) == 0)
        return HELIO_EINVAL;
    if (find_listener(w->pipes, at) != NULL)
        return helio_from_errno(EADDRINUSE);
    struct pipe_listener *l = calloc(1, sizeof *l + len + 1);
    if (l == NULL)
        return HELIO_ENOMEM;
    l->base.ops = &pipe_ops;
    l->owner = w->owner;
    l->pipes = w->pipes;
    if (at->path != NULL)
        memcpy(l->path, at->path, len + 1);
    else
        l->address = *at->address;
    list_add_tail(&w->pipes->listeners, &l->node);
    *out = &l->base;
    return 0;
}

static struct pipe_end *end_new(struct pipes *p, size_t owner, bool served)
{
    struct pipe_end *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->base.ops = &pipe_ops;
    e->pipes = p;
    e->owner = owner;
    e->served = served;
    e->most = PIPE_BYTES;
    e->accept = e->room = e->end = PIPE_NEVER;
    list_init(&e->pieces);
    list_add_tail(&p->ends, &e->node);
    return e;
}

static int connect_to(struct world *w, struct stream **out, const struct stream_place *to)
{
    struct pipes *p = w->pipes;
    struct pipe_listener *l = find_listener(p, to);
    if (l == NULL)
        return helio_from_errno(ECONNREFUSED);
    struct pipe_end *client = end_new(p, w->owner, false), *server = end_new(p, l->owner, true);
    bool direction = to->path == NULL && p->wire != NULL &&
                     p->wire->between(p->wire->context, w->owner, l->owner);
    if (client == NULL || server == NULL || (direction && !pipe_add_directions(client, server))) {
        if (client != NULL)
            free_end(client);
        if (server != NULL)
            free_end(server);
        return HELIO_ENOMEM;
    }
    client->other = server;
    server->other = client;
    client->peer = l->owner;
    server->peer = w->owner;
    server->listener = l;
    *out = &client->base;
    if (direction) {
        server->direction->path.limit = 1; /* until it is known that there is a listener */
        pipe_give_octets(server, 1);
    } else {
        server->accept = pipe_event_at(p, 0);
        pipe_wake(p, server->accept);
    }
    return 0;
}

static void read_end(struct stream *s, bool on)
{
    struct pipe_end *e = end_of(s);
    e->reading = on;
    pipe_wake(e->pipes, pipe_next_event(e));
}

static void close_end(struct stream *s)
{
    struct pipe_end *e = end_of(s), *other = e->other;
    struct pipes *p = e->pipes;
    assert(!e->closed);
    e->closed = true;
    drop_pieces(e);
    if (other != NULL) {
        other->other = NULL;
        if (other->direction != NULL)
            pipe_end_direction(other);
        else if (other->error == 0)
            other->end = pipe_event_at(p, delay_to(other));
        other->room = PIPE_NEVER;
        pipe_wake(p, pipe_next_event(other));
    }
    if (p->busy != e)
        free_end(e);
}

static void stop_listening(struct stream_listener *base)
{
    struct pipe_listener *l = container_of(base, struct pipe_listener, base);
    list_for_each_safe (it, &l->pipes->ends) {
        struct pipe_end *e = container_of(it, struct pipe_end, node);
        if (e->listener == l) /* no listener will accept it */
            close_end(&e->base);
    }
    list_sub(&l->node);
    free(l);
}

/* ---- writing ---- */

/* The first `len` bytes of the parts. */
static struct pipe_piece *piece_new(const struct slice *parts, struct buf *const *owners, size_t n,
                                    size_t len)
{
    size_t copied = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        copied += owners[i] == NULL ? parts[i].len : 0;
    struct pipe_piece *piece = malloc(sizeof *piece + n * sizeof *piece->runs + copied);
    if (piece == NULL)
        return NULL;
    *piece = (struct pipe_piece){.len = len};
    uint8_t *room = (uint8_t *)(piece->runs + n);
    for (size_t i = 0; i < n && at < len; i++) {
        size_t part = parts[i].len < len - at ? parts[i].len : len - at;
        if (part == 0)
            continue;
        struct pipe_run *r = &piece->runs[piece->runs_len++];
        *r = (struct pipe_run){.bytes = slice_of(parts[i].data, part)};
        if (owners[i] != NULL) {
            r->owner = buf_keep(owners[i]);
        } else {
            memcpy(room, parts[i].data, part);
            r->bytes.data = room;
            room += part;
        }
        at += part;
    }
    assert(at == len);
    return piece;
}

/* A write of nothing: `writable` follows when the stream is connected and its buffer has space. */
static void ask_for_room(struct pipe_end *e)
{
    const bool unknown = e->direction != NULL && !e->served && e->direction->came == 0;
    if (unknown)
        e->full = true; /* until the other end's first octet has arrived */
    else if (!e->full && e->room.due == TICK_NEVER)
        e->room = pipe_event_at(e->pipes, 0);
    pipe_wake(e->pipes, pipe_next_event(e));
}

static size_t write_kept(struct stream *s, const struct slice *parts, struct buf *const *owners,
                         size_t n)
{
    struct pipe_end *e = end_of(s), *to = e->other;
    size_t want = 0;
    assert(!e->closed && n <= STREAM_PARTS_MAX);
    if (n == 0)
        ask_for_room(e);
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    size_t most = to == NULL ? 0 : pipe_most(to);
    size_t room = to == NULL || e->full || to->held >= most ? 0 : most - to->held;
    size_t len = want < room ? want : room;
    struct pipe_piece *piece = len > 0 ? piece_new(parts, owners, n, len) : NULL;
    if (len > 0 && piece == NULL) {
        pipe_fail(e, HELIO_ENOMEM);
        len = 0;
    }
    if (piece != NULL) {
        piece->there = to->direction != NULL ? PIPE_NEVER : pipe_event_at(e->pipes, delay_to(to));
        to->held += len;
        list_add_tail(&to->pieces, &piece->node);
        if (to->direction != NULL)
            pipe_give_octets(to, len);
        pipe_wake(e->pipes, pipe_next_event(to));
    }
    e->full = e->full || len < want;
    pipe_wake(e->pipes, pipe_next_event(e));
    return len;
}

static size_t write_end(struct stream *s, const struct slice *parts, size_t n)
{
    static struct buf *const nobody[STREAM_PARTS_MAX];
    return write_kept(s, parts, nobody, n);
}

/* A direction without delay needs no larger buffer. */
static void grow_end(struct stream *s, uint32_t bytes)
{
    struct pipe_end *e = end_of(s), *client = e->served ? e->other : e;
    if (e->direction != NULL)
        pipe_direction_buffers(e, bytes);
    else if (client != NULL && bytes > client->most)
        client->most = bytes;
}

static int choose_congestion(struct stream *s, const char *name)
{
    struct pipe_end *e = end_of(s);
    return e->direction != NULL ? pipe_direction_congestion(e, name) : 0;
}

/* What has arrived by itself is heard of at once. */
static uint64_t count_unheard(const struct stream *s)
{
    const struct pipe_end *to = end_of((struct stream *)(uintptr_t)s)->other;
    return to == NULL ? 0 : to->direction != NULL ? path_unheard(&to->direction->path) : to->held;
}

static bool find_peer(const struct stream *s, struct address *out)
{
    const struct pipe_end *e = end_of((struct stream *)(uintptr_t)s);
    const struct pipes *p = e->pipes;
    if (e->peer >= p->hosts_len)
        return false;
    *out = p->hosts[e->peer];
    return address_given(out);
}

const struct stream_ops pipe_ops = {
    .listen = listen_at,
    .unlisten = stop_listening,
    .connect = connect_to,
    .read = read_end,
    .write = write_end,
    .write_kept = write_kept,
    .buffers = grow_end,
    .congestion = choose_congestion,
    .unheard = count_unheard,
    .peer = find_peer,
    .close = close_end,
};

/* ---- the whole ---- */

void pipes_init(struct pipes *p, struct world *w, tick delay)
{
    *p = (struct pipes){.world = w, .delay = delay};
    list_init(&p->listeners);
    list_init(&p->ends);
    alarm_init(&p->alarm, w, ALARM_STREAM, on_alarm, p);
    w->pipes = p;
}

void pipes_fini(struct pipes *p)
{
    assert(list_empty(&p->ends) && list_empty(&p->listeners));
    alarm_fini(&p->alarm);
    p->world->pipes = NULL;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void pipes_check(const struct pipes *p)
{
    list_for_each (l, &p->ends) {
        const struct pipe_end *e = container_of(l, struct pipe_end, node);
        size_t held = 0;
        tick due = 0;
        list_for_each (it, &e->pieces) {
            const struct pipe_piece *piece = container_of(it, struct pipe_piece, node);
            assert(piece->off < piece->len && piece->there.due >= due);
            held += piece->len - piece->off;
            due = piece->there.due;
        }
        assert(held == e->held && held <= e->most);
        assert(e->other == NULL || e->other->other == e);
        if (e->direction != NULL)
            path_check(&e->direction->path);
        assert(e->closed || alarm_due(&p->alarm) <= pipe_next_event(e).due);
    }
}
