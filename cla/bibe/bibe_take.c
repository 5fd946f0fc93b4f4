/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decapsulation (draft-ietf-dtn-bibe-00 §4.4, §4.5). The payload of a bundle for the local endpoint
 * is a bundle that this node receives, as over any other link. The encapsulating bundle stays at
 * the node until the inner bundle is stored or finally refused. An encapsulating bundle with a
 * segment is done when its segment is stored here.
 *
 * A bundle without room is postponed: the encapsulating bundle is delivered again later, from the
 * store. A bundle joined from segments waits here until the node has room. Segments count in the
 * node's memory by received bytes (cla_events.reserve).
 *
 * What can go wrong: the bundle is dropped; each kind is counted and logged, because the protocol
 * has no other report.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/bibe/bibe_link.h"

static struct bibe_link *link_of(struct cla *c)
{
    return container_of(c, struct bibe_link, cla);
}

/* !done: it is delivered again, later. */
static void end_delivery(struct bibe_link *l, uint64_t key, bool done)
{
    bibe_note(l, BIBE_NOTE_PUT_OFF, !done);
    l->env.self.taken(l->env.self.context, key, done);
}

/* ---- the node's memory ---- */

static bool reserve_bytes(struct bibe_link *l, uint64_t bytes)
{
    const struct cla_events *to = &l->env.events;
    if (to->reserve != NULL && !to->reserve(to->context, &l->cla, bytes))
        return false;
    l->reserved += bytes;
    return true;
}

/* Releases the memory of data that is gone, or that was reserved but did not arrive. */
static void settle_account(struct bibe_link *l)
{
    const struct cla_events *to = &l->env.events;
    const uint64_t held = l->joins.charged + l->waiting_bytes;
    assert(l->reserved >= held);
    if (l->reserved > held && to->release != NULL)
        to->release(to->context, &l->cla, l->reserved - held);
    l->reserved = held;
}

/* ---- received bundles ---- */

/* The result of a delivery. */
enum taking {
    TAKING_DONE,  /* it is here, or thrown away */
    TAKING_LATER, /* there is no room now */
    TAKING_WAITS, /* it is answered when the bundle in it is */
};

/* Takes the buffer, unless there is no memory (NULL). */
static struct bibe_arrival *add_arrival(struct bibe_link *l, struct buf *bundle)
{
    struct bibe_arrival *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    *a = (struct bibe_arrival){.bundle = bundle, .token = l->next_arrival++};
    list_add_tail(&l->arrivals, &a->node);
    l->heard = world_now(l->env.world);
    l->arrivals_len++;
    bibe_kick(l);
    return a;
}

/* The inner bundle has one encapsulation less than the received one. */
static bool is_nested(struct bibe_link *l, struct slice bundle)
{
    const unsigned most = (unsigned)l->config->nesting;
    const bool nested = bibe_depth(bundle, most) >= most;
    bibe_note(l, BIBE_NOTE_NESTED, nested);
    return nested;
}

/* id: its transmission ID, if the peer waits for a custody signal; 0: it does not. */
static enum taking take_whole(struct bibe_link *l, const struct cla_delivery *d, struct slice data,
                              uint64_t id)
{
    if (data.len > l->env.bundle_max) {
        bibe_note(l, BIBE_NOTE_TOO_LONG, 1);
        bibe_custody_refuse(l, id);
        return TAKING_DONE;
    }
    if (is_nested(l, data)) {
        bibe_custody_refuse(l, id);
        return TAKING_DONE;
    }
    struct buf *bundle = buf_new(0, data.len);
    struct bibe_arrival *a = bundle == NULL ? NULL : add_arrival(l, bundle);
    if (a == NULL) {
        buf_drop(bundle);
        return TAKING_LATER;
    }
    if (data.len > 0)
        memcpy(buf_append(bundle, data.len), data.data, data.len);
    a->has_key = true;
    a->key = d->key;
    a->custody_id = id;
    return TAKING_WAITS;
}

static void take_joined(struct bibe_link *l, struct buf *whole, tick until)
{
    const bool nested = is_nested(l, buf_slice(whole));
    struct bibe_arrival *a = nested ? NULL : add_arrival(l, whole);
    if (a == NULL) {
        bibe_note(l, BIBE_NOTE_NO_MEMORY, !nested);
        buf_drop(whole);
        return;
    }
    a->kept = buf_keep(whole);
    a->until = until;
    l->waiting_bytes += whole->len;
}

static void expire_joins(struct bibe_link *l, tick now)
{
    const uint64_t before = l->joins.expired;
    bibe_joins_expire(&l->joins, now);
    bibe_note(l, BIBE_NOTE_EXPIRED, l->joins.expired - before);
    settle_account(l);
}

static enum taking add_segment(struct bibe_link *l, const struct cla_delivery *d,
                               const struct bibe_payload *p, struct bibe_times at)
{
    struct buf *whole = NULL;
    if (p->total > l->env.bundle_max) {
        bibe_note(l, BIBE_NOTE_TOO_LONG, 1);
        return TAKING_DONE;
    }
    if (!reserve_bytes(l, p->data.len + BIBE_SEGMENT_COST))
        return TAKING_LATER;
    switch (bibe_joins_add(&l->joins, d->source, d->destination, p, at, &whole)) {
    case BIBE_COMPLETE:
        take_joined(l, whole, at.until);
        break;
    case BIBE_TOO_LONG:
        bibe_note(l, BIBE_NOTE_TOO_LONG, 1);
        break;
    case BIBE_CORRUPT:
        bibe_note(l, BIBE_NOTE_CORRUPT, 1);
        break;
    case BIBE_FULL:
    case BIBE_NO_MEMORY:
        return TAKING_LATER;
    case BIBE_TAKEN:
        break;
    }
    return TAKING_DONE;
}

static enum taking take_segment(struct bibe_link *l, const struct cla_delivery *d,
                                const struct bibe_payload *p)
{
    const tick now = world_now(l->env.world);
    const tick left =
        d->left_ms > l->config->hold / TICK_MS ? l->config->hold : d->left_ms * TICK_MS;
    const struct bibe_times at = {now, tick_add(now, left)};
    const uint64_t displaced = l->joins.displaced;
    expire_joins(l, now);
    const enum taking taking = add_segment(l, d, p, at);
    if (taking == TAKING_LATER)
        bibe_joins_prolong(&l->joins, d->source, d->destination, p->transfer, at);
    l->n.segments += taking != TAKING_LATER;
    bibe_note(l, BIBE_NOTE_FULL, l->joins.displaced - displaced);
    settle_account(l);
    alarm_set(&l->alarm, tick_min(alarm_due(&l->alarm), bibe_joins_deadline(&l->joins)));
    return taking;
}

/* With custody: a BPDU or a custody signal. */
static enum taking take_record(struct bibe_link *l, const struct cla_delivery *d)
{
    struct range at[CUSTODY_READ_MAX];
    struct custody_record r;
    const bool known = eid_equal(d->source, &l->config->remote);
    int rc = custody_read(d->payload, &r, at);
    if (rc < 0)
        bibe_note(l, rc == HELIO_ENOENT ? BIBE_NOTE_RESERVED : BIBE_NOTE_MALFORMED, 1);
    else if (r.signal)
        bibe_custody_input(l, d, &r, at);
    else if (!known && !l->config->any_source)
        bibe_note(l, BIBE_NOTE_FOREIGN, 1);
    else /* IDs of other nodes are not those of remote */
        return take_whole(l, d, r.bundle, known ? r.id : 0);
    return TAKING_DONE;
}

static enum taking take_payload(struct bibe_link *l, const struct cla_delivery *d)
{
    struct bibe_payload p;
    int rc = bibe_decode(d->payload, &p);
    if (!l->config->any_source && !eid_equal(d->source, &l->config->remote))
        bibe_note(l, BIBE_NOTE_FOREIGN, 1);
    else if (rc == HELIO_ENOENT)
        bibe_note(l, BIBE_NOTE_RESERVED, 1);
    else if (rc < 0)
        bibe_note(l, BIBE_NOTE_MALFORMED, 1);
    else if (p.segment)
        return take_segment(l, d, &p);
    else
        return take_whole(l, d, p.data, 0);
    return TAKING_DONE;
}

void bibe_delivered(struct cla *c, const struct cla_delivery *d)
{
    struct bibe_link *l = link_of(c);
    const bool record = d->record && l->custody != NULL;
    const enum taking taking = record ? take_record(l, d) : take_payload(l, d);
    if (taking != TAKING_WAITS)
        end_delivery(l, d->key, taking == TAKING_DONE);
}

/* ---- the node's answer ---- */

static bool does_pass(enum cla_verdict verdict)
{
    return verdict == CLA_FULL || verdict == CLA_BUSY;
}

static void note_verdict(struct bibe_link *l, enum cla_verdict verdict)
{
    l->n.bundles_refused += verdict != CLA_ACCEPTED;
    bibe_note(l, BIBE_NOTE_FAULTY, verdict == CLA_FAULTY);
    bibe_note(l, BIBE_NOTE_UNWANTED, verdict == CLA_UNWANTED);
}

static void end_arrival(struct bibe_link *l, struct bibe_arrival *a)
{
    assert(l->arrivals_len > 0);
    list_sub(&a->node);
    l->arrivals_len--;
    buf_drop(a->kept);
    free(a);
}

/* Postpones a joined bundle; true: it will be passed to the node again. It keeps its memory. */
static bool wait_again(struct bibe_link *l, struct bibe_arrival *a)
{
    const tick now = world_now(l->env.world);
    if (a->until <= now) {
        bibe_note(l, BIBE_NOTE_EXPIRED, 1);
        return false;
    }
    if (!reserve_bytes(l, a->kept->len)) {
        bibe_note(l, BIBE_NOTE_FULL, 1);
        return false;
    }
    a->bundle = buf_keep(a->kept);
    l->waiting_bytes += a->kept->len;
    a->pause = a->pause == 0 ? TICK_S : tick_min(2 * a->pause, 60 * TICK_S);
    a->at = tick_add(now, a->pause);
    bibe_note(l, BIBE_NOTE_PUT_OFF, 1);
    bibe_kick(l);
    return true;
}

void bibe_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    struct bibe_link *l = link_of(c);
    list_for_each (it, &l->arrivals) {
        struct bibe_arrival *a = container_of(it, struct bibe_arrival, node);
        if (a->token != token || a->bundle != NULL)
            continue;
        note_verdict(l, verdict);
        const bool has_key = a->has_key;
        const uint64_t key = a->key;
        if (!has_key && does_pass(verdict) && wait_again(l, a))
            return;
        const uint64_t id = a->custody_id;
        end_arrival(l, a);
        /* A peer that waits for a signal learns of a refusal, and keeps the bundle. */
        const bool answered = id != 0 && verdict != CLA_BUSY;
        if (answered)
            bibe_custody_verdict(l, id, verdict);
        if (has_key)
            end_delivery(l, key, answered || !does_pass(verdict));
        return;
    }
}

/* The next one that the node has not got, and is due; NULL: there is none. *due: when there is. */
static struct bibe_arrival *find_waiting(struct bibe_link *l, tick *due)
{
    const tick now = world_now(l->env.world);
    *due = TICK_NEVER;
    list_for_each (it, &l->arrivals) {
        struct bibe_arrival *a = container_of(it, struct bibe_arrival, node);
        if (a->bundle == NULL)
            continue;
        if (a->at <= now)
            return a;
        *due = tick_min(*due, a->at);
    }
    return NULL;
}

tick bibe_take_turn(struct bibe_link *l)
{
    struct bibe_arrival *a;
    tick due;
    expire_joins(l, world_now(l->env.world));
    while ((a = find_waiting(l, &due)) != NULL) {
        struct buf *bundle = a->bundle;
        a->bundle = NULL; /* it may be confirmed and freed within the call */
        l->n.bundles_received += a->pause == 0;
        if (!a->has_key)
            l->waiting_bytes -= bundle->len;
        settle_account(l); /* it counts at the node from here on */
        l->env.events.received(l->env.events.context, &l->cla, bundle, a->token);
    }
    return due;
}

void bibe_take_forget(struct bibe_link *l)
{
    while (!list_empty(&l->arrivals)) {
        struct bibe_arrival *a = container_of(list_first(&l->arrivals), struct bibe_arrival, node);
        list_sub(&a->node);
        buf_drop(a->bundle);
        end_arrival(l, a);
    }
    bibe_joins_fini(&l->joins);
    l->waiting_bytes = 0;
    settle_account(l);
}
