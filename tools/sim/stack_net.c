/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets and hubs' alarms in virtual time. A datagram goes to the channel that has its address or
 * lies between its nodes; without one it arrives a microsecond later. A socket is never full. What
 * can go wrong: nobody has the address, which is counted; memory, then the datagram is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/ltp/ltp_link.h"
#include "tools/sim/stack.h"

#define FRAME_MAX (65536 + LTP_HEAD_MAX)

struct udp_io {
    struct list node;
    struct stack *stack;
    struct hub *hub;
    uint64_t number;
    size_t host; /* index of its node */
    struct address self;
    struct udp_counters n;
    struct address from;
    struct slice arrived; /* data NULL: nothing, or taken already */
    tick due;             /* the hub's alarm */
    uint8_t frame[FRAME_MAX];
};

struct hub_os {
    struct udp_io *io;
};

struct packet {
    struct list node;
    tick due;
    uint64_t to;
    struct address from;
    size_t len;
    uint8_t data[];
};

/* ---- the alarm of a hub ---- */

static struct udp_io *socket_new(struct stack *s, struct hub *h, const struct address *self)
{
    struct udp_io *io = calloc(1, sizeof *io);
    if (io == NULL)
        return NULL;
    io->stack = s;
    io->hub = h;
    io->self = *self;
    io->host = s->opening;
    io->number = ++s->next_socket;
    io->due = TICK_NEVER;
    list_add_tail(&s->sockets, &io->node);
    return io;
}

int hub_os_open(struct hub *h, const struct link *l, char *why, size_t why_cap)
{
    struct stack *s = l->env.world;
    char text[ADDRESS_TEXT_MAX];
    struct hub_os *os = calloc(1, sizeof *os);
    if (os == NULL)
        return HELIO_ENOMEM;
    if (stack_socket(s, &h->local) != NULL) {
        snprintf(why, why_cap, "local: another node has %s", address_write(&h->local, text));
        free(os);
        return HELIO_EEXIST;
    }
    h->io = socket_new(s, h, &h->local);
    os->io = h->io;
    h->os = os;
    return h->io != NULL ? 0 : HELIO_ENOMEM;
}

void hub_os_close(struct hub_os *os)
{
    struct hub *h = os->io == NULL ? NULL : os->io->hub;
    free(os);
    if (h != NULL)
        hub_free(h);
}

tick hub_os_clock(const struct hub_os *os)
{
    return os->io->stack->now;
}

void hub_os_arm(struct hub_os *os, tick wake)
{
    os->io->due = tick_min(os->io->due, wake);
}

void hub_os_again(struct hub_os *os)
{
    os->io->due = os->io->stack->now;
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
    return address_port(&io->self);
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

static void fly(struct udp_io *from, const struct udp_io *to, size_t len)
{
    struct packet *p = malloc(sizeof *p + len);
    if (p == NULL) {
        from->n.tx_errors++;
        return;
    }
    *p = (struct packet){
        .due = from->stack->now + STACK_WIRE, .to = to->number, .from = from->self, .len = len};
    memcpy(p->data, from->frame, len);
    list_add_tail(&from->stack->flying, &p->node);
}

static void send_frame(struct udp_io *io, const struct address *to, size_t len)
{
    struct stack *s = io->stack;
    for (size_t i = 0; i < s->channels_len; i++)
        if (stack_channel_input(s->channels[i], io->host, io->number, &io->self, to, io->frame,
                                len) != 0)
            return;
    const struct udp_io *there = stack_socket(s, to);
    if (there != NULL) {
        fly(io, there, len);
    } else {
        io->n.tx_refused++;
        s->unreachable++;
    }
}

void udp_add(struct udp_io *io, struct udp_peer *to, uint32_t head_len, struct slice data)
{
    if (data.len > 0)
        memcpy(io->frame + head_len, data.data, data.len);
    io->n.tx_datagrams++;
    io->n.tx_bytes += head_len + data.len;
    send_frame(io, &to->address, head_len + data.len);
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

/* ---- the net ---- */

struct udp_io *stack_socket(const struct stack *s, const struct address *to)
{
    list_for_each (it, &s->sockets) {
        struct udp_io *io = container_of(it, struct udp_io, node);
        if (address_equal(&io->self, to))
            return io;
    }
    return NULL;
}

struct udp_io *stack_socket_at(const struct stack *s, uint64_t number)
{
    list_for_each (it, &s->sockets) {
        struct udp_io *io = container_of(it, struct udp_io, node);
        if (io->number == number)
            return io;
    }
    return NULL;
}

const struct address *stack_address(const struct udp_io *io)
{
    return &io->self;
}

size_t stack_socket_host(const struct udp_io *io)
{
    return io->host;
}

uint64_t stack_socket_number(const struct udp_io *io)
{
    return io->number;
}

bool stack_net_reaches(const struct stack *s, const struct address *remote)
{
    for (size_t i = 0; i < s->channels_len; i++)
        if (s->channels[i]->relay && address_equal(&s->channels[i]->options.listen, remote))
            return true;
    return stack_socket(s, remote) != NULL;
}

void stack_receive(struct udp_io *io, const struct address *from, const uint8_t *data, size_t len)
{
    io->n.rx_datagrams++;
    io->n.rx_bytes += len;
    io->from = *from;
    io->arrived = slice_of(data, len);
    hub_turn_begin(io->hub);
    hub_input(io->hub);
    hub_turn_end(io->hub);
}

static struct packet *first_packet(const struct stack *s)
{
    struct list *l = list_first(&s->flying);
    return l == NULL ? NULL : container_of(l, struct packet, node);
}

tick stack_net_due(const struct stack *s)
{
    const struct packet *p = first_packet(s);
    tick due = p == NULL ? TICK_NEVER : p->due;
    list_for_each (it, &s->sockets)
        due = tick_min(due, container_of(it, struct udp_io, node)->due);
    return due;
}

static void land(struct stack *s, struct packet *p)
{
    struct udp_io *to = stack_socket_at(s, p->to);
    list_sub(&p->node);
    if (to != NULL)
        stack_receive(to, &p->from, p->data, p->len);
    free(p);
}

void stack_net_step(struct stack *s)
{
    struct packet *p = first_packet(s);
    if (p != NULL && p->due <= s->now) {
        land(s, p);
        return;
    }
    list_for_each (it, &s->sockets) {
        struct udp_io *io = container_of(it, struct udp_io, node);
        if (io->due > s->now)
            continue;
        io->due = TICK_NEVER;
        hub_turn_begin(io->hub);
        hub_turn_end(io->hub);
        return;
    }
}
