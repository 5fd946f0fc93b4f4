/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each kind has a score; the sessions of the greatest are kept. Ties keep the earlier session. What
 * can go wrong: a flow has nothing of a kind; then there are fewer names.
 */
#include "tools/analyze/analyze_choose.h"

#include <math.h>

static double away_from_median(const struct analyze_session *s, const struct analyze_flow *of)
{
    return -fabs((double)analyze_duration(s) - (double)hist_quantile(&of->duration, 0.5));
}

/* NAN: the session is not of this kind. */
static double score_session(int kind, const struct analyze_session *s,
                            const struct analyze_flow *of)
{
    bool done = s->outcome == OUTCOME_DONE && analyze_duration(s) != TICK_NEVER;
    switch (kind) {
    case 0:
        return done ? (double)analyze_duration(s) : NAN;
    case 1:
        return s->cp_lost > 0 ? (double)s->cp_lost : NAN;
    case 2:
        return done && s->lossy ? away_from_median(s, of) : NAN;
    case 3:
        return s->outcome != OUTCOME_DONE ? (double)s->segments_sent : NAN;
    case 4:
        return s->segments_resent > 0 ? (double)s->segments_resent : NAN;
    default:
        return done && !s->lossy ? away_from_median(s, of) : NAN;
    }
}

void analyze_choose_add(struct analyze_choose *c, size_t flow, const struct analyze_session *s,
                        const struct analyze_flow *of)
{
    for (int kind = 0; kind < CHOOSE_KINDS; kind++) {
        double v = score_session(kind, s, of);
        struct choose_place *best = c->flows[flow].best[kind];
        size_t at = c->flows[flow].len[kind];
        if (isnan(v) || (at == CHOOSE_KEEP && !(v > best[at - 1].score)))
            continue;
        at -= at == CHOOSE_KEEP;
        for (; at > 0 && v > best[at - 1].score; at--)
            best[at] = best[at - 1];
        best[at] = (struct choose_place){v, {s->originator, s->number}};
        if (c->flows[flow].len[kind] < CHOOSE_KEEP)
            c->flows[flow].len[kind]++;
    }
}

static bool has_name(const struct analyze_name *names, size_t len, struct analyze_name n)
{
    for (size_t i = 0; i < len; i++)
        if (names[i].originator == n.originator && names[i].number == n.number)
            return true;
    return false;
}

size_t analyze_choose_names(const struct analyze_choose *c, const size_t *flows, size_t flows_len,
                            struct analyze_name *out, size_t max)
{
    size_t len = 0;
    for (size_t place = 0; place < CHOOSE_KEEP; place++)
        for (size_t i = 0; i < flows_len; i++)
            for (int kind = 0; kind < CHOOSE_KINDS && len < max; kind++) {
                const struct choose_place *best = c->flows[flows[i]].best[kind];
                if (place < c->flows[flows[i]].len[kind] && !has_name(out, len, best[place].name))
                    out[len++] = best[place].name;
            }
    return len;
}
