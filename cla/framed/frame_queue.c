/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each frame is a copy of its own, so that the wire and the decoder can continue. What can go
 * wrong: memory, and a port that does not read. The caller counts both.
 */
#include "cla/framed/frame_queue.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct copy {
    struct list node;
    size_t len;
    uint8_t bytes[];
};

static struct copy *copy_of(struct list *node)
{
    return container_of(node, struct copy, node);
}

/* NULL: memory is out. */
static struct copy *copy_frame(struct slice frame)
{
    struct copy *c = malloc(sizeof *c + frame.len);
    if (c == NULL)
        return NULL;
    c->len = frame.len;
    memcpy(c->bytes, frame.data, frame.len);
    return c;
}

static void free_frames(struct list *frames)
{
    while (!list_empty(frames)) {
        struct list *node = list_first(frames);
        list_sub(node);
        free(copy_of(node));
    }
}

void frame_queue_init(struct frame_queue *q)
{
    list_init(&q->waiting);
    list_init(&q->used);
    q->len = 0;
}

void frame_queue_fini(struct frame_queue *q)
{
    free_frames(&q->waiting);
    free_frames(&q->used);
    q->len = 0;
    assert(list_empty(&q->waiting) && list_empty(&q->used));
}

void frame_queue_clear(struct frame_queue *q)
{
    free_frames(&q->used);
}

void frame_queue_release(struct frame_queue *q)
{
    if (list_empty(&q->used))
        return;
    struct list *last = q->used.prev;
    list_sub(last);
    free_frames(&q->used);
    list_add_tail(&q->used, last);
}

bool frame_queue_put(struct frame_queue *q, struct slice frame)
{
    struct copy *c = q->len < FRAME_QUEUE_MAX ? copy_frame(frame) : NULL;
    if (c == NULL)
        return false;
    list_add_tail(&q->waiting, &c->node);
    q->len++;
    assert(q->len <= FRAME_QUEUE_MAX);
    return true;
}

bool frame_queue_take(struct frame_queue *q, struct slice *frame)
{
    if (list_empty(&q->waiting))
        return false;
    struct copy *c = copy_of(list_first(&q->waiting));
    list_sub(&c->node);
    list_add_tail(&q->used, &c->node);
    assert(q->len > 0);
    q->len--;
    *frame = slice_of(c->bytes, c->len);
    return true;
}

bool frame_queue_keep(struct frame_queue *q, struct slice *frame)
{
    struct copy *c = copy_frame(*frame);
    if (c == NULL)
        return false;
    list_add_tail(&q->used, &c->node);
    *frame = slice_of(c->bytes, c->len);
    return true;
}
