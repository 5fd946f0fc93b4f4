/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: bundles are given to the node while window or rate permit; the node confirms
 * each in order; the server's acknowledgements arrive as bundles; after the last one the server is
 * asked for its counts. What can go wrong: an acknowledgement is lost (perf_window.c); the node
 * refuses a bundle (it is repeated a little later); the node ends (bundles that it had not
 * confirmed are given to its next run).
 */
#include "tools/perf/perf_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"

#define GIVEN_MAX 4096 /* bundles that the node has not confirmed, in rate mode */
#define BIG_BODY 65536 /* from here on bundles are written one by one */
#define REFUSED_PAUSE (50 * TICK_MS)
#define REFUSED_MAX (30 * TICK_S) /* fail after nothing but refusals for so long */
#define LATE_MAX (100 * TICK_MS)  /* rate mode: what is made good of a delay of ours */
#define INITIAL_TIMEOUT (60 * TICK_S)
#define INTERRUPT_LINGER TICK_S
#define WAITING_TOLD TICK_S /* a wait at the end that is longer is said */
/* Between bundles: 292 years; a tick holds any sum of two. */
#define INTERVAL_MAX ((tick)INT64_MAX)

static int fifo_init(struct perf_fifo *f, size_t cap)
{
    *f = (struct perf_fifo){.at = calloc(cap, sizeof *f->at), .cap = cap};
    return f->at != NULL ? 0 : HELIO_ENOMEM;
}

static void fifo_push(struct perf_fifo *f, uint64_t v)
{
    f->at[(f->first + f->len++) % f->cap] = v;
}

static uint64_t fifo_pop(struct perf_fifo *f)
{
    uint64_t v = f->at[f->first];
    f->first = (f->first + 1) % f->cap;
    f->len--;
    return v;
}

static void on_ready(void *context);

int perf_client_init(struct perf_client *c, struct world *w, const struct perf_options *o,
                     const uint64_t seed[2])
{
    *c = (struct perf_client){.options = o, .session = seed[0]};
    hist_init(&c->delay);
    perf_link_init(&c->link, w, o, seed[1], 64, 1 << 20, on_ready, c);
    alarm_init(&c->alarm, w, ALARM_APP, on_ready, c);
    tick most = tick_min(o->lifetime_ms, TICK_NEVER / TICK_MS) * TICK_MS;
    size_t cap = (o->window > 0 ? o->window : GIVEN_MAX) + 16;
    int rc = perf_window_init(&c->window, o->window > 0 ? o->window : 1, o->ack_timeout,
                              tick_min(most, INITIAL_TIMEOUT), most);
    rc = rc == 0 ? fifo_init(&c->given, cap) : rc;
    rc = rc == 0 ? fifo_init(&c->again, cap) : rc;
    if (rc != 0)
        snprintf(c->link.why, sizeof c->link.why, "%s", helio_strerror(rc));
    return rc != 0 ? rc : perf_source_init(&c->source, o, c->session, c->link.why);
}

void perf_client_fini(struct perf_client *c)
{
    perf_link_fini(&c->link);
    alarm_fini(&c->alarm);
    perf_source_fini(&c->source);
    perf_window_fini(&c->window);
    free(c->given.at);
    free(c->again.at);
    free(c->intervals);
    if (c->csv != NULL)
        (void)fclose(c->csv);
}

uint64_t perf_client_missing(const struct perf_client *c)
{
    uint64_t there = c->window.acked; /* in rate mode none; the node's confirmation is no arrival */
    if (c->have_report && (c->options->window == 0 || c->report.bundles > there))
        there = c->report.bundles;
    return there < c->next ? c->next - there : 0;
}

/* A repeated question for the end requests status reports: they show how far bundles get. */
static struct aap2_adu make_adu(const struct perf_client *c, uint64_t seq)
{
    bool asks = seq == PERF_SEQ_END && c->ends > 0 && c->options->report_to == NULL;
    return (struct aap2_adu){.destination = c->options->destination,
                             .lifetime_ms = c->options->lifetime_ms,
                             .crc_type = c->options->crc,
                             .priority = c->options->priority,
                             .ordinal = c->options->ordinal,
                             .flags = c->options->flags | (asks ? BUNDLE_TIMED_REPORTS : 0),
                             .report_to = c->options->report_to};
}

/* Gives bundle `seq` to the node. */
static bool give_bundle(struct perf_client *c, uint64_t seq, size_t *body_len)
{
    uint8_t out[AAP2_HEAD_MAX];
    struct aap2_adu adu = make_adu(c, seq);
    if (seq == PERF_SEQ_END)
        perf_source_end(&c->source, c->next, world_wall(c->link.world), out, &adu.head);
    else
        perf_source_bundle(&c->source, seq, world_wall(c->link.world), out, &adu.head, &adu.body);
    if (aap2_client_send(c->link.tx, &adu) != 0)
        return false;
    fifo_push(&c->given, seq);
    *body_len = adu.head.len + adu.body.len;
    return true;
}

/* Tells the monitor that all was sent. */
static void tell_monitor(struct perf_client *c)
{
    uint8_t out[AAP2_HEAD_MAX];
    struct aap2_adu adu = {.destination = c->options->report_to,
                           .lifetime_ms = c->options->lifetime_ms};
    if (c->ends_told || c->options->report_to == NULL || c->given.len == c->given.cap)
        return;
    perf_source_end(&c->source, c->next, world_wall(c->link.world), out, &adu.head);
    if (aap2_client_send(c->link.tx, &adu) != 0)
        return;
    fifo_push(&c->given, PERF_SEQ_END);
    c->ends_told = true;
}

/* The rate at a time. */
static double find_rate(const struct perf_client *c, tick now)
{
    const struct perf_options *o = c->options;
    double share = o->time > 0 ? (double)(now - c->start) / (double)o->time : 0;
    return o->ramp > 0 ? o->rate + (o->ramp - o->rate) * (share < 1 ? share : 1) : o->rate;
}

static tick interval(const struct perf_client *c, size_t bytes, tick now)
{
    double per_s = find_rate(c, now) / (c->options->rate_in_bundles ? 1 : 8 * (double)bytes);
    double ns = 1e9 / per_s; /* of a bundle of 16 MiB at 0.001 bit/s more than a tick holds */
    return ns < (double)INTERVAL_MAX ? (tick)ns : INTERVAL_MAX;
}

static bool may_send_new(const struct perf_client *c, tick now)
{
    if (c->phase != PERF_SENDING || c->next >= c->source.count)
        return false;
    return c->options->window > 0 ? perf_window_open(&c->window) : now >= c->next_send;
}

static void send_new(struct perf_client *c, tick now, size_t *len)
{
    if (!give_bundle(c, c->next, len))
        return;
    c->next++;
    c->sent_bytes += *len;
    c->send_end = now;
    if (c->options->window > 0) {
        (void)perf_window_sent(&c->window, (uint32_t)*len, now);
        return;
    }
    tick earliest = now > LATE_MAX ? now - LATE_MAX : 0;
    c->next_send =
        tick_add(c->next_send > earliest ? c->next_send : earliest, interval(c, *len, now));
}

/* Gives the node what may go now. */
static void pump_window(struct perf_client *c, tick now)
{
    while (c->link.tx != NULL && !aap2_client_full(c->link.tx) && c->given.len + 8 < c->given.cap) {
        size_t len = 0;
        if (c->again.len > 0 && now >= c->again_at) {
            uint64_t seq = fifo_pop(&c->again);
            c->resent++;
            (void)give_bundle(c, seq, &len);
        } else if (c->again.len == 0 && may_send_new(c, now)) {
            send_new(c, now, &len);
        } else {
            break;
        }
        if (len == 0)
            break;
        if (len >= BIG_BODY && aap2_client_flush(c->link.tx) != 0)
            break;
        if (len >= BIG_BODY && aap2_client_queued(c->link.tx))
            break;
    }
}

/* Sends again, in the same order, all bundles that the node has not confirmed. The question for the
 * end has its own timer. */
static void requeue_lost(struct perf_client *c)
{
    struct perf_fifo all = {0};
    if (fifo_init(&all, c->given.cap) != 0) {
        c->failed = true;
        c->phase = PERF_DONE;
        return;
    }
    struct perf_fifo *from[2] = {&c->given, &c->again};
    for (int i = 0; i < 2; i++) {
        while (from[i]->len > 0) {
            uint64_t seq = fifo_pop(from[i]);
            if (seq != PERF_SEQ_END)
                fifo_push(&all, seq);
        }
    }
    free(c->again.at);
    c->again = all;
    c->again_at = 0;
}

static void fail_client(struct perf_client *c)
{
    c->failed = true;
    c->phase = PERF_DONE;
    fprintf(stderr, "helio-perf: %s\n", c->link.why);
}

static void lost_link(struct perf_client *c, int error, tick now)
{
    perf_link_lost(&c->link, error, now);
    if (c->interrupted) /* both were stopped by the user: this is no failure */
        c->phase = PERF_DONE;
    else
        requeue_lost(c);
}

static void refused(struct perf_client *c, uint64_t seq, const char *text, tick now)
{
    if (seq == PERF_SEQ_END)
        return;
    perf_hint_refused(&c->hint, text);
    if (c->hint.refused == 1 || c->refused_since == 0)
        c->refused_since = now;
    fifo_push(&c->again, seq);
    c->again_at = now + REFUSED_PAUSE;
    if (now - c->refused_since < REFUSED_MAX && (c->confirmed > 0 || c->hint.refused < 20))
        return;
    snprintf(c->link.why, sizeof c->link.why, "the node refuses the bundles: %.220s",
             *text != '\0' ? text : "no reason given");
    fail_client(c);
}

/* The node's answers to what it was given. */
static int read_answers(struct perf_client *c, tick now)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(c->link.tx, &a)) == 1) {
        if (a.response == NULL || c->given.len == 0) {
            aap2_arrival_fini(&a);
            return HELIO_EFORMAT;
        }
        uint64_t seq = fifo_pop(&c->given);
        if (a.response->response_status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS) {
            refused(c, seq, a.response->text, now);
        } else if (seq != PERF_SEQ_END) {
            c->confirmed++;
            c->refused_since = 0;
            c->quiet_until = now + c->options->linger;
        }
        aap2_arrival_fini(&a);
    }
    return rc;
}

static void take_report(struct perf_client *c, struct slice body)
{
    struct perf_report r;
    if (!perf_parse_report(body, &r) || (c->have_report && r.bundles < c->report.bundles))
        return;
    if (c->report.detailed && !r.detailed && r.bundles == c->report.bundles)
        return;
    c->report = r;
    c->have_report = true;
}

/* Its clock was read after the question left and before the answer arrived, by our clock. */
static void compare_clocks(struct perf_client *c, tick asked, tick answered)
{
    if (!c->report.detailed || asked == 0 || answered < asked)
        return;
    c->have_clocks = true;
    c->clock_low = (int64_t)(c->report.now - answered);
    c->clock_high = (int64_t)(c->report.now - asked);
}

static void take_ack(struct perf_client *c, const struct perf_head *h, struct slice body, tick now)
{
    tick delay;
    take_report(c, body);
    if (h->seq == PERF_SEQ_END) {
        compare_clocks(c, h->time, world_wall(c->link.world));
        bool whole = c->report.bundles >= c->next;
        if (c->phase == PERF_ENDING && (whole || c->interrupted))
            c->phase = PERF_DONE;
        return;
    }
    uint64_t before = c->window.acked_bytes;
    if (c->options->window == 0 || perf_window_ack(&c->window, h->seq, now, &delay) != 1)
        return;
    c->last_ack = now;
    c->quiet_until = now + c->options->linger;
    if (now < c->measure_from)
        return;
    c->measured_bytes += c->window.acked_bytes - before;
    hist_add(&c->delay, delay);
}

static bool is_record(const struct aap2_arrival *a)
{
    return a->payload != NULL && (a->message->adu->bundle_flags & BUNDLE_IS_ADMIN) != 0;
}

static int read_acks(struct perf_client *c, tick now)
{
    struct aap2_arrival a;
    struct perf_head h;
    struct slice body;
    int rc = 0;
    while (c->phase != PERF_DONE && (rc = aap2_client_next(c->link.rx, &a)) == 1) {
        bool ours = a.payload != NULL && perf_parse(buf_slice(a.payload), &h, &body) == PERF_OK &&
                    h.kind == PERF_ACK && h.session == c->session;
        if (ours)
            take_ack(c, &h, body, now);
        else if (is_record(&a))
            (void)perf_hint_report(&c->hint, a.message->adu->src_eid, buf_slice(a.payload));
        rc = a.payload != NULL ? aap2_client_answer(c->link.rx, true) : 0;
        aap2_arrival_fini(&a);
        if (rc != 0 && (rc = aap2_client_flush(c->link.rx)) != 0)
            break;
    }
    return rc;
}

/* Everything that the two connections have for us and take from us. */
static void serve_stream(struct perf_client *c, tick now)
{
    if (c->link.tx == NULL) {
        int got = perf_link_turn(&c->link, now);
        if (got < 0)
            fail_client(c);
        if (got <= 0)
            return;
        c->quiet_until = now + c->options->linger;
    }
    int rc = read_answers(c, now);
    rc = rc == 0 ? read_acks(c, now) : rc;
    perf_window_expire(&c->window, now);
    if (rc == 0)
        pump_window(c, now);
    rc = rc == 0 ? aap2_client_flush(c->link.rx) : rc;
    rc = rc == 0 ? aap2_client_flush(c->link.tx) : rc;
    if (rc != 0 && c->phase != PERF_DONE)
        lost_link(c, rc, now);
}

static void ask_for_end(struct perf_client *c, tick now)
{
    size_t len;
    if (now < c->end_at || c->link.tx == NULL || aap2_client_full(c->link.tx) ||
        c->given.len == c->given.cap)
        return;
    if (give_bundle(c, PERF_SEQ_END, &len))
        c->ends++;
    tell_monitor(c);
    (void)aap2_client_flush(c->link.tx); /* a failure shows at the next read */
    c->end_at = now + c->end_pause;
    c->end_pause *= 2;
}

static void tell_waiting(struct perf_client *c, tick now)
{
    uint64_t n = c->options->window > 0 ? c->next - c->window.acked : c->next - c->confirmed;
    if (now < c->tell_waiting_at || c->phase == PERF_DONE)
        return;
    c->tell_waiting_at = TICK_NEVER;
    if (c->quiet)
        return;
    if (n > 0 && c->phase == PERF_DRAINING)
        fprintf(stderr, "helio-perf: waiting for %llu bundle%s (up to %.3g s)\n",
                (unsigned long long)n, n == 1 ? "" : "s", (double)c->options->linger / 1e9);
    else
        fprintf(stderr, "helio-perf: waiting for the server's account (up to %.3g s)\n",
                (double)c->options->linger / 1e9);
}

static void advance_state(struct perf_client *c, tick now)
{
    bool over = c->options->mode == PERF_MODE_TIME && now >= c->start + c->options->time;
    if (c->phase == PERF_SENDING && (over || c->next >= c->source.count)) {
        c->phase = PERF_DRAINING;
        c->quiet_until = now + c->options->linger;
        c->tell_waiting_at = now + WAITING_TOLD;
    }
    bool quiet = c->link.tx != NULL && now >= c->quiet_until;
    if (c->phase == PERF_DRAINING) {
        bool acked = c->options->window == 0 || c->window.acked == c->next;
        if (quiet || (acked && c->given.len == 0 && c->again.len == 0)) {
            c->phase = PERF_ENDING;
            c->end_at = now;
            c->end_pause = TICK_S / 2 + (tick)(2 * c->window.mean);
            c->quiet_until = now + (c->interrupted ? INTERRUPT_LINGER : c->options->linger);
            if (quiet && !c->interrupted)
                c->tell_waiting_at = now; /* as long again, for the account alone */
            quiet = false;
        }
    }
    if (c->phase == PERF_ENDING)
        ask_for_end(c, now);
    if (c->phase == PERF_ENDING && quiet)
        c->phase = PERF_DONE;
    tell_waiting(c, now);
}

static tick wake_at(const struct perf_client *c, tick now)
{
    tick t = tick_min(tick_min(c->next_progress, c->tell_waiting_at), now + TICK_S);
    if (c->link.tx == NULL)
        return tick_min(t, c->link.retry_at);
    if (c->phase == PERF_SENDING && c->options->mode == PERF_MODE_TIME)
        t = tick_min(t, c->start + c->options->time);
    if (c->phase != PERF_SENDING)
        t = tick_min(t, c->quiet_until);
    t = tick_min(t, perf_window_deadline(&c->window));
    if (aap2_client_queued(c->link.tx) || c->given.len + 8 >= c->given.cap)
        return t; /* the node's next message wakes us */
    if (c->phase == PERF_SENDING && c->options->window == 0)
        t = tick_min(t, c->next_send);
    if (c->phase == PERF_ENDING)
        t = tick_min(t, c->end_at);
    return c->again.len > 0 ? tick_min(t, c->again_at) : t;
}

static void open_csv(struct perf_client *c)
{
    const char *path = c->options->csv;
    if (path == NULL)
        return;
    c->csv = fopen(path, "we");
    if (c->csv == NULL)
        fprintf(stderr, "helio-perf: --csv %s: %s\n", path, strerror(errno));
    else
        fputs("start_s,end_s,sent,confirmed,acked,bytes,bps\n", c->csv);
    c->failed = c->failed || c->csv == NULL;
}

static void begin_run(struct perf_client *c, tick now)
{
    c->begun = true;
    open_csv(c);
    c->phase = PERF_SENDING;
    c->start = c->next_send = c->last_ack = c->send_end = now;
    c->measure_from = now + c->options->warmup;
    c->tell_waiting_at = TICK_NEVER;
    c->next_progress = c->progress ? now + c->options->interval : TICK_NEVER;
}

/* True: the run may begin. */
static bool open_link(struct perf_client *c, tick now)
{
    int rc = perf_link_turn(&c->link, now);
    if (rc < 0)
        c->phase = PERF_DONE;
    return rc >= 0 && !c->link.starting;
}

static void finish_run(struct perf_client *c)
{
    void (*done)(void *) = c->done;
    tick now = world_now(c->link.world);
    if (c->progress && c->begun && now > c->start + c->last.to)
        perf_client_progress(c, now); /* what is left of an interval */
    alarm_set(&c->alarm, TICK_NEVER);
    c->done = NULL;
    if (done != NULL)
        done(c->context);
}

/* What cannot be done now is not tried without a pause. */
static tick later(tick at, tick now)
{
    return at > now ? at : now + TICK_US;
}

/* Called when the connections have an event, and at the time that was set. */
static void take_turn(struct perf_client *c)
{
    tick now = world_now(c->link.world);
    if (c->phase == PERF_OPENING) {
        bool opened = open_link(c, now);
        if (opened)
            begin_run(c, now);
        if (c->phase != PERF_DONE) {
            alarm_set(&c->alarm, opened ? now : c->link.retry_at);
            return;
        }
    }
    if (c->phase != PERF_DONE) {
        serve_stream(c, now);
        advance_state(c, now);
    }
    if (now >= c->next_progress && c->phase != PERF_DONE) {
        perf_client_progress(c, now);
        c->next_progress = tick_add(now, c->options->interval);
    }
    if (c->phase == PERF_DONE)
        finish_run(c);
    else
        alarm_set(&c->alarm, later(wake_at(c, now), now));
}

static void on_ready(void *context)
{
    struct perf_client *c = context;
    if (c->phase != PERF_DONE)
        take_turn(c);
}

void perf_client_start(struct perf_client *c, bool progress, void (*done)(void *context),
                       void *context)
{
    c->progress = progress;
    c->done = done;
    c->context = context;
    take_turn(c);
}

void perf_client_interrupt(struct perf_client *c)
{
    if (!c->begun)
        snprintf(c->link.why, sizeof c->link.why, "stopped while waiting for the node");
    if (c->phase == PERF_DONE)
        return;
    if (c->interrupted || c->link.tx == NULL) {
        c->interrupted = true;
        c->phase = PERF_DONE;
    } else {
        c->interrupted = true;
        c->phase = PERF_DRAINING;
        c->quiet_until = world_now(c->link.world);
        c->tell_waiting_at = TICK_NEVER;
    }
    take_turn(c);
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static void fifo_check(const struct perf_fifo *f)
{
    assert(f->len <= f->cap && (f->cap == 0 || f->first < f->cap));
}

void perf_client_check(const struct perf_client *c)
{
    fifo_check(&c->given);
    fifo_check(&c->again);
    perf_window_check(&c->window);
    perf_link_check(&c->link);
    assert(c->options->window == 0 || c->next == c->window.next);
    assert(c->given.len + c->again.len <= c->given.cap);
    assert(c->confirmed <= c->next && c->window.acked <= c->next);
}
