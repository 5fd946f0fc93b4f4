/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table has a fixed number of places, in the order of ids. A beacon finds its place by name and
 * address, or gets a new one. Links are given to names in turn: those with the fewest failures
 * first, then those heard first. What can go wrong is all in the input: floods of names, of
 * addresses, and lies. A full table replaces neighbours without a link, chosen at random, so that a
 * flood cannot keep others out; it never replaces one with a link.
 */
#include "discovery/discovery.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"

#define PERIODS 3   /* beacons that may be lost in a row */
#define SILENCES 10 /* longest extension by an announced period */

struct discovery {
    struct discovery_config config;
    struct discovery_neighbour *at;
    size_t len;
    uint64_t ids;
    uint64_t sequence;
    tick send_at, deadline;
    struct rng rng;
    struct discovery_totals totals; /* the sizes are made when they are asked for */
};

const char *discovery_verdict_text(enum discovery_verdict v)
{
    static const char *const texts[DISCOVERY_VERDICTS] = {
        "known", "new", "own", "configured", "address", "claimed", "full", "malformed"};
    assert(v < DISCOVERY_VERDICTS);
    return texts[v];
}

const char *discovery_state_text(enum discovery_state s)
{
    static const char *const texts[] = {"heard", "trying", "up"};
    return texts[s];
}

const char *discovery_reason_text(enum discovery_reason r)
{
    static const char *const texts[] = {"it sends no beacons any more",
                                        "it was not up in time, and gives way",
                                        "its name belongs to the configuration now"};
    return texts[r];
}

int discovery_new(struct discovery **out, const struct discovery_config *config, tick now)
{
    struct discovery *d = calloc(1, sizeof *d);
    assert(config->neighbours_max >= 1 && config->neighbours_max <= DISCOVERY_NEIGHBOURS_MAX);
    assert(config->silence > 0 && config->patience > 0 && config->address_max > 0);
    if (d != NULL)
        d->at = calloc(config->neighbours_max, sizeof *d->at);
    if (d == NULL || d->at == NULL) {
        free(d);
        return HELIO_ENOMEM;
    }
    d->config = *config;
    d->send_at = config->interval == TICK_NEVER ? TICK_NEVER : now;
    d->deadline = d->send_at;
    rng_init(&d->rng, config->seed);
    *out = d;
    return 0;
}

void discovery_free(struct discovery *d)
{
    if (d == NULL)
        return;
    free(d->at);
    free(d);
}

/* ---- places ---- */

static bool has_link(const struct discovery_neighbour *n)
{
    return n->state != DISCOVERY_HEARD;
}

static bool patience_is_over(const struct discovery *d, const struct discovery_neighbour *n,
                             tick now)
{
    return tick_add(n->since, d->config.patience) <= now;
}

static void remove_at(struct discovery *d, size_t i)
{
    assert(i < d->len);
    d->len--;
    memmove(&d->at[i], &d->at[i + 1], (d->len - i) * sizeof *d->at);
}

static struct discovery_neighbour *find_id(struct discovery *d, uint64_t id)
{
    for (size_t i = 0; i < d->len; i++)
        if (d->at[i].id == id)
            return &d->at[i];
    return NULL;
}

static bool same_name(const struct discovery_neighbour *n, uint64_t hash, const struct eid *node)
{
    return n->hash == hash && eid_same_node(&n->node, node);
}

static bool same_host(const struct discovery_from *a, const struct discovery_from *b)
{
    return memcmp(a->host, b->host, DISCOVERY_HOST) == 0;
}

static bool same_prefix(const struct discovery_from *a, const struct discovery_from *b)
{
    return a->prefix_len == b->prefix_len && memcmp(a->prefix, b->prefix, a->prefix_len) == 0;
}

/* What a new neighbour counts against. */
struct crowd {
    size_t claimants, hosts, prefixes;
};

static struct crowd count_crowd(const struct discovery *d, uint64_t hash, const struct eid *node,
                                const struct discovery_from *from)
{
    struct crowd c = {0};
    for (size_t i = 0; i < d->len; i++) {
        const struct discovery_neighbour *n = &d->at[i];
        c.claimants += same_name(n, hash, node);
        c.hosts += same_host(&n->from, from);
        c.prefixes += same_prefix(&n->from, from);
    }
    return c;
}

/* Whose place a new neighbour may get. */
enum victims { OF_NAME, OF_HOST, OF_PREFIX, OF_ALL };

/* One of those without a link, at random; of a name only those that were tried. False: none. */
static bool displace_one(struct discovery *d, enum victims which, uint64_t hash,
                         const struct eid *node, const struct discovery_from *from)
{
    size_t victim = SIZE_MAX, met = 0;
    for (size_t i = 0; i < d->len; i++) {
        const struct discovery_neighbour *n = &d->at[i];
        if (has_link(n) || (which == OF_NAME && (n->tries == 0 || !same_name(n, hash, node))) ||
            (which == OF_HOST && !same_host(&n->from, from)) ||
            (which == OF_PREFIX && !same_prefix(&n->from, from)))
            continue;
        if (rng_below(&d->rng, ++met) == 0)
            victim = i;
    }
    if (victim == SIZE_MAX)
        return false;
    remove_at(d, victim);
    d->totals.displaced++;
    return true;
}

/* All places of an address have links. Those that were not up in time end at the next poll, so that
 * a later beacon of this address finds a place: the names may be forged. */
static void free_host(struct discovery *d, const struct discovery_from *from, tick now)
{
    for (size_t i = 0; i < d->len; i++) {
        struct discovery_neighbour *n = &d->at[i];
        if (n->state == DISCOVERY_TRYING && same_host(&n->from, from) &&
            patience_is_over(d, n, now))
            n->until = now;
    }
}

/* Addresses of one network may be forged: a quarter of the places is for others. */
static size_t prefix_limit(const struct discovery *d)
{
    const size_t max = d->config.neighbours_max;
    return max - max / 4;
}

/* DISCOVERY_NEW: there is a place; else why there is none. */
static enum discovery_verdict find_place(struct discovery *d, uint64_t hash, const struct eid *node,
                                         const struct discovery_from *from, tick now)
{
    struct crowd c = count_crowd(d, hash, node, from);
    if (c.hosts >= d->config.address_max) {
        if (!displace_one(d, OF_HOST, hash, node, from)) {
            free_host(d, from, now);
            return DISCOVERY_ADDRESS;
        }
        c = count_crowd(d, hash, node, from); /* or another one would be displaced as well */
    }
    if (c.claimants >= DISCOVERY_CLAIMANTS_MAX)
        return displace_one(d, OF_NAME, hash, node, from) ? DISCOVERY_NEW : DISCOVERY_CLAIMED;
    if (c.prefixes >= prefix_limit(d))
        return displace_one(d, OF_PREFIX, hash, node, from) ? DISCOVERY_NEW : DISCOVERY_FULL;
    if (d->len == d->config.neighbours_max)
        return displace_one(d, OF_ALL, hash, node, from) ? DISCOVERY_NEW : DISCOVERY_FULL;
    return DISCOVERY_NEW;
}

/* ---- input ---- */

static tick silence_of(const struct discovery *d, tick period)
{
    const tick longest =
        d->config.silence > TICK_NEVER / SILENCES ? TICK_NEVER - 1 : SILENCES * d->config.silence;
    const tick wanted = PERIODS * period; /* of at most DISCOVERY_PERIOD_MAX */
    const tick least = d->config.silence;
    return wanted <= least ? least : wanted < longest ? wanted : longest;
}

static bool same_services(const struct discovery_neighbour *n, const struct discovery_beacon *b)
{
    if (n->services_len != b->services_len)
        return false;
    for (size_t i = 0; i < b->services_len; i++)
        if (strcmp(n->services[i].name, b->services[i].name) != 0 ||
            n->services[i].number != b->services[i].number ||
            n->services[i].port != b->services[i].port)
            return false;
    return true;
}

static void hear_beacon(struct discovery *d, struct discovery_neighbour *n,
                        enum discovery_format format, const struct discovery_beacon *b, bool usable,
                        tick now)
{
    n->last = now;
    /* Never earlier than it was: a forged beacon could end a link that is up. */
    const tick until = tick_add(now, silence_of(d, b->period));
    n->until = until > n->until ? until : n->until;
    n->beacons++;
    if (n->format != format && has_link(n))
        return; /* one node may send both formats: the link is of the first one */
    n->format = format;
    n->usable = usable;
    if (same_services(n, b))
        return;
    n->changed = has_link(n);
    memcpy(n->services, b->services, sizeof n->services);
    n->services_len = b->services_len;
}

static struct discovery_neighbour *find_neighbour(struct discovery *d, uint64_t hash,
                                                  const struct eid *node,
                                                  const struct discovery_from *from)
{
    for (size_t i = 0; i < d->len; i++)
        if (same_name(&d->at[i], hash, node) && same_host(&d->at[i].from, from))
            return &d->at[i];
    return NULL;
}

/* The name belongs to the configuration: all who claim it are gone at the next poll. */
static void forget_name(struct discovery *d, uint64_t hash, const struct eid *node)
{
    for (size_t i = 0; i < d->len; i++)
        if (same_name(&d->at[i], hash, node))
            d->at[i].until = 0;
}

static enum discovery_verdict judge_beacon(struct discovery *d, enum discovery_format format,
                                           const struct discovery_beacon *b,
                                           const struct discovery_from *from, bool configured,
                                           bool usable, tick now)
{
    const uint64_t hash = eid_node_hash(d->config.seed, &b->node);
    if (eid_same_node(&b->node, &d->config.node))
        return DISCOVERY_OWN;
    if (configured) {
        forget_name(d, hash, &b->node);
        return DISCOVERY_CONFIGURED;
    }
    struct discovery_neighbour *n = find_neighbour(d, hash, &b->node, from);
    if (n != NULL) {
        hear_beacon(d, n, format, b, usable, now);
        return DISCOVERY_KNOWN;
    }
    const enum discovery_verdict v = find_place(d, hash, &b->node, from, now);
    if (v != DISCOVERY_NEW)
        return v;
    assert(d->len < d->config.neighbours_max);
    n = &d->at[d->len++];
    *n = (struct discovery_neighbour){.id = ++d->ids,
                                      .node = b->node,
                                      .from = *from,
                                      .format = format,
                                      .hash = hash,
                                      .first = now,
                                      .since = now};
    hear_beacon(d, n, format, b, usable, now);
    d->totals.contested += count_crowd(d, hash, &b->node, from).claimants > 1;
    return v;
}

enum discovery_verdict discovery_input(struct discovery *d, enum discovery_format format,
                                       const struct discovery_beacon *b,
                                       const struct discovery_from *from, bool configured,
                                       bool usable, tick now)
{
    const enum discovery_verdict v = judge_beacon(d, format, b, from, configured, usable, now);
    d->totals.verdicts[v]++;
    return v;
}

void discovery_garbage(struct discovery *d)
{
    d->totals.verdicts[DISCOVERY_MALFORMED]++;
}

static void set_state(struct discovery_neighbour *n, enum discovery_state s, tick now)
{
    n->state = s;
    n->since = now;
}

void discovery_link(struct discovery *d, uint64_t id, bool up, tick now)
{
    struct discovery_neighbour *n = find_id(d, id);
    if (n == NULL || !has_link(n) || up == (n->state == DISCOVERY_UP))
        return;
    set_state(n, up ? DISCOVERY_UP : DISCOVERY_TRYING, now);
    n->tries = up ? 0 : n->tries;
}

void discovery_failed(struct discovery *d, uint64_t id, tick now)
{
    struct discovery_neighbour *n = find_id(d, id);
    if (n == NULL || !has_link(n))
        return;
    set_state(n, DISCOVERY_HEARD, now);
    n->tries++;
}

void discovery_forgive(struct discovery *d, tick lost)
{
    for (size_t i = 0; i < d->len; i++)
        if (d->at[i].until != 0)
            d->at[i].until = tick_add(d->at[i].until, lost);
}

/* ---- actions ---- */

/* The link of this name; NULL: none has one. */
static struct discovery_neighbour *link_of(struct discovery *d, const struct discovery_neighbour *n)
{
    for (size_t i = 0; i < d->len; i++)
        if (has_link(&d->at[i]) && same_name(&d->at[i], n->hash, &n->node))
            return &d->at[i];
    return NULL;
}

/* May it have a link, if there is room? One that gave way rests for the patience. */
static bool may_link(const struct discovery *d, const struct discovery_neighbour *n, tick now)
{
    return !has_link(n) && n->usable && n->until > now &&
           (n->tries == 0 || patience_is_over(d, n, now));
}

/* The next one to get a link; *holder: the link of its name, which must give way before. */
static struct discovery_neighbour *choose_next(struct discovery *d, tick now,
                                               struct discovery_neighbour **holder)
{
    struct discovery_neighbour *best = NULL;
    for (size_t i = 0; i < d->len; i++) {
        struct discovery_neighbour *n = &d->at[i], *other;
        if (!may_link(d, n, now) || (best != NULL && best->tries <= n->tries))
            continue;
        other = link_of(d, n);
        if (other != NULL && (other->state == DISCOVERY_UP || !patience_is_over(d, other, now)))
            continue;
        best = n;
        *holder = other;
    }
    return best;
}

static size_t count_links(const struct discovery *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->len; i++)
        n += has_link(&d->at[i]);
    return n;
}

/* A link that is not up and whose patience has ended; that with the most failures. */
static struct discovery_neighbour *choose_idle(struct discovery *d, tick now)
{
    struct discovery_neighbour *idle = NULL;
    for (size_t i = 0; i < d->len; i++) {
        struct discovery_neighbour *n = &d->at[i];
        if (n->state == DISCOVERY_TRYING && patience_is_over(d, n, now) &&
            (idle == NULL || n->tries > idle->tries))
            idle = n;
    }
    return idle;
}

/* Its beacons name other ports than those that the link was made with. */
static struct discovery_neighbour *choose_changed(struct discovery *d, tick now)
{
    for (size_t i = 0; i < d->len; i++)
        if (d->at[i].state == DISCOVERY_TRYING && d->at[i].changed &&
            patience_is_over(d, &d->at[i], now))
            return &d->at[i];
    return NULL;
}

static bool close_link(struct discovery *d, struct discovery_neighbour *n, tick now,
                       struct discovery_action *out)
{
    set_state(n, DISCOVERY_HEARD, now);
    n->tries++;
    d->totals.gave_way++;
    *out = (struct discovery_action){
        .act = DISCOVERY_CLOSE, .neighbour = n, .reason = DISCOVERY_NOT_UP};
    return true;
}

static bool give_link(struct discovery *d, tick now, struct discovery_action *out)
{
    struct discovery_neighbour *holder = NULL, *changed = choose_changed(d, now);
    if (changed != NULL)
        return close_link(d, changed, now, out);
    struct discovery_neighbour *next = choose_next(d, now, &holder);
    if (next == NULL)
        return false;
    if (holder == NULL && count_links(d) >= d->config.links_max) {
        holder = choose_idle(d, now);
        if (holder == NULL)
            return false;
    }
    if (holder != NULL)
        return close_link(d, holder, now, out);
    set_state(next, DISCOVERY_TRYING, now);
    next->changed = false;
    *out = (struct discovery_action){.act = DISCOVERY_OPEN, .neighbour = next};
    return true;
}

/* A neighbour whose link is up is silent, but another address still claims its name: the link may
 * be that one's, which connected here. It keeps the link, and gets a new one if this is down later.
 */
static bool take_over(struct discovery *d, size_t i, tick now)
{
    struct discovery_neighbour *n = &d->at[i];
    for (size_t k = 0; k < d->len && n->state == DISCOVERY_UP; k++) {
        const struct discovery_neighbour other = d->at[k];
        if (k == i || other.until <= now || !same_name(&other, n->hash, &n->node))
            continue;
        const uint64_t id = n->id;
        const tick since = n->since;
        *n = other;
        n->id = id;
        n->state = DISCOVERY_UP;
        n->since = since;
        n->changed = true;
        remove_at(d, k);
        return true;
    }
    return false;
}

/* Removes who is gone. True: one of them had a link, which is in *out. */
static bool drop_silent(struct discovery *d, tick now, struct discovery_action *out)
{
    for (size_t i = 0; i < d->len;) {
        struct discovery_neighbour gone = d->at[i];
        if (gone.until > now) {
            i++;
            continue;
        }
        const bool reserved = gone.until == 0;
        if (!reserved && take_over(d, i, now)) {
            i = 0; /* places have moved */
            continue;
        }
        remove_at(d, i);
        d->totals.silent += !reserved;
        if (!has_link(&gone))
            continue;
        d->at[d->len] = gone; /* the free place behind the last one shows it */
        *out =
            (struct discovery_action){.act = DISCOVERY_CLOSE,
                                      .neighbour = &d->at[d->len],
                                      .reason = reserved ? DISCOVERY_RESERVED : DISCOVERY_SILENT};
        return true;
    }
    return false;
}

/* Between 9/10 and 11/10 of it, so that nodes that began together do not send together. */
static tick next_send(struct discovery *d, tick now)
{
    const tick tenth = d->config.interval / 10;
    return tick_add(now, d->config.interval - tenth + rng_below(&d->rng, 2 * tenth + 1));
}

static bool send_beacon(struct discovery *d, tick now, struct discovery_action *out)
{
    if (d->send_at > now)
        return false;
    d->send_at = next_send(d, now);
    d->totals.sent++;
    *out = (struct discovery_action){.act = DISCOVERY_SEND, .sequence = d->sequence++};
    return true;
}

/* Of what may happen without a push. */
static tick compute_deadline(const struct discovery *d, tick now)
{
    tick t = d->send_at;
    for (size_t i = 0; i < d->len; i++) {
        const struct discovery_neighbour *n = &d->at[i];
        const tick patience = tick_add(n->since, d->config.patience);
        t = n->until < t ? n->until : t;
        if (n->state != DISCOVERY_UP && patience > now && patience < t)
            t = patience;
    }
    return t;
}

enum discovery_act discovery_poll(struct discovery *d, tick now, struct discovery_action *out)
{
    *out = (struct discovery_action){.act = DISCOVERY_NONE};
    if (!drop_silent(d, now, out) && !send_beacon(d, now, out) && !give_link(d, now, out))
        d->deadline = compute_deadline(d, now);
    return out->act;
}

tick discovery_deadline(const struct discovery *d)
{
    return d->deadline;
}

/* ---- for people ---- */

const struct discovery_neighbour *discovery_at(const struct discovery *d, size_t i)
{
    return i < d->len ? &d->at[i] : NULL;
}

void discovery_totals(const struct discovery *d, struct discovery_totals *out)
{
    *out = d->totals;
    out->neighbours = d->len;
    out->links = count_links(d);
    for (size_t i = 0; i < d->len; i++)
        out->up += d->at[i].state == DISCOVERY_UP;
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void discovery_check(const struct discovery *d)
{
    assert(d->len <= d->config.neighbours_max && count_links(d) <= d->config.links_max);
    for (size_t i = 0; i < d->len; i++) {
        const struct discovery_neighbour *n = &d->at[i];
        size_t links = 0;
        const struct crowd c = count_crowd(d, n->hash, &n->node, &n->from);
        assert(n->id != 0 && n->id <= d->ids && (i == 0 || d->at[i - 1].id < n->id));
        assert(!eid_same_node(&n->node, &d->config.node));
        assert(n->first <= n->last && n->beacons > 0);
        assert(c.claimants <= DISCOVERY_CLAIMANTS_MAX && c.hosts <= d->config.address_max);
        for (size_t k = 0; k < d->len; k++)
            links += has_link(&d->at[k]) && same_name(&d->at[k], n->hash, &n->node);
        assert(links <= 1);
    }
}
