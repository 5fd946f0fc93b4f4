/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first row of a segment waits for its row at the other end. Their difference goes into a bin,
 * which keeps the least difference: segments that waited in a queue or were retransmitted have
 * larger ones.
 *
 * What can go wrong: lost segments wait for ever, so segments are sampled by hash; a session number
 * that is used again replaces the waiting row; on a busy machine whole bins contain queued segments
 * only, and a line through them is no drift (moves_each_quarter decides).
 */
#include "tools/analyze/clocks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"

#define WIDTH_MIN (10 * TICK_MS)
#define DRIFT_BINS_MIN 6           /* with both directions */
#define DRIFT_TIME_MIN TICK_S      /* between the first and the last of them */
#define DRIFT_SHOWS (20 * TICK_US) /* over the log */
#define SLOPES_MAX (CLOCKS_BINS * (CLOCKS_BINS - 1) / 2)

enum what { WHAT_START, WHAT_CHECKPOINT, WHAT_REPORT };

struct clocks_segment {
    struct hash_node node;
    uint64_t originator, session, serial;
    enum what what;
    bool sent;
    uint64_t at_node;
    tick now;
};

int clocks_init(struct clocks *c)
{
    *c = (struct clocks){.level = 0};
    return hash_init(&c->waiting, 1);
}

static void forget_segment(struct clocks *c, struct clocks_segment *s)
{
    hash_sub(&c->waiting, &s->node);
    free(s);
}

void clocks_fini(struct clocks *c)
{
    struct hash_node *n;
    while ((n = hash_walk(&c->waiting, NULL)) != NULL)
        forget_segment(c, container_of(n, struct clocks_segment, node));
    hash_fini(&c->waiting);
    for (size_t i = 0; i < c->len; i++)
        free(c->pairs[i]);
}

/* Is it a segment that both logs name alike, sent for the first time or taken as new? */
static bool name_segment(const struct seglog_row *r, struct clocks_segment *out)
{
    const struct event *e = &r->event;
    bool sent = e->kind == EVENT_TX && e->cause == CAUSE_FIRST;
    bool came = e->kind == EVENT_RX && e->verdict == VERDICT_OK;
    if (r->guessed || (!sent && !came) || e->session == EVENT_NONE)
        return false;
    *out = (struct clocks_segment){.originator = e->originator,
                                   .session = e->session,
                                   .sent = sent,
                                   .at_node = r->node,
                                   .now = e->now};
    if (e->type >= 1 && e->type <= 3 && e->cp_serial != EVENT_NONE) {
        out->what = WHAT_CHECKPOINT;
        out->serial = e->cp_serial;
    } else if (e->type >= 0 && e->type < 8 && e->offset == 0) {
        out->what = WHAT_START;
    } else if (e->type == 8 && e->rpt_serial != EVENT_NONE) {
        out->what = WHAT_REPORT;
        out->serial = e->rpt_serial;
    } else {
        return false;
    }
    return true;
}

static uint64_t hash_segment(const struct clocks *c, const struct clocks_segment *s)
{
    uint64_t half = hash_mix(c->waiting.seed, s->originator, s->session);
    return hash_mix(half, s->serial, (uint64_t)s->what);
}

static bool is_same(const struct clocks_segment *a, const struct clocks_segment *b)
{
    return a->originator == b->originator && a->session == b->session && a->what == b->what &&
           a->serial == b->serial;
}

static struct clocks_segment *find_segment(const struct clocks *c, const struct clocks_segment *s,
                                           uint64_t hash)
{
    for (struct hash_node *n = hash_find(&c->waiting, hash); n != NULL; n = hash_next(n)) {
        struct clocks_segment *found = container_of(n, struct clocks_segment, node);
        if (is_same(found, s))
            return found;
    }
    return NULL;
}

static bool is_followed(const struct clocks *c, uint64_t hash)
{
    /* the table takes the low bits */
    return c->level == 0 || hash >> (64 - c->level) == 0;
}

/* Drops half of the waiting rows, selected by hash, and from now on half of the new ones. */
static void thin_out(struct clocks *c)
{
    assert(c->waiting.len == CLOCKS_WAITING_MAX && c->level < 63);
    c->level++;
    struct hash_node *next = NULL;
    for (struct hash_node *n = hash_walk(&c->waiting, NULL); n != NULL; n = next) {
        next = hash_walk(&c->waiting, n);
        if (!is_followed(c, n->hash))
            forget_segment(c, container_of(n, struct clocks_segment, node));
    }
    assert(c->waiting.len <= CLOCKS_WAITING_MAX);
}

static int keep_segment(struct clocks *c, const struct clocks_segment *s, uint64_t hash)
{
    while (c->waiting.len == CLOCKS_WAITING_MAX && c->level < 63)
        thin_out(c);
    if (!is_followed(c, hash) || c->waiting.len == CLOCKS_WAITING_MAX)
        return 0;
    struct clocks_segment *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return HELIO_ENOMEM;
    *kept = *s;
    hash_add(&c->waiting, &kept->node, hash);
    assert(c->waiting.len <= CLOCKS_WAITING_MAX);
    return 0;
}

/* 0 or HELIO_ENOMEM; *out is NULL when there are too many. */
static int take_pair(struct clocks *c, uint64_t near, uint64_t far, tick now,
                     struct clocks_pair **out)
{
    assert(near < far && c->len <= CLOCKS_PAIRS_MAX);
    *out = NULL;
    for (size_t i = 0; i < c->len; i++)
        if (c->pairs[i]->near == near && c->pairs[i]->far == far)
            *out = c->pairs[i];
    if (*out != NULL || c->len == CLOCKS_PAIRS_MAX)
        return 0;
    struct clocks_pair *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->near = near;
    p->far = far;
    p->base = now;
    p->width = WIDTH_MIN;
    c->pairs[c->len++] = *out = p;
    return 0;
}

static void add_to_bin(struct clocks_bin *b, int way, int64_t difference, tick at)
{
    if (b->seen[way] && b->least[way] <= difference)
        return;
    b->seen[way] = true;
    b->least[way] = difference;
    b->at[way] = at;
}

static void coarsen_bins(struct clocks_bin bins[CLOCKS_BINS])
{
    struct clocks_bin half[CLOCKS_BINS] = {0};
    for (int i = 0; i < CLOCKS_BINS; i++)
        for (int way = 0; way < 2; way++)
            if (bins[i].seen[way])
                add_to_bin(&half[i / 2], way, bins[i].least[way], bins[i].at[way]);
    memcpy(bins, half, sizeof half);
}

static void note_difference(struct clocks_pair *p, int way, int64_t difference, tick at)
{
    assert(way == 0 || way == 1);
    tick since = at > p->base ? at - p->base : 0;
    while (since / p->width >= CLOCKS_BINS) {
        coarsen_bins(p->bins);
        p->width *= 2;
    }
    assert(since / p->width < CLOCKS_BINS);
    p->segments[way]++;
    add_to_bin(&p->bins[since / p->width], way, difference, at);
}

static int join_rows(struct clocks *c, const struct clocks_segment *sent,
                     const struct clocks_segment *came)
{
    assert(sent->sent && !came->sent && sent->at_node != came->at_node);
    bool away = sent->at_node < came->at_node;
    const struct clocks_segment *near = away ? sent : came, *far = away ? came : sent;
    struct clocks_pair *p;
    int rc = take_pair(c, near->at_node, far->at_node, near->now, &p);
    if (p != NULL)
        note_difference(p, away ? 0 : 1, (int64_t)(came->now - sent->now), near->now);
    return rc;
}

int clocks_row(struct clocks *c, const struct seglog_row *r)
{
    struct clocks_segment s;
    if (!name_segment(r, &s))
        return 0;
    uint64_t hash = hash_segment(c, &s);
    if (!is_followed(c, hash))
        return 0;
    struct clocks_segment *other = find_segment(c, &s, hash);
    if (other == NULL)
        return keep_segment(c, &s, hash);
    int rc = 0;
    if (other->sent != s.sent && other->at_node != s.at_node)
        rc = join_rows(c, s.sent ? &s : other, s.sent ? other : &s);
    if (other->sent == s.sent) /* its number is used again */
        other->now = s.now;
    else
        forget_segment(c, other);
    return rc;
}

/* One bin's share in the estimate: offset and delay if it has both directions. */
struct point {
    double t, offset, delay;
};

static size_t make_points(const struct clocks_pair *p, const struct clocks_bin bins[CLOCKS_BINS],
                          struct point out[CLOCKS_BINS])
{
    size_t n = 0;
    for (int i = 0; i < CLOCKS_BINS; i++) {
        const struct clocks_bin *b = &bins[i];
        if (!b->seen[0] || !b->seen[1])
            continue;
        double t0 = (double)(int64_t)(b->at[0] - p->base);
        double t1 = (double)(int64_t)(b->at[1] - p->base);
        out[n++] = (struct point){(t0 + t1) / 2, ((double)b->least[0] - (double)b->least[1]) / 2,
                                  ((double)b->least[0] + (double)b->least[1]) / 2};
    }
    return n;
}

/* Bins as fine as possible, so that most of them have both directions. */
static size_t choose_points(const struct clocks_pair *p, struct point out[CLOCKS_BINS])
{
    struct clocks_bin bins[CLOCKS_BINS];
    memcpy(bins, p->bins, sizeof bins);
    size_t n = make_points(p, bins, out);
    for (int left = CLOCKS_BINS; left > 8; left /= 2) {
        size_t some = 0;
        for (int i = 0; i < CLOCKS_BINS; i++)
            some += bins[i].seen[0] || bins[i].seen[1];
        if (2 * n >= some)
            break;
        coarsen_bins(bins);
        n = make_points(p, bins, out);
    }
    return n;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t n)
{
    assert(n > 0);
    qsort(values, n, sizeof *values, compare_reals);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The median slope (Theil and Sen): a few bins that saw only what waited do not bend it. */
static double median_slope(const struct point *p, size_t n, bool of_delay)
{
    assert(n >= 2 && n <= CLOCKS_BINS);
    double slopes[SLOPES_MAX];
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double rise = of_delay ? p[j].delay - p[i].delay : p[j].offset - p[i].offset;
            if (p[j].t > p[i].t)
                slopes[k++] = rise / (p[j].t - p[i].t);
        }
    return k > 0 ? median_of(slopes, k) : 0;
}

/* Twice the slope's standard error, from what is left of the points. */
static double slope_error(const struct point *p, size_t n, double slope, double at_zero)
{
    double left[CLOCKS_BINS], mean = 0, spread = 0;
    for (size_t i = 0; i < n; i++) {
        left[i] = fabs(p[i].offset - at_zero - slope * p[i].t);
        mean += p[i].t / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        spread += (p[i].t - mean) * (p[i].t - mean);
    return spread > 0 ? 2 * 1.4826 * median_of(left, n) / sqrt(spread) : 0;
}

static double median_offset(const struct point *p, size_t n, double slope)
{
    double left[CLOCKS_BINS];
    for (size_t i = 0; i < n; i++)
        left[i] = p[i].offset - slope * p[i].t;
    return median_of(left, n);
}

/* A direction's least differences minus a line from the base on. Returns their number. */
static size_t take_slope_off(const struct clocks_pair *p, int way, double slope,
                             double out[CLOCKS_BINS])
{
    size_t n = 0;
    for (int i = 0; i < CLOCKS_BINS; i++) {
        const struct clocks_bin *b = &p->bins[i];
        if (b->seen[way])
            out[n++] = (double)b->least[way] - slope * (double)(int64_t)(b->at[way] - p->base);
    }
    return n;
}

/* How far a typical bin is above the least: what queues and a late processor add still. */
static double find_spread(const struct clocks_pair *p, int way, double slope)
{
    double left[CLOCKS_BINS];
    size_t n = take_slope_off(p, way, slope, left);
    double median = median_of(left, n), least = left[0];
    for (size_t i = 1; i < n; i++)
        least = fmin(least, left[i]);
    return median - least;
}

/*
 * Does a direction's least time move as the drift predicts, from each quarter of the time to the
 * next? Queues only add: a burst leaves the least time of a quarter unchanged unless it lasts for
 * the whole quarter, and load that begins or ends once moves it once. Each step must be at least
 * half of the predicted one (a quarter of the drift over all the time), and more than half of the
 * median bin's distance from the least time.
 */
static bool moves_each_quarter(const struct clocks_pair *p, const struct clocks_estimate *e,
                               int way)
{
    double drift = way == 0 ? e->drift : -e->drift, all = (double)(e->to - e->from);
    double step = fmax(fabs(drift) * all / 8, find_spread(p, way, drift + e->delay_rate) / 2);
    double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < CLOCKS_BINS; i++) {
        const struct clocks_bin *b = &p->bins[i];
        if (!b->seen[way])
            continue;
        int quarter = (int)(4 * (double)(b->at[way] - e->from) / (all + 1));
        assert(quarter >= 0 && quarter < 4);
        least[quarter] = fmin(least[quarter], (double)b->least[way]);
    }
    for (int i = 1; i < 4; i++)
        if (isinf(least[i]) || isinf(least[i - 1]) ||
            copysign(1, drift) * (least[i] - least[i - 1]) < step)
            return false;
    return true;
}

/* Can only clocks explain it? Both directions must show it, one rising, the other falling: load in
 * one direction moves only that one, load of the machine raises both. Or no constant offset makes
 * every delay at least zero. */
static bool is_drift_proven(const struct clocks_pair *p, const struct clocks_estimate *e,
                            const int64_t least[2])
{
    return (double)least[0] + (double)least[1] < 0 ||
           (moves_each_quarter(p, e, 0) && moves_each_quarter(p, e, 1));
}

static void estimate_drift(struct clocks_estimate *e, const struct point *p, size_t n)
{
    e->drift_known = n >= DRIFT_BINS_MIN && p[n - 1].t - p[0].t >= (double)DRIFT_TIME_MIN;
    if (!e->drift_known)
        return;
    e->drift = median_slope(p, n, false);
    e->delay_rate = median_slope(p, n, true);
    e->drift_error = slope_error(p, n, e->drift, median_offset(p, n, e->drift));
}

/* At the base: half the difference of the directions' least times, without the part of the
 * drift. */
static double find_offset(const struct clocks_pair *p, double drift)
{
    double least[2] = {INFINITY, INFINITY};
    for (int way = 0; way < 2; way++) {
        double left[CLOCKS_BINS];
        size_t n = take_slope_off(p, way, way == 0 ? drift : -drift, left);
        for (size_t i = 0; i < n; i++)
            least[way] = fmin(least[way], left[i]);
    }
    assert(isfinite(least[0]) && isfinite(least[1]));
    return (least[0] - least[1]) / 2;
}

/* The least difference of each direction in all the time. */
static void find_least(const struct clocks_pair *p, struct clocks_estimate *e, int64_t least[2])
{
    tick from = TICK_NEVER, to = 0;
    least[0] = least[1] = INT64_MAX;
    for (int i = 0; i < CLOCKS_BINS; i++)
        for (int way = 0; way < 2; way++) {
            const struct clocks_bin *b = &p->bins[i];
            if (!b->seen[way])
                continue;
            least[way] = b->least[way] < least[way] ? b->least[way] : least[way];
            e->before |= b->least[way] < 0;
            from = tick_min(from, b->at[way]);
            to = b->at[way] > to ? b->at[way] : to;
        }
    e->from = from;
    e->to = to;
}

struct clocks_estimate clocks_pair_estimate(const struct clocks_pair *p)
{
    struct clocks_estimate e = {.near = p->near,
                                .far = p->far,
                                .segments = {p->segments[0], p->segments[1]},
                                .both = p->segments[0] > 0 && p->segments[1] > 0};
    int64_t least[2];
    struct point points[CLOCKS_BINS];
    find_least(p, &e, least);
    if (!e.both)
        return e;
    size_t n = choose_points(p, points);
    estimate_drift(&e, points, n);
    e.drift_proven = e.drift_known && is_drift_proven(p, &e, least);
    double drift = clocks_drifts(&e) ? e.drift : 0;
    e.offset_ns = find_offset(p, drift) + drift * (double)(int64_t)(e.from - p->base);
    e.error_ns = n > 0 ? points[0].delay : ((double)least[0] + (double)least[1]) / 2;
    /* With drift, the least differences of the two directions are of different times. */
    for (size_t i = 1; i < n; i++)
        e.error_ns = fmin(e.error_ns, points[i].delay);
    e.error_ns = fmax(e.error_ns, 0);
    assert(!isnan(e.offset_ns) && e.error_ns >= 0);
    return e;
}

bool clocks_may_drift(const struct clocks_estimate *e)
{
    double all = fabs(e->drift) * (double)(e->to - e->from);
    return e->drift_known && fabs(e->drift) > 1.5 * e->drift_error && all > (double)DRIFT_SHOWS &&
           fabs(e->drift) > 2 * fabs(e->delay_rate);
}

bool clocks_drifts(const struct clocks_estimate *e)
{
    return e->drift_proven && clocks_may_drift(e);
}

bool clocks_certain(const struct clocks_estimate *e)
{
    return e->before || clocks_drifts(e);
}

bool clocks_offset_shows(const struct clocks_estimate *e)
{
    return e->both && fabs(e->offset_ns) > e->error_ns / 20;
}

bool clocks_differ(const struct clocks_estimate *e)
{
    return e->before || clocks_may_drift(e) || clocks_offset_shows(e);
}

static struct clocks_fix *fix_of(struct clocks_fix *fixes, size_t len, uint64_t node)
{
    for (size_t i = 0; i < len; i++)
        if (fixes[i].node == node)
            return &fixes[i];
    return NULL;
}

/* A node next to one whose clock is known: what the one is ahead, and the pair's offset. Who asks
 * for it takes an offset that shows for the clocks', but no drift that may be load. */
static struct clocks_fix chain_fix(const struct clocks_fix *known, const struct clocks_estimate *e)
{
    bool to_far = known->node == e->near;
    double sign = to_far ? 1 : -1;
    double offset = clocks_certain(e) || clocks_offset_shows(e) ? sign * e->offset_ns : 0;
    double drift = clocks_drifts(e) ? sign * e->drift : 0;
    tick far_from = e->from + (tick)(int64_t)e->offset_ns;
    tick here = to_far ? e->from : far_from, there = to_far ? far_from : e->from;
    double ahead = known->offset_ns + known->drift * (double)(int64_t)(here - known->at);
    return (struct clocks_fix){to_far ? e->far : e->near, there, ahead + offset,
                               known->drift + drift};
}

/* One more node that is next to a known one: true when there was one. */
static bool reach_next(const struct clocks *c, struct clocks_fix *fixes, size_t *len, bool certain)
{
    for (size_t i = 0; i < c->len && *len < CLOCKS_FIXES_MAX; i++) {
        struct clocks_estimate e = clocks_pair_estimate(c->pairs[i]);
        struct clocks_fix *near = fix_of(fixes, *len, e.near), *far = fix_of(fixes, *len, e.far);
        if (!e.both || clocks_certain(&e) != certain || (near == NULL) == (far == NULL))
            continue;
        fixes[*len] = chain_fix(near != NULL ? near : far, &e);
        ++*len;
        return true;
    }
    return false;
}

/* The least node of those that are in no group yet; EVENT_NONE: all are. */
static uint64_t next_reference(const struct clocks *c, struct clocks_fix *fixes, size_t len)
{
    uint64_t least = EVENT_NONE;
    for (size_t i = 0; i < c->len; i++)
        if (fix_of(fixes, len, c->pairs[i]->near) == NULL &&
            fix_of(fixes, len, c->pairs[i]->far) == NULL && c->pairs[i]->near < least)
            least = c->pairs[i]->near;
    return least;
}

size_t clocks_fixes(const struct clocks *c, struct clocks_fix out[CLOCKS_FIXES_MAX])
{
    size_t len = 0, kept = 0;
    uint64_t reference;
    while (len < CLOCKS_FIXES_MAX && (reference = next_reference(c, out, len)) != EVENT_NONE) {
        out[len++] = (struct clocks_fix){.node = reference};
        /* what is certain first */
        while (reach_next(c, out, &len, true) || reach_next(c, out, &len, false)) {
        }
    }
    for (size_t i = 0; i < len; i++)
        if (out[i].offset_ns != 0 || out[i].drift != 0)
            out[kept++] = out[i];
    assert(kept <= len && len <= CLOCKS_FIXES_MAX);
    return kept;
}

tick clocks_correct(const struct clocks_fix *f, tick now)
{
    double ahead = f->offset_ns + f->drift * (double)(int64_t)(now - f->at);
    int64_t by = (int64_t)llround(ahead);
    if (by >= 0)
        return now > (tick)by ? now - (tick)by : 0;
    return now < TICK_NEVER - 1 - (tick)-by ? now + (tick)-by : TICK_NEVER - 1;
}

const struct clocks_fix *clocks_fix_find(const struct clocks_fix *fixes, size_t len, uint64_t node)
{
    for (size_t i = 0; i < len; i++)
        if (fixes[i].node == node)
            return &fixes[i];
    return NULL;
}
