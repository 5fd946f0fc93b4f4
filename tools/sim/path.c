/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each frame that goes is a flight: under way until one comes that went after it, or its wait is
 * over, then lost unless its octets have come. What can go wrong: memory, then the path is dead.
 */
#include "tools/sim/path.h"

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
    tick at; /* went; of lost ones: goes again */
};

void path_init(struct path *p)
{
    *p = (struct path){.limit = UINT64_MAX};
    ranges_init(&p->came);
    list_init(&p->under);
    list_init(&p->lost);
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

void path_fini(struct path *p)
{
    struct path_flight *f;
    while ((f = first_of(&p->under)) != NULL)
        free_flight(f);
    while ((f = first_of(&p->lost)) != NULL)
        free_flight(f);
    ranges_fini(&p->came);
}

static tick wait_of(const struct path *p)
{
    tick wait = p->way == 0 ? WAIT_FIRST : 4 * p->way;
    wait = wait < WAIT_MIN ? WAIT_MIN : wait;
    return wait << (p->tries < TRIES_SHIFT ? p->tries : TRIES_SHIFT);
}

static bool has_come(const struct path *p, const struct path_flight *f)
{
    return ranges_has(&p->came, f->lo, f->hi);
}

/* Of the oldest ones whose octets came after all nobody waits. */
static void forget_come(struct path *p)
{
    struct path_flight *f;
    while ((f = first_of(&p->under)) != NULL && has_come(p, f))
        free_flight(f);
    while ((f = first_of(&p->lost)) != NULL && has_come(p, f))
        free_flight(f);
}

static tick repeat_due(const struct path *p)
{
    return list_empty(&p->under) ? TICK_NEVER : tick_add(p->armed, wait_of(p));
}

/* The one that nothing was heard of goes again now; the others wait for what becomes of it. */
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

/* NULL: there is none. */
static struct path_flight *next_flight(struct path *p, tick now)
{
    struct path_flight *f = first_of(&p->lost);
    if (f != NULL && f->at <= now) {
        list_sub(&f->node);
        return f;
    }
    uint64_t end = p->given < p->limit ? p->given : p->limit;
    if (p->sent >= end)
        return NULL;
    f = calloc(1, sizeof *f);
    if (f == NULL) {
        p->broken = true;
        return NULL;
    }
    f->lo = p->sent;
    f->hi = end - p->sent > PATH_OCTETS ? p->sent + PATH_OCTETS : end;
    p->sent = f->hi;
    return f;
}

size_t path_output(struct path *p, uint64_t stream, struct path_head *head, tick now)
{
    forget_come(p);
    if (repeat_due(p) <= now)
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
    *head = (struct path_head){stream, f->number, f->lo, now, (uint32_t)(f->hi - f->lo)};
    return sizeof *head + head->len;
}

tick path_due(const struct path *p)
{
    const struct path_flight *f = first_of(&p->lost);
    return p->broken ? 0 : tick_min(f == NULL ? TICK_NEVER : f->at, repeat_due(p));
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

static uint64_t in_order(const struct path *p)
{
    return p->came.len > 0 && p->came.at[0].lo == 0 ? p->came.at[0].hi : 0;
}

/* Frames that went before this one: come, lost, or still to be waited for. */
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
            f->at = tick_add(now, p->way);
            f->at = f->at < last ? last : f->at;
            list_add_tail(&p->lost, &f->node);
        }
    }
}

uint64_t path_input(struct path *p, const struct path_head *h, tick now)
{
    assert(h->lo <= p->sent && h->len <= p->sent - h->lo && h->number <= p->frames && h->at <= now);
    if (ranges_add(&p->came, h->lo, h->lo + h->len, SIZE_MAX) < 0)
        p->broken = true;
    p->way = now > h->at ? now - h->at : 1;
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
}
