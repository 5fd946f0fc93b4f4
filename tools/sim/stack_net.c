/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route of datagrams in virtual time: to the channel that has their address or is between their
 * nodes. Without a channel they arrive a microsecond later. What can go wrong: an address without a
 * socket, which is counted; no memory, then the datagram is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack.h"

struct packet {
    struct list node;
    tick due;
    uint64_t to;
    struct address from;
    size_t len;
    uint8_t data[];
};

static void fly_datagram(struct stack *s, const struct virtual_port *from,
                         const struct virtual_port *to, size_t len)
{
    struct packet *p = malloc(sizeof *p + len);
    if (p == NULL)
        return;
    *p = (struct packet){
        .due = s->world.now + STACK_WIRE, .to = to->number, .from = from->self, .len = len};
    memcpy(p->data, s->frame, len);
    list_add_tail(&s->flying, &p->node);
}

/* False: no socket has the address. */
static bool send_frame(struct stack *s, const struct virtual_port *from, const struct address *to,
                       size_t len)
{
    for (size_t i = 0; i < s->channels_len; i++)
        if (stack_channel_input(s->channels[i], from, to, s->frame, len) != 0)
            return true;
    const struct virtual_port *there = stack_port(s, to);
    if (there != NULL)
        fly_datagram(s, from, there, len);
    else
        s->unreachable++;
    return there != NULL;
}

static bool carry_datagram(void *context, struct virtual_port *from, const struct address *to,
                           struct slice head, struct slice data)
{
    struct stack *s = context;
    memcpy(s->frame, head.data, head.len);
    if (data.len > 0)
        memcpy(s->frame + head.len, data.data, data.len);
    return send_frame(s, from, to, head.len + data.len);
}

static bool has_channel(void *context, size_t from, size_t to)
{
    return stack_channel_between(context, from, to);
}

static void carry_stream(void *context, size_t from, size_t to, struct slice frame)
{
    stack_channel_stream(context, from, to, frame);
}

void stack_net_init(struct stack *s)
{
    s->wire = (struct pipe_wire){.between = has_channel, .carry = carry_stream, .context = s};
    s->world.pipes.wire = &s->wire;
    list_init(&s->flying);
    s->world.carry = carry_datagram;
    s->world.context = s;
}

void stack_net_fini(struct stack *s)
{
    for (struct list *l; (l = list_first(&s->flying)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct packet, node));
    }
}

struct virtual_port *stack_port(const struct stack *s, const struct address *to)
{
    list_for_each (it, &s->world.ports) {
        struct virtual_port *p = container_of(it, struct virtual_port, node);
        if (address_equal(&p->self, to))
            return p;
    }
    return NULL;
}

bool stack_net_reaches(const struct stack *s, const struct address *remote)
{
    return stack_relay_at(s, remote) != NULL || stack_port(s, remote) != NULL ||
           pipes_reach(&s->world.pipes, &(struct stream_place){.address = remote});
}

static struct packet *first_packet(const struct stack *s)
{
    struct list *l = list_first(&s->flying);
    return l == NULL ? NULL : container_of(l, struct packet, node);
}

tick stack_net_due(const struct stack *s)
{
    const struct packet *p = first_packet(s);
    return p == NULL ? TICK_NEVER : p->due;
}

void stack_net_step(struct stack *s)
{
    struct packet *p = first_packet(s);
    struct virtual_port *to = virtual_port_at(&s->world, p->to);
    list_sub(&p->node);
    if (to != NULL)
        virtual_arrive(to, &p->from, slice_of(p->data, p->len));
    free(p);
}
