/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passed and what did not, by reason. For each direction `in` counts what reached the socket,
 * also what the kernel dropped there, so that in + duplicated = out + dropped + queued adds up.
 */
#include <inttypes.h>
#include <string.h>

#include "channel-emu/emu_clock.h"
#include "channel-emu/emu_link.h"

enum { TRACE, RANDOM, QUEUE, MEMORY, SOCKET, SUPER, NO_PEER, SEND, REASONS };
static const char *const reasons[REASONS] = {"trace",  "random",       "queue",   "memory",
                                             "socket", "super_packet", "no_peer", "send"};

struct summary {
    struct chan_counters chan;
    uint64_t in, out, exempt, dropped[REASONS];
    double good_share, good_share_active, active_s;
};

static double good_share(const struct emu_link *l, int dir, tick from, tick to)
{
    const struct emu_way_options *o = &l->options.way[dir];
    if (!o->trace.on || to <= from)
        return 1 - o->trace.loss;
    tick bad = trace_bad_time(&o->trace.trace, l->way[dir].origin, o->trace_start, from, to);
    return 1 - (double)bad / (double)(to - from);
}

static struct summary summarise(const struct emu_link *l, int dir)
{
    const struct emu_way *w = &l->way[dir];
    struct summary s = {.in = 0};
    if (w->clean != NULL) {
        const struct chan_counters *exempt = chan_counters(w->clean);
        s.chan = *chan_counters(w->chan);
        s.exempt = exempt->in;
        s.chan.in += exempt->in;
        s.chan.in_bytes += exempt->in_bytes;
        s.chan.out += exempt->out;
        s.chan.queued += exempt->queued;
        s.chan.lost[CHAN_MEMORY] += exempt->lost[CHAN_MEMORY];
    }
    s.dropped[TRACE] = s.chan.lost[CHAN_TRACE];
    s.dropped[RANDOM] = s.chan.lost[CHAN_RANDOM];
    s.dropped[QUEUE] = s.chan.lost[CHAN_QUEUE];
    s.dropped[MEMORY] = s.chan.lost[CHAN_MEMORY];
    s.dropped[SOCKET] = w->before;
    s.dropped[SUPER] = w->too_long;
    s.dropped[NO_PEER] = w->no_peer + w->gone;
    s.dropped[SEND] = w->send_failed;
    s.in = s.chan.in + s.dropped[SOCKET] + w->no_peer + w->too_long;
    s.out = s.chan.out - w->gone - w->send_failed;
    s.good_share = good_share(l, dir, l->started, emu_now());
    s.good_share_active = good_share(l, dir, w->first, w->last);
    s.active_s = (double)(w->last - w->first) / 1e9;
    return s;
}

static void text_way(const struct emu_link *l, int dir, FILE *to)
{
    struct summary s = summarise(l, dir);
    const struct emu_late *late = &l->way[dir].late;
    fprintf(to, "%-8s in %" PRIu64 " (%" PRIu64 " bytes), out %" PRIu64 " (%" PRIu64 " bytes), ",
            dir == EMU_FORWARD ? "forward" : "return", s.in, s.chan.in_bytes, s.out,
            l->way[dir].sent_bytes);
    fprintf(to, "inside %" PRIu64 "; dropped:", s.chan.queued);
    for (int i = 0; i < REASONS; i++)
        fprintf(to, " %s %" PRIu64, reasons[i], s.dropped[i]);
    fprintf(to, "\n         good share %.4f while active (%.3f s), %.4f of the run; ",
            s.good_share_active, s.active_s, s.good_share);
    fprintf(to, "released late by p50 %.0f us, p99 %.0f us, at most %.0f us\n",
            (double)emu_late_quantile(late, 0.5) / 1e3, (double)emu_late_quantile(late, 0.99) / 1e3,
            (double)late->max / 1e3);
}

void emu_report_text(const struct emu_link *l, FILE *to)
{
    text_way(l, EMU_FORWARD, to);
    text_way(l, EMU_RETURN, to);
    if (l->send_errno != 0)
        fprintf(to, "the last frame that could not be sent: %s\n", strerror(l->send_errno));
    fflush(to);
}

static void json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20)
            fprintf(to, "\\u%04x", c);
        else
            fprintf(to, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    fputc('"', to);
}

static void json_way(const struct emu_link *l, int dir, FILE *to)
{
    struct summary s = summarise(l, dir);
    const struct emu_way_options *o = &l->options.way[dir];
    const struct emu_late *late = &l->way[dir].late;
    fprintf(to, "  \"%s\": {\n    \"trace\": ", dir == EMU_FORWARD ? "forward" : "return");
    json_string(to, o->trace_name);
    fprintf(to, ", \"rate_bps\": %" PRIu64 ", \"delay_ns\": %" PRIu64 ",\n", o->rate_bps, o->delay);
    fprintf(to, "    \"in\": %" PRIu64 ", \"in_bytes\": %" PRIu64, s.in, s.chan.in_bytes);
    fprintf(to, ", \"out\": %" PRIu64 ", \"out_bytes\": %" PRIu64, s.out, l->way[dir].sent_bytes);
    fprintf(to, ", \"duplicated\": 0, \"queued\": %" PRIu64 ", \"exempt\": %" PRIu64, s.chan.queued,
            s.exempt);
    fprintf(to, ",\n    \"dropped\": {");
    for (int i = 0; i < REASONS; i++)
        fprintf(to, "%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", reasons[i], s.dropped[i]);
    fprintf(to, "},\n    \"good_share\": %.6f, \"good_share_active\": %.6f, \"active_s\": %.6f,\n",
            s.good_share, s.good_share_active, s.active_s);
    fprintf(to, "    \"late_us\": {\"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}\n  }",
            (double)emu_late_quantile(late, 0.5) / 1e3, (double)emu_late_quantile(late, 0.99) / 1e3,
            (double)late->max / 1e3);
}

void emu_report_json(const struct emu_link *l, FILE *to)
{
    fprintf(to, "{\n");
    json_way(l, EMU_FORWARD, to);
    fprintf(to, ",\n");
    json_way(l, EMU_RETURN, to);
    fprintf(to, ",\n  \"duration_s\": %.6f\n}\n", (double)(emu_now() - l->started) / 1e9);
}

void emu_report_line(const struct emu_link *l, FILE *to)
{
    struct summary f = summarise(l, EMU_FORWARD), b = summarise(l, EMU_RETURN);
    uint64_t lost = 0;
    for (int i = TRACE + 1; i < REASONS; i++)
        lost += f.dropped[i] + b.dropped[i];
    fprintf(to,
            "%.1f s: forward %" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " erased by the trace; "
            "return %" PRIu64 " in, %" PRIu64 " out; %" PRIu64 " dropped otherwise\n",
            (double)(emu_now() - l->started) / 1e9, f.in, f.out, f.dropped[TRACE], b.in, b.out,
            lost);
    fflush(to);
}
