/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bundle over several links, or to several registrations. Each has a copy: a record that is not
 * in the store, with its own position in a queue, its own pauses and its own outcome. The bundle
 * itself is in no queue, and its bytes are in the store. It ends when its last copy has ended: as
 * delivered if one was delivered, else as forwarded if one was forwarded, else as the last copy. A
 * copy whose link or registration is removed ends without an outcome. If no copy had succeeded, the
 * bundle is placed again. After a restart all copies are created again; receivers detect
 * duplicates.
 *
 * What can go wrong: no memory, or COPIES_MAX copies exist: the bundle waits, and is tried again
 * later.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

static struct record *first_copy(const struct fan *f)
{
    assert(!list_empty(&f->copies));
    return container_of(list_first(&f->copies), struct record, sibling);
}

bool copies_room(const struct agent *a, uint64_t more)
{
    return more <= COPIES_MAX && a->copies <= COPIES_MAX - more;
}

static struct fan *fan_of(struct record *r)
{
    if (r->role == ROLE_COPY)
        return r->fan;
    assert(r->fan == NULL && r->queue == NULL && r->booking == 0);
    struct fan *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->original = r;
    list_init(&f->copies);
    return f;
}

static struct record *add_copy(struct agent *a, struct fan *f, struct buf *bytes)
{
    struct record *c = record_copy(a, f->original);
    if (c == NULL)
        return NULL;
    c->fan = f;
    list_add_tail(&f->copies, &c->sibling);
    f->len++;
    a->copies++;
    if (bytes != NULL)
        record_hold(a, c, buf_keep(bytes));
    assert(c->role == ROLE_COPY && record_stored(c) && f->len > 0);
    return c;
}

/* The last n go again. */
static void undo_copies(struct agent *a, struct fan *f, uint64_t n)
{
    assert(n <= f->len);
    f->held = true;
    for (; n > 0; n--)
        record_end(a, container_of(f->copies.prev, struct record, sibling), END_DELETED);
    f->held = false;
}

struct list *copies_make(struct agent *a, struct record *r, uint64_t n)
{
    struct fan *f = fan_of(r);
    if (f == NULL)
        return NULL;
    struct list *before = f->copies.prev;
    for (uint64_t i = 0; i < n; i++) {
        if (add_copy(a, f, r->buf) != NULL)
            continue;
        undo_copies(a, f, i);
        if (r->role != ROLE_COPY)
            free(f);
        return NULL;
    }
    if (r->role != ROLE_COPY) {
        record_release(a, r);
        agenda_sub(&a->timers, &r->timer);
        r->fan = f;
        r->state = STATE_COPIED;
    }
    assert(before->next != &f->copies && f->len >= n);
    return before->next;
}

/* The bundle is one record again, in no list. */
static void undo_fan(struct fan *f)
{
    assert(f->len == 0 && list_empty(&f->copies));
    f->original->fan = NULL;
    f->original->state = STATE_DISPATCH_PENDING;
    free(f);
}

static enum status_reason reason_of(enum agent_end why)
{
    return why == END_EXPIRED      ? REASON_LIFETIME_EXPIRED
           : why == END_UNREADABLE ? REASON_DEPLETED_STORAGE
                                   : REASON_TRANSMISSION_CANCELLED;
}

static void end_original(struct agent *a, struct fan *f)
{
    struct record *o = f->original;
    assert(f->len == 0 && list_empty(&f->copies));
    assert(!f->delivered || !f->gathered || a->counters.fragments_going_on > 0);
    a->counters.fragments_going_on -= f->delivered && f->gathered;
    if (f->delivered && !f->gathered) /* else the bundle was, in one */
        agent_report(a, o, STATUS_DELIVERED, REASON_NONE);
    if (f->forwarded)
        agent_report(a, o, STATUS_FORWARDED, REASON_NONE);
    if (!f->delivered && !f->forwarded)
        agent_report(a, o, STATUS_DELETED, reason_of(f->last));
    record_end(a, o, f->delivered ? END_DELIVERED : f->forwarded ? END_FORWARDED : f->last);
    free(f);
}

void copies_sub(struct agent *a, struct record *c, enum agent_end why)
{
    struct fan *f = c->fan;
    assert(c->role == ROLE_COPY && f->len > 0 && a->copies > 0);
    list_sub(&c->sibling);
    c->fan = NULL;
    a->copies--;
    f->len--;
    f->last = why;
    f->delivered = f->delivered || why == END_DELIVERED;
    f->forwarded = f->forwarded || why == END_FORWARDED;
    if (f->len == 0 && !f->held)
        end_original(a, f);
}

void copies_replace(struct agent *a, struct record *c)
{
    struct fan *f = c->fan;
    const bool delivered = f->delivered;
    assert(c->role == ROLE_COPY && f->len > 1);
    record_end(a, c, END_DELIVERED);
    f->delivered = delivered; /* by others, which it became */
}

bool copies_abandon(struct agent *a, struct record *c)
{
    struct fan *f = c->fan;
    struct record *o = f->original;
    assert(c->role == ROLE_COPY && f->len > 0 && !f->held);
    if (f->len > 1 || f->delivered || f->forwarded) {
        record_end(a, c, END_DELETED);
        return false;
    }
    struct buf *bytes = o->role == ROLE_WHOLE && c->buf != NULL ? buf_keep(c->buf) : NULL;
    f->held = true;
    record_end(a, c, END_DELETED);
    undo_fan(f);
    if (bytes != NULL)
        record_hold(a, o, bytes);
    if (agent_overdue(a, o))
        return false;
    agent_place(a, o);
    return true;
}

void copies_each(struct agent *a, struct record *o, void (*fn)(struct agent *a, struct record *c))
{
    struct fan *f = o->fan;
    assert(f != NULL && o->role != ROLE_COPY && !f->held);
    f->held = true;
    list_for_each_safe (it, &f->copies)
        fn(a, container_of(it, struct record, sibling));
    f->held = false;
    if (f->len == 0)
        end_original(a, f);
}

int copies_load(struct agent *a, struct record *c, struct agent_action *out)
{
    struct fan *f = c->fan;
    assert(c->role == ROLE_COPY && c->buf == NULL && f->original->role != ROLE_WHOLE);
    list_for_each (it, &f->copies) {
        const struct record *other = container_of(it, struct record, sibling);
        if (other->buf == NULL)
            continue;
        record_hold(a, c, buf_keep(other->buf));
        c->payload_off = other->payload_off;
        c->payload_len = other->payload_len;
        return 0;
    }
    return f->original->loading ? 0 : queue_load(a, f->original, out);
}

/* Does the joined bundle of this piece wait for the piece's bytes? */
static bool is_missing(const struct record *c)
{
    const struct record *whole = c->state == STATE_REASSEMBLY_PENDING ? c->assembly->whole : NULL;
    if (whole == NULL || whole->queue == NULL || whole->buf != NULL)
        return false;
    struct agent_head h; /* each piece has bytes that the ones before lack */
    record_head(c, &h);
    return !ranges_has(&c->assembly->have, h.id.offset, h.id.offset + h.payload_len);
}

static bool wants_bytes(const struct record *c)
{
    return c->buf == NULL && (c->state == STATE_FRONT || is_missing(c));
}

/* The record whose queue waits for these bytes. */
static struct record *queued_of(struct record *c)
{
    return c->state == STATE_REASSEMBLY_PENDING ? c->assembly->whole : c;
}

static void end_unreadable(struct agent *a, struct record *c)
{
    if (c->state == STATE_REASSEMBLY_PENDING && !is_missing(c))
        return; /* it is not needed now, or any more */
    if (!state_is_given(c->state))
        record_end(a, queued_of(c), END_UNREADABLE);
}

static void retry_copy(struct agent *a, struct record *c)
{
    if (wants_bytes(c))
        queue_retry(a, queued_of(c));
}

void copies_loaded(struct agent *a, struct record *o, const struct buf *bytes, bool damaged)
{
    assert(o->fan != NULL && o->role != ROLE_COPY && !o->loading);
    if (bytes == NULL) {
        copies_each(a, o,
                    damaged || ++o->load_failures == LOAD_TRIES ? end_unreadable : retry_copy);
        return;
    }
    o->load_failures = 0;
    list_for_each (it, &o->fan->copies) {
        struct record *c = container_of(it, struct record, sibling);
        if (!wants_bytes(c))
            continue;
        record_hold(a, c, buf_keep((struct buf *)(uintptr_t)bytes));
        c->payload_off = o->payload_off;
        c->payload_len = o->payload_len;
        queue_wake(a, queued_of(c)->queue);
    }
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void copies_check(const struct record *o)
{
    uint64_t len = 0;
    assert(o->fan != NULL && o->fan->original == o && !o->fan->held && o->fan->len > 0);
    assert(o->buf == NULL && first_copy(o->fan)->role == ROLE_COPY);
    list_for_each (it, &o->fan->copies) {
        const struct record *c = container_of(it, struct record, sibling);
        assert(c->role == ROLE_COPY && c->fan == o->fan);
        assert((c->queue != NULL && state_is_queued(c->state)) ||
               (c->state == STATE_REASSEMBLY_PENDING && o->fan->gathered));
        assert(o->role != ROLE_WHOLE || c->buf != NULL);
        len++;
    }
    assert(len == o->fan->len);
}
