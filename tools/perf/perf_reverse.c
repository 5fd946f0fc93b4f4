/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: the request is sent, and repeated until an answer arrives, then with the number
 * in the answer, until the server sends. Bundles are accepted and acknowledged. The end message has
 * their number. The run is finished when all of them are here and the node has the last
 * acknowledgement. What can go wrong: no answer; the server refuses; the server stops sending.
 */
#include "tools/perf/perf_reverse.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/perf_request.h"

#define ASK_PAUSE TICK_S   /* doubles with each repetition */
#define STOP_LINGER TICK_S /* Ctrl-C: how long the server's end is waited for */

static_assert(PERF_HEAD + PERF_REQUEST_LEN <= sizeof((struct perf_ack *)0)->payload,
              "a request goes as acknowledgements do");

static void on_turned(void *context);
static void on_answered(void *context, const struct perf_head *h);
static void take_turn(struct perf_reverse *r);

static void on_alarm(void *context)
{
    struct perf_reverse *r = context;
    if (!r->over && r->begun)
        take_turn(r);
}

int perf_reverse_init(struct perf_reverse *r, struct world *w, const struct perf_options *o,
                      const uint64_t seed[2])
{
    *r = (struct perf_reverse){.options = o};
    alarm_init(&r->alarm, w, ALARM_APP, on_alarm, r);
    int rc = perf_server_init(&r->server, w, o, seed);
    r->server.quiet = true;
    r->server.only = seed[1] != 0 ? seed[1] : 1;
    r->server.turned = on_turned;
    r->server.answered = on_answered;
    r->server.turned_context = r;
    return rc;
}

void perf_reverse_fini(struct perf_reverse *r)
{
    perf_server_fini(&r->server);
    alarm_fini(&r->alarm);
    free(r->lines);
    if (r->csv != NULL)
        (void)fclose(r->csv);
}

/* ---- the end ---- */

static void finish_run(struct perf_reverse *r, tick now)
{
    assert(!r->over);
    r->over = true;
    if (r->begun && r->options->interval > 0 && now > r->start + r->last.to)
        perf_reverse_line(r, now);
    alarm_set(&r->alarm, TICK_NEVER);
    perf_server_stop(&r->server); /* calls on_server_done */
}

static void fail_run(struct perf_reverse *r, tick now)
{
    r->failed = true;
    fprintf(stderr, "helio-perf: %s\n", r->why);
    finish_run(r, now);
}

static void on_server_done(void *context)
{
    struct perf_reverse *r = context;
    void (*done)(void *) = r->done;
    if (!r->over) { /* the node is gone, or was never there */
        r->over = true;
        r->failed = true;
        alarm_set(&r->alarm, TICK_NEVER);
    }
    r->done = NULL;
    if (done != NULL)
        done(r->context);
}

/* ---- asking ---- */

static void ask_server(struct perf_reverse *r, uint32_t flags)
{
    uint8_t out[PERF_HEAD + PERF_REQUEST_LEN], body[PERF_REQUEST_LEN];
    perf_request_write(r->options, body);
    const struct perf_body sum = perf_body_of(slice_of(body, sizeof body));
    const struct perf_head h = {.kind = PERF_REQUEST,
                                .flags = flags,
                                .session = r->server.only,
                                .seq = r->echo,
                                .time = world_wall(r->server.link.world)};
    size_t len = perf_write(&h, &sum, out);
    memcpy(out + len, body, sizeof body);
    (void)perf_server_push(&r->server, r->options->destination, slice_of(out, len + sizeof body));
}

/* The server verifies our source address: the first time we repeat the request at once; later (its
 * process may be another one) at the regular time. */
static void take_echo(struct perf_reverse *r, uint64_t echo)
{
    r->echo = echo;
    if (r->known)
        return;
    r->known = true;
    r->waits_from = r->ask_at = world_now(r->server.link.world);
}

static void on_answered(void *context, const struct perf_head *h)
{
    struct perf_reverse *r = context;
    tick now = world_wall(r->server.link.world);
    if (r->over || r->answered || r->failed)
        return;
    if (h->total == PERF_ECHO) {
        take_echo(r, h->seq);
        return;
    }
    r->answered = true;
    if (h->time <= now) {
        r->have_clocks = true;
        r->clock_low = (int64_t)(h->offset - now);
        r->clock_high = (int64_t)(h->offset - h->time);
    }
    if (h->total == PERF_GOES)
        return;
    r->failed = true; /* processed in the turn of this delivery */
    snprintf(r->why, sizeof r->why, "%.100s does not send: %s", r->options->destination,
             perf_answer_text(h->total));
}

static void open_csv(struct perf_reverse *r)
{
    const char *path = r->options->csv;
    if (path == NULL)
        return;
    r->csv = fopen(path, "we");
    if (r->csv == NULL) {
        snprintf(r->why, sizeof r->why, "--csv %.100s: %s", path, strerror(errno));
        r->failed = true;
        return;
    }
    fputs("start_s,end_s,bundles,bytes,bps\n", r->csv);
}

static void begin_run(struct perf_reverse *r, tick now)
{
    r->begun = true;
    r->start = r->waits_from = r->ask_at = r->asked = now;
    r->ask_pause = ASK_PAUSE;
    r->end_at = TICK_NEVER;
    r->next_line = r->options->interval > 0 ? now + r->options->interval : TICK_NEVER;
    open_csv(r);
}

/* ---- turns ---- */

/* All is here and acknowledged. */
static bool is_complete(const struct perf_reverse *r, const struct perf_session *s)
{
    const struct perf_server *p = &r->server;
    return s != NULL && perf_session_whole(s) && p->len == 0 && p->link.rx != NULL &&
           !aap2_client_queued(p->link.rx);
}

/* The time after which nothing more is expected. */
static tick silent_at(const struct perf_reverse *r, const struct perf_session *s)
{
    tick linger = r->options->linger;
    if (s == NULL)
        return tick_add(r->waits_from, linger);
    bool longer = !s->ended && linger < PERF_REVERSE_SILENCE;
    return tick_add(s->heard, longer ? PERF_REVERSE_SILENCE : linger);
}

/* When the server must hear from us again. In window mode acknowledgements do that. */
static tick alive_at(const struct perf_reverse *r, const struct perf_session *s)
{
    bool told = r->options->window > 0 || s == NULL || s->ended || r->interrupted;
    return told ? TICK_NEVER : tick_min(r->ask_at, tick_add(r->asked, PERF_REQUEST_ALIVE));
}

static void give_up(struct perf_reverse *r, const struct perf_session *s, tick now)
{
    const char *to = r->options->destination;
    if (s != NULL && s->ended) { /* the result shows what is missing */
        finish_run(r, now);
        return;
    }
    if (s != NULL)
        snprintf(r->why, sizeof r->why, "%.100s sends no more, and did not say that it is done",
                 to);
    else if (r->answered)
        snprintf(r->why, sizeof r->why, "nothing of what %.100s sends comes", to);
    else if (r->server.acks_refused > 0)
        snprintf(r->why, sizeof r->why, "the node refuses the request to %.100s", to);
    else
        snprintf(
            r->why, sizeof r->why,
            "no answer from %.100s: is a server registered there that knows --reverse, and has "
            "its node a route back?",
            to);
    fail_run(r, now);
}

static void take_turn(struct perf_reverse *r)
{
    tick now = world_now(r->server.link.world);
    const struct perf_session *s = perf_server_session(&r->server);
    if (r->failed) {
        fail_run(r, now);
        return;
    }
    if (is_complete(r, s) || now >= r->end_at) {
        finish_run(r, now);
        return;
    }
    if (now >= silent_at(r, s)) {
        give_up(r, s, now);
        return;
    }
    if (now >= r->ask_at && s == NULL && !r->answered && !r->interrupted) {
        ask_server(r, 0);
        r->asked = now;
        r->ask_at = tick_add(now, r->ask_pause);
        r->ask_pause *= 2;
    }
    if (now >= alive_at(r, s)) {
        ask_server(r, 0);
        r->asked = now;
        r->ask_at = TICK_NEVER;
    }
    if (now >= r->next_line) {
        perf_reverse_line(r, now);
        r->next_line = tick_add(now, r->options->interval);
    }
    tick wake = tick_min(tick_min(silent_at(r, s), r->next_line), r->end_at);
    wake = tick_min(wake, alive_at(r, s));
    if (s == NULL && !r->answered && !r->interrupted)
        wake = tick_min(wake, r->ask_at);
    alarm_set(&r->alarm, wake > now ? wake : now + TICK_US);
}

static void on_turned(void *context)
{
    struct perf_reverse *r = context;
    if (r->over || !r->server.begun)
        return;
    if (!r->begun)
        begin_run(r, world_now(r->server.link.world));
    take_turn(r);
}

void perf_reverse_start(struct perf_reverse *r, void (*done)(void *context), void *context)
{
    r->done = done;
    r->context = context;
    perf_server_start(&r->server, on_server_done, r);
}

void perf_reverse_interrupt(struct perf_reverse *r)
{
    tick now = world_now(r->server.link.world);
    if (r->over)
        return;
    bool again = r->interrupted;
    r->interrupted = true;
    if (!r->begun || again) {
        finish_run(r, now);
        return;
    }
    ask_server(r, PERF_STOP);
    r->end_at = tick_add(now, STOP_LINGER);
    take_turn(r);
}

bool perf_reverse_good(const struct perf_reverse *r)
{
    const struct perf_session *s = perf_server_session(&r->server);
    return r->begun && !r->failed && (r->interrupted || (s != NULL && perf_session_whole(s)));
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void perf_reverse_check(const struct perf_reverse *r)
{
    perf_server_check(&r->server);
    assert(r->server.only != 0 && r->server.senders.len == 0);
    assert(r->lines_len <= r->lines_cap);
    assert(!r->answered || r->begun);
}
