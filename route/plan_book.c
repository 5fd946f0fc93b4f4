/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes. For a class, volume is free if neither it nor a higher class has booked it. So a higher
 * class may displace bookings of lower ones; the displaced volume is owed to its owner until it is
 * unbooked. The sum of bookings never exceeds the volume. At the first contact of a route, whose
 * queue this node has, a booking may displace others of its own class (plan_book_yield).
 */
#include <assert.h>

#include "base/err.h"
#include "route/plan_impl.h"

uint64_t contact_volume(const struct plan_contact *c)
{
    if (c->rate == 0)
        return UINT64_MAX;
    plan_wide v = (plan_wide)c->rate * (c->end - c->start) / (8 * TICK_S);
    return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

uint64_t contact_left(const struct contact *c, enum plan_priority priority)
{
    uint64_t left = c->volume;
    for (int i = (int)priority; i < PLAN_PRIORITIES; i++)
        left -= c->booked[i];
    return left;
}

void contact_fit(struct contact *c)
{
    uint64_t left = c->volume;
    for (int i = PLAN_PRIORITIES - 1; i >= 0; i--) {
        uint64_t keep = c->booked[i] < left ? c->booked[i] : left;
        c->owed[i] += c->booked[i] - keep;
        c->booked[i] = keep;
        left -= keep;
    }
}

static void add_booking(struct contact *c, enum plan_priority priority, uint64_t bytes)
{
    assert(bytes <= contact_left(c, priority));
    /* Lower classes first lose what the higher one takes: the sum never exceeds the volume. */
    uint64_t free = contact_left(c, PLAN_BULK), short_of = bytes > free ? bytes - free : 0;
    for (int i = 0; i < (int)priority && short_of > 0; i++) {
        uint64_t lost = c->booked[i] < short_of ? c->booked[i] : short_of;
        c->booked[i] -= lost;
        c->owed[i] += lost;
        short_of -= lost;
    }
    assert(short_of == 0);
    c->booked[priority] += bytes;
}

/* Was something of it booked still? */
static bool sub_booking(struct contact *c, enum plan_priority priority, uint64_t bytes)
{
    uint64_t owed = c->owed[priority] < bytes ? c->owed[priority] : bytes;
    c->owed[priority] -= owed;
    bytes -= owed;
    uint64_t back = c->booked[priority] < bytes ? c->booked[priority] : bytes;
    c->booked[priority] -= back;
    return back > 0;
}

static void displace_own_class(struct contact *c, enum plan_priority priority, uint64_t bytes)
{
    assert(bytes <= c->booked[priority]);
    c->booked[priority] -= bytes;
    c->owed[priority] += bytes;
}

int plan_book(struct plan *p, const struct plan_route *r, enum plan_priority priority)
{
    return plan_book_yield(p, r, priority, 0);
}

int plan_book_yield(struct plan *p, const struct plan_route *r, enum plan_priority priority,
                    uint64_t yields)
{
    uint64_t short_of = 0; /* at the first contact */
    assert((unsigned)priority < PLAN_PRIORITIES && r->hops <= PLAN_HOPS_MAX);
    for (size_t i = 0; i < r->hops; i++) {
        const struct contact *c = plan_contact_by_id(p, r->hop[i].contact);
        if (c == NULL)
            return HELIO_ENOENT;
        const uint64_t left = contact_left(c, priority);
        const uint64_t lacks = left < r->volume ? r->volume - left : 0;
        if (lacks > 0 && (i > 0 || lacks > yields || lacks > c->booked[priority]))
            return HELIO_EAGAIN;
        short_of = i == 0 ? lacks : short_of;
    }
    if (short_of > 0)
        displace_own_class(plan_contact_by_id(p, r->hop[0].contact), priority, short_of);
    for (size_t i = 0; i < r->hops; i++)
        add_booking(plan_contact_by_id(p, r->hop[i].contact), priority, r->volume);
    return 0;
}

void plan_unbook(struct plan *p, const struct plan_route *r, enum plan_priority priority)
{
    assert((unsigned)priority < PLAN_PRIORITIES && r->hops <= PLAN_HOPS_MAX);
    for (size_t i = 0; i < r->hops; i++) {
        struct contact *c = plan_contact_by_id(p, r->hop[i].contact);
        if (c != NULL && sub_booking(c, priority, r->volume))
            cache_ease(p, c->is.start);
    }
}

uint64_t plan_volume(const struct plan *p, uint64_t id)
{
    const struct contact *c = plan_contact_by_id(p, id);
    return c == NULL ? 0 : c->volume;
}

uint64_t plan_left(const struct plan *p, uint64_t id, enum plan_priority priority)
{
    const struct contact *c = plan_contact_by_id(p, id);
    return c == NULL ? 0 : contact_left(c, priority);
}

uint64_t plan_booked(const struct plan *p, uint64_t id, enum plan_priority priority)
{
    const struct contact *c = plan_contact_by_id(p, id);
    return c == NULL ? 0 : c->booked[priority];
}

uint64_t plan_owed(const struct plan *p, uint64_t id, enum plan_priority priority)
{
    const struct contact *c = plan_contact_by_id(p, id);
    return c == NULL ? 0 : c->owed[priority];
}
