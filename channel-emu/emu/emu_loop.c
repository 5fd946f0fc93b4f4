/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: release due frames, read received frames (with their time of arrival), sleep until the
 * next frame is due, or a batch after the last ones. While frames arrive the sockets are read at
 * intervals: the kernel keeps the time of arrival, so nothing is lost, and a wake-up serves several
 * frames.
 *
 * Frames for a shared transmitter are collected from all sockets and passed on in order of arrival.
 * Frames that arrived while the sockets were read, or after the last one read from a socket that
 * may have more, wait for the next time, because a socket may have earlier ones. What can go wrong:
 * memory for a channel or a flow ends the run.
 */
#include "channel-emu/emu/emu_loop.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/process/signals.h"

#define SOCKETS_FROM 2  /* among what is waited for: behind signals and control */
#define TURNS_MAX 1000u /* for one change, should the kernel's stamps not come to its time */

#define for_each_relay(loop, r)                                                                    \
    for (struct emu_relay *r = (loop)->at; r < (loop)->at + (loop)->count; r++)

static struct emu_link *head_of(struct emu_loop *loop)
{
    return &loop->at[0].link;
}

/* Passes collected frames with arrival times up to `until` to the channels. */
static int unstage_frames(struct emu_loop *loop, tick until)
{
    struct emu_stage *s = &loop->stage;
    int rc = 0;
    if (s->count == 0)
        return 0;
    size_t n = emu_stage_sort(s, until);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct emu_staged *f = &s->frame[i];
        rc = emu_link_input(&loop->at[f->link].link, f->dir, s->bytes + f->at, f->len, f->tag,
                            f->ecn, f->arrival);
    }
    emu_stage_drop(s, n);
    return rc;
}

/* Returns whether frames arrived, or an error. */
static int read_all(struct emu_loop *loop)
{
    int sum = 0;
    loop->whole = clock_now();
    for_each_relay(loop, r)
    {
        int rc = emu_relay_read_all(r);
        if (rc < 0)
            return rc;
        sum += rc;
    }
    bool over = head_of(loop)->swept != TICK_NEVER; /* all new frames are refused: none waits */
    int rc = unstage_frames(loop, over ? TICK_NEVER : loop->whole);
    return rc < 0 ? rc : sum > 0 || loop->stage.count > 0;
}

/* Of the sockets that have something. */
static int read_ready(struct emu_loop *loop, int n)
{
    int sum = 0;
    if (loop->shares)
        return read_all(loop);
    for (int i = SOCKETS_FROM; i < n; i++) {
        int rc = loop->wait[i].revents == 0
                     ? 0
                     : emu_relay_read(&loop->at[loop->whose[i]], loop->wait[i].fd);
        if (rc < 0)
            return rc;
        sum += rc;
    }
    return sum > 0;
}

static void count_all(struct emu_loop *loop)
{
    for_each_relay(loop, r) emu_relay_count(r);
}

static void take_signal(struct emu_loop *loop, FILE *say)
{
    int number = signals_take(loop->signal_fd);
    if (number == 0)
        return;
    if (number != SIGUSR1) {
        loop->stop = true;
        return;
    }
    count_all(loop);
    loop->face.report(loop, say);
}

/* Memory for all sockets. */
static int make_room(struct emu_loop *loop)
{
    size_t need = SOCKETS_FROM;
    for_each_relay(loop, r) need += 1 + r->flows.top;
    if (need <= loop->wait_cap)
        return 0;
    need *= 2;
    struct pollfd *wait = realloc(loop->wait, need * sizeof *wait);
    loop->wait = wait != NULL ? wait : loop->wait;
    size_t *whose = wait == NULL ? NULL : realloc(loop->whose, need * sizeof *whose);
    if (whose == NULL)
        return HELIO_ENOMEM;
    loop->whose = whose;
    loop->wait_cap = need;
    return 0;
}

static nfds_t add_sockets(struct emu_loop *loop, struct emu_relay *r, nfds_t n)
{
    if (r->listen_fd < 0)
        return n;
    loop->whose[n] = r->index;
    loop->wait[n++] = (struct pollfd){.fd = r->listen_fd, .events = POLLIN};
    for (unsigned i = 0; i < r->flows.top; i++) {
        if (!r->flows.at[i].used || r->flows.at[i].fd == r->listen_fd)
            continue;
        loop->whose[n] = r->index;
        loop->wait[n++] = (struct pollfd){.fd = r->flows.at[i].fd, .events = POLLIN};
    }
    return n;
}

/* Waits for the time, a signal, or (unless nothing but the time matters) datagrams. Fills in the
 * sockets that have something. */
static int wait_until(struct emu_loop *loop, tick until, bool sockets)
{
    nfds_t n = 0;
    if (make_room(loop) < 0)
        return HELIO_ENOMEM;
    loop->wait[n++] = (struct pollfd){.fd = loop->signal_fd, .events = POLLIN};
    loop->wait[n++] = (struct pollfd){.fd = loop->control.fd, .events = POLLIN}; /* < 0: ignored */
    if (sockets) {
        for_each_relay(loop, r) n = add_sockets(loop, r, n);
    }
    int rc = clock_poll(loop->wait, n, until);
    return rc <= 0 ? rc : (int)n;
}

static void let_out(struct emu_loop *loop)
{
    tick now = clock_now();
    for_each_relay(loop, r)
    {
        for (int dir = 0; dir < 2; dir++) {
            if (emu_link_due(&r->link, dir) <= now)
                emu_relay_let_out(r, dir);
        }
    }
}

/* All that arrived until then, however much lies in the sockets: frames leave meanwhile, and what
 * arrived until they did so last has been read, too, unless that is too much at once. */
static int read_until(struct emu_loop *loop, tick until)
{
    int rc = read_all(loop);
    for (unsigned i = 1; i < TURNS_MAX && rc >= 0 && loop->whole < until; i++) {
        let_out(loop);
        rc = read_all(loop);
    }
    return rc;
}

/* What arrived before a change meets the link as it was. */
static int take_control(struct emu_loop *loop, FILE *say)
{
    int served = 1;
    for (int i = 0; i < EMU_CONTROL_BURST && served > 0; i++) {
        let_out(loop);
        tick asked = clock_now();
        int rc = read_until(loop, asked);
        rc = rc < 0 ? rc : unstage_frames(loop, asked); /* should the turns not have sufficed */
        if (rc < 0)
            return rc;
        count_all(loop);
        served = emu_control_serve(&loop->control, loop->face.obey, loop->face.whom, asked, say);
    }
    return served < 0 ? served : 0;
}

static int read_sockets(struct emu_loop *loop, bool look, int n, tick now)
{
    struct emu_link *head = head_of(loop);
    bool sweep = head->closed && head->swept == TICK_NEVER;
    if (sweep) {
        n = read_all(loop);
        for_each_relay(loop, r) emu_link_was_swept(&r->link, now, n > 0);
        if (n >= 0 && head->swept != TICK_NEVER) {
            int rc = unstage_frames(loop, TICK_NEVER);
            n = rc < 0 ? rc : n;
        }
    } else if (look ? n > SOCKETS_FROM || loop->stage.count > 0 : now >= head->read_due) {
        n = look && n > SOCKETS_FROM ? read_ready(loop, n) : read_all(loop);
        emu_link_was_read(head, now, n > 0);
    }
    return n;
}

/* Sleeps once, lets out what is due, and reads when it is time to. */
static int serve_side(struct emu_loop *loop, tick until, FILE *say)
{
    struct emu_link *head = head_of(loop);
    bool look = head->read_due == TICK_NEVER; /* arrivals wake us */
    int n = wait_until(loop, until, look);
    if (n > 0 && loop->wait[0].revents != 0)
        take_signal(loop, say);
    if (n > 0 && loop->wait[1].revents != 0) {
        int rc = take_control(loop, say);
        if (rc < 0)
            return rc;
    }
    let_out(loop);
    tick now = clock_now();
    if (n >= 0)
        n = read_sockets(loop, look, n, now);
    for_each_relay(loop, r) emu_link_flush(&r->link, now);
    emu_link_turn(head, now);
    return n < 0 ? n : 0;
}

static bool is_drained(const struct emu_loop *loop)
{
    bool drained = loop->stage.count == 0;
    for_each_relay(loop, r) drained = drained && emu_link_drained(&r->link);
    return drained;
}

/* After a stop request or the end of the duration no more frames are accepted. A second signal
 * drops the frames inside. Returns whether the loop continues. */
static bool goes_on(struct emu_loop *loop, tick last, FILE *say)
{
    tick now = clock_now();
    if (!head_of(loop)->closed && (loop->stop || now >= last)) {
        for_each_relay(loop, r)
        {
            emu_link_close(&r->link, tick_min(now, last));
            emu_report_drain(&r->link, say);
        }
        loop->stop = false;
    }
    return !loop->stop && !is_drained(loop);
}

static int end_loop(struct emu_loop *loop, int rc, FILE *say)
{
    if (rc < 0)
        fprintf(say, "helio-emu: the relay ends: %s\n", helio_strerror(rc));
    else
        rc = unstage_frames(loop, TICK_NEVER);
    count_all(loop);
    for_each_relay(loop, r)
    {
        r->link.ended = rc < 0;
        emu_link_finish(&r->link);
    }
    return rc;
}

/* Time until which only new arrivals need work. */
static tick sleep_until(struct emu_loop *loop, tick last)
{
    struct emu_link *head = head_of(loop);
    tick due = TICK_NEVER, flush = TICK_NEVER, batch = tick_add(head->released, head->pace->batch);
    for_each_relay(loop, r)
    {
        due = tick_min(due, emu_link_deadline(&r->link));
        flush = tick_min(flush, emu_link_flush_due(&r->link));
    }
    due = tick_max(due, batch);
    if (loop->stage.count > 0 && head->read_due == TICK_NEVER)
        return 0;
    return tick_min(tick_min(due, flush), tick_min(head->read_due, emu_link_wake(head, last)));
}

int emu_loop_run(struct emu_loop *loop, FILE *say)
{
    const struct emu_settings *o = loop->run;
    struct emu_link *head = head_of(loop);
    tick last = o->duration == 0 ? TICK_NEVER : tick_add(head->started, o->duration);
    tick stats = o->stats == 0 ? TICK_NEVER : head->started + o->stats;
    for_each_relay(loop, r) emu_link_end(&r->link, last);
    while (goes_on(loop, last, say)) {
        int rc = serve_side(loop, tick_min(sleep_until(loop, last), stats), say);
        if (rc < 0)
            return end_loop(loop, rc, say);
        if (clock_now() >= stats) {
            count_all(loop);
            loop->face.line(loop, say);
            stats += o->stats;
        }
    }
    return end_loop(loop, 0, say);
}

/* Signals are blocked before the threads of the outputs begin, which inherit that. */
int emu_loop_init(struct emu_loop *loop, const struct emu_settings *run, size_t count, FILE *say)
{
    *loop = (struct emu_loop){.run = run, .control = {.fd = -1}};
    loop->signal_fd = emu_link_signals();
    loop->at = calloc(count, sizeof *loop->at);
    loop->receiver = udp_receiver_new();
    loop->sender = udp_sender_new();
    if (loop->at != NULL && loop->signal_fd >= 0 && loop->receiver != NULL && loop->sender != NULL)
        return 0;
    fprintf(say, "helio-emu: out of memory or descriptors\n");
    return HELIO_ENOMEM;
}

/* One clock, and the shortest delay of all, by which the sockets are read. */
static void join_clocks(struct emu_loop *loop)
{
    struct emu_link *head = head_of(loop);
    for_each_relay(loop, r)
    {
        head->bias = r->link.bias != 0 ? r->link.bias : head->bias;
        head->delay_min = tick_min(head->delay_min, r->link.delay_min);
    }
    emu_link_hurry(head);
    head->started = clock_now();
    for_each_relay(loop, r)
    {
        r->link.started = head->started;
        r->link.epoch = head->epoch;
        r->link.bias = head->bias == 0 ? 0 : head->epoch;
        r->link.pace = head->pace;
    }
}

int emu_loop_begin(struct emu_loop *loop, FILE *say)
{
    assert(loop->count > 0);
    int rc = emu_control_open(&loop->control, loop->run->control, say);
    if (rc < 0)
        return rc;
    (void)udp_receiver_settle(loop->receiver); /* before the program reports that it is ready */
    join_clocks(loop);
    return 0;
}

void emu_loop_fini(struct emu_loop *loop)
{
    for (size_t i = 0; i < loop->count; i++)
        emu_relay_fini(&loop->at[i]);
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    emu_control_close(&loop->control);
    emu_stage_fini(&loop->stage);
    udp_receiver_free(loop->receiver);
    udp_sender_free(loop->sender);
    free(loop->wait);
    free(loop->whose);
    free(loop->at);
}
