/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets are printed in milliseconds with their sign: + is ahead. */
#include "tools/analyze/analyze_result.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "conf/json_number.h"

static double in_ms(double ns)
{
    return ns / (double)TICK_MS;
}

static void text_drift(FILE *f, const struct clocks_estimate *e)
{
    if (clocks_may_drift(e))
        fprintf(f, "%s %+.2f ± %.2f ppm",
                clocks_drifts(e) ? ", drift" : ", perhaps with a drift of", 1e6 * e->drift,
                1e6 * e->drift_error);
}

static void text_consequence(FILE *f, const struct clocks_estimate *e, bool corrected)
{
    bool certain = clocks_certain(e);
    if (!certain && !clocks_offset_shows(e))
        fprintf(f,
                ". Perhaps the clocks agree and one direction was slower for a while: --clock auto "
                "leaves the times\n");
    else if (corrected)
        fprintf(f, "; %scorrected\n",
                clocks_may_drift(e) && !clocks_drifts(e) ? "the offset is " : "");
    else if (certain)
        fprintf(f, ". Times between nodes are wrong by that: --clock auto corrects them\n");
    else
        fprintf(f, ". Perhaps the clocks agree and one direction is slower; --clock auto takes the "
                   "offset for the clocks\n");
}

static void text_pair(FILE *f, const struct clocks_estimate *e, bool corrected)
{
    if (!e->both) {
        fprintf(f,
                "clocks: node %" PRIu64 " and node %" PRIu64
                " differ: segments arrived before they were sent. Only segments in both "
                "directions show by how much\n",
                e->near, e->far);
        return;
    }
    fprintf(f, "clocks: node %" PRIu64 " is %+.3f ms from node %" PRIu64 "'s", e->far,
            in_ms(e->offset_ns), e->near);
    text_drift(f, e);
    fprintf(f, " (if both directions take as long; within %.3f ms in any case)%s",
            in_ms(e->error_ns), e->before ? ": segments arrived before they were sent" : "");
    text_consequence(f, e, corrected);
}

static void text_runs(FILE *f, const struct analyze_totals *t)
{
    if (t->back.file != NULL) {
        fprintf(f, "%s", t->back.file);
        if (t->back.line > 0) /* a capture has no lines */
            fprintf(f, ":%" PRIu64, t->back.line);
        fprintf(f, ": the times go back by %.3f s: ", (double)t->back.by / (double)TICK_S);
        if (t->run != 0)
            fprintf(f, "run %" PRIu64 " of %" PRIu64 " alone\n", t->run, t->back.runs);
        else
            fprintf(f,
                    "%" PRIu64
                    " runs in one log, each counted over its own time; --run N takes one "
                    "of them\n",
                    t->back.runs);
    }
    if (t->twins.one != NULL)
        fprintf(f,
                "%s and %s are both logs of node %" PRIu64
                " and have %.1f s in common: two runs? Figures of both together have no "
                "meaning: analyse them one by one\n",
                t->twins.one, t->twins.other, t->twins.node,
                (double)t->twins.both / (double)TICK_S);
}

void clocks_text(FILE *f, const struct analyze_totals *t)
{
    for (size_t i = 0; i < t->clocks->len; i++) {
        struct clocks_estimate e = clocks_pair_estimate(t->clocks->pairs[i]);
        if (clocks_differ(&e))
            text_pair(f, &e, t->clock_auto);
    }
    text_runs(f, t);
}

static json_t *real_or_null(bool known, double v)
{
    return known ? json_real(v) : json_null();
}

struct json_t *clocks_json(const struct analyze_totals *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->clocks->len; i++) {
        struct clocks_estimate e = clocks_pair_estimate(t->clocks->pairs[i]);
        json_t *j = json_object();
        json_object_set_new(j, "node", json_number(e.near));
        json_object_set_new(j, "other", json_number(e.far));
        json_object_set_new(j, "segments_there", json_number(e.segments[0]));
        json_object_set_new(j, "segments_back", json_number(e.segments[1]));
        json_object_set_new(j, "differ_for_certain", json_boolean(clocks_certain(&e)));
        json_object_set_new(j, "offset_ms", real_or_null(e.both, in_ms(e.offset_ns)));
        json_object_set_new(j, "offset_within_ms", real_or_null(e.both, in_ms(e.error_ns)));
        json_object_set_new(j, "drift_ppm", real_or_null(e.drift_known, 1e6 * e.drift));
        json_object_set_new(j, "drift_error_ppm", real_or_null(e.drift_known, 1e6 * e.drift_error));
        json_object_set_new(j, "delay_rate_ppm", real_or_null(e.drift_known, 1e6 * e.delay_rate));
        json_object_set_new(j, "drifts", json_boolean(clocks_drifts(&e)));
        json_array_append_new(list, j);
    }
    return list;
}

struct json_t *clocks_fixes_json(const struct analyze_totals *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->fixes_len; i++)
        json_array_append_new(
            list, json_pack("{s:o,s:f,s:f}", "node", json_number(t->fixes[i].node), "ahead_ms",
                            in_ms(t->fixes[i].offset_ns), "drift_ppm", 1e6 * t->fixes[i].drift));
    return list;
}
