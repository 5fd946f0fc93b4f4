/* SPDX-License-Identifier: Apache-2.0 */
/* One alarm reports all events that do not come from the loop itself. What can go wrong: memory for
 * the stream, at the beginning. */
#include "cla/framed/frame_pump.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

static void tell_end(struct frame_pump *p)
{
    void (*closed)(void *context) = p->closed;
    void *context = p->closed_context;
    assert(p->ended && closed != NULL);
    frame_pump_fini(p);
    p->own->free(p);
    closed(context);
}

static void on_alarm(void *context)
{
    struct frame_pump *p = context;
    const struct frame_wire_user *user = p->wire.user;
    if (p->closing) {
        if (p->ended)
            tell_end(p);
        return;
    }
    bool changed = p->changed, writable = p->room;
    bool readable = p->read && p->own->due(p) <= world_now(p->wire.world);
    p->changed = p->room = false;
    if (readable || writable)
        user->ready(p->wire.context, readable, writable);
    if (changed && !p->closing)
        user->state(p->wire.context);
}

static void arm_alarm(struct frame_pump *p)
{
    bool soon = p->closing ? p->ended : p->room || p->changed;
    alarm_set(&p->alarm, soon ? 0 : p->read && !p->closing ? p->own->due(p) : TICK_NEVER);
}

void frame_pump_init(struct frame_pump *p, struct world *world, const struct frame_wire_ops *ops,
                     const struct frame_pump_ops *own)
{
    assert(own->due != NULL && own->free != NULL && p->closed == NULL);
    p->wire = (struct frame_wire){.ops = ops, .world = world, .leaves = true, .arrives = true};
    p->own = own;
    alarm_init(&p->alarm, world, ALARM_LINK, on_alarm, p);
}

int frame_pump_stream(struct frame_pump *p, const struct frame_wire_config *c)
{
    size_t room = frame_wire_stream_room(c);
    p->in_bytes = malloc(room);
    if (p->in_bytes == NULL)
        return HELIO_ENOMEM;
    frame_stream_init(&p->in, c->mode, c->length, p->in_bytes, room);
    return 0;
}

void frame_pump_fini(struct frame_pump *p)
{
    alarm_fini(&p->alarm);
    free(p->in_bytes);
    p->in_bytes = NULL;
}

void frame_pump_again(struct frame_pump *p)
{
    arm_alarm(p);
}

void frame_pump_room(struct frame_pump *p)
{
    p->room = true;
    arm_alarm(p);
}

void frame_pump_change(struct frame_pump *p, bool leaves, bool arrives)
{
    assert(!p->ended);
    if (p->wire.leaves == leaves && p->wire.arrives == arrives)
        return;
    p->wire.leaves = leaves;
    p->wire.arrives = arrives;
    p->changed = true;
    arm_alarm(p);
}

bool frame_pump_next(struct frame_wire *w, struct slice *frame)
{
    struct frame_pump *p = frame_pump_of(w);
    assert(!p->closing);
    if (!frame_stream_next(&p->in, frame))
        return false;
    p->n.in++;
    return true;
}

void frame_pump_watch(struct frame_wire *w, bool read, bool write)
{
    struct frame_pump *p = frame_pump_of(w);
    assert(!p->closing);
    p->read = read;
    p->write = write;
    if (p->own->watched != NULL)
        p->own->watched(p);
    arm_alarm(p);
}

void frame_pump_count(const struct frame_wire *w, struct frame_wire_counters *out)
{
    const struct frame_pump *p = frame_pump_of(w);
    assert(p->own != NULL && p->closing >= p->ended);
    *out = p->n;
    out->skipped_bytes = p->in.skipped;
    out->connected = w->leaves && w->arrives;
}

struct udp_io *frame_pump_socket(const struct frame_wire *w)
{
    (void)w;
    return NULL;
}

void frame_pump_close(struct frame_pump *p, void (*closed)(void *context), void *context)
{
    assert(!p->closing && closed != NULL);
    p->closing = true;
    p->closed = closed;
    p->closed_context = context;
    arm_alarm(p);
}

void frame_pump_end(struct frame_pump *p)
{
    assert(p->closing && !p->ended);
    p->ended = true;
    arm_alarm(p);
}
