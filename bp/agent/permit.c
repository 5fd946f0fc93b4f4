/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are tested in their order. A rule of the bundle's party tests source, destination,
 * priority and size. The first rule that permits the bundle decides by its limits. Each rule has
 * the rates of 64 parties, so that one neighbour or user cannot use up the rate of another. A rate
 * is one number: the time at which the bundles so far are within the rate (base/allowance.h). What
 * can go wrong: memory for a new list.
 */
#include "bp/agent/permit.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

/* The rate of one party. */
struct meter {
    uint64_t id;
    tick used;           /* latest use; 0: the entry is free */
    tick bundles, bytes; /* times at which bundles and bytes so far are within the rates */
};

struct rule_state {
    struct permit is;
    uint64_t allowed, limited;
    struct meter *meters; /* PERMIT_PARTIES of them; NULL: it has no rate */
};

struct permits {
    enum permit_way way;
    struct permit_counters counters;
    struct permit_refusal last;
    size_t len;
    struct rule_state at[];
};

const char *permit_verdict_word(enum permit_verdict v)
{
#define PERMIT_VERDICT_WORD(name, word) word,
    static const char *const words[] = {PERMIT_VERDICTS(PERMIT_VERDICT_WORD)};
#undef PERMIT_VERDICT_WORD
    assert(v < PERMIT_VERDICT_COUNT);
    return words[v];
}

static bool is_sound(enum permit_way way, const struct permit *r)
{
    const bool limits = r->rate > 0 || r->data_rate > 0 || r->bundles_max > 0 || r->bytes_max > 0;
    return (r->rate == 0 || (r->burst > 0 && r->burst <= PERMIT_BURST_MAX)) && r->rate <= TICK_S &&
           (r->data_rate == 0 || (r->data_burst > 0 && r->data_burst <= PERMIT_BURST_MAX)) &&
           r->priority < BUNDLE_PRIORITIES && (way != PERMIT_OUT || !limits) &&
           (way == PERMIT_APP || (r->bundles_max == 0 && r->bytes_max == 0));
}

int permits_new(struct permits **out, enum permit_way way, const struct permit *list, size_t len)
{
    *out = NULL;
    if (len > PERMITS_MAX)
        return HELIO_EINVAL;
    for (size_t i = 0; i < len; i++)
        if (!is_sound(way, &list[i]))
            return HELIO_EINVAL;
    struct permits *p = calloc(1, sizeof *p + len * sizeof *p->at);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->way = way;
    for (; p->len < len; p->len++) {
        struct rule_state *r = &p->at[p->len];
        r->is = list[p->len];
        if (r->is.rate == 0 && r->is.data_rate == 0)
            continue;
        r->meters = calloc(PERMIT_PARTIES, sizeof *r->meters);
        if (r->meters == NULL) {
            permits_free(p);
            return HELIO_ENOMEM;
        }
    }
    *out = p;
    return 0;
}

void permits_free(struct permits *p)
{
    for (size_t i = 0; p != NULL && i < p->len; i++)
        free(p->at[i].meters);
    free(p);
}

void permits_go_on(struct permits *p, const struct permits *was)
{
    if (was == NULL)
        return;
    assert(p->way == was->way);
    p->counters = was->counters;
    p->last = was->last;
}

static bool names_party(const struct permits *p, const struct permit *r,
                        const struct permit_subject *s)
{
    if (p->way == PERMIT_APP)
        return r->user == 0 || r->user == s->id;
    return eid_patterns_match(&r->party, s->party);
}

/* Its first test that fails. */
static enum permit_verdict test_bundle(const struct permits *p, const struct permit *r,
                                       const struct permit_subject *s)
{
    if (p->way == PERMIT_APP && !eid_patterns_match(&r->party, s->party))
        return PERMIT_ENDPOINT;
    if (!eid_patterns_match(&r->from, s->from))
        return PERMIT_SOURCE;
    if (!eid_patterns_match(&r->to, s->to))
        return PERMIT_DESTINATION;
    if (s->priority > r->priority)
        return PERMIT_PRIORITY;
    return r->size_max != 0 && s->payload > r->size_max ? PERMIT_SIZE : PERMIT_GOOD;
}

/* *rule: the first rule that permits it; NULL: no rule is for the party, or none permits it. */
static enum permit_verdict find_rule(const struct permits *p, const struct permit_subject *s,
                                     const struct rule_state **rule)
{
    enum permit_verdict last = PERMIT_GOOD;
    *rule = NULL;
    for (size_t i = 0; p != NULL && i < p->len; i++) {
        if (!names_party(p, &p->at[i].is, s))
            continue;
        const enum permit_verdict v = test_bundle(p, &p->at[i].is, s);
        if (v == PERMIT_GOOD) {
            *rule = &p->at[i];
            return v;
        }
        last = v > last ? v : last;
    }
    return last;
}

enum permit_verdict permits_judge(const struct permits *p, const struct permit_subject *s)
{
    const struct rule_state *rule;
    assert(s->priority < BUNDLE_PRIORITIES);
    return find_rule(p, s, &rule);
}

/* How long `amount` takes at `rate` a second. */
static tick time_of(uint64_t amount, uint64_t rate)
{
    const uint64_t whole = amount / rate, part = amount % rate;
    if (whole > UINT64_MAX / TICK_S / 2)
        return UINT64_MAX / 2;
    if (rate <= UINT64_MAX / TICK_S)
        return whole * TICK_S + part * TICK_S / rate;
    return whole * TICK_S + part / (rate / TICK_S);
}

/* A new party starts with a full burst. A party that replaces another one starts without a burst,
 * so that a party with many names has no burst for each name. */
static struct meter *find_meter(const struct rule_state *r, uint64_t id, tick now)
{
    struct meter *oldest = &r->meters[0];
    for (size_t i = 0; i < PERMIT_PARTIES; i++) {
        struct meter *m = &r->meters[i];
        if (m->used == 0)
            m->id = id;
        if (m->id == id)
            return m;
        oldest = m->used < oldest->used ? m : oldest;
    }
    const struct permit *is = &r->is;
    *oldest = (struct meter){.id = id};
    if (is->rate > 0)
        oldest->bundles = tick_add(now, time_of(is->burst, is->rate));
    if (is->data_rate > 0)
        oldest->bytes = tick_add(now, time_of(8 * is->data_burst, is->data_rate));
    return oldest;
}

/* One thing alone may cost more than a burst. */
static bool is_made_up(tick spent, tick cost, tick burst, tick now)
{
    return spent <= now || tick_add(spent, cost) <= tick_add(now, burst);
}

static tick spend_time(tick spent, tick cost, tick now)
{
    return tick_add(spent > now ? spent : now, cost);
}

static enum permit_verdict charge_rates(const struct rule_state *r, const struct permit_subject *s,
                                        tick now)
{
    if (r->meters == NULL)
        return PERMIT_GOOD;
    const struct permit *is = &r->is;
    struct meter *m = find_meter(r, s->id, now);
    const tick one = is->rate == 0 ? 0 : time_of(1, is->rate);
    const tick data = is->data_rate == 0 ? 0 : time_of(8 * s->bytes, is->data_rate);
    m->used = now == 0 ? 1 : now;
    if (is->rate > 0 && !is_made_up(m->bundles, one, time_of(is->burst, is->rate), now))
        return PERMIT_RATE;
    if (is->data_rate > 0 &&
        !is_made_up(m->bytes, data, time_of(8 * is->data_burst, is->data_rate), now))
        return PERMIT_DATA_RATE;
    m->bundles = spend_time(m->bundles, one, now);
    m->bytes = spend_time(m->bytes, data, now);
    return PERMIT_GOOD;
}

static enum permit_verdict test_limits(const struct rule_state *r, const struct permit_subject *s,
                                       tick now)
{
    const struct permit *is = &r->is;
    if (is->bundles_max != 0 && s->held_bundles >= is->bundles_max)
        return PERMIT_BUNDLES;
    if (is->bytes_max != 0 &&
        (s->bytes > is->bytes_max || s->held_bytes > is->bytes_max - s->bytes))
        return PERMIT_BYTES;
    return charge_rates(r, s, now);
}

void permits_refuse(struct permits *p, const struct permit_subject *s, enum permit_verdict v)
{
    assert(v > PERMIT_GOOD && v < PERMIT_VERDICT_COUNT);
    p->counters.refused[v]++;
    p->last.count++;
    p->last.party = *s->party;
    p->last.from = *s->from;
    p->last.to = *s->to;
    p->last.id = s->id;
    p->last.verdict = v;
}

static enum permit_verdict take_bundle(struct permits *p, const struct permit_subject *s, tick now,
                                       bool waits)
{
    const struct rule_state *found;
    assert(s->priority < BUNDLE_PRIORITIES);
    enum permit_verdict v = find_rule(p, s, &found);
    if (found != NULL) {
        struct rule_state *rule = &p->at[found - p->at];
        v = test_limits(rule, s, now);
        if (waits && (v == PERMIT_RATE || v == PERMIT_DATA_RATE))
            return v;
        rule->allowed += v == PERMIT_GOOD;
        rule->limited += v != PERMIT_GOOD;
        p->counters.allowed += v == PERMIT_GOOD;
    }
    if (v != PERMIT_GOOD)
        permits_refuse(p, s, v);
    return v;
}

enum permit_verdict permits_take(struct permits *p, const struct permit_subject *s, tick now)
{
    return take_bundle(p, s, now, false);
}

enum permit_verdict permits_offer(struct permits *p, const struct permit_subject *s, tick now)
{
    return take_bundle(p, s, now, true);
}

bool permits_endpoint(struct permits *p, uint64_t user, const struct eid *endpoint)
{
    const struct permit_subject s = {
        .party = endpoint, .id = user, .from = endpoint, .to = endpoint};
    bool named = false;
    for (size_t i = 0; p != NULL && i < p->len; i++) {
        if (!names_party(p, &p->at[i].is, &s))
            continue;
        if (eid_patterns_match(&p->at[i].is.party, endpoint))
            return true;
        named = true;
    }
    if (named)
        permits_refuse(p, &s, PERMIT_ENDPOINT);
    return !named;
}

size_t permits_len(const struct permits *p)
{
    return p == NULL ? 0 : p->len;
}

const struct permit_counters *permits_counters(const struct permits *p)
{
    static const struct permit_counters none;
    return p == NULL ? &none : &p->counters;
}

const struct permit_refusal *permits_refusal(const struct permits *p)
{
    static const struct permit_refusal none;
    return p == NULL ? &none : &p->last;
}

const struct permit *permits_at(const struct permits *p, size_t i, uint64_t *allowed,
                                uint64_t *limited)
{
    if (p == NULL || i >= p->len)
        return NULL;
    *allowed = p->at[i].allowed;
    *limited = p->at[i].limited;
    return &p->at[i].is;
}
