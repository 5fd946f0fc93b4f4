/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main path is two calls of chan. Around them: rules examine the LTP segment of a frame; fates
 * and late releases become lines of the drop log, which threads write. A direction's channels begin
 * with its first frame; exempt frames have a channel with the same delay and no losses. What can go
 * wrong: an output that cannot be created ends the start; one that cannot be written is reported at
 * the end; memory for a channel ends the run. prctl is here, because only the emulator sleeps for
 * microseconds without real-time priority: the kernel's slack of 50 µs would be a delay.
 */
#include "channel-emu/emu/emu_link.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "channel-emu/scenario/drop_log.h"
#include "os/clock.h"
#include "os/process/priority.h"
#include "os/process/signals.h"

#define FLUSH_NS (500 * TICK_MS)
#define SWEEP_MAX TICK_S    /* a flood never leaves the sockets empty */
#define ROWS_AT_ONCE 10000u /* at the end; then the writer catches up, for so long at most: */
#define WRITE_MS_MAX 10000u

enum output { DROP_LOG, CAPTURE_BEFORE, CAPTURE_AFTER };

static int open_output(struct log_writer **w, const char *path, enum output kind,
                       const struct emu_link *l, FILE *say)
{
    if (*path == '\0')
        return 0;
    int rc = kind == DROP_LOG
                 ? drop_log_open(w, path, false)
                 : emu_capture_open(w, path, kind == CAPTURE_AFTER, l->started + l->epoch, 0);
    if (rc == 0)
        return 0;
    fprintf(say, "helio-emu: %s: cannot be created: %s\n", path, helio_strerror(rc));
    return HELIO_EIO;
}

tick emu_link_bias(const struct scenario_direction *w, uint64_t epoch)
{
    return w->start == START_AT && w->start_time < epoch && epoch < INT64_MAX ? epoch : 0;
}

static tick choose_bias(const struct scenario *s, uint64_t epoch)
{
    tick forward = emu_link_bias(&s->directions[EMU_FORWARD], epoch);
    return forward != 0 ? forward : emu_link_bias(&s->directions[EMU_RETURN], epoch);
}

static tick delay_min(const struct scenario *s)
{
    tick least = TICK_NEVER;
    for (int i = 0; i < 2; i++) {
        const struct scenario_direction *w = &s->directions[i];
        if (w->point_count == 0)
            least = tick_min(least, w->delay);
        for (size_t k = 0; k < w->point_count; k++)
            least = tick_min(least, w->points[k].delay);
        for (size_t k = 0; k < w->change_count; k++)
            if ((w->changes[k].keys & CHAN_KEY_DELAY) != 0)
                least = tick_min(least, w->changes[k].delay);
    }
    return least;
}

int emu_link_init(struct emu_link *l, const struct emu_settings *settings, emu_payload *payload,
                  FILE *say)
{
    const struct scenario *s = &settings->scenario;
    *l = (struct emu_link){.settings = settings,
                           .payload = payload,
                           .epoch = clock_offset(),
                           .started = clock_now(),
                           .delay_min = delay_min(s),
                           .read_due = TICK_NEVER,
                           .closing = TICK_NEVER,
                           .swept = TICK_NEVER,
                           .tolerance = emu_settings_tolerance(settings)};
    l->pace = &l->own_pace;
    l->bias = choose_bias(s, l->epoch);
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        if (s->directions[i].rules_len == 0)
            continue;
        rc = ltp_rules_new(&l->directions[i].rules, s->directions[i].rules,
                           s->directions[i].rules_len);
        if (rc < 0)
            fprintf(say, "helio-emu: rules: %s\n", helio_strerror(rc));
    }
    rc = rc < 0 ? rc : open_output(&l->drops, s->drop_log, DROP_LOG, l, say);
    rc = rc < 0 ? rc : open_output(&l->before, s->pcap_before, CAPTURE_BEFORE, l, say);
    return rc < 0 ? rc : open_output(&l->after, s->pcap_after, CAPTURE_AFTER, l, say);
}

void emu_link_fini(struct emu_link *l)
{
    for (int i = 0; i < 2; i++) {
        chan_free(l->directions[i].chan);
        chan_free(l->directions[i].clean);
        ltp_rules_free(l->directions[i].rules);
        free(l->directions[i].changed);
    }
    log_writer_free(l->drops);
    log_writer_free(l->before);
    log_writer_free(l->after);
}

/* The line of one frame in the drop log. */
static void put_row(struct emu_link *l, struct drop_row row, const uint8_t *data, size_t len)
{
    struct ltp_fields ltp;
    struct slice payload = l->payload(data, len);
    if (payload.len > 0 && ltp_fields_read(&ltp, payload.data, payload.len))
        row.ltp = &ltp;
    row.length = len;
    row.time += l->epoch;
    drop_log_put(l->drops, &row);
}

static void log_fate(struct emu_link *l, int direction, const struct chan_fate *fate)
{
    struct drop_row row = {.time = fate->entered - l->bias,
                           .direction = direction,
                           .frame = fate->number,
                           .reason = chan_reason_name(fate->reason),
                           .late_ns = EVENT_NONE};
    put_row(l, row, fate->data, fate->len);
}

static void tell_direction(struct emu_link *l, int direction)
{
    struct chan_fate fate;
    if (l->drops == NULL || l->directions[direction].chan == NULL)
        return;
    while (chan_fate(l->directions[direction].chan, &fate) == 1)
        log_fate(l, direction, &fate);
}

const struct links_line *emu_link_line(const struct emu_link *l, int dir)
{
    return l->among == NULL ? NULL : l->among->at[l->index].directions[dir].line;
}

void emu_link_tell(struct emu_link *l, int direction)
{
    const struct links_line *line = emu_link_line(l, direction);
    if (line == NULL) {
        tell_direction(l, direction);
        return;
    }
    for (size_t i = 0; i < line->count; i++)
        tell_direction(line->member[i].owner, line->member[i].dir);
}

void emu_link_refuse(struct emu_link *l, int dir, const uint8_t *data, size_t len, tick arrival,
                     const char *reason)
{
    if (l->drops == NULL)
        return;
    struct drop_row row = {
        .time = arrival, .direction = dir, .reason = reason, .late_ns = EVENT_NONE};
    put_row(l, row, data, len);
}

static void log_out(struct emu_link *l, int direction, const struct chan_out *out,
                    const char *reason, uint64_t late_ns)
{
    if (l->drops == NULL || out->tag == EMU_EXEMPT)
        return;
    struct drop_row row = {.time = out->entered,
                           .direction = direction,
                           .frame = out->number,
                           .reason = reason,
                           .late_ns = late_ns};
    put_row(l, row, out->data, out->len);
}

static int begin_direction(struct emu_link *l, int dir, tick arrival)
{
    struct emu_direction *w = &l->directions[dir];
    struct chan_config config =
        scenario_chan(&l->settings->scenario, dir, l->started + l->bias, l->started + l->epoch);
    w->origin = config.origin_first ? arrival : config.origin;
    w->first = w->last = arrival;
    config.origin = w->origin;
    config.origin_first = false;
    config.live = l->settings->control != NULL;
    if (l->among != NULL)
        links_run_fit(l->among, l->index, dir, &config);
    int rc = chan_new(&w->chan, &config);
    if (l->among != NULL)
        l->among->at[l->index].directions[dir].chan = w->chan;
    rc = rc < 0 ? rc : emu_link_clean(w, &config);
    return rc < 0 || !config.live ? rc : emu_link_change_ahead(l, dir);
}

static int take_arrivals(struct emu_link *l, int dir, tick arrival)
{
    struct emu_direction *w = &l->directions[dir];
    arrival += l->bias;
    if (w->clean == NULL) {
        int rc = begin_direction(l, dir, arrival);
        if (rc < 0)
            return rc;
    }
    w->last = tick_max(arrival, w->last);
    return 0;
}

static bool rule_drops(struct emu_link *l, struct emu_direction *w, const uint8_t *data, size_t len)
{
    struct ltp_fields ltp;
    if (w->rules == NULL)
        return false;
    struct slice payload = l->payload(data, len);
    return payload.len > 0 && ltp_fields_read(&ltp, payload.data, payload.len) &&
           ltp_rules_drop(w->rules, &ltp);
}

/* Did it arrive after the end of the run? */
static bool came_late(struct emu_link *l, int dir, const uint8_t *data, size_t len, tick arrival)
{
    if (arrival <= l->closing)
        return false;
    l->directions[dir].after_end++;
    emu_link_refuse(l, dir, data, len, arrival, chan_reason_name(CHAN_END));
    return true;
}

int emu_link_input(struct emu_link *l, int dir, const uint8_t *data, size_t len, uint64_t tag,
                   unsigned ecn, tick arrival)
{
    struct emu_direction *w = &l->directions[dir];
    if (came_late(l, dir, data, len, arrival))
        return 0;
    int rc = take_arrivals(l, dir, arrival);
    if (rc < 0)
        return rc;
    unsigned by_rule = rule_drops(l, w, data, len) ? CHAN_BY_RULE : 0;
    chan_input_as(w->chan, data, len, tag, w->last, ecn | by_rule);
    emu_link_tell(l, dir);
    return 0;
}

int emu_link_input_exempt(struct emu_link *l, int dir, const uint8_t *data, size_t len,
                          tick arrival)
{
    if (came_late(l, dir, data, len, arrival))
        return 0;
    int rc = take_arrivals(l, dir, arrival);
    if (rc == 0)
        chan_input(l->directions[dir].clean, data, len, EMU_EXEMPT, l->directions[dir].last);
    return rc;
}

tick emu_link_due(const struct emu_link *l, int dir)
{
    const struct emu_direction *w = &l->directions[dir];
    if (w->clean == NULL)
        return TICK_NEVER;
    tick due = tick_min(chan_deadline(w->chan), chan_deadline(w->clean));
    return due == TICK_NEVER ? due : due - l->bias;
}

tick emu_link_deadline(const struct emu_link *l)
{
    return tick_min(emu_link_due(l, EMU_FORWARD), emu_link_due(l, EMU_RETURN));
}

int emu_link_output(struct emu_link *l, int dir, tick now, struct chan_out *out)
{
    struct emu_direction *w = &l->directions[dir];
    if (w->clean == NULL)
        return 0;
    w->let_out = now + l->bias > w->let_out ? now + l->bias : w->let_out;
    bool exempt_first = chan_deadline(w->clean) < chan_deadline(w->chan);
    int rc = chan_output(exempt_first ? w->clean : w->chan, now + l->bias, out);
    if (rc == 0) /* the line took a queued frame, or a transmission has ended */
        rc = chan_output(exempt_first ? w->chan : w->clean, now + l->bias, out);
    emu_link_tell(l, dir);
    if (rc == 1) {
        out->due -= l->bias;
        out->entered -= l->bias;
        out->air_start -= l->bias;
        out->air_end -= l->bias;
    }
    return rc;
}

void emu_link_sent(struct emu_link *l, int dir, const struct chan_out *out, tick now)
{
    struct emu_direction *w = &l->directions[dir];
    tick late = now > out->due ? now - out->due : 0;
    emu_late_add(&w->late, late);
    emu_pace_frame(l->pace, late);
    w->sent_bytes += out->len;
    if (late <= l->tolerance)
        return;
    w->late_beyond++;
    log_out(l, dir, out, "late", late);
}

void emu_link_unsent(struct emu_link *l, int dir, const struct chan_out *out, int error)
{
    struct emu_direction *w = &l->directions[dir];
    w->send_failed++;
    w->send_error = error;
    log_out(l, dir, out, "send", EVENT_NONE);
}

void emu_link_flush(struct emu_link *l, tick now)
{
    struct log_writer *const all[] = {l->drops, l->before, l->after};
    if (now < l->flushed + FLUSH_NS)
        return;
    l->flushed = now;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] != NULL)
            log_writer_flush(all[i]);
    }
}

tick emu_link_flush_due(const struct emu_link *l)
{
    struct log_writer *const all[] = {l->drops, l->before, l->after};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] != NULL && log_writer_pending(all[i]))
            return l->flushed + FLUSH_NS;
    }
    return TICK_NEVER;
}

void emu_link_end(struct emu_link *l, tick at)
{
    assert(!l->closed);
    l->closing = at;
}

void emu_link_close(struct emu_link *l, tick at)
{
    assert(!l->closed && at <= l->closing && at != TICK_NEVER);
    l->closed = true;
    l->closing = at;
}

void emu_link_was_swept(struct emu_link *l, tick now, bool something)
{
    assert(l->closed);
    if (l->sweep_began == 0)
        l->sweep_began = now;
    if (l->swept == TICK_NEVER && (!something || now > l->sweep_began + SWEEP_MAX))
        l->swept = now;
}

tick emu_link_drain(const struct emu_link *l)
{
    const struct emu_settings *s = l->settings;
    return s->drain == EMU_DRAIN_AUTO ? emu_settings_delay_max(s, l->delay_told) : s->drain;
}

bool emu_link_drained(const struct emu_link *l)
{
    if (!l->closed || l->swept == TICK_NEVER)
        return false;
    tick due = emu_link_deadline(l);
    return due == TICK_NEVER || due > tick_add(l->closing, emu_link_drain(l));
}

tick emu_link_wake(const struct emu_link *l, tick last)
{
    if (!l->closed)
        return last;
    return l->swept == TICK_NEVER ? 0 : TICK_NEVER;
}

/* All that is inside; the writer is waited for, since nothing else is to be done any more. */
static void end_direction(struct emu_link *l, int dir)
{
    struct emu_direction *w = &l->directions[dir];
    struct chan_fate fate;
    if (w->clean == NULL)
        return;
    chan_end(w->clean);
    chan_end(w->chan);
    for (uint64_t n = 1; l->drops != NULL && chan_fate(w->chan, &fate) == 1; n++) {
        log_fate(l, dir, &fate);
        if (n % ROWS_AT_ONCE == 0)
            (void)log_writer_sync(l->drops, WRITE_MS_MAX);
    }
}

void emu_link_finish(struct emu_link *l)
{
    end_direction(l, EMU_FORWARD);
    end_direction(l, EMU_RETURN);
    struct log_writer *const all[] = {l->drops, l->before, l->after};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] != NULL)
            log_writer_finish(all[i]);
    }
}

int emu_link_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, SIGUSR1, 0}, NULL);
}

void emu_link_hurry(struct emu_link *l)
{
    const struct emu_settings *s = l->settings;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    bool realtime = s->realtime && priority_realtime(true) == 0;
    emu_pace_init(l->pace, s->batch, realtime, clock_now());
    l->pace->cpu = clock_cpu_thread();
}

void emu_link_turn(struct emu_link *l, tick now)
{
    struct emu_pace *p = l->pace;
    bool before = p->realtime;
    if (!emu_pace_over(p, now))
        return;
    emu_pace_judge(p, now, clock_cpu_thread());
    if (p->realtime != before)
        (void)priority_realtime(p->realtime);
}

tick emu_link_release(const struct emu_link *l)
{
    return tick_max(emu_link_deadline(l), tick_add(l->released, l->pace->batch));
}

void emu_link_was_read(struct emu_link *l, tick now, bool something)
{
    /* without batches nothing waits */
    bool wait = something && l->pace->batch > 0;
    l->read_due = wait ? tick_add(now, emu_pace_read(l->pace, l->delay_min)) : TICK_NEVER;
}
