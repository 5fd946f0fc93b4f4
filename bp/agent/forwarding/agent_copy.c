/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bundle over several links, or to several registrations. Each has a copy: a forwarding of its
 * own, with its own position in a queue, its own pauses and its own outcome. The forwarding that
 * the bundle began with is in no queue, and its bytes are in the store. It ends when its last copy
 * has ended: as delivered if one was delivered, else as forwarded if one was forwarded, else as the
 * last copy. A copy whose link or registration is removed ends without an outcome. If no copy had
 * succeeded, the bundle is placed again. After a restart all copies are created again; receivers
 * detect duplicates.
 *
 * What can go wrong: no memory, or COPIES_MAX copies exist: the bundle waits, and is tried again
 * later.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

bool copies_room(const struct agent *a, uint64_t more)
{
    return more <= COPIES_MAX && a->copies <= COPIES_MAX - more;
}

static struct fan *fan_of(struct forwarding *f)
{
    if (forwarding_is_copy(f))
        return f->bundle->fan;
    assert(f->bundle->fan == NULL && f->queue == NULL && f->booking == 0);
    struct fan *fan = calloc(1, sizeof *fan);
    if (fan == NULL)
        return NULL;
    fan->original = f->bundle;
    f->bundle->fan = fan;
    list_init(&fan->copies);
    return fan;
}

static void free_fan(struct fan *fan)
{
    assert(fan->len == 0 && fan->original->fan == fan);
    fan->original->fan = NULL;
    free(fan);
}

static struct forwarding *add_copy(struct agent *a, struct fan *fan, struct buf *bytes)
{
    struct forwarding *c = forwarding_copy(a, fan->original);
    if (c == NULL)
        return NULL;
    list_add_tail(&fan->copies, &c->sibling);
    fan->len++;
    a->copies++;
    if (bytes != NULL)
        forwarding_hold(a, c, buf_keep(bytes));
    assert(forwarding_is_copy(c) && forwarding_stored(c) && fan->len > 0);
    return c;
}

/* The last n go again. */
static void undo_copies(struct agent *a, struct fan *fan, uint64_t n)
{
    assert(n <= fan->len);
    fan->len++;
    for (; n > 0; n--)
        forwarding_end(a, container_of(fan->copies.prev, struct forwarding, sibling), END_DELETED);
    fan->len--;
}

struct list *copies_make(struct agent *a, struct forwarding *f, uint64_t n)
{
    struct fan *fan = fan_of(f);
    if (fan == NULL)
        return NULL;
    struct list *before = fan->copies.prev;
    for (uint64_t i = 0; i < n; i++) {
        if (add_copy(a, fan, f->buf) != NULL)
            continue;
        undo_copies(a, fan, i);
        if (!forwarding_is_copy(f))
            free_fan(fan);
        return NULL;
    }
    if (!forwarding_is_copy(f)) {
        forwarding_release(a, f);
        agenda_sub(&a->timers, &f->timer);
        f->state = STATE_COPIED;
    }
    assert(before->next != &fan->copies && fan->len >= n);
    return before->next;
}

/* The bundle has one forwarding again, in no list. */
static void undo_fan(struct fan *fan)
{
    assert(fan->len == 0 && list_empty(&fan->copies));
    fan->original->forwarding.state = STATE_DISPATCH_PENDING;
    free_fan(fan);
}

static enum status_reason reason_of(enum agent_end why)
{
    return why == END_EXPIRED      ? REASON_LIFETIME_EXPIRED
           : why == END_UNREADABLE ? REASON_DEPLETED_STORAGE
                                   : REASON_TRANSMISSION_CANCELLED;
}

static void end_original(struct agent *a, struct fan *fan)
{
    struct record *o = fan->original;
    assert(fan->len == 0 && list_empty(&fan->copies));
    assert(fan->delivered == 0 || !fan->gathered || a->counters.fragments_going_on > 0);
    a->counters.fragments_going_on -= fan->delivered > 0 && fan->gathered;
    if (fan->delivered > 0 && !fan->gathered) /* else the bundle was, in one */
        agent_report(a, &o->forwarding, STATUS_DELIVERED, REASON_NONE);
    if (fan->forwarded > 0)
        agent_report(a, &o->forwarding, STATUS_FORWARDED, REASON_NONE);
    if (fan->delivered + fan->forwarded == 0)
        agent_report(a, &o->forwarding, STATUS_DELETED, reason_of(fan->last));
    forwarding_end(a, &o->forwarding,
                   fan->delivered > 0   ? END_DELIVERED
                   : fan->forwarded > 0 ? END_FORWARDED
                                        : fan->last);
    free(fan);
}

void copies_sub(struct agent *a, struct forwarding *c, enum agent_end why)
{
    struct fan *fan = c->bundle->fan;
    assert(forwarding_is_copy(c) && fan->len > 0 && a->copies > 0);
    list_sub(&c->sibling);
    c->bundle = NULL;
    a->copies--;
    fan->last = why;
    fan->delivered += why == END_DELIVERED;
    fan->forwarded += why == END_FORWARDED;
    if (--fan->len == 0)
        end_original(a, fan);
}

void copies_replace(struct agent *a, struct forwarding *c)
{
    struct fan *fan = c->bundle->fan;
    const uint64_t delivered = fan->delivered;
    assert(forwarding_is_copy(c) && fan->len > 1);
    forwarding_end(a, c, END_DELIVERED);
    fan->delivered = delivered; /* by others, which it became */
}

bool copies_abandon(struct agent *a, struct forwarding *c)
{
    struct fan *fan = c->bundle->fan;
    struct record *o = fan->original;
    assert(forwarding_is_copy(c) && fan->len > 0);
    if (fan->len > 1 || fan->delivered + fan->forwarded > 0) {
        forwarding_end(a, c, END_DELETED);
        return false;
    }
    struct buf *bytes = o->role == ROLE_WHOLE && c->buf != NULL ? buf_keep(c->buf) : NULL;
    fan->len++;
    forwarding_end(a, c, END_DELETED);
    fan->len--;
    undo_fan(fan);
    forwarding_load_done(a, &o->forwarding); /* the result of a running load is not needed */
    if (bytes != NULL)
        forwarding_hold(a, &o->forwarding, bytes);
    if (agent_overdue(a, &o->forwarding))
        return false;
    agent_place(a, &o->forwarding);
    return true;
}

void copies_each(struct agent *a, struct record *o,
                 void (*fn)(struct agent *a, struct forwarding *c))
{
    struct fan *fan = o->fan;
    assert(fan != NULL && fan->len > 0);
    fan->len++;
    list_for_each_safe (it, &fan->copies)
        fn(a, container_of(it, struct forwarding, sibling));
    if (--fan->len == 0)
        end_original(a, fan);
}

int copies_load(struct agent *a, struct forwarding *c, struct agent_action *out)
{
    struct fan *fan = c->bundle->fan;
    assert(forwarding_is_copy(c) && c->buf == NULL && fan->original->role != ROLE_WHOLE);
    list_for_each (it, &fan->copies) {
        const struct forwarding *other = container_of(it, struct forwarding, sibling);
        if (other->buf == NULL)
            continue;
        forwarding_hold(a, c, buf_keep(other->buf));
        return 0;
    }
    return fan->original->forwarding.loading ? 0 : queue_load(a, &fan->original->forwarding, out);
}

/* Does the joined bundle of this piece wait for the piece's bytes? */
static bool is_missing(const struct forwarding *c)
{
    const struct forwarding *whole =
        c->state == STATE_REASSEMBLY_PENDING ? c->reassembly->whole : NULL;
    if (whole == NULL || whole->queue == NULL || whole->buf != NULL)
        return false;
    struct agent_head h; /* each piece has bytes that the ones before lack */
    record_head(c->bundle, &h);
    return !ranges_has(&c->reassembly->have, h.id.offset, h.id.offset + h.payload_len);
}

static bool wants_bytes(const struct forwarding *c)
{
    return c->buf == NULL && (c->state == STATE_FRONT || is_missing(c));
}

/* The one whose queue waits for these bytes. */
static struct forwarding *queued_of(struct forwarding *c)
{
    return c->state == STATE_REASSEMBLY_PENDING ? c->reassembly->whole : c;
}

static void end_unreadable(struct agent *a, struct forwarding *c)
{
    if (c->state == STATE_REASSEMBLY_PENDING && !is_missing(c))
        return; /* it is not needed now, or any more */
    if (!state_is_given(c->state))
        forwarding_end(a, queued_of(c), END_UNREADABLE);
}

static void retry_copy(struct agent *a, struct forwarding *c)
{
    if (wants_bytes(c))
        queue_retry(a, queued_of(c));
}

void copies_loaded(struct agent *a, struct record *o, const struct buf *bytes, bool damaged)
{
    assert(o->fan != NULL && !o->forwarding.loading);
    if (bytes == NULL) {
        if (o->load_failures < LOAD_TRIES) /* copies that are given stay longer */
            o->load_failures++;
        copies_each(a, o, damaged || o->load_failures == LOAD_TRIES ? end_unreadable : retry_copy);
        return;
    }
    o->load_failures = 0;
    list_for_each (it, &o->fan->copies) {
        struct forwarding *c = container_of(it, struct forwarding, sibling);
        if (!wants_bytes(c))
            continue;
        forwarding_hold(a, c, buf_keep((struct buf *)(uintptr_t)bytes));
        queue_wake(a, queued_of(c)->queue);
    }
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void copies_check(const struct record *o)
{
    uint64_t len = 0;
    assert(o->fan != NULL && o->fan->original == o && o->fan->len > 0);
    assert(o->forwarding.buf == NULL && o->forwarding.state == STATE_COPIED);
    list_for_each (it, &o->fan->copies) {
        const struct forwarding *c = container_of(it, struct forwarding, sibling);
        assert(forwarding_is_copy(c) && c->bundle->fan == o->fan);
        assert((c->queue != NULL && state_is_queued(c->state)) ||
               (c->state == STATE_REASSEMBLY_PENDING && o->fan->gathered));
        assert(o->role != ROLE_WHOLE || c->buf != NULL);
        len++;
    }
    assert(len == o->fan->len);
}
