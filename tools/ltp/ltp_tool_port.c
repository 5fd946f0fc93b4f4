/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One engine at one port. An event of the port or the alarm begins a turn: received datagrams are
 * pushed, timers expire, the user takes the notices, segments are sent as the rate permits, and the
 * alarm is set to the next deadline. While the socket is full, the engine is not asked for new
 * segments. What can go wrong: the address cannot be bound; a machine that runs late, for which the
 * token bucket has slack.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "os/clock.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/ltp/ltp_tool.h"

/* Per turn, so that both directions have theirs. */
#define TURN_BYTES (256 * 1024)
#define SOCKET_BYTES (64 * 1024 * 1024)
#define SEND_BYTES (4 * 1024 * 1024)
#define BURST (100 * TICK_US)
#define SLACK (2 * TICK_MS)
#define LATE TICK_MS  /* what is usual on a machine that has time is below */
#define FOLLOW_RTOS 3 /* a sender repeats each rto what is not answered */

static uint64_t peer_of(const struct tool *t)
{
    return t->options->peer_engine;
}

static void send_segments(struct tool *t)
{
    struct udp_io *io = t->port->io;
    uint32_t segment = t->options->span.segment_max + LTP_CHECKPOINT_EXTRA;
    uint32_t head_max = segment > LTP_HEAD_MAX ? segment : LTP_HEAD_MAX;
    uint64_t sent = 0;
    t->behind = false;
    if (!t->known || udp_pending(io))
        return;
    bucket_begin(&t->bucket, t->now);
    while (sent < TURN_BYTES && bucket_ready(&t->bucket, t->now)) {
        if (!udp_room(io, head_max) && !udp_flush(io))
            return;
        struct ltp_out out = {.head = udp_head(io, head_max), .head_cap = head_max};
        if (ltp_output(t->engine, peer_of(t), t->now, &out) == 0)
            break;
        udp_add(io, &t->to, out.head_len, out.data);
        uint64_t air = out.head_len + out.data.len + t->options->overhead;
        bucket_spend(&t->bucket, air, t->now);
        sent += air;
    }
    t->behind = udp_flush(io) && sent >= TURN_BYTES;
}

/* Is it a segment of the peer's sessions, or of one that it would like to open? */
static bool is_peers(enum verdict v)
{
    return v == VERDICT_OK || v == VERDICT_DUPLICATE || v == VERDICT_CLOSED_SESSION ||
           v == VERDICT_NO_CLIENT_SERVICE || v == VERDICT_LIMIT_BYTES ||
           v == VERDICT_LIMIT_SESSIONS;
}

/* Answers go to the source of the peer's segments. A new source replaces the former one only if no
 * segment arrived from that one for a while. */
static void follow_peer(struct tool *t, const struct address *from)
{
    bool same = t->known && address_equal(from, &t->to.address);
    bool recent = t->known && t->now - t->heard < FOLLOW_RTOS * t->options->span.rto;
    if (!same && (recent || udp_pending(t->port->io)))
        return;
    if (!same)
        t->to = (struct udp_peer){.address = *from};
    t->heard = t->now;
    if (!t->known)
        (void)ltp_link(t->engine, peer_of(t), true, t->now); /* the span exists */
    t->known = true;
}

/* Once; how many there were is in the counters. */
static void say_refused(struct tool *t, const struct address *from)
{
    char text[ADDRESS_TEXT_MAX], remote[ADDRESS_TEXT_MAX];
    if (t->refused)
        return;
    t->refused = true;
    fprintf(stderr,
            "helio-ltp: datagrams for the peer come from %s, --remote is %s: they are refused; "
            "--source any would accept them\n",
            address_write(from, text), address_write(&t->options->remote, remote));
}

static void input_datagrams(struct tool *t)
{
    struct slice datagram;
    uint8_t key[ADDRESS_KEY_MAX];
    if (!udp_fill(t->port->io, TURN_BYTES))
        return;
    while (udp_next(t->port->io, &datagram)) { /* each verdict is counted */
        const struct address *from = udp_from(t->port->io);
        enum verdict v =
            ltp_input_from(t->engine, datagram.data, datagram.len, address_key(from, key), t->now);
        if (v == VERDICT_WRONG_SOURCE)
            say_refused(t, from);
        if (t->follow && is_peers(v))
            follow_peer(t, from);
    }
}

static void end_run(struct tool *t)
{
    assert(!t->over);
    t->over = true;
    if (t->port != NULL) {
        t->count = *udp_counters(t->port->io);
        alarm_fini(&t->alarm);
        port_close(t->port, NULL, NULL);
    }
    uv_signals_close(t->signals);
    uv_world_end(t->world);
}

/* The alarm's time; received datagrams begin a turn earlier. */
static void set_alarm(struct tool *t, tick wake)
{
    bool pending = udp_pending(t->port->io);
    wake = tick_min(wake, ltp_deadline(t->engine));
    if (t->known && !pending && ltp_has_output(t->engine, peer_of(t)))
        wake = tick_min(wake, bucket_wake(&t->bucket, t->now));
    if (t->log != NULL)
        wake = tick_min(wake, t->now + TICK_S);
    if (t->behind || wake < t->now)
        wake = t->now;
    t->due = wake;
    alarm_set(&t->alarm, wake == t->now ? 0 : wake);
    port_watch(t->port, true, pending);
}

static void take_turn(struct tool *t, bool readable)
{
    t->now = world_now(t->world);
    if (t->now > tick_add(t->due, LATE)) /* no time in which the peer could have answered */
        ltp_late(t->engine, t->now - t->due);
    if (readable)
        input_datagrams(t);
    ltp_expire(t->engine, t->now);
    if (t->log != NULL && t->now - t->flushed >= TICK_S) {
        log_writer_flush(t->log->file);
        t->flushed = t->now;
    }
    do
        send_segments(t);
    while (t->user->take(t->context));
    tick wake = t->user->next(t->context);
    if (wake == TOOL_END)
        end_run(t);
    else
        set_alarm(t, wake);
}

static void on_alarm(void *context)
{
    take_turn(context, false);
}

static void on_ready(void *context, bool readable, bool writable)
{
    struct tool *t = context;
    if (writable && udp_pending(t->port->io))
        (void)udp_flush(t->port->io);
    take_turn(t, readable);
}

static void on_signal(void *context, int number)
{
    struct tool *t = context;
    (void)number;
    t->stopped = true;
    alarm_set(&t->alarm, 0);
}

void tool_run(struct tool *t, const struct tool_user *user, void *context)
{
    t->user = user;
    t->context = context;
    t->due = t->now = world_now(t->world);
    alarm_set(&t->alarm, 0);
    port_watch(t->port, true, false);
    uv_world_run(t->world);
    assert(t->over);
}

static bool drop_notices(void *context)
{
    struct tool *t = context;
    struct ltp_notice n;
    while (ltp_poll(t->engine, &n) != 0)
        buf_drop(n.data);
    return false;
}

static tick stay(void *context)
{
    const struct tool *t = context;
    bool idle = ltp_idle(t->engine) && !udp_pending(t->port->io);
    bool more = t->now < t->end && !t->stopped && (t->now < t->calm || !idle);
    return !more ? TOOL_END : idle ? tick_min(t->calm, t->end) : t->end;
}

tick tool_linger(struct tool *t, tick quiet, tick most)
{
    static const struct tool_user lingering = {drop_notices, stay};
    t->user = &lingering;
    t->context = t;
    t->calm = tick_add(t->now, quiet);
    t->end = tick_add(t->now, most);
    return stay(t);
}

static int open_engine(struct tool *t, uint32_t exports)
{
    const struct ltp_tool_options *o = t->options;
    struct ltp_config config = {
        .engine = o->engine,
        .seed = world_random(t->world),
        .held_bytes = 2 * o->block_max,
        .sink = t->log == NULL ? NULL : seglog_sink,
        .sink_context = t->log,
    };
    struct ltp_span span = o->span;
    span.peer = o->peer_engine;
    span.checkpoint_extra = udp_beyond(span.segment_max, LTP_CHECKPOINT_EXTRA);
    span.export_sessions = exports;
    span.block_max = o->block_max;
    span.idle_timeout = o->idle;
    span.confirm_import = o->receive;
    int r = ltp_new(&t->engine, &config);
    if (r == 0)
        r = ltp_service_open(t->engine, o->service);
    if (r == 0)
        r = ltp_span_set(t->engine, &span, t->now);
    uint8_t key[ADDRESS_KEY_MAX];
    if (r == 0 && t->known)
        r = ltp_source(t->engine, o->peer_engine, address_key(&o->remote, key),
                       address_check_bytes(o->source));
    if (r == 0 && t->known)
        r = ltp_link(t->engine, o->peer_engine, true, t->now);
    if (r != 0)
        fprintf(stderr, "helio-ltp: LTP engine: %s\n", helio_strerror(r));
    return r;
}

static int open_port(struct tool *t)
{
    char text[ADDRESS_TEXT_MAX];
    uint64_t rx, tx;
    const struct address *local = &t->options->local;
    int r = port_open(t->world, &t->port, local, true, on_ready, t);
    if (r != 0) {
        fprintf(stderr, "helio-ltp: --local: cannot bind %s: %s\n", address_write(local, text),
                helio_strerror(r));
        return r;
    }
    alarm_init(&t->alarm, t->world, ALARM_LINK, on_alarm, t);
    if (!udp_buffers(t->port->io, SOCKET_BYTES, SEND_BYTES, &rx, &tx) && rx < 4 * 1024 * 1024)
        fprintf(stderr,
                "helio-ltp: the receive buffer has only %llu bytes (net.core.rmem_max): bursts "
                "may be lost\n",
                (unsigned long long)rx);
    return 0;
}

static int open_log(struct tool *t)
{
    const struct ltp_tool_options *o = t->options;
    int r = o->log == NULL ? 0 : seglog_open(&t->log, o->log, o->engine, clock_offset());
    if (r != 0)
        fprintf(stderr, "helio-ltp: --log %s: %s\n", o->log, helio_strerror(r));
    return r;
}

int tool_open(struct tool *t, const struct ltp_tool_options *o, uint32_t exports)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    *t = (struct tool){.options = o, .known = address_given(&o->remote), .to.address = o->remote};
    t->follow = !t->known;
    int r = uv_world_open(&t->world);
    if (r == 0 && (t->signals = uv_signals_open(t->world, numbers, 2, on_signal, t)) == NULL)
        r = HELIO_ENOMEM;
    if (r != 0) {
        fprintf(stderr, "helio-ltp: cannot wait for events: %s\n", helio_strerror(r));
    } else {
        t->now = world_now(t->world);
        bucket_init(&t->bucket, o->rate_bps, BURST, SLACK, t->now);
        r = open_log(t);
    }
    if (r == 0)
        r = open_port(t);
    if (r == 0)
        r = open_engine(t, exports);
    if (r != 0)
        tool_close(t);
    return r == 0 ? 0 : -1;
}

/* Handles that are closing are freed in the world's last rounds. */
void tool_close(struct tool *t)
{
    if (t->world != NULL && !t->over) {
        end_run(t);
        uv_world_run(t->world);
    }
    (void)uv_world_free(t->world);
    ltp_free(t->engine);
    seglog_close(t->log);
    *t = (struct tool){.over = true};
}

static void put_segment(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_number(v));
}

json_t *tool_counters(const struct tool *t)
{
    const struct ltp_counters *n = ltp_counters(t->engine);
    json_t *o = json_object(), *types = json_object(), *verdicts = json_object();
    for (int i = 0; i < 16; i++) {
        if (n->rx[i] == 0 && n->tx[i] == 0)
            continue;
        json_t *type = json_object();
        put_segment(type, "rx", n->rx[i]);
        put_segment(type, "tx", n->tx[i]);
        json_object_set_new(types, event_type_name(i), type);
    }
    for (int v = 0; v < VERDICT_COUNT; v++)
        put_segment(verdicts, verdict_name((enum verdict)v), n->verdicts[v]);
    json_object_set_new(o, "segments", types);
    json_object_set_new(o, "verdicts", verdicts);
    put_segment(o, "retransmitted_bytes", n->retransmitted_bytes);
    put_segment(o, "checkpoint_timers", n->timers[TIMER_CHECKPOINT]);
    put_segment(o, "report_timers", n->timers[TIMER_REPORT]);
    put_segment(o, "datagrams_rx", t->count.rx_datagrams);
    put_segment(o, "datagrams_tx", t->count.tx_datagrams);
    put_segment(o, "socket_drops", t->count.rx_socket_drops);
    return o;
}

const char *tool_reason(enum ltp_reason reason)
{
    static const char *const names[] = {"user_cancelled",       "unreachable_service",
                                        "retransmission_limit", "miscoloured",
                                        "system_cancelled",     "retransmission_cycle_limit"};
    return (size_t)reason < sizeof names / sizeof *names ? names[reason] : "reserved";
}
