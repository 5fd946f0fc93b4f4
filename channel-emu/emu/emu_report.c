/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of delivered and lost frames by reason, and the emulator's own delays. For each direction
 * `in` counts all frames that reached the emulator, including those that the kernel dropped, so
 * that in + duplicated = out + dropped + queued holds. Delays beyond the tolerance are always
 * shown: NOT FAITHFUL and the reasons.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/emu/emu_link.h"
#include "os/clock.h"

#define LATE_SHARE_OVERLOAD 0.5 /* more than that later than the tolerance: not bad luck */
#define LATE_SHARE 0.01         /* of the frames, or one, may be later than the tolerance */
#define LATE_MAX (10 * TICK_MS) /* none later than this */
#define REASON_CAP 160
#define REASONS_MAX 24 /* nine of each direction, three outputs, the end */

enum { SOCKET = CHAN_LOSSES, SUPER, CHECKSUM, NO_PEER, SEND, REASONS };

static const char *reason_name(int i)
{
    static const char *const own[] = {"socket", "super_packet", "checksum", "no_peer", "send"};
    return i < CHAN_LOSSES ? chan_reason_name((enum chan_reason)i) : own[i - CHAN_LOSSES];
}

const char *emu_report_reason(int i)
{
    return i < REASONS ? reason_name(i) : NULL;
}

static const char *const directions[] = {"forward", "return"};

struct summary {
    struct chan_counters chan;
    uint64_t in, out, exempt, dropped[REASONS];
    double good_share, good_share_active, active_s;
};

static double good_share(const struct emu_link *l, int dir, tick from, tick to)
{
    const struct scenario_direction *o = &l->settings->scenario.directions[dir];
    const struct trace *t = &o->trace.source.trace;
    tick origin = l->directions[dir].origin, a = from, b = to;
    if (!o->trace.source.on || to <= from)
        return 1 - o->iid;
    if (!o->trace.loop && !trace_once(t, origin, o->trace.offset, &a, &b))
        return 1;
    tick bad = trace_bad_time(t, origin, o->trace.offset, a, b);
    return 1 - (double)bad / (double)(to - from);
}

/* Without the shares, for which the whole trace is looked at. */
static struct summary count_link(const struct emu_link *l, int dir)
{
    const struct emu_direction *w = &l->directions[dir];
    const uint64_t gap = l->among == NULL ? 0 : l->among->at[l->index].directions[dir].gap;
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
        s.chan.lost[CHAN_END] += exempt->lost[CHAN_END];
    }
    for (int i = 0; i < CHAN_LOSSES; i++)
        s.dropped[i] = s.chan.lost[i];
    s.dropped[CHAN_END] += w->after_end;
    s.dropped[CHAN_HANDOVER] += gap;
    s.dropped[SOCKET] = w->before;
    s.dropped[SUPER] = w->too_long;
    s.dropped[CHECKSUM] = w->sum_missing;
    s.dropped[NO_PEER] = w->no_peer + w->gone;
    s.dropped[SEND] = w->send_failed;
    s.in = s.chan.in + w->before + w->too_long + w->sum_missing + w->no_peer + w->after_end + gap;
    s.out = s.chan.out - w->gone - w->send_failed;
    return s;
}

static struct summary summarise_link(const struct emu_link *l, int dir)
{
    const struct emu_direction *w = &l->directions[dir];
    struct summary s = count_link(l, dir);
    s.good_share = good_share(l, dir, l->started + l->bias, clock_now() + l->bias);
    s.good_share_active = good_share(l, dir, w->first, w->last);
    s.active_s = (double)(w->last - w->first) / 1e9;
    return s;
}

/* What is worse goes first. */
enum grade { LOSSES, OVERLOAD, TIMING, GRADES, FAITHFUL = GRADES };

static const char *const grades[] = {"losses", "overload", "timing", "faithful"};

/* Why the run was not what it should have been. */
struct doubts {
    size_t len;
    struct {
        enum grade grade;
        char text[REASON_CAP];
    } at[REASONS_MAX];
};

__attribute__((format(printf, 4, 5))) static void doubt(struct doubts *d, enum grade grade, bool on,
                                                        const char *format, ...)
{
    if (!on || d->len == REASONS_MAX)
        return;
    va_list words;
    va_start(words, format);
    vsnprintf(d->at[d->len].text, REASON_CAP, format, words);
    va_end(words);
    d->at[d->len++].grade = grade;
}

static void doubt_lost(struct doubts *d, int dir, uint64_t n, const char *what)
{
    doubt(d, LOSSES, n > 0, "%s: %" PRIu64 " %s", directions[dir], n, what);
}

static void doubt_time(struct doubts *d, const struct emu_link *l, int dir)
{
    const struct emu_direction *w = &l->directions[dir];
    double share = w->late.count == 0 ? 0 : (double)w->late_beyond / (double)w->late.count;
    if (w->late_beyond > 1 && share > LATE_SHARE)
        doubt(d, share > LATE_SHARE_OVERLOAD ? OVERLOAD : TIMING, true,
              "%s: %" PRIu64 " frames (%.1f %%) left more than %.0f us late, above 1 %%",
              directions[dir], w->late_beyond, 100 * share, (double)l->tolerance / 1e3);
    doubt(d, OVERLOAD, w->late.max > LATE_MAX && w->late.max > l->tolerance,
          "%s: a frame left %.1f ms late, above 10 ms", directions[dir], (double)w->late.max / 1e6);
}

static void doubt_direction(struct doubts *d, const struct emu_link *l, int dir)
{
    const struct emu_direction *w = &l->directions[dir];
    struct summary s = count_link(l, dir);
    doubt_lost(d, dir, s.dropped[SOCKET], "frames dropped by the kernel before they could be read");
    doubt_lost(d, dir, s.dropped[SUPER], "super-packets, several frames joined, dropped");
    doubt_lost(d, dir, s.dropped[CHECKSUM], "frames without their checksum dropped");
    doubt_lost(d, dir, s.dropped[SEND], "frames that the kernel refused to send");
    doubt_lost(d, dir, w->after, "frames dropped by the device after they had been sent");
    doubt_lost(d, dir, s.dropped[CHAN_MEMORY], "frames for which there was no memory");
    if (l->settings->drain == EMU_DRAIN_AUTO) /* else it is as it was wished */
        doubt_lost(d, dir, s.chan.lost[CHAN_END],
                   "frames still in the queue when the run ended; --drain lets them out");
    doubt_time(d, l, dir);
}

static uint64_t missing_in(const struct log_writer *w)
{
    return w == NULL ? 0 : log_writer_lost(w);
}

static void doubt_outputs(struct doubts *d, const struct emu_link *l)
{
    const struct log_writer *const all[] = {l->drops, l->before, l->after};
    static const char *const what[] = {"lines of the drop log lost",
                                       "frames missing in the capture before",
                                       "frames missing in the capture after"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        doubt(d, OVERLOAD, missing_in(all[i]) > 0, "%" PRIu64 " %s", missing_in(all[i]), what[i]);
}

/* All, and the worst of them. */
static enum grade find_doubts(struct doubts *d, const struct emu_link *l)
{
    enum grade worst = FAITHFUL;
    d->len = 0;
    doubt(d, LOSSES, l->ended, "the run ended before its configured end");
    doubt_direction(d, l, EMU_FORWARD);
    doubt_direction(d, l, EMU_RETURN);
    doubt_outputs(d, l);
    for (size_t i = 0; i < d->len; i++)
        worst = d->at[i].grade < worst ? d->at[i].grade : worst;
    return worst;
}

/* Each of them, the worst first. */
#define for_each_doubt(d, i)                                                                       \
    for (int grade_ = 0; grade_ < GRADES; grade_++)                                                \
        for (size_t i = 0; i < (d)->len; i++)                                                      \
            if ((int)(d)->at[i].grade == grade_)

static uint64_t forgotten(const struct emu_direction *w)
{
    return w->rules == NULL ? 0 : ltp_rules_forgotten(w->rules);
}

static void text_direction(const struct emu_link *l, int dir, FILE *to)
{
    struct summary s = summarise_link(l, dir);
    const struct emu_direction *w = &l->directions[dir];
    fprintf(to, "%-8s in %" PRIu64 " (%" PRIu64 " bytes), out %" PRIu64 " (%" PRIu64 " bytes), ",
            directions[dir], s.in, s.chan.in_bytes, s.out, w->sent_bytes);
    fprintf(to,
            "inside %" PRIu64 ", twice %" PRIu64 ", changed %" PRIu64 ", marked %" PRIu64
            "; dropped:",
            s.chan.queued, s.chan.duplicated, s.chan.corrupted, s.chan.marked);
    for (int i = 0; i < REASONS; i++)
        fprintf(to, " %s %" PRIu64, reason_name(i), s.dropped[i]);
    fprintf(to, "\n         good share %.4f while active (%.3f s), %.4f of the run; ",
            s.good_share_active, s.active_s, s.good_share);
    fprintf(to,
            "released late by p50 %.0f us, p99 %.0f us, at most %.0f us, %" PRIu64
            " beyond %.0f us\n",
            (double)emu_late_quantile(&w->late, 0.5) / 1e3,
            (double)emu_late_quantile(&w->late, 0.99) / 1e3, (double)w->late.max / 1e3,
            w->late_beyond, (double)l->tolerance / 1e3);
    for (size_t i = 0; i < l->settings->scenario.directions[dir].rules_len && w->rules != NULL;
         i++) {
        struct ltp_rule_count n = ltp_rules_count(w->rules, i);
        fprintf(to, "         rule %s: matched %" PRIu64 ", dropped %" PRIu64 "\n",
                l->settings->scenario.directions[dir].rule_texts[i], n.matched, n.dropped);
    }
    if (forgotten(w) > 0)
        fprintf(to, "         rules: %" PRIu64 " sessions forgotten, more than are remembered\n",
                forgotten(w));
    if (w->send_failed > 0)
        fprintf(to, "         the last frame that could not be sent: %s\n",
                helio_strerror(w->send_error));
}

static int output_error(const struct log_writer *w)
{
    return w == NULL ? 0 : log_writer_error(w);
}

bool emu_report_whole(const struct emu_link *l)
{
    return output_error(l->drops) == 0 && output_error(l->before) == 0 &&
           output_error(l->after) == 0;
}

static void text_outputs(const struct emu_link *l, FILE *to)
{
    const struct scenario *s = &l->settings->scenario;
    const char *const paths[] = {s->drop_log, s->pcap_before, s->pcap_after};
    const struct log_writer *const all[] = {l->drops, l->before, l->after};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (output_error(all[i]) != 0)
            fprintf(to,
                    "helio-emu: %s: cannot be written: %s; its rows up to the end are complete\n",
                    paths[i], helio_strerror(output_error(all[i])));
    }
}

void emu_report_text(const struct emu_link *l, FILE *to)
{
    struct doubts d;
    bool colour = isatty(fileno(to)) == 1;
    text_direction(l, EMU_FORWARD, to);
    text_direction(l, EMU_RETURN, to);
    enum grade worst = find_doubts(&d, l);
    text_outputs(l, to);
    if (worst == FAITHFUL)
        fprintf(to, "faithful: all was done, and in time\n");
    size_t told = 0;
    for_each_doubt(&d, i) fprintf(to, "%s%s%s: %s%s\n", colour ? "\033[1;31m" : "",
                                  told++ == 0 ? "NOT FAITHFUL: " : "  and: ", grades[d.at[i].grade],
                                  d.at[i].text, colour ? "\033[0m" : "");
    fflush(to);
}

static json_t *json_rules(const struct emu_link *l, int dir)
{
    const struct scenario_direction *o = &l->settings->scenario.directions[dir];
    json_t *list = json_array();
    for (size_t i = 0; i < o->rules_len && l->directions[dir].rules != NULL; i++) {
        struct ltp_rule_count n = ltp_rules_count(l->directions[dir].rules, i);
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I}", "rule", o->rule_texts[i], "matched",
                                        (json_int_t)n.matched, "dropped", (json_int_t)n.dropped));
    }
    return list;
}

static double us(tick t)
{
    return (double)t / 1e3;
}

static json_t *json_direction(const struct emu_link *l, int dir)
{
    struct summary s = summarise_link(l, dir);
    const struct scenario_direction *o = &l->settings->scenario.directions[dir];
    const struct emu_direction *w = &l->directions[dir];
    json_t *dropped = json_object();
    for (int i = 0; i < REASONS; i++)
        json_object_set_new(dropped, reason_name(i), json_integer((json_int_t)s.dropped[i]));
    json_t *late =
        json_pack("{s:f, s:f, s:f, s:f, s:I}", "p50", us(emu_late_quantile(&w->late, 0.5)), "p99",
                  us(emu_late_quantile(&w->late, 0.99)), "max", us(w->late.max), "tolerance",
                  us(l->tolerance), "beyond", (json_int_t)w->late_beyond);
    json_t *direction = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, s:f, s:f, "
        "s:o, s:o, s:I}",
        "trace", o->trace.name, "rate_bps", (json_int_t)o->rate_bps, "delay_ns",
        (json_int_t)o->delay, "in", (json_int_t)s.in, "in_bytes", (json_int_t)s.chan.in_bytes,
        "out", (json_int_t)s.out, "out_bytes", (json_int_t)w->sent_bytes, "duplicated",
        (json_int_t)s.chan.duplicated, "corrupted", (json_int_t)s.chan.corrupted, "marked",
        (json_int_t)s.chan.marked, "exempt", (json_int_t)s.exempt, "device_dropped",
        (json_int_t)w->after, "queued", (json_int_t)s.chan.queued, "dropped", dropped, "good_share",
        s.good_share, "good_share_active", s.good_share_active, "active_s", s.active_s, "late_us",
        late, "rules", json_rules(l, dir), "rules_forgotten", (json_int_t)forgotten(w));
    if (direction != NULL && l->settings->control != NULL)
        json_object_update_new(direction,
                               json_pack("{s:o, s:I}", "changed",
                                         scenario_changes_json(w->changed, w->changed_count),
                                         "changed_more", (json_int_t)w->changed_more));
    return direction;
}

static json_t *json_output(const struct log_writer *w, const char *path)
{
    if (w == NULL)
        return json_null();
    return json_pack("{s:s, s:I, s:I}", "file", path, "records",
                     (json_int_t)log_writer_records(w) - 1, "lost", (json_int_t)log_writer_lost(w));
}

/* Part of the run with real-time priority; it is dropped when it would use too much of a
 * processor. */
static double realtime_share(const struct emu_link *l)
{
    const struct emu_pace *p = l->pace;
    if (p->windows == 0 || !p->permitted)
        return p->realtime;
    return 1 - (double)p->given_back / (double)p->windows;
}

json_t *emu_report_run(const struct emu_link *l)
{
    const tick started = l->started + l->epoch;
    return json_pack("{s:f, s:I, s:f, s:f}", "duration_s", (double)(clock_now() - l->started) / 1e9,
                     "started_ns", (json_int_t)started, "cpu_s", (double)clock_cpu_process() / 1e9,
                     "realtime_share", realtime_share(l));
}

static json_t *json_verdict(const struct emu_link *l)
{
    struct doubts d;
    json_t *reasons = json_array();
    enum grade worst = find_doubts(&d, l);
    for_each_doubt(&d, i) json_array_append_new(reasons, json_string(d.at[i].text));
    return json_pack("{s:b, s:s, s:o}", "faithful", worst == FAITHFUL, "grade", grades[worst],
                     "not_faithful", reasons);
}

static json_t *json_directions(const struct emu_link *l)
{
    const struct scenario *s = &l->settings->scenario;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "forward", json_direction(l, EMU_FORWARD),
                     "return", json_direction(l, EMU_RETURN), "drop_log",
                     json_output(l->drops, s->drop_log), "pcap_before",
                     json_output(l->before, s->pcap_before), "pcap_after",
                     json_output(l->after, s->pcap_after));
}

json_t *emu_report_link(const struct emu_link *l)
{
    json_t *o = json_verdict(l);
    json_object_set_new(o, "seed", json_integer((json_int_t)l->settings->scenario.seed));
    json_object_update_new(o, json_directions(l));
    return o;
}

void emu_report_json(const struct emu_link *l, const char *command, FILE *to)
{
    json_t *o = json_pack("{s:s}", "command", command);
    json_object_update_new(o, json_verdict(l));
    json_object_update_new(o, emu_report_run(l));
    json_object_update_new(o, json_directions(l));
    json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(o);
}

int emu_report_grade(const struct emu_link *l)
{
    struct doubts d;
    _Static_assert(FAITHFUL == EMU_FAITHFUL, "the last grade");
    return (int)find_doubts(&d, l);
}

const char *emu_report_grade_name(int grade)
{
    return grades[grade];
}

struct emu_sums emu_report_sums(const struct emu_link *l, int dir)
{
    struct summary s = count_link(l, dir);
    struct emu_sums sums = {.in = s.in, .out = s.out, .queued = s.chan.queued};
    for (int i = 0; i < REASONS; i++)
        sums.dropped += s.dropped[i];
    return sums;
}

json_t *emu_report_status(const struct emu_link *l)
{
    json_t *o = json_pack("{s:f}", "seconds", (double)(clock_now() - l->started) / 1e9);
    for (int dir = 0; dir < 2; dir++) {
        struct emu_sums s = emu_report_sums(l, dir);
        json_object_set_new(o, directions[dir],
                            json_pack("{s:I, s:I, s:I, s:I}", "in", (json_int_t)s.in, "out",
                                      (json_int_t)s.out, "queued", (json_int_t)s.queued, "dropped",
                                      (json_int_t)s.dropped));
    }
    return o;
}

static const char *state_word(const struct chan_look *look)
{
    return look->down ? "down" : !look->contact ? "off" : look->bad ? "bad" : "good";
}

/* What frames meet in the last second; null before the first one. */
static json_t *json_look(const struct emu_link *l, int dir, tick now)
{
    struct chan_look look = {.begun = false};
    now += l->bias;
    if (l->directions[dir].chan != NULL)
        chan_look_at(l->directions[dir].chan, now > TICK_S ? now - TICK_S : 0, now, &look);
    if (!look.begun)
        return json_null();
    json_t *o = json_pack("{s:s, s:f, s:I, s:I, s:f}", "state", state_word(&look), "bad_share",
                          look.bad_share, "rate_bps", (json_int_t)look.rate_bps, "delay_ns",
                          (json_int_t)look.delay, "iid", look.loss);
    if (look.power > 0 && isfinite(look.power))
        json_object_set_new(o, "power_db", json_real(10 * log10(look.power)));
    return o;
}

static json_t *json_lost(const struct summary *s)
{
    json_t *lost = json_object();
    for (int i = 0; i < REASONS; i++)
        if (s->dropped[i] > 0)
            json_object_set_new(lost, reason_name(i), json_integer((json_int_t)s->dropped[i]));
    return lost;
}

json_t *emu_report_now(struct emu_link *l, tick now)
{
    json_t *o = json_pack("{s:f}", "seconds", (double)(now - l->started) / 1e9);
    for (int dir = 0; dir < 2; dir++) {
        struct summary s = count_link(l, dir);
        json_t *direction = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "in", (json_int_t)s.in, "in_bytes",
            (json_int_t)s.chan.in_bytes, "out", (json_int_t)s.out, "out_bytes",
            (json_int_t)l->directions[dir].sent_bytes, "queued", (json_int_t)s.chan.queued, "lost",
            json_lost(&s), "now", json_look(l, dir, now));
        json_object_set_new(o, directions[dir], direction);
    }
    return o;
}

void emu_report_drain(const struct emu_link *l, FILE *to)
{
    tick due = emu_link_deadline(l), drain = emu_link_drain(l);
    if (due == TICK_NEVER || drain <= TICK_S)
        return;
    fprintf(to,
            "helio-emu: frames in transmission are still delivered, for %.1f s at most; Ctrl-C "
            "ends the emulator at once\n",
            (double)drain / 1e9);
    fflush(to);
}

void emu_report_line(const struct emu_link *l, FILE *to)
{
    struct summary f = count_link(l, EMU_FORWARD), b = count_link(l, EMU_RETURN);
    uint64_t lost = 0;
    for (int i = 0; i < REASONS; i++)
        lost += i == CHAN_TRACE ? 0 : f.dropped[i] + b.dropped[i];
    fprintf(to,
            "%.1f s: forward %" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " erased by the trace; "
            "return %" PRIu64 " in, %" PRIu64 " out; %" PRIu64 " dropped otherwise\n",
            (double)(clock_now() - l->started) / 1e9, f.in, f.out, f.dropped[CHAN_TRACE], b.in,
            b.out, lost);
    fflush(to);
}
