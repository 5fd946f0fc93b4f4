/* SPDX-License-Identifier: Apache-2.0 */
/* Both forms hold the same figures; the JSON's names are those of docs/helio-sim.md. */
#include <inttypes.h>
#include <jansson.h>

#include "base/err.h"
#include "tools/sim/sim_peers_options.h"

static json_t *blocks_json(const struct sim_blocks *b)
{
    return json_pack("{s:I,s:I,s:f}", "sent", (json_int_t)b->sent, "delivered",
                     (json_int_t)b->delivered, "goodput_bps", b->goodput_bps);
}

static json_t *spread_json(uint64_t count, const struct sim_spread *s)
{
    if (count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f}", "mean", s->mean, "sd", s->sd, "p50", s->p50, "p90",
                     s->p90, "p99", s->p99);
}

static json_t *peer_json(const struct sim_peer *p, size_t i, const struct sim_peer_result *r)
{
    const struct sim_figures *f = &r->figures;
    return json_pack("{s:I,s:s,s:I,s:f,s:f,s:f,s:o,s:o,s:I,s:o,s:o,s:I,s:I,s:I,s:I}", "node",
                     (json_int_t)i + 2, "trace", p->name, "weight", (json_int_t)p->weight,
                     "red_share", p->red, "goodput_bps", r->goodput_bps, "line_share",
                     r->line_share, "red", blocks_json(&r->red), "green", blocks_json(&r->green),
                     "sessions", (json_int_t)f->sessions, "session_ms",
                     spread_json(f->sessions, &f->session), "delivery_ms",
                     spread_json(f->delivered, &f->delivery), "frames", (json_int_t)r->frames,
                     "frames_lost", (json_int_t)r->frames_lost, "rto_firings",
                     (json_int_t)r->rto_firings, "cancelled", (json_int_t)r->cancelled);
}

int sim_peers_json(FILE *out, const struct sim_peers *p, const struct sim_peers_result *r)
{
    json_t *peers = json_array();
    int rc = peers == NULL ? HELIO_ENOMEM : 0;
    for (size_t i = 0; i < p->count && rc == 0; i++)
        rc = json_array_append_new(peers, peer_json(&p->peer[i], i, &r->peer[i])) == 0
                 ? 0
                 : HELIO_ENOMEM;
    json_t *root =
        json_pack("{s:f,s:f,s:f,s:f,s:b,s:b,s:I,s:I,s:o}", "goodput_bps", r->goodput_bps,
                  "fairness", r->fairness, "fairness_line", r->fairness_line, "until_s",
                  (double)r->until / (double)TICK_S, "interrupted", r->until < p->base.duration,
                  "own_lines", p->own_lines, "rate_bps", (json_int_t)p->base.rate_bps, "seed",
                  (json_int_t)p->base.seed, "peers", peers);
    if (root == NULL)
        return HELIO_ENOMEM;
    if (rc == 0 && (json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0 ||
                    fputc('\n', out) == EOF || fflush(out) != 0))
        rc = HELIO_EIO;
    json_decref(root);
    return rc;
}

void sim_peers_text(FILE *out, const struct sim_peers *p, const struct sim_peers_result *r)
{
    fprintf(out, "%zu peers, %s of %.3f Mbit/s, %.3f s, seed %" PRIu64 "\n\n", p->count,
            p->own_lines ? "each with a line" : "sharing a line", (double)p->base.rate_bps / 1e6,
            (double)r->until / (double)TICK_S, p->base.seed);
    fprintf(out, "%-5s %-12s %6s %13s %7s %15s %15s %12s %9s\n", "node", "trace", "weight",
            "goodput", "line", "red delivered", "green delivered", "session", "cancelled");
    for (size_t i = 0; i < p->count; i++) {
        const struct sim_peer_result *one = &r->peer[i];
        char session[32] = "–";
        if (one->figures.sessions > 0)
            snprintf(session, sizeof session, "%.3f ms", one->figures.session.mean);
        fprintf(out,
                "%-5zu %-12s %6" PRIu32 " %6.3f Mbit/s %5.2f %% %15" PRIu64 " %15" PRIu64
                " %12s %9" PRIu64 "\n",
                i + 2, p->peer[i].name, p->peer[i].weight, one->goodput_bps / 1e6,
                100 * one->line_share, one->red.delivered, one->green.delivered, session,
                one->cancelled);
    }
    fprintf(out, "\n%-22s %.3f Mbit/s\n%-22s %.4f of goodput, %.4f of the line\n", "goodput",
            r->goodput_bps / 1e6, "fairness (Jain)", r->fairness, r->fairness_line);
}
