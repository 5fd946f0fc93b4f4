/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams between two owners over a channel. Written bytes are kept at the end that will read them,
 * and become readable when their octets arrive in order. What can go wrong: no memory; the other
 * end is not heard for very long; the owner of the channel resets them, or one end disappears.
 */
#include "sim/pipes_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static void set_again(struct pipe_end *e)
{
    tick due = e->direction->over ? TICK_NEVER : path_due(&e->direction->path);
    e->direction->again =
        due == TICK_NEVER ? PIPE_NEVER : (struct pipe_event){due, ++e->pipes->made};
}

/* Sends the frames towards this end that may be sent now. */
static void send_frames(struct pipe_end *e)
{
    struct pipes *p = e->pipes;
    uint8_t frame[PATH_FRAME_MAX] = {0};
    struct path_head head;
    size_t len;
    while (!e->direction->over && (len = path_output(&e->direction->path, e->direction->number,
                                                     &head, world_now(p->world))) > 0) {
        memcpy(frame, &head, sizeof head);
        p->wire->carry(p->wire->context, e->direction->from, e->owner, slice_of(frame, len));
    }
    set_again(e);
    pipe_wake(p, pipe_next_event(e));
}

void pipe_give_octets(struct pipe_end *e, uint64_t octets)
{
    e->direction->path.given += octets;
    send_frames(e);
}

/* Separates the ends: for this one, the other has closed. */
static void part_ends(struct pipe_end *e)
{
    if (e->other == NULL)
        return;
    e->other->other = NULL;
    e->other = NULL;
}

/* Only the first `left` written bytes will arrive. */
static void cut_pieces(struct pipe_end *e, uint64_t left)
{
    list_for_each_safe (it, &e->pieces) {
        struct pipe_piece *piece = container_of(it, struct pipe_piece, node);
        size_t keep = piece->len - piece->off;
        keep = left < keep ? (size_t)left : keep;
        e->held -= piece->len - piece->off - keep;
        piece->len = piece->off + keep;
        left -= keep;
        if (keep == 0)
            pipe_piece_free(piece);
    }
}

/* The bytes that have arrived can be read here, then the stream ends; at the other end it ends at
 * once. */
static void reset_stream(struct pipe_end *e)
{
    struct pipe_end *other = e->other;
    e->direction->reset = helio_from_errno(ECONNRESET);
    e->direction->over = true;
    cut_pieces(e, e->direction->came - e->direction->read);
    part_ends(e);
    if (e->end.due == TICK_NEVER)
        e->end = pipe_event_at(e->pipes, 0);
    if (other == NULL)
        return;
    other->direction->over = true;
    if (other->error == 0)
        pipe_fail(other, e->direction->reset);
}

/* The timer of a frame has expired. After too long a time the writer gets an error; an end without
 * an owner by then is freed. */
void pipe_repeat(struct pipe_end *e)
{
    if (!path_is_dead(&e->direction->path, world_now(e->pipes->world))) {
        send_frames(e);
        return;
    }
    e->direction->over = true;
    e->direction->again = PIPE_NEVER;
    if (e->other != NULL && e->other->error == 0)
        pipe_fail(e->other, helio_from_errno(ETIMEDOUT));
    if (!e->served && e->direction->came == 0) /* it has no other end */
        pipe_fail(e, helio_from_errno(ETIMEDOUT));
    if (e->listener != NULL) {
        part_ends(e);
        e->closed = true;
    }
}

/* So many octets are there: it begins, bytes can be read, it ends. */
static void take_octets(struct pipe_end *e, uint64_t came)
{
    struct pipes *p = e->pipes;
    struct pipe_direction *w = e->direction;
    if (came > 0 && w->came == 0 && e->served) {
        e->accept = pipe_event_at(p, 0);
        if (e->other != NULL)
            pipe_give_octets(e->other, 1);
    } else if (came > 0 && w->came == 0 && e->other != NULL) {
        e->other->direction->path.limit = UINT64_MAX;
        if (e->full && e->other->held == 0) { /* it waits for nothing else */
            e->full = false;
            e->room = pipe_event_at(p, 0);
        }
        send_frames(e->other);
    }
    w->came = came;
    uint64_t bytes_end = w->fin > 0 && came >= w->fin ? w->fin - 1 : came;
    if (bytes_end > w->read && w->come.due == TICK_NEVER)
        w->come = pipe_event_at(p, 0);
    if (w->fin > 0 && came >= w->fin && e->end.due == TICK_NEVER)
        e->end = pipe_event_at(p, 0);
}

/* Consumes so many bytes in order, from one piece after the other. */
void pipe_read_come(struct pipe_end *e)
{
    struct pipe_direction *w = e->direction;
    struct pipe_piece *piece;
    w->come = PIPE_NEVER;
    while (!e->closed && e->reading && e->error == 0 && w->came > w->read &&
           (piece = pipe_first_piece(e)) != NULL)
        w->read += pipe_hand_over(e, piece, w->came - w->read);
    if (!e->closed && e->error == 0 && w->came > w->read && pipe_first_piece(e) != NULL)
        w->come = pipe_event_at(e->pipes, 0); /* it does not read now */
}

void pipes_arrive(struct pipes *p, struct slice frame)
{
    struct path_head head;
    if (!path_parse(frame, &head))
        return;
    list_for_each (l, &p->ends) {
        struct pipe_end *e = container_of(l, struct pipe_end, node);
        if (e->direction == NULL || e->direction->number != head.stream || e->closed)
            continue;
        uint64_t came = path_input(&e->direction->path, &head, world_now(p->world));
        if (e->error == 0 && came > e->direction->came)
            take_octets(e, came < e->direction->lasts ? came : e->direction->lasts);
        if (e->direction->came == e->direction->lasts && e->direction->reset == 0)
            reset_stream(e);
        send_frames(e);
        break;
    }
    pipe_look_again(p);
}

void pipes_abandon(struct pipes *p, size_t owner, bool silent)
{
    list_for_each (l, &p->ends) {
        struct pipe_end *e = container_of(l, struct pipe_end, node), *other = e->other;
        if (e->direction == NULL || e->owner != owner || other == NULL)
            continue;
        part_ends(e);
        other->direction->over = true;
        other->direction->again = PIPE_NEVER;
        if (!silent && other->error == 0)
            pipe_fail(other, helio_from_errno(ECONNRESET));
    }
    pipe_look_again(p);
}

void pipe_direction_free(struct pipe_direction *w)
{
    if (w != NULL)
        path_fini(&w->path);
    free(w);
}

/* NULL: no memory. */
static struct pipe_direction *direction_new(struct pipes *p, size_t from, size_t to)
{
    struct pipe_direction *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    path_init(&w->path);
    if (p->wire->buffers > 0)
        path_control(&w->path, FLOW_CUBIC, p->wire->buffers);
    w->number = ++p->made;
    w->from = from;
    w->read = 1;
    w->come = w->again = PIPE_NEVER;
    w->lasts = p->wire->lasts == NULL ? UINT64_MAX : p->wire->lasts(p->wire->context, from, to);
    w->lasts += w->lasts < UINT64_MAX; /* with the first octet */
    return w;
}

/* False: no memory. */
bool pipe_add_directions(struct pipe_end *client, struct pipe_end *server)
{
    struct pipes *p = client->pipes;
    client->direction = direction_new(p, server->owner, client->owner);
    server->direction = direction_new(p, client->owner, server->owner);
    client->most = server->most = PIPE_DIRECTION_BYTES;
    if (p->wire->buffers > 0)
        client->most = server->most = 2 * (size_t)p->wire->buffers;
    return client->direction != NULL && server->direction != NULL;
}

static bool is_controlled(const struct pipe_end *e)
{
    return e->pipes->wire != NULL && e->pipes->wire->buffers > 0;
}

/* The smaller one of both ends' settings limits the bytes to this end: as many in transit, and as
 * many more that are unsent or unread. */
static void bound_direction(struct pipe_end *e, uint64_t bytes)
{
    struct flow *f = &e->direction->path.flow;
    e->direction->fixed = true;
    f->most = bytes < f->most ? bytes : f->most;
    e->most = 2 * (size_t)f->most;
    e->most = e->most < e->held ? e->held : e->most;
}

void pipe_direction_buffers(struct pipe_end *e, uint64_t bytes)
{
    if (!is_controlled(e) || bytes == 0)
        return;
    bound_direction(e, bytes);
    if (e->other != NULL)
        bound_direction(e->other, bytes);
}

int pipe_direction_congestion(struct pipe_end *e, const char *name)
{
    enum flow_kind kind;
    if (!is_controlled(e))
        return 0;
    if (!flow_kind_of(name, &kind))
        return helio_from_errno(ENOENT);
    if (e->other != NULL)
        e->other->direction->path.flow.kind = kind;
    return 0;
}

/* Its last octet follows what was written. */
void pipe_end_direction(struct pipe_end *e)
{
    e->direction->fin = e->direction->path.given + 1;
    pipe_give_octets(e, 1);
}
