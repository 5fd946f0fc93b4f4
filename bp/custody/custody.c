/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles are found by their keys. An ID leads to its key by a table of the latest IDs: they rise
 * by 1, so the place in the table is the ID modulo its size. What can go wrong: a peer that names
 * IDs that were never issued, or bundles that ended; many bundles, sequences, or no memory.
 */
#include "bp/custody/custody.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"

enum held_state {
    HELD_SUBMITTED,
    HELD_WAITING, /* its timer runs */
    HELD_ENDED    /* in ended */
};

struct held {
    struct hash_node by_key;
    struct heap_node timer;
    struct list node; /* in ended */
    uint64_t key, id;
    enum held_state state;
    bool answered; /* accepted by a signal */
    bool refused;  /* by a signal, whose disposition this is */
    uint64_t disposition;
    enum custody_outcome outcome; /* HELD_ENDED */
    tick sent;
    struct custody_carrier carrier;
    bool waited; /* in this node, when its timer ended last */
};

/* A signal that is collected. */
struct collected {
    struct ranges ids;
    uint64_t count;
    tick due;
};

struct custody {
    struct custody_config config;
    struct rng rng;
    struct hash by_key;
    struct heap timers;
    struct list ended;
    uint64_t held;
    uint64_t *keys; /* of the IDs [base, next), at the ID's rest */
    uint64_t mask;
    uint64_t first, base, next; /* first: IDs below it are not of this run */
    bool open;
    tick closed_at;  /* !open: since then timers stand still */
    uint64_t factor; /* of the timer */
    tick doubled;    /* when it was doubled last */
    struct collected signals[CUSTODY_DISPOSITIONS];
    struct custody_stats stats;
};

/* ---- life ---- */

/* The first half of the IDs: as many again follow it. */
static void draw_first(struct custody *c)
{
    c->first = c->base = c->next = 1 + rng_below(&c->rng, c->config.id_max / 2);
}

static uint64_t count_slots(uint64_t held_max)
{
    uint64_t n = 1;
    while (n < held_max * CUSTODY_SPAN)
        n *= 2;
    return n;
}

struct custody *custody_new(const struct custody_config *config, uint64_t seed)
{
    assert(config->held_max >= 1 && config->held_max <= 65536 && config->timer > 0);
    assert(config->id_max >= UINT64_C(16) * 65536 && config->signal_count >= 1);
    struct custody *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->config = *config;
    c->open = true;
    c->factor = 1;
    rng_init(&c->rng, seed);
    list_init(&c->ended);
    heap_init(&c->timers);
    c->mask = count_slots(config->held_max) - 1;
    c->keys = calloc(c->mask + 1, sizeof *c->keys);
    for (size_t i = 0; i < CUSTODY_DISPOSITIONS; i++) {
        ranges_init(&c->signals[i].ids);
        c->signals[i].due = TICK_NEVER;
    }
    draw_first(c);
    if (c->keys == NULL || hash_init(&c->by_key, rng_u64(&c->rng)) < 0) {
        free(c->keys);
        free(c);
        return NULL;
    }
    return c;
}

static void end_held(struct custody *c, struct held *h)
{
    assert(c->held > 0);
    hash_sub(&c->by_key, &h->by_key);
    heap_sub(&c->timers, &h->timer);
    c->held--;
    free(h);
}

void custody_free(struct custody *c)
{
    if (c == NULL)
        return;
    for (struct hash_node *n; (n = hash_walk(&c->by_key, NULL)) != NULL;)
        end_held(c, container_of(n, struct held, by_key));
    hash_fini(&c->by_key);
    heap_fini(&c->timers);
    for (size_t i = 0; i < CUSTODY_DISPOSITIONS; i++)
        ranges_fini(&c->signals[i].ids);
    free(c->keys);
    free(c);
}

void custody_set(struct custody *c, const struct custody_config *config)
{
    c->config.timer = config->timer;
    c->config.light = config->light;
    c->config.signal_after = config->signal_after;
    c->config.signal_count = config->signal_count;
}

/* ---- this end's bundles ---- */

static uint64_t hash_key(const struct custody *c, uint64_t key)
{
    return hash_mix(c->by_key.seed, key, 0);
}

static struct held *find_held(const struct custody *c, uint64_t key)
{
    const uint64_t hash = hash_key(c, key);
    for (struct hash_node *n = hash_find(&c->by_key, hash); n != NULL; n = hash_next(n)) {
        struct held *h = container_of(n, struct held, by_key);
        if (h->key == key)
            return h;
    }
    return NULL;
}

static void end_with(struct custody *c, struct held *h, enum custody_outcome outcome)
{
    assert(h->state != HELD_ENDED);
    heap_sub(&c->timers, &h->timer);
    h->state = HELD_ENDED;
    h->outcome = outcome;
    list_add_tail(&c->ended, &h->node);
    c->stats.released += outcome == CUSTODY_RELEASED;
    c->stats.refused += outcome == CUSTODY_REFUSED;
    c->stats.lost += outcome == CUSTODY_LOST;
}

static void end_timed_out(struct custody *c, struct held *h)
{
    end_with(c, h, h->refused ? CUSTODY_REFUSED : CUSTODY_LOST);
}

/* Room for one more ID. The oldest one is forgotten. If its bundle still waits, its timer ends now:
 * many later bundles have been answered. */
static bool make_room(struct custody *c)
{
    if (c->next > c->config.id_max) {
        if (c->held > 0)
            return false;
        draw_first(c);
    }
    if (c->next - c->base <= c->mask)
        return true;
    struct held *oldest = find_held(c, c->keys[c->base & c->mask]);
    if (oldest != NULL && oldest->id == c->base) {
        if (oldest->state == HELD_SUBMITTED)
            return false;
        if (oldest->state == HELD_WAITING)
            end_timed_out(c, oldest);
    }
    c->base++;
    return true;
}

int custody_hold(struct custody *c, uint64_t key, uint64_t *id)
{
    assert(find_held(c, key) == NULL);
    if (c->held >= c->config.held_max || !make_room(c))
        return HELIO_EAGAIN;
    struct held *h = calloc(1, sizeof *h);
    if (h == NULL || heap_reserve(&c->timers, c->held + 1) < 0) {
        free(h);
        return HELIO_ENOMEM;
    }
    *h = (struct held){.key = key, .id = c->next, .state = HELD_SUBMITTED};
    heap_node_init(&h->timer);
    c->keys[c->next & c->mask] = key;
    *id = c->next++;
    c->stats.issued++;
    hash_add(&c->by_key, &h->by_key, hash_key(c, key));
    c->held++;
    return 0;
}

/* Without the light time. */
static tick patience_of(const struct custody *c)
{
    return c->config.timer > TICK_NEVER / CUSTODY_BACKOFF_MAX ? TICK_NEVER
                                                              : c->config.timer * c->factor;
}

static tick timer_of(const struct custody *c)
{
    return tick_add(patience_of(c), c->config.light);
}

static void start_timer(struct custody *c, struct held *h, tick now)
{
    h->sent = now;
    const int rc =
        heap_set(&c->timers, &h->timer, tick_add(c->open ? now : c->closed_at, timer_of(c)));
    assert(rc == 0); /* reserved */
    (void)rc;
}

void custody_sent(struct custody *c, uint64_t key, const struct custody_carrier *carrier, tick now)
{
    struct held *h = find_held(c, key);
    if (h == NULL || h->state != HELD_SUBMITTED)
        return;
    if (h->answered) {
        end_with(c, h, CUSTODY_RELEASED);
        return;
    }
    h->state = HELD_WAITING;
    h->carrier = *carrier;
    start_timer(c, h, now);
}

bool custody_cancel(struct custody *c, uint64_t key)
{
    struct held *h = find_held(c, key);
    if (h != NULL && h->state != HELD_ENDED)
        end_with(c, h, CUSTODY_CANCELLED);
    return h != NULL;
}

bool custody_drop(struct custody *c, uint64_t key)
{
    struct held *h = find_held(c, key);
    if (h == NULL || h->state == HELD_ENDED)
        return false;
    end_held(c, h);
    return true;
}

uint64_t custody_held(const struct custody *c)
{
    return c->held;
}

/* The light time passes while no signal can arrive; the rest of a timer stands still. */
static void resume_timers(struct custody *c, tick now)
{
    const tick patience = patience_of(c);
    for (struct hash_node *n = hash_walk(&c->by_key, NULL); n != NULL;
         n = hash_walk(&c->by_key, n)) {
        struct held *h = container_of(n, struct held, by_key);
        if (h->state != HELD_WAITING)
            continue;
        const tick due = h->timer.due;
        const tick left = due > c->closed_at ? due - c->closed_at : 0;
        const tick light = left > patience ? left - patience : 0;
        const tick closed = now - tick_max(h->sent, c->closed_at);
        const tick rest = left - light + (light > closed ? light - closed : 0);
        const int rc = heap_set(&c->timers, &h->timer, tick_add(now, rest));
        assert(rc == 0); /* reserved */
        (void)rc;
    }
}

void custody_open(struct custody *c, bool open, tick now)
{
    if (open == c->open)
        return;
    if (open)
        resume_timers(c, now);
    c->open = open;
    c->closed_at = now;
}

tick custody_again_at(const struct custody *c, tick now)
{
    return tick_add(now, timer_of(c));
}

/* ---- the peer's signals ---- */

/* Leaves of the sequences what is still known. One with an ID that was not issued is dropped whole:
 * no receiver makes it, and a forger that covers all IDs need not guess those in use. */
static void clip_sequences(struct custody *c, struct range *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct range *r = &at[i];
        if (r->hi > c->next || r->lo < c->first) {
            c->stats.never_issued++;
            *r = (struct range){c->base, c->base};
            continue;
        }
        r->lo = r->lo > c->base ? r->lo : c->base;
        r->hi = r->hi > r->lo ? r->hi : r->lo;
    }
}

/* True: a bundle waited for it. */
static bool take_answer(struct custody *c, uint64_t id, uint64_t disposition)
{
    struct held *h = find_held(c, c->keys[id & c->mask]);
    const bool accepted = custody_is_accepted(disposition);
    if (h == NULL || h->state == HELD_ENDED || (h->id != id && !accepted))
        return false;
    if (!accepted) {
        const bool first = !h->answered && !h->refused;
        h->refused = true;
        h->disposition = disposition;
        return first;
    }
    h->answered = true;
    if (h->state == HELD_WAITING)
        end_with(c, h, CUSTODY_RELEASED);
    return true;
}

int custody_input(struct custody *c, uint64_t disposition, struct range *at, size_t len)
{
    struct ranges ids;
    ranges_init(&ids);
    assert(len <= CUSTODY_READ_MAX);
    clip_sequences(c, at, len);
    const int rc = ranges_add_all(&ids, at, len, CUSTODY_READ_MAX);
    if (rc == HELIO_ENOMEM) {
        ranges_fini(&ids);
        return rc;
    }
    c->stats.signals_received++;
    for (size_t i = 0; i < ids.len; i++) {
        for (uint64_t id = ids.at[i].lo; id < ids.at[i].hi; id++) {
            const bool useful = take_answer(c, id, disposition);
            c->stats.late += !useful;
            c->factor = useful ? 1 : c->factor;
        }
    }
    ranges_fini(&ids);
    return 0;
}

bool custody_poll(struct custody *c, struct custody_event *out)
{
    if (list_empty(&c->ended))
        return false;
    struct held *h = container_of(list_first(&c->ended), struct held, node);
    *out =
        (struct custody_event){.key = h->key, .outcome = h->outcome, .disposition = h->disposition};
    list_sub(&h->node);
    end_held(c, h);
    return true;
}

/* ---- the peer's bundles ---- */

void custody_confirm(struct custody *c, uint64_t id, enum custody_disposition disposition, tick now)
{
    assert((unsigned)disposition < CUSTODY_DISPOSITIONS);
    struct collected *s = &c->signals[disposition];
    const int rc =
        id == 0 || id == UINT64_MAX ? -1 : ranges_add(&s->ids, id, id + 1, CUSTODY_RANGES_MAX);
    if (rc < 0) {
        c->stats.not_confirmed++;
    } else if (rc > 0) {
        s->count++;
        s->due = tick_min(s->due, tick_add(now, c->config.signal_after));
    }
    if (s->count >= c->config.signal_count || s->ids.len >= CUSTODY_RANGES_MAX)
        s->due = tick_min(s->due, now);
}

bool custody_signal(const struct custody *c, tick now, enum custody_disposition *disposition,
                    const struct range **at, size_t *len)
{
    for (unsigned i = 0; i < CUSTODY_DISPOSITIONS; i++) {
        const struct collected *s = &c->signals[i];
        if (s->due > now)
            continue;
        *disposition = (enum custody_disposition)i;
        *at = s->ids.at;
        *len = s->ids.len;
        return true;
    }
    return false;
}

void custody_signalled(struct custody *c, enum custody_disposition disposition, bool ok, tick again)
{
    struct collected *s = &c->signals[disposition];
    assert(s->ids.len > 0);
    s->due = ok ? TICK_NEVER : again;
    if (!ok)
        return;
    c->stats.signals_sent++;
    c->stats.confirmed += s->count;
    s->count = 0;
    ranges_clear(&s->ids);
}

/* ---- time ---- */

/* The peer has had less than a timer's time for it. */
static bool is_early(struct held *h, custody_is_here *is_here, void *context)
{
    const bool waited = h->waited;
    h->waited = is_here(context, &h->carrier);
    return waited || h->waited;
}

void custody_expire(struct custody *c, tick now, custody_is_here *is_here, void *context)
{
    while (c->open && heap_due(&c->timers) <= now) {
        struct held *h = container_of(heap_first(&c->timers), struct held, timer);
        if (is_early(h, is_here, context)) {
            start_timer(c, h, now);
            continue;
        }
        if (!h->refused && h->sent >= c->doubled && c->factor < CUSTODY_BACKOFF_MAX) {
            c->factor *= 2;
            c->doubled = now;
        }
        end_timed_out(c, h);
    }
}

tick custody_deadline(const struct custody *c)
{
    return c->open ? heap_due(&c->timers) : TICK_NEVER;
}

tick custody_signal_due(const struct custody *c)
{
    tick due = TICK_NEVER;
    for (size_t i = 0; i < CUSTODY_DISPOSITIONS; i++)
        due = tick_min(due, c->signals[i].due);
    return due;
}

const struct custody_stats *custody_stats(const struct custody *c)
{
    return &c->stats;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void custody_check(const struct custody *c)
{
    uint64_t held = 0, ended = 0;
    for (struct hash_node *n = hash_walk(&c->by_key, NULL); n != NULL;
         n = hash_walk(&c->by_key, n)) {
        const struct held *h = container_of(n, struct held, by_key);
        assert(h->id < c->next && (h->id >= c->base || h->state == HELD_ENDED));
        assert(h->id < c->base || c->keys[h->id & c->mask] == h->key);
        assert(heap_has(&h->timer) == (h->state == HELD_WAITING));
        ended += h->state == HELD_ENDED;
        held++;
    }
    list_for_each (it, &c->ended)
        ended--;
    assert(ended == 0 && held == c->held && held <= c->config.held_max);
    assert(c->first >= 1 && c->base >= c->first && c->next >= c->base &&
           c->next - c->base <= c->mask + 1);
    assert(c->factor >= 1 && c->factor <= CUSTODY_BACKOFF_MAX);
    for (size_t i = 0; i < CUSTODY_DISPOSITIONS; i++) {
        const struct collected *s = &c->signals[i];
        ranges_check(&s->ids);
        assert(s->ids.len <= CUSTODY_RANGES_MAX && s->count == ranges_bytes(&s->ids));
        assert((s->ids.len == 0) == (s->due == TICK_NEVER));
    }
}
