/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a file of each format. Times are dates when the start is one. What can go wrong: the
 * medium, memory; and formats that cannot say something, which is counted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_value.h"
#include "node/plan/plan_draft.h"

/* Durations of more digits are not read; a date is. */
#define DIGITS_18 UINT64_C(1000000000000000000)

typedef char text[PLAN_TIME_CAP];

/* For ION: dates, or +seconds. */
static const char *ion_time(tick t, tick start, text out)
{
    if (start > 0)
        return plan_date_text(t, true, out);
    out[0] = '+';
    text seconds;
    snprintf(out + 1, PLAN_TIME_CAP - 1, "%s", plan_seconds_text(t, seconds));
    return out;
}

static bool is_whole(tick t)
{
    return t % TICK_S == 0;
}

/* A time at which the light times of two nodes may change. */
struct edge {
    uint64_t low, high;
    tick t;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return x->t == y->t ? 0 : x->t < y->t ? -1 : 1;
}

/* The starts and ends of all ranges, in order. NULL: no memory. */
static struct edge *list_edges(const struct plan *p, size_t *len)
{
    struct plan_totals totals;
    struct plan_cursor at = {0};
    struct plan_range r;
    plan_totals(p, &totals);
    struct edge *edges = malloc((2 * totals.ranges + 1) * sizeof *edges);
    *len = 0;
    while (edges != NULL && plan_walk_ranges(p, &at, &r)) {
        const uint64_t low = r.from < r.to ? r.from : r.to, high = r.from < r.to ? r.to : r.from;
        edges[(*len)++] = (struct edge){low, high, r.start};
        edges[(*len)++] = (struct edge){low, high, r.end};
    }
    if (edges != NULL)
        qsort(edges, *len, sizeof *edges, compare_edges);
    return edges;
}

/* The light time in force at t; false: none. */
static bool light_at(const struct plan *p, uint64_t from, uint64_t to, tick t, tick *owlt)
{
    struct plan_range r;
    if (plan_range_at(p, from, to, t, &r) < 0 || r.start > t)
        return false;
    *owlt = r.owlt;
    return true;
}

static void write_ion_range(FILE *f, const struct plan_range *r, tick start, struct plan_lost *lost)
{
    text a, b, c;
    fprintf(f, "a range %s %s %" PRIu64 " %" PRIu64 " %s\n", ion_time(r->start, start, a),
            ion_time(r->end, start, b), r->from, r->to, plan_seconds_text(r->owlt, c));
    lost->fractions += !is_whole(r->start) || !is_whole(r->end) || !is_whole(r->owlt);
}

/* Of the two nodes between these times. A line from the lower to the higher number is of both
 * directions, unless the other direction has one for the same time; one from the higher to the
 * lower is of that direction only. */
static void write_ion_light(FILE *f, const struct plan *p, const struct edge *e, tick end,
                            tick start, struct plan_lost *lost)
{
    tick there = 0, back = 0;
    const bool has_there = light_at(p, e->low, e->high, e->t, &there);
    const bool has_back = light_at(p, e->high, e->low, e->t, &back);
    const struct plan_range up = {e->low, e->high, e->t, end, there, false};
    const struct plan_range down = {e->high, e->low, e->t, end, back, true};
    if (has_there)
        write_ion_range(f, &up, start, lost);
    if (has_back && (!has_there || there != back))
        write_ion_range(f, &down, start, lost);
    lost->one_way += has_there && !has_back;
}

static int write_ion_ranges(FILE *f, const struct plan *p, tick start, struct plan_lost *lost)
{
    size_t len;
    struct edge *edges = list_edges(p, &len);
    if (edges == NULL)
        return -1;
    for (size_t i = 0; i + 1 < len; i++) {
        const struct edge *e = &edges[i], *next = &edges[i + 1];
        if (e->low == next->low && e->high == next->high && e->t < next->t)
            write_ion_light(f, p, e, next->t, start, lost);
    }
    free(edges);
    return 0;
}

static int write_ion(FILE *f, const struct plan *p, tick start, struct plan_lost *lost)
{
    struct plan_cursor at = {0};
    uint64_t id;
    text a, b;
    for (const struct plan_contact *k; (k = plan_walk(p, &at, &id)) != NULL;) {
        fprintf(f, "a contact %s %s %" PRIu64 " %" PRIu64 " %" PRIu64, ion_time(k->start, start, a),
                ion_time(k->end, start, b), k->from, k->to, k->rate / 8);
        fprintf(f, k->confidence < 1 ? " %.9g\n" : "\n", k->confidence);
        lost->fractions += !is_whole(k->start) || !is_whole(k->end) || k->rate % 8 != 0;
    }
    return write_ion_ranges(f, p, start, lost);
}

/* Durations of ours have their unit; a date needs none. */
static const char *yaml_time(tick t, tick start, text out)
{
    bool date = start > 0 || t >= DIGITS_18;
    return date ? plan_date_text(t, false, out) : conf_number_text(OPTION_DURATION, t, out);
}

static void write_yaml(FILE *f, const struct plan *p, tick start)
{
    struct plan_cursor at = {0};
    struct plan_range r;
    uint64_t id;
    text a, b, c;
    bool any = false;
    fprintf(f, "contacts:\n");
    for (const struct plan_contact *k; (k = plan_walk(p, &at, &id)) != NULL;) {
        fprintf(f, "  - {from: %" PRIu64 ", to: %" PRIu64 ", start: %s, end: %s, rate: %s", k->from,
                k->to, yaml_time(k->start, start, a), yaml_time(k->end, start, b),
                k->rate == 0 ? "unlimited" : conf_number_text(OPTION_RATE, k->rate, c));
        fprintf(f, k->confidence < 1 ? ", confidence: %.9g}\n" : "}\n", k->confidence);
    }
    at = (struct plan_cursor){0};
    while (plan_walk_ranges(p, &at, &r)) {
        fprintf(f, "%s  - {from: %" PRIu64 ", to: %" PRIu64 ", start: %s, end: %s, owlt: %s%s}\n",
                any ? "" : "ranges:\n", r.from, r.to, yaml_time(r.start, start, a),
                yaml_time(r.end, start, b), conf_number_text(OPTION_DURATION, r.owlt, c),
                r.one_way ? ", one_way: yes" : "");
        any = true;
    }
}

/* A contact with one light time for all of it. */
static void write_hdtn(FILE *f, const struct plan *p, tick start, struct plan_lost *lost)
{
    struct plan_cursor at = {0};
    uint64_t id, number = 0;
    text a, b, c;
    fprintf(f, "{\n    \"contacts\": [");
    for (const struct plan_contact *k; (k = plan_walk(p, &at, &id)) != NULL; number++) {
        struct plan_range r = {.owlt = 0};
        int rc = plan_range_at(p, k->from, k->to, k->start, &r);
        lost->ranges += rc < 0 || r.start > k->start || r.end < k->end;
        lost->confidence += k->confidence < 1;
        lost->fractions +=
            !is_whole(k->start - start) || !is_whole(k->end - start) || !is_whole(r.owlt);
        fprintf(
            f,
            "%s\n        {\"contact\": %" PRIu64 ", \"source\": %" PRIu64 ", \"dest\": %" PRIu64
            ", \"startTime\": %s, \"endTime\": %s, \"rateBitsPerSec\": %" PRIu64 ", \"owlt\": %s}",
            number == 0 ? "" : ",", number, k->from, k->to, plan_seconds_text(k->start - start, a),
            plan_seconds_text(k->end - start, b), k->rate, plan_seconds_text(r.owlt, c));
    }
    lost->dates = start > 0 ? number : 0;
    fprintf(f, "\n    ]\n}\n");
}

int plan_write(FILE *f, const struct plan *p, enum plan_format format, tick start,
               struct plan_lost *lost)
{
    int rc = 0;
    *lost = (struct plan_lost){0};
    if (format == PLAN_YAML)
        write_yaml(f, p, start);
    else if (format == PLAN_ION)
        rc = write_ion(f, p, start, lost);
    else
        write_hdtn(f, p, start, lost);
    return rc < 0 || fflush(f) != 0 || ferror(f) ? -1 : 0;
}
