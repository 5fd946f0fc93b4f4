/* SPDX-License-Identifier: Apache-2.0 */
/* Both forms hold the same figures; the JSON's names are those of docs/helio-sim.md. */
#include "tools/sim_report.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/err.h"

static double ms(tick t)
{
    return (double)t / (double)TICK_MS;
}

static json_t *spread(const struct sim_spread *s)
{
    return json_pack("{s:f,s:f,s:f,s:f,s:f}", "mean", s->mean, "sd", s->sd, "p50", s->p50, "p90",
                     s->p90, "p99", s->p99);
}

static json_t *parameters(const struct sim_params *p, const char *trace)
{
    return json_pack("{s:s,s:f,s:I,s:I,s:f,s:f,s:I,s:f,s:I,s:I,s:I,s:f,s:I,s:s}", "trace", trace,
                     "trace_offset_ms", ms(p->trace_offset), "rate_bps", (json_int_t)p->rate_bps,
                     "overhead_bytes", (json_int_t)p->overhead, "delay_ms", ms(p->delay),
                     "processing_ms", ms(p->processing), "parallel_sessions",
                     (json_int_t)p->sessions, "rto_ms", ms(p->rto), "bundle_bytes",
                     (json_int_t)p->bundle, "segment_bytes", (json_int_t)p->segment, "claims",
                     (json_int_t)p->claims, "duration_s", ms(p->duration) / 1000, "seed",
                     (json_int_t)p->seed, "recovery", p->recovery_name);
}

int sim_report_json(FILE *out, const struct sim_params *p, const char *trace,
                    const struct sim_result *r)
{
    const struct sim_figures *f = &r->figures;
    json_t *root = json_pack(
        "{s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:o,s:o,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:o}", "goodput_bps",
        r->goodput_bps, "capacity_bps", r->capacity_bps, "efficiency", r->efficiency, "good_share",
        r->good_share, "payload_share", r->payload_share, "sessions", (json_int_t)f->sessions,
        "delivered", (json_int_t)f->delivered, "session_ms", spread(&f->session), "delivery_ms",
        spread(&f->delivery), "retx_cycles_mean", f->cycles_mean, "checkpoints_mean",
        f->checkpoints_mean, "checkpoints_lost_mean", f->checkpoints_lost_mean, "lossy_share",
        f->lossy_share, "rto_firings", (json_int_t)r->rto_firings, "cancelled",
        (json_int_t)r->cancelled, "frames", (json_int_t)r->frames, "frames_lost",
        (json_int_t)r->frames_lost, "parameters", parameters(p, trace));
    if (root == NULL)
        return HELIO_ENOMEM;
    json_t *air = json_pack("{s:I,s:I,s:I,s:I,s:I}", "first_data_bytes", (json_int_t)r->first_data,
                            "air_bytes", (json_int_t)r->air_bytes, "copy_bytes",
                            (json_int_t)r->copy_bytes, "repeat_bytes", (json_int_t)r->repeat_bytes,
                            "sessions_max", (json_int_t)r->sessions_max);
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

static void line(FILE *out, const char *name, const struct sim_spread *s)
{
    fprintf(out, "%-22s mean %.3f  sd %.3f  p50 %.3f  p90 %.3f  p99 %.3f ms\n", name, s->mean,
            s->sd, s->p50, s->p90, s->p99);
}

void sim_report_text(FILE *out, const struct sim_params *p, const char *trace,
                     const struct sim_result *r)
{
    const struct sim_figures *f = &r->figures;
    fprintf(out,
            "trace %s, %.3f Mbit/s with %" PRIu32 " B overhead, %g + %g ms, processing %g ms\n"
            "%" PRIu32 " sessions in parallel, RTO %g ms, blocks of %" PRIu64
            " B in segments of %" PRIu32 " B, %g s, seed %" PRIu64 "\n\n",
            trace, (double)p->rate_bps / 1e6, p->overhead, ms(p->delay), ms(p->delay),
            ms(p->processing), p->sessions, ms(p->rto), p->bundle, p->segment,
            ms(p->duration) / 1000, p->seed);
    fprintf(out, "%-22s %.3f Mbit/s of %.3f (%.2f %%)\n", "goodput", r->goodput_bps / 1e6,
            r->capacity_bps / 1e6, 100 * r->efficiency);
    fprintf(out, "%-22s %" PRIu64 "\n", "sessions completed", f->sessions);
    line(out, "session", &f->session);
    line(out, "delivery", &f->delivery);
    fprintf(out, "%-22s %.4f per session\n", "retransmission cycles", f->cycles_mean);
    fprintf(out, "%-22s %.4f per session, %.4f of them lost\n", "checkpoints", f->checkpoints_mean,
            f->checkpoints_lost_mean);
    fprintf(out, "%-22s %.2f %% of sessions\n", "with losses", 100 * f->lossy_share);
    double air = r->air_bytes == 0 ? 1 : (double)r->air_bytes;
    fprintf(out, "%-22s %.3f %% copies, %.3f %% repetitions\n", "of the air time",
            100 * (double)r->copy_bytes / air, 100 * (double)r->repeat_bytes / air);
    fprintf(out, "%-22s %" PRIu32 "\n", "sessions at once", r->sessions_max);
    fprintf(out, "%-22s %" PRIu64 "\n", "timers fired", r->rto_firings);
    fprintf(out, "%-22s %" PRIu64 "\n", "sessions cancelled", r->cancelled);
    fprintf(out, "%-22s %" PRIu64 " of %" PRIu64 "\n", "frames lost", r->frames_lost, r->frames);
}
