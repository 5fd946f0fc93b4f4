/* SPDX-License-Identifier: Apache-2.0 */
/* Each expected value is the user's value, else the median of the values in the log, else unknown.
 * Sums that need an unknown value are unknown. */
#include "tools/analyze/analyze_model.h"

#include <assert.h>
#include <math.h>

static double ns_to_ms(double ns)
{
    return ns / (double)TICK_MS;
}

static double median_of(const struct hist *h)
{
    return h->count == 0 ? NAN : ns_to_ms((double)hist_quantile(h, 0.5));
}

static void choose_ideal(struct analyze_split *p, const struct analyze_flow *f, tick given)
{
    p->ideal = median_of(&f->clean);
    p->ideal_from = "loss_free";
    if (given != TICK_NEVER) {
        p->ideal = ns_to_ms((double)given);
        p->ideal_from = "given";
    } else if (isnan(p->ideal)) {
        p->ideal = median_of(&f->radiation) + median_of(&f->path->response);
        p->ideal_from = isnan(p->ideal) ? NULL : "radiation_response";
    }
}

static const char *choose_value(double *out, const struct hist *seen, tick given)
{
    *out = given != TICK_NEVER ? ns_to_ms((double)given) : median_of(seen);
    assert(given == TICK_NEVER || *out >= 0);
    return given != TICK_NEVER ? "given" : isnan(*out) ? NULL : "median";
}

/* What `count` events of an expected length cost. */
static double cost_of(double count, double each)
{
    assert(count >= 0);
    return count > 0 ? count * each : 0;
}

struct analyze_split analyze_split_flow(const struct analyze_flow *f, const struct analyze_model *m)
{
    struct analyze_split p = {0};
    double n = (double)f->sessions;
    choose_ideal(&p, f, m->ideal);
    p.cycle_from = choose_value(&p.cycle, &f->path->cycle, m->cycle);
    p.rto_from = choose_value(&p.rto, &f->path->rto, m->rto);
    bool known = f->with_sender > 0 && f->duration.count > 0 && n > 0;
    p.mean = f->duration.count > 0 ? ns_to_ms(f->duration.mean) : NAN;
    p.retx = known ? cost_of((double)f->cycles / n, p.cycle) : NAN;
    p.checkpoint = known ? cost_of((double)f->cp_waits / n, p.rto) : NAN;
    p.delta_ideal = known && f->clean.count > 0 ? ns_to_ms(f->clean.mean) - p.ideal : 0;
    p.delta_penalties = p.mean - p.ideal - p.retx - p.checkpoint - p.delta_ideal;
    assert(!known || p.mean >= 0);
    return p;
}

struct analyze_penalties analyze_split_session(const struct analyze_session *s,
                                               const struct analyze_split *of_flow)
{
    struct analyze_penalties out = {NAN, NAN, NAN};
    tick duration = analyze_duration(s);
    if (!s->sender_log || s->outcome != OUTCOME_DONE)
        return out;
    out.retx = cost_of((double)s->rounds.most, of_flow->cycle);
    out.checkpoint = cost_of((double)s->cp_waits, of_flow->rto);
    if (duration != TICK_NEVER)
        out.delta = ns_to_ms((double)duration) - of_flow->ideal - out.retx - out.checkpoint;
    return out;
}

double analyze_capacity(const struct analyze_flow *f, const struct analyze_model *m)
{
    double air = (double)f->bytes_sent + (double)m->overhead * (double)f->segments_sent;
    if (!isnan(m->capacity_bps))
        return m->capacity_bps;
    return air > 0 ? m->rate_bps * m->good_share * (double)f->data_sent / air : NAN;
}
