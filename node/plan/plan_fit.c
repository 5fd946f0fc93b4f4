/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as ION or HDTN loads it. Both read whole seconds: ION takes 10.5 for 10, HDTN for 0. ION
 * ignores a contact that begins in the second in which another of the same nodes ends, one at no
 * rate, and holds rates in 32 bits; HDTN holds nodes and times in 31. What can go wrong: memory.
 */
#include "base/err.h"
#include "node/plan/plan_draft.h"

/* ION 4.1.3 sends nothing at 2^32 - 2 or 2^32 - 1 bytes a second: as a float each is 2^32, which is
 * 0 in 32 bits. The largest float below that is 2^32 - 256. */
#define ION_RATE_MAX (UINT64_C(8) * (UINT32_MAX - 255))

struct fit {
    const struct plan *from;
    struct plan *to;
    enum plan_format format;
    tick start;
    struct plan_fitted *fitted;
};

/* What t is above a whole second; ION's dates count from no other start. */
static tick over_second(const struct fit *f, tick t)
{
    const tick phase = f->format == PLAN_ION ? 0 : f->start % TICK_S;
    return (t % TICK_S + TICK_S - phase) % TICK_S;
}

static tick round_up(const struct fit *f, tick t)
{
    const tick over = over_second(f, t);
    return over == 0 ? t : tick_add(t, TICK_S - over);
}

static tick round_down(const struct fit *f, tick t)
{
    const tick over = over_second(f, t);
    return over > t ? 0 : t - over;
}

static uint64_t fit_rate(struct fit *f, uint64_t rate)
{
    const bool wrong = rate == 0 || rate > ION_RATE_MAX || rate < 8;
    if (f->format != PLAN_ION)
        return rate;
    f->fitted->rates += wrong;
    return !wrong ? rate - rate % 8 : rate > 0 && rate < 8 ? 8 : ION_RATE_MAX;
}

/* Another contact of the same nodes begins where it ends. */
static bool is_touching(const struct fit *f, const struct plan_contact *c)
{
    const uint64_t id = plan_at(f->from, c->from, c->to, c->end);
    const struct plan_contact *next = plan_get(f->from, id);
    return next != NULL && round_up(f, next->start) <= round_down(f, c->end);
}

static bool is_beyond(const struct fit *f, const struct plan_contact *c)
{
    const tick last = INT32_MAX * TICK_S;
    return f->format == PLAN_HDTN &&
           (c->from > INT32_MAX || c->to > INT32_MAX || c->end - f->start > last);
}

static int fit_contact(struct fit *f, const struct plan_contact *c)
{
    struct plan_contact is = *c;
    uint64_t id;
    is.start = round_up(f, c->start);
    is.end = round_down(f, c->end);
    f->fitted->seconds += is.start != c->start || is.end != c->end;
    if (f->format == PLAN_ION && is_touching(f, c) && is.end >= TICK_S) {
        is.end -= TICK_S;
        f->fitted->touching++;
    }
    if (is_beyond(f, c)) {
        f->fitted->numbers++;
        return 0;
    }
    if (is.start >= is.end) {
        f->fitted->vanished++;
        return 0;
    }
    is.rate = fit_rate(f, c->rate);
    return plan_add(f->to, &is, &id);
}

/* Light times that follow each other still do. */
static int fit_range(struct fit *f, const struct plan_range *r)
{
    struct plan_range is = *r;
    is.start = round_down(f, r->start);
    is.end = round_down(f, r->end);
    is.owlt = tick_add(r->owlt, TICK_S / 2) / TICK_S * TICK_S;
    f->fitted->seconds += is.start != r->start || is.end != r->end || is.owlt != r->owlt;
    f->fitted->vanished += is.start >= is.end;
    return is.start >= is.end ? 0 : plan_add_range(f->to, &is);
}

int plan_fit(const struct plan *p, enum plan_format format, tick start, struct plan **out,
             struct plan_fitted *fitted)
{
    struct plan_config config;
    struct plan_cursor at = {0};
    struct plan_range r;
    uint64_t id;
    struct fit f = {.from = p, .format = format, .start = start, .fitted = fitted};
    *fitted = (struct plan_fitted){0};
    plan_config_default(&config);
    int rc = plan_new(&f.to, &config);
    for (const struct plan_contact *c; rc == 0 && (c = plan_walk(p, &at, &id)) != NULL;)
        rc = fit_contact(&f, c);
    at = (struct plan_cursor){0};
    while (rc == 0 && plan_walk_ranges(p, &at, &r))
        rc = fit_range(&f, &r);
    if (rc < 0)
        plan_free(f.to);
    *out = rc < 0 ? NULL : f.to;
    return rc;
}
