/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each transmitted frame is a flight. It is in transit until a later frame arrives or its timer
 * expires; then it counts as lost unless its octets have arrived. With congestion control, an
 * arrival creates an acknowledgement in transit, and a lost frame waits for the window. What can go
 * wrong: no memory; then the path is dead.
 */
#include "sim/path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OVERTAKEN 3 /* frames, without being lost */
#define WAIT_MIN (200 * TICK_MS)
#define WAIT_FIRST TICK_S
#define TRIES_SHIFT 9 /* the wait doubles so often */

struct path_flight {
    struct list node;
    uint64_t number, lo, hi;
    tick at; /* time of transmission; of lost ones: of retransmission */
};

struct path_ack {
    struct list node;
    tick at, sent;
    uint32_t octets;
};

void path_init(struct path *p)
{
    *p = (struct path){.limit = UINT64_MAX};
    ranges_init(&p->came);
    list_init(&p->under);
    list_init(&p->lost);
    list_init(&p->again);
    list_init(&p->acks);
}

void path_control(struct path *p, enum flow_kind kind, uint64_t most)
{
    assert(p->frames == 0);
    flow_init(&p->flow, kind, PATH_OCTETS, most);
}

static bool is_controlled(const struct path *p)
{
    return p->flow.kind != FLOW_NONE;
}

static struct path_flight *flight_in(struct list *l)
{
    return container_of(l, struct path_flight, node);
}

static struct path_flight *first_of(const struct list *l)
{
    struct list *first = list_first(l);
    return first == NULL ? NULL : flight_in(first);
}

static void free_flight(struct path_flight *f)
{
    list_sub(&f->node);
    free(f);
}

static struct path_ack *first_ack(const struct path *p)
{
    struct list *first = list_first(&p->acks);
    return first == NULL ? NULL : container_of(first, struct path_ack, node);
}

static void free_ack(struct path_ack *a)
{
    list_sub(&a->node);
    free(a);
}

void path_fini(struct path *p)
{
    struct path_flight *f;
    while ((f = first_of(&p->under)) != NULL)
        free_flight(f);
    while ((f = first_of(&p->lost)) != NULL)
        free_flight(f);
    while ((f = first_of(&p->again)) != NULL)
        free_flight(f);
    struct path_ack *a;
    while ((a = first_ack(p)) != NULL)
        free_ack(a);
    ranges_fini(&p->came);
}

static tick wait_of(const struct path *p)
{
    tick wait = p->transit == 0 ? WAIT_FIRST : 4 * p->transit;
    wait = wait < WAIT_MIN ? WAIT_MIN : wait;
    return wait << (p->tries < TRIES_SHIFT ? p->tries : TRIES_SHIFT);
}

static bool has_come(const struct path *p, const struct path_flight *f)
{
    return ranges_has(&p->came, f->lo, f->hi);
}

/* The oldest flights whose octets arrived after all are no longer waited for. */
static void forget_come(struct path *p)
{
    struct path_flight *f;
    while ((f = first_of(&p->under)) != NULL && has_come(p, f))
        free_flight(f);
    while ((f = first_of(&p->lost)) != NULL && has_come(p, f))
        free_flight(f);
    while ((f = first_of(&p->again)) != NULL && has_come(p, f))
        free_flight(f);
}

static tick repeat_due(const struct path *p)
{
    return list_empty(&p->under) ? TICK_NEVER : tick_add(p->armed, wait_of(p));
}

/* The oldest unanswered frame is retransmitted now; the others wait for its result. */
static void lose_oldest(struct path *p, tick now)
{
    struct path_flight *f = first_of(&p->under);
    list_sub(&f->node);
    const struct path_flight *first = first_of(&p->lost);
    f->at = first == NULL ? now : tick_min(now, first->at);
    list_add_head(&p->lost, &f->node);
    p->tries++;
    p->armed = now;
}

static uint32_t octets_of(const struct path_flight *f)
{
    return (uint32_t)(f->hi - f->lo);
}

/* With congestion control all of them. */
static void lose_all(struct path *p, tick now)
{
    struct path_flight *f;
    while ((f = first_of(&p->lost)) != NULL) {
        list_sub(&f->node);
        list_add_tail(&p->again, &f->node);
    }
    while ((f = first_of(&p->under)) != NULL) {
        list_sub(&f->node);
        list_add_tail(&p->again, &f->node);
    }
    flow_timeout(&p->flow, p->frames);
    p->tries++;
    p->armed = now;
}

/* What the sender knows by now: octets that have arrived, and gaps before them. */
static void hear_news(struct path *p, tick now)
{
    struct path_ack *a;
    struct path_flight *f;
    while ((a = first_ack(p)) != NULL && a->at <= now) {
        flow_acked(&p->flow, a->octets, now - a->sent, now);
        free_ack(a);
    }
    while ((f = first_of(&p->lost)) != NULL && f->at <= now) {
        flow_lost(&p->flow, octets_of(f), f->number, p->frames);
        list_sub(&f->node);
        list_add_tail(&p->again, &f->node);
    }
}

/* NULL: there is none. */
static struct path_flight *next_flight(struct path *p, tick now)
{
    bool controlled = is_controlled(p);
    struct path_flight *f = first_of(controlled ? &p->again : &p->lost);
    if (f != NULL && controlled && !flow_room(&p->flow, octets_of(f)))
        return NULL;
    if (f != NULL && (controlled || f->at <= now)) {
        list_sub(&f->node);
        return f;
    }
    uint64_t end = p->given < p->limit ? p->given : p->limit;
    uint64_t left = p->sent >= end ? 0 : end - p->sent;
    left = left > PATH_OCTETS ? PATH_OCTETS : left;
    if (left == 0 && controlled)
        flow_idle(&p->flow);
    if (left == 0 || (controlled && !flow_room(&p->flow, (uint32_t)left)))
        return NULL;
    f = calloc(1, sizeof *f);
    if (f == NULL) {
        p->broken = true;
        return NULL;
    }
    f->lo = p->sent;
    f->hi = p->sent + left;
    p->sent = f->hi;
    return f;
}

size_t path_output(struct path *p, uint64_t stream, struct path_head *head, tick now)
{
    forget_come(p);
    if (is_controlled(p))
        hear_news(p, now);
    if (repeat_due(p) <= now && is_controlled(p))
        lose_all(p, now);
    else if (repeat_due(p) <= now)
        lose_oldest(p, now);
    struct path_flight *f = p->broken ? NULL : next_flight(p, now);
    if (f == NULL)
        return 0;
    if (list_empty(&p->under) && p->tries == 0)
        p->heard = now;
    if (list_empty(&p->under))
        p->armed = now;
    f->number = ++p->frames;
    f->at = now;
    list_add_tail(&p->under, &f->node);
    if (is_controlled(p))
        flow_sent(&p->flow, octets_of(f));
    *head = (struct path_head){stream, f->number, f->lo, now, (uint32_t)(f->hi - f->lo)};
    return sizeof *head + head->len;
}

static uint64_t in_order(const struct path *p)
{
    return p->came.len > 0 && p->came.at[0].lo == 0 ? p->came.at[0].hi : 0;
}

static uint64_t again_octets(const struct path *p)
{
    uint64_t n = 0;
    list_for_each (it, &p->again)
        n += octets_of(flight_in(it));
    return n;
}

tick path_due(const struct path *p)
{
    const struct path_flight *f = first_of(&p->lost);
    const struct path_ack *a = first_ack(p);
    tick heard = a == NULL ? TICK_NEVER : a->at;
    return p->broken ? 0 : tick_min(tick_min(f == NULL ? TICK_NEVER : f->at, heard), repeat_due(p));
}

uint64_t path_unheard(const struct path *p)
{
    uint64_t sent = p->given - p->sent;
    if (is_controlled(p))
        return sent + p->flow.under + again_octets(p);
    return sent + (p->sent - in_order(p));
}

bool path_is_dead(const struct path *p, tick now)
{
    return p->broken || (p->tries > 0 && now - p->heard >= PATH_PATIENCE);
}

bool path_parse(struct slice frame, struct path_head *out)
{
    if (frame.len < sizeof *out)
        return false;
    memcpy(out, frame.data, sizeof *out);
    return out->len > 0 && out->len <= PATH_OCTETS && frame.len == sizeof *out + out->len;
}

/* Frames that were sent before this one: arrived, lost, or still to be waited for. */
static void judge_earlier(struct path *p, uint64_t number, tick now)
{
    list_for_each_safe (it, &p->under) {
        struct path_flight *f = flight_in(it);
        if (f->number > number)
            return;
        if (has_come(p, f)) {
            free_flight(f);
        } else if (f->number + OVERTAKEN < number) {
            list_sub(&f->node);
            tick last = list_empty(&p->lost) ? 0 : flight_in(p->lost.prev)->at;
            f->at = tick_add(now, is_controlled(p) ? p->back : p->transit);
            f->at = f->at < last ? last : f->at;
            list_add_tail(&p->lost, &f->node);
        }
    }
}

static void send_ack(struct path *p, const struct path_head *h, tick now)
{
    struct path_ack *a = calloc(1, sizeof *a);
    if (a == NULL) {
        p->broken = true;
        return;
    }
    *a = (struct path_ack){.at = tick_add(now, p->back), .sent = h->at, .octets = h->len};
    const struct path_ack *last =
        list_empty(&p->acks) ? NULL : container_of(p->acks.prev, struct path_ack, node);
    a->at = last != NULL && a->at < last->at ? last->at : a->at;
    assert(p->acks.prev != NULL);
    list_add_tail(&p->acks, &a->node);
}

uint64_t path_input(struct path *p, const struct path_head *h, tick now)
{
    assert(h->lo <= p->sent && h->len <= p->sent - h->lo && h->number <= p->frames && h->at <= now);
    if (ranges_add(&p->came, h->lo, h->lo + h->len, SIZE_MAX) < 0)
        p->broken = true;
    p->transit = now > h->at ? now - h->at : 1;
    p->back = p->back == 0 ? p->transit : tick_min(p->back, p->transit);
    if (is_controlled(p))
        send_ack(p, h, now);
    p->heard = p->armed = now;
    p->tries = 0;
    judge_earlier(p, h->number, now);
    return in_order(p);
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void path_check(const struct path *p)
{
    uint64_t number = 0;
    tick at = 0;
    assert(p->sent <= p->given);
    list_for_each (it, &p->under) {
        const struct path_flight *f = flight_in(it);
        assert(f->number > number && f->lo < f->hi && f->hi <= p->sent);
        number = f->number;
    }
    list_for_each (it, &p->lost) {
        const struct path_flight *f = flight_in(it);
        assert(f->lo < f->hi && f->hi <= p->sent && f->at >= at);
        at = f->at;
    }
    ranges_check(&p->came);
    if (is_controlled(p))
        flow_check(&p->flow);
}
