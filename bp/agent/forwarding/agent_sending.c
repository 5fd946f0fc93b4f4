/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that links have in transmission: of bundles given to them whose outcome is open. Bytes that
 * are only there (the store has the bundle, or it was encoded again) count in
 * counters.sending_bytes, and so in the memory of all bundles.
 *
 * All links together have half of that memory. A sixteenth of the memory is divided equally between
 * them: each link may have its part whatever others have, so links whose peers acknowledge nothing
 * leave it to others. Beyond its part a link gets a further bundle while it leaves as much of the
 * rest as it has. A first bundle that is longer than the part is permitted while it leaves another
 * sixteenth of the memory, and in any case when no other link has one. So links whose peers
 * acknowledge late cannot take all of the rest: a link with less has room at once. Beyond this one
 * link at a time may have a first bundle that fits the memory (sending_beyond). So long bundles
 * always go on beside links whose peers acknowledge theirs.
 *
 * A queue whose link has bytes in transmission waits for their outcome; bytes of others that return
 * wake it, too. A first bundle that must wait for bytes of others is roomless: it pauses, so that
 * the bundles behind it go on. When bytes return, queues with such bundles are next in the order of
 * waiting. Beside that it is tried again after retry_min, and later each time up to eight times
 * that, because there may be another route.
 *
 * The bundle at the head of a queue is loaded although the memory of queued bundles is full, but
 * only while an eighth of the memory of all bundles stays free, or nothing is in transmission.
 *
 * What can go wrong: bundles and ids use all of the memory. Then links share FLOOR, for what they
 * have in transmission, and again for what they load.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

#define SHARED_PART 16 /* of the memory of all bundles */
#define FLOOR_MAX (UINT64_C(32) << 20)
#define WAKES 16 /* blocked links that are asked again when bytes return; each costs one poll */
#define LOOKS 64 /* links with roomless bundles that are looked at for that */

static uint64_t less(uint64_t x, uint64_t y)
{
    return x > y ? x - y : 0;
}

static uint64_t count_links(const struct agent *a)
{
    const uint64_t others = 2; /* shares for endpoints, and for bundles without a route */
    return a->route_shares > others ? a->route_shares - others : 1;
}

static uint64_t memory_left(const struct agent *a)
{
    return less(record_memory_max(a), record_memory_used(a));
}

static uint64_t shared_of(const struct agent *a)
{
    return record_memory_max(a) / SHARED_PART;
}

/* A link's part although the memory is used up. */
static uint64_t least_part(const struct agent *a)
{
    const uint64_t shared = shared_of(a);
    return (shared < FLOOR_MAX ? shared : FLOOR_MAX) / count_links(a);
}

/* What a link may have, whatever others have. */
static uint64_t link_part(const struct agent *a)
{
    return shared_of(a) / count_links(a);
}

/* What all links may have beyond their parts. */
static uint64_t rest_of(const struct agent *a)
{
    return record_memory_max(a) / 2 - shared_of(a);
}

/* What first bundles leave to links that have less. */
static uint64_t left_part(const struct agent *a)
{
    return shared_of(a);
}

/* Without the first bundle beyond that. */
static uint64_t count_sending(const struct agent *a, const struct queue *q)
{
    const struct queue *beyond = a->sending_beyond;
    return a->counters.sending_bytes - (beyond == NULL || beyond == q ? 0 : beyond->sending);
}

bool sending_permits(const struct agent *a, const struct queue *q, const struct forwarding *f)
{
    const uint64_t all = count_sending(a, q);
    if (a->counters.sending_bytes == 0 || record_memory_max(a) == UINT64_MAX)
        return true;
    if (!record_rewrites(f->bundle) && !memory_crowded(a))
        return true; /* the link refers to the bytes in memory */
    const uint64_t piece = split_limit(a, f);
    const uint64_t bytes = piece != 0 && piece < f->bundle->bytes ? piece : f->bundle->bytes;
    const uint64_t own = q->sending + bytes;
    if (own <= least_part(a))
        return true;
    const bool moves = f->buf != NULL && memory_crowded(a); /* its bytes in memory are released */
    if (bytes > memory_left(a) + (moves ? f->buf->cap : 0))
        return false;
    const uint64_t part = link_part(a), rest = less(rest_of(a), all + bytes);
    return own <= part || own - part <= rest ||
           (q->sending == 0 && (rest >= left_part(a) || a->sending_beyond == NULL));
}

bool sending_permits_load(const struct agent *a, const struct forwarding *f)
{
    return record_memory_max(a) == UINT64_MAX || f->bundle->bytes <= least_part(a) ||
           (a->counters.sending_bytes == 0 && a->loading_bytes == 0) ||
           f->bundle->bytes <= less(memory_left(a), record_memory_max(a) / 8);
}

void sending_wait(struct agent *a, struct queue *q)
{
    if (list_empty(&q->sending_wait))
        list_add_tail(&a->sending_waits, &q->sending_wait);
}

void sending_add(struct agent *a, struct forwarding *f, const struct buf *out)
{
    assert(f->sending == 0 && f->queue != NULL);
    if (out == f->buf)
        return;
    f->sending = out->cap;
    f->queue->sending += out->cap;
    a->counters.sending_bytes += out->cap;
    const uint64_t part = link_part(a), rest = less(rest_of(a), a->counters.sending_bytes);
    const bool first = f->queue->sending == out->cap && out->cap > part;
    if (first && a->sending_beyond == NULL && rest < left_part(a) && out->cap - part > rest)
        a->sending_beyond = f->queue;
}

void sending_await_room(struct agent *a, struct forwarding *f, bool again)
{
    struct queue *q = f->queue;
    assert(f->state == STATE_PAUSED && q->sending == 0);
    list_sub(&f->node);
    if (again)
        list_add_head(&q->roomless, &f->node);
    else
        list_add_tail(&q->roomless, &f->node);
    if (list_empty(&q->room_wait))
        list_add_tail(&a->room_waits, &q->room_wait);
}

struct forwarding *sending_next(const struct agent *a, const struct queue *q)
{
    if (list_empty(&q->roomless))
        return NULL;
    struct forwarding *f = container_of(list_first(&q->roomless), struct forwarding, node);
    return sending_permits(a, q, f) ? f : NULL;
}

/* As many as the returned bytes are enough for: each loads its bundle. They wait behind the others
 * then, in case that another one is faster. */
static void wake_roomless(struct agent *a, uint64_t returned)
{
    uint64_t woken = 0;
    unsigned looks = 0;
    struct list *it = list_first(&a->room_waits), *next;
    for (; it != NULL && looks < LOOKS && woken < returned; looks++, it = next) {
        next = it->next == &a->room_waits ? NULL : it->next;
        struct queue *q = container_of(it, struct queue, room_wait);
        const struct forwarding *f = q->open ? sending_next(a, q) : NULL;
        if (f == NULL)
            continue;
        if (woken > 0 && f->bundle->bytes > returned - woken)
            return;
        woken += f->bundle->bytes;
        list_sub(it);
        list_add_tail(&a->room_waits, it);
        queue_wake(a, q);
    }
    for (unsigned n = 0; n < LOOKS && it != NULL && looks == LOOKS && woken == 0; n++) {
        struct list *first = list_first(&a->room_waits);
        list_sub(first);
        list_add_tail(&a->room_waits, first);
    }
}

static void wake_waits(struct agent *a)
{
    for (unsigned n = 0; n < WAKES && !list_empty(&a->sending_waits); n++) {
        struct list *first = list_first(&a->sending_waits);
        list_sub(first);
        queue_wake(a, container_of(first, struct queue, sending_wait));
    }
}

void sending_sub(struct agent *a, struct forwarding *f)
{
    if (f->sending == 0)
        return;
    assert(f->queue->sending >= f->sending && a->counters.sending_bytes >= f->sending);
    f->queue->sending -= f->sending;
    a->counters.sending_bytes -= f->sending;
    const uint64_t returned = f->sending;
    f->sending = 0;
    if (a->sending_beyond == f->queue && f->queue->sending == 0)
        a->sending_beyond = NULL;
    wake_waits(a);
    wake_roomless(a, returned);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void sending_check(const struct agent *a, const struct queue *q)
{
    uint64_t sending = 0;
    list_for_each (it, &q->busy)
        sending += container_of(it, struct forwarding, node)->sending;
    assert(sending == q->sending);
    assert(a->sending_beyond != q || sending > 0);
    assert(list_empty(&q->roomless) || q->gone || !list_empty(&q->room_wait));
    /* It is woken by an outcome, or was. */
    assert(list_empty(&q->sending_wait) || sending > 0 || !q->open || q->bands.waiting == 0 ||
           !list_empty(&q->node));
}
