/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the nodes' datagrams: by chance one is lost, duplicated or late. Datagrams for a
 * node that does not run are lost, too.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/flights.h"
#include "tests/sim/frame_text.h"
#include "tests/sim/histories.h"

#define FRAME_MAX 4096

static void show_frame(const struct history *h, size_t owner, struct slice frame, const char *fate)
{
    char text[FRAME_TEXT];
    if (!h->show)
        return;
    frame_text(frame.data, frame.len, text);
    history_say(h, "%zu -> %zu: %s%s", owner + 1, 2 - owner, text, fate);
}

struct fates {
    bool once, twice;
    tick due, again;
};

/* What becomes of a frame that leaves now. */
static struct fates draw_fates(struct history *h, const char **shown)
{
    tick there = h->world.now + h->c->delay;
    h->t->frames++;
    bool lost = rng_chance(&h->rng, h->c->loss) || h->dark;
    bool late = rng_chance(&h->rng, h->c->late), twice = rng_chance(&h->rng, h->c->twice);
    uint64_t more = rng_below(&h->rng, h->c->later + 1);
    *shown = lost ? "  LOST" : late ? "  LATE" : "";
    h->t->lost += lost;
    return (struct fates){!lost, twice && !h->dark, there + (late ? more : 0), there + more};
}

static bool carry_frame(void *context, struct virtual_port *p, const struct address *to,
                        struct slice head, struct slice data)
{
    struct history *h = context;
    uint8_t bytes[FRAME_MAX];
    const char *shown;
    (void)to;
    if (head.len + data.len > FRAME_MAX)
        abort();
    memcpy(bytes, head.data, head.len);
    if (data.len > 0)
        memcpy(bytes + head.len, data.data, data.len);
    struct fates f = draw_fates(h, &shown);
    show_frame(h, p->owner, slice_of(bytes, head.len + data.len), shown);
    h->gone += !f.once;
    if (f.once)
        flight_datagram(&h->flying, f.due, p, 1 - p->owner, head, data);
    if (f.twice)
        flight_datagram(&h->flying, f.again, p, 1 - p->owner, head, data);
    return true;
}

static void carry_stream(void *context, size_t from, size_t to, struct slice frame)
{
    struct history *h = context;
    const char *shown;
    struct fates f = draw_fates(h, &shown);
    history_say(h, "%zu -> %zu: %zu bytes of a stream%s", from + 1, to + 1, frame.len, shown);
    if (f.once)
        flight_stream(&h->flying, f.due, frame);
    if (f.twice)
        flight_stream(&h->flying, f.again, frame);
}

static bool always(void *context, size_t from, size_t to)
{
    (void)context;
    return from != to;
}

/* A connection may be reset at any octet. */
static uint64_t draw_end(void *context, size_t from, size_t to)
{
    struct history *h = context;
    (void)from;
    (void)to;
    bool calm = h->event == h->c->events;
    uint64_t octets = rng_below(&h->rng, 20000);
    return rng_chance(&h->rng, calm ? 0 : h->c->resets) ? octets : UINT64_MAX;
}

void history_net_init(struct history *h)
{
    list_init(&h->flying);
    h->wire = (struct pipe_wire){
        .between = always, .carry = carry_stream, .lasts = draw_end, .context = h};
    h->world.pipes.wire = &h->wire;
    h->world.carry = carry_frame;
    h->world.context = h;
}

void history_net_step(struct history *h)
{
    h->gone += !flights_step(&h->flying, &h->world);
}
