/* SPDX-License-Identifier: Apache-2.0 */
/* Both forms hold the same figures; the JSON's names are those of docs/helio-sim.md. */
#include "tools/sim/sim_report.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/err.h"

static double ms(tick t)
{
    return (double)t / (double)TICK_MS;
}

/* In the unit that a person would choose. */
static const char *time_text(tick t, char out[32])
{
    double v = (double)t;
    if (t >= 2 * 3600 * TICK_S)
        snprintf(out, 32, "%g h", v / 3600e9);
    else if (t >= 120 * TICK_S)
        snprintf(out, 32, "%g min", v / 60e9);
    else if (t >= TICK_S)
        snprintf(out, 32, "%g s", v / 1e9);
    else
        snprintf(out, 32, "%g ms", v / 1e6);
    return out;
}

/* A figure of `count` sessions: not known when there are none. */
static json_t *real(uint64_t count, double v)
{
    return count > 0 ? json_real(v) : json_null();
}

static json_t *print_spread(uint64_t count, const struct sim_spread *s)
{
    if (count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f}", "mean", s->mean, "sd", s->sd, "p50", s->p50, "p90",
                     s->p90, "p99", s->p99);
}

static const char *const colours[] = {"red", "green", "orange"};

static json_t *parameters(const struct sim_params *p, const char *trace)
{
    return json_pack(
        "{s:s,s:f,s:I,s:I,s:f,s:f,s:I,s:f,s:I,s:I,s:I,s:f,s:f,s:I,s:s,s:s,s:I,s:f,s:f,s:s,s:I,s:I}",
        "trace", trace, "trace_offset_ms", ms(p->trace_offset), "rate_bps", (json_int_t)p->rate_bps,
        "overhead_bytes", (json_int_t)p->overhead, "delay_ms", ms(p->delay), "processing_ms",
        ms(p->span.report_delay), "parallel_sessions", (json_int_t)p->span.export_sessions,
        "rto_ms", ms(p->span.rto), "bundle_bytes", (json_int_t)p->bundle, "segment_bytes",
        (json_int_t)p->span.segment_max, "claims", (json_int_t)p->span.claims_max, "duration_s",
        ms(p->duration) / 1000, "warmup_s", ms(p->warmup) / 1000, "seed", (json_int_t)p->seed,
        "recovery", p->recovery_name, "colour", colours[p->colour], "resend", (json_int_t)p->resend,
        "jitter_ms", ms(p->jitter), "report_defer_ms", ms(p->span.report_defer), "return_trace",
        p->back_name, "return_rate_bps", (json_int_t)p->back_rate_bps, "checkpoint_extra_bytes",
        (json_int_t)p->span.checkpoint_extra);
}

static json_t *print_parts(const struct sim_result *r)
{
    json_t *parts = json_array();
    for (size_t i = 0; i < r->carried_parts_len; i++)
        json_array_append_new(parts, json_real(r->carried_parts[i]));
    return parts;
}

int sim_report_json(FILE *out, const struct sim_params *p, const char *trace,
                    const struct sim_result *r)
{
    const struct sim_figures *f = &r->figures;
    json_t *root = json_pack(
        "{s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:o}", "goodput_bps",
        r->goodput_bps, "capacity_bps", r->capacity_bps, "efficiency", r->efficiency, "good_share",
        r->good_share, "payload_share", r->payload_share, "sessions", (json_int_t)f->sessions_ended,
        "delivered", (json_int_t)f->delivered, "session_ms", print_spread(f->sessions, &f->session),
        "delivery_ms", print_spread(f->delivered, &f->delivery), "retx_cycles_mean",
        real(f->sessions, f->cycles_mean), "checkpoints_mean",
        real(f->sessions, f->checkpoints_mean), "checkpoints_lost_mean",
        real(f->sessions, f->checkpoints_lost_mean), "lossy_share",
        real(f->sessions, f->lossy_share), "rto_firings", (json_int_t)r->rto_firings, "cancelled",
        (json_int_t)r->cancelled, "frames", (json_int_t)r->frames, "frames_lost",
        (json_int_t)r->frames_lost, "parameters", parameters(p, trace));
    if (root == NULL)
        return HELIO_ENOMEM;
    json_t *air = json_pack(
        "{s:f,s:f,s:f,s:f,s:o,s:b,s:I,s:b,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,"
        "s:I,"
        "s:"
        "I}",
        "reachable_share", r->reachable_share, "carried_bps", r->carried_bps, "carried_share",
        r->carried_share, "carried_se", r->carried_se, "carried_parts", print_parts(r),
        "sessions_cut", r->cut, "sessions_timed", (json_int_t)f->sessions, "interrupted",
        r->until < p->duration, "until_s", ms(r->until) / 1000, "first_data_bytes",
        (json_int_t)r->first_data, "air_bytes", (json_int_t)r->air_bytes, "copy_bytes",
        (json_int_t)r->copy_bytes, "repeat_bytes", (json_int_t)r->repeat_bytes, "sessions_max",
        (json_int_t)r->sessions_max, "sessions_begun_max", (json_int_t)r->begun_max,
        "dropped_by_rule", (json_int_t)r->rule_drops[0], "dropped_by_rule_return",
        (json_int_t)r->rule_drops[1], "delivered_share", f->delivered_share, "lost",
        (json_int_t)r->lost, "resent", (json_int_t)r->resent, "given_up", (json_int_t)r->given_up,
        "receiver_held_max_bytes", (json_int_t)r->held_max, "frames_return",
        (json_int_t)r->back_frames, "frames_return_lost", (json_int_t)r->back_lost);
    if (air == NULL || json_object_update_missing(root, air) != 0)
        root = (json_decref(root), NULL);
    json_decref(air);
    if (root == NULL)
        return HELIO_ENOMEM;
    int rc = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    if (rc != 0 || fputc('\n', out) == EOF || fflush(out) != 0)
        return HELIO_EIO;
    return 0;
}

static void line(FILE *out, const char *name, uint64_t count, const struct sim_spread *s)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1e3}, {"min", 6e4}, {"h", 3.6e6}};
    size_t u = s->mean >= 7.2e6 ? 3 : s->mean >= 1.2e6 ? 2 : s->mean >= 1e4 ? 1 : 0;
    double by = units[u].ms;
    if (count == 0)
        fprintf(out, "%-22s –\n", name);
    else
        fprintf(out, "%-22s mean %.3f  sd %.3f  p50 %.3f  p90 %.3f  p99 %.3f %s\n", name,
                s->mean / by, s->sd / by, s->p50 / by, s->p90 / by, s->p99 / by, units[u].unit);
}

static const char *colour_text(const struct sim_params *p)
{
    static const char *const texts[] = {"", "green, ", "orange, "};
    return texts[p->colour];
}

void sim_report_text(FILE *out, const struct sim_params *p, const char *trace,
                     const struct sim_result *r)
{
    const struct sim_figures *f = &r->figures;
    char delay[32], processing[32], rto[32], duration[32];
    fprintf(out,
            "trace %s, %.3f Mbit/s with %" PRIu32 " B overhead, %s one way, processing %s\n"
            "%" PRIu32 " sessions in parallel, RTO %s, blocks of %" PRIu64
            " B in segments of %" PRIu32 " B, %s%s, seed %" PRIu64 "\n\n",
            trace, (double)p->rate_bps / 1e6, p->overhead, time_text(p->delay, delay),
            time_text(p->span.report_delay, processing), p->span.export_sessions,
            time_text(p->span.rto, rto), p->bundle, p->span.segment_max, colour_text(p),
            time_text(r->until, duration), p->seed);
    if (r->until < p->duration)
        fprintf(out, "stopped after %s of virtual time\n\n", time_text(r->until, duration));
    fprintf(out, "%-22s %.3f Mbit/s of %.3f (%.2f %%%s)\n", "goodput", r->goodput_bps / 1e6,
            r->capacity_bps / 1e6, 100 * r->efficiency,
            r->efficiency > 1 ? "; above 100 %: whole blocks count when complete" : "");
    fprintf(
        out,
        "%-22s %.3f Mbit/s (%.2f %% of the capacity, standard error %.2f) by the time of sending\n",
        "carried", r->carried_bps / 1e6, 100 * r->carried_share, 100 * r->carried_se);
    if (p->trace != NULL)
        fprintf(out,
                "%-22s %.2f %% of the capacity at most: a segment at the edge of a fade is lost\n",
                "reachable", 100 * r->reachable_share);
    fprintf(out, "%-22s %" PRIu64 "\n", "sessions completed", f->sessions);
    line(out, "session", f->sessions, &f->session);
    line(out, "delivery", f->delivered, &f->delivery);
    if (f->sessions == 0)
        fprintf(out, "%-22s –\n%-22s –\n%-22s –\n", "retransmission cycles", "checkpoints",
                "with losses");
    else
        fprintf(
            out,
            "%-22s %.4f per session\n%-22s %.4f per session, %.4f per session lost\n%-22s %.2f %% "
            "of sessions\n",
            "retransmission cycles", f->cycles_mean, "checkpoints", f->checkpoints_mean,
            f->checkpoints_lost_mean, "with losses", 100 * f->lossy_share);
    if (p->colour != SIM_RED)
        fprintf(out, "%-22s %.2f %%\n", "blocks delivered", 100 * f->delivered_share);
    if (p->colour == SIM_ORANGE)
        fprintf(out,
                "%-22s %" PRIu64 " sessions; %" PRIu64 " sent again, %" PRIu64 " blocks failed\n",
                "lost", r->lost, r->resent, r->given_up);
    double air = r->air_bytes == 0 ? 1 : (double)r->air_bytes;
    fprintf(out, "%-22s %.3f %% copies, %.3f %% repetitions\n", "of the air time",
            100 * (double)r->copy_bytes / air, 100 * (double)r->repeat_bytes / air);
    fprintf(out, "%-22s %" PRIu32 " open, %" PRIu32 " of them begun\n", "sessions at once",
            r->sessions_max, r->begun_max);
    fprintf(out, "%-22s %.3f MB\n", "held by the receiver", (double)r->held_max / 1e6);
    fprintf(out, "%-22s %" PRIu64 "\n", "timers fired", r->rto_firings);
    fprintf(out, "%-22s %" PRIu64 "\n", "sessions cancelled", r->cancelled);
    fprintf(out, "%-22s %" PRIu64 " of %" PRIu64 "\n", "frames lost", r->frames_lost, r->frames);
    if (r->back_lost > 0)
        fprintf(out, "%-22s %" PRIu64 " of %" PRIu64 "\n", "lost on the way back", r->back_lost,
                r->back_frames);
    if (p->drop_count[0] + p->drop_count[1] > 0)
        fprintf(out, "%-22s %" PRIu64 " forward, %" PRIu64 " on the way back\n", "lost by rule",
                r->rule_drops[0], r->rule_drops[1]);
}
