/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hubs have of the outside: an alarm, and a socket that is never full. A datagram is lost,
 * comes twice or late as the dice fall; those for a node that is not there are lost, too.
 */
#include <stdlib.h>
#include <string.h>

#include "cla/ltp/ltp_link.h"
#include "tests/sim/frame_text.h"
#include "tests/sim/histories.h"

#define FRAME_MAX 4096

struct udp_io {
    struct list node; /* of history.sockets */
    struct history *history;
    struct hub *hub;
    size_t owner;
    struct udp_counters n;
    struct address from;
    struct slice arrived; /* data NULL: taken already */
    tick due;             /* the hub's alarm */
    uint8_t frame[FRAME_MAX];
};

struct hub_os {
    struct udp_io *io;
};

struct flight {
    struct list node;
    tick due;
    size_t to, len;
    uint8_t bytes[];
};

/* ---- ltp_link.h ---- */

int hub_os_open(struct hub *h, const struct link *l, char *why, size_t why_cap)
{
    struct history_node *n = l->env.world;
    struct hub_os *os = calloc(1, sizeof *os);
    struct udp_io *io = calloc(1, sizeof *io);
    (void)why;
    (void)why_cap;
    if (os == NULL || io == NULL)
        abort();
    io->from = l->config->udp.remote;
    io->history = n->history;
    io->hub = h;
    io->owner = n->index;
    io->due = TICK_NEVER;
    list_add_tail(&n->history->sockets, &io->node);
    os->io = io;
    h->os = os;
    h->io = io;
    return 0;
}

void hub_os_close(struct hub_os *os)
{
    struct hub *h = os->io->hub;
    free(os);
    hub_free(h);
}

tick hub_os_clock(const struct hub_os *os)
{
    return os->io->history->now;
}

void hub_os_arm(struct hub_os *os, tick wake)
{
    os->io->due = tick_min(os->io->due, wake);
}

void hub_os_again(struct hub_os *os)
{
    os->io->due = os->io->history->now;
}

void hub_os_watch(struct hub_os *os, bool writable)
{
    (void)os; /* datagrams come by themselves */
    (void)writable;
}

/* ---- udp_io.h ---- */

void udp_close(struct udp_io *io)
{
    if (io == NULL)
        return;
    list_sub(&io->node);
    free(io);
}

uint16_t udp_port(const struct udp_io *io)
{
    return (uint16_t)(io->owner + 1);
}

bool udp_buffers(struct udp_io *io, uint64_t rx, uint64_t tx, uint64_t *got_rx, uint64_t *got_tx)
{
    (void)io;
    *got_rx = rx;
    *got_tx = tx;
    return true;
}

bool udp_room(const struct udp_io *io, uint32_t head_max)
{
    (void)io;
    return head_max <= FRAME_MAX;
}

uint8_t *udp_head(struct udp_io *io, uint32_t head_max)
{
    (void)head_max;
    return io->frame;
}

static void launch_frame(struct udp_io *io, size_t len, tick more)
{
    struct history *h = io->history;
    struct flight *f = malloc(sizeof *f + len);
    if (f == NULL)
        abort();
    f->due = h->now + h->c->delay + more;
    f->to = 1 - io->owner;
    f->len = len;
    memcpy(f->bytes, io->frame, len);
    struct list *before = &h->flying;
    while (before->prev != &h->flying &&
           container_of(before->prev, struct flight, node)->due > f->due)
        before = before->prev;
    list_add_tail(before, &f->node);
}

static void show_frame(const struct udp_io *io, size_t len, const char *fate)
{
    char text[FRAME_TEXT];
    if (!io->history->show)
        return;
    frame_text(io->frame, len, text);
    history_say(io->history, "%zu -> %zu: %s%s", io->owner + 1, 2 - io->owner, text, fate);
}

void udp_add(struct udp_io *io, struct udp_peer *to, uint32_t head_len, struct slice data)
{
    struct history *h = io->history;
    (void)to;
    if (head_len + data.len > FRAME_MAX)
        abort();
    if (data.len > 0)
        memcpy(io->frame + head_len, data.data, data.len);
    h->t->frames++;
    bool lost = rng_chance(&h->rng, h->c->loss) || h->dark;
    bool late = rng_chance(&h->rng, h->c->late), twice = rng_chance(&h->rng, h->c->twice);
    uint64_t more = rng_below(&h->rng, h->c->later + 1);
    show_frame(io, head_len + data.len, lost ? "  LOST" : late ? "  LATE" : "");
    if (!lost)
        launch_frame(io, head_len + data.len, late ? more : 0);
    else
        h->t->lost++;
    if (twice && !h->dark)
        launch_frame(io, head_len + data.len, more);
}

bool udp_flush(struct udp_io *io)
{
    (void)io;
    return true;
}

bool udp_pending(const struct udp_io *io)
{
    (void)io;
    return false;
}

void udp_forget(struct udp_io *io, const struct udp_peer *peer)
{
    (void)io;
    (void)peer;
}

bool udp_fill(struct udp_io *io, uint32_t bytes_max)
{
    (void)bytes_max;
    return io->arrived.data != NULL;
}

bool udp_next(struct udp_io *io, struct slice *out)
{
    *out = io->arrived;
    io->arrived = slice_of(NULL, 0);
    return out->data != NULL;
}

const struct address *udp_from(const struct udp_io *io)
{
    return &io->from;
}

const struct udp_counters *udp_counters(const struct udp_io *io)
{
    return &io->n;
}

/* ---- what is due ---- */

static struct flight *first_flight(const struct history *h)
{
    struct list *l = list_first(&h->flying);
    return l == NULL ? NULL : container_of(l, struct flight, node);
}

tick history_net_due(const struct history *h)
{
    const struct flight *f = first_flight(h);
    tick due = f == NULL ? TICK_NEVER : f->due;
    list_for_each (it, &h->sockets)
        due = tick_min(due, container_of(it, struct udp_io, node)->due);
    return due;
}

static void take_turn(struct udp_io *io, struct slice datagram)
{
    if (datagram.data == NULL)
        io->due = TICK_NEVER;
    io->arrived = datagram;
    hub_turn_begin(io->hub);
    (void)hub_input(io->hub);
    hub_turn_end(io->hub);
}

static void land_frame(struct history *h, struct flight *f)
{
    list_sub(&f->node);
    list_for_each_safe (it, &h->sockets) {
        struct udp_io *io = container_of(it, struct udp_io, node);
        if (io->owner == f->to)
            take_turn(io, slice_of(f->bytes, f->len));
    }
    free(f);
}

void history_net_step(struct history *h)
{
    struct flight *f = first_flight(h);
    if (f != NULL && f->due <= h->now) {
        land_frame(h, f);
        return;
    }
    list_for_each_safe (it, &h->sockets) {
        struct udp_io *io = container_of(it, struct udp_io, node);
        if (io->due <= h->now) {
            take_turn(io, slice_of(NULL, 0));
            return;
        }
    }
}

void history_net_fini(struct history *h)
{
    for (struct list *l; (l = list_first(&h->flying)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct flight, node));
    }
}
