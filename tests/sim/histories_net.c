/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who carries the nodes' datagrams: one is lost, comes twice or late as the dice fall; those for a
 * node that is not there are lost, too.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/frame_text.h"
#include "tests/sim/histories.h"

#define FRAME_MAX 4096

struct flight {
    struct list node;
    tick due;
    struct address from;
    size_t to, len;
    uint8_t bytes[];
};

static void launch_frame(struct history *h, const struct virtual_port *p, struct slice frame,
                         tick more)
{
    struct flight *f = malloc(sizeof *f + frame.len);
    if (f == NULL)
        abort();
    f->due = h->world.now + h->c->delay + more;
    f->from = p->self;
    f->to = 1 - p->owner;
    f->len = frame.len;
    memcpy(f->bytes, frame.data, frame.len);
    struct list *before = &h->flying;
    while (before->prev != &h->flying &&
           container_of(before->prev, struct flight, node)->due > f->due)
        before = before->prev;
    list_add_tail(before, &f->node);
}

static void show_frame(const struct history *h, size_t owner, struct slice frame, const char *fate)
{
    char text[FRAME_TEXT];
    if (!h->show)
        return;
    frame_text(frame.data, frame.len, text);
    history_say(h, "%zu -> %zu: %s%s", owner + 1, 2 - owner, text, fate);
}

static bool carry_frame(void *context, struct virtual_port *p, const struct address *to,
                        struct slice head, struct slice data)
{
    struct history *h = context;
    uint8_t bytes[FRAME_MAX];
    (void)to;
    if (head.len + data.len > FRAME_MAX)
        abort();
    memcpy(bytes, head.data, head.len);
    if (data.len > 0)
        memcpy(bytes + head.len, data.data, data.len);
    struct slice frame = slice_of(bytes, head.len + data.len);
    h->t->frames++;
    bool lost = rng_chance(&h->rng, h->c->loss) || h->dark;
    bool late = rng_chance(&h->rng, h->c->late), twice = rng_chance(&h->rng, h->c->twice);
    uint64_t more = rng_below(&h->rng, h->c->later + 1);
    show_frame(h, p->owner, frame, lost ? "  LOST" : late ? "  LATE" : "");
    if (!lost)
        launch_frame(h, p, frame, late ? more : 0);
    else
        h->t->lost++;
    if (twice && !h->dark)
        launch_frame(h, p, frame, more);
    return true;
}

void history_net_init(struct history *h)
{
    list_init(&h->flying);
    h->world.carry = carry_frame;
    h->world.context = h;
}

static struct flight *first_flight(const struct history *h)
{
    struct list *l = list_first(&h->flying);
    return l == NULL ? NULL : container_of(l, struct flight, node);
}

tick history_net_due(const struct history *h)
{
    const struct flight *f = first_flight(h);
    return f == NULL ? TICK_NEVER : f->due;
}

void history_net_step(struct history *h)
{
    struct flight *f = first_flight(h);
    list_sub(&f->node);
    list_for_each_safe (it, &h->world.ports) {
        struct virtual_port *p = container_of(it, struct virtual_port, node);
        if (p->owner == f->to)
            virtual_arrive(p, &f->from, slice_of(f->bytes, f->len));
    }
    free(f);
}

void history_net_fini(struct history *h)
{
    for (struct list *l; (l = list_first(&h->flying)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct flight, node));
    }
}
