/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a file of each format. Times are dates when the start is one. What can go wrong: the
 * medium; and formats that cannot say something, which is counted. */
#include <inttypes.h>
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

static void write_ion(FILE *f, const struct plan *p, tick start, struct plan_lost *lost)
{
    struct plan_cursor at = {0};
    struct plan_range r;
    uint64_t id;
    text a, b, c;
    for (const struct plan_contact *k; (k = plan_walk(p, &at, &id)) != NULL;) {
        fprintf(f, "a contact %s %s %" PRIu64 " %" PRIu64 " %" PRIu64, ion_time(k->start, start, a),
                ion_time(k->end, start, b), k->from, k->to, k->rate / 8);
        fprintf(f, k->confidence < 1 ? " %.9g\n" : "\n", k->confidence);
        lost->fractions += !is_whole(k->start) || !is_whole(k->end) || k->rate % 8 != 0;
    }
    at = (struct plan_cursor){0};
    while (plan_walk_ranges(p, &at, &r)) {
        fprintf(f, "a range %s %s %" PRIu64 " %" PRIu64 " %s\n", ion_time(r.start, start, a),
                ion_time(r.end, start, b), r.from, r.to, plan_seconds_text(r.owlt, c));
        lost->fractions += !is_whole(r.start) || !is_whole(r.end) || !is_whole(r.owlt);
    }
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
        fprintf(f, "%s  - {from: %" PRIu64 ", to: %" PRIu64 ", start: %s, end: %s, owlt: %s}\n",
                any ? "" : "ranges:\n", r.from, r.to, yaml_time(r.start, start, a),
                yaml_time(r.end, start, b), conf_number_text(OPTION_DURATION, r.owlt, c));
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
    *lost = (struct plan_lost){0};
    if (format == PLAN_YAML)
        write_yaml(f, p, start);
    else if (format == PLAN_ION)
        write_ion(f, p, start, lost);
    else
        write_hdtn(f, p, start, lost);
    return fflush(f) != 0 || ferror(f) ? -1 : 0;
}
