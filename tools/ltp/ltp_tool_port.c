/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One engine at one socket, driven by ppoll: whoever owns the port sends, takes the notices, waits,
 * and begins again. The socket is asked for nothing new while it is full. What can go wrong: the
 * address cannot be bound; a machine that is late, which the bucket's slack makes good.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "os/clock.h"
#include "os/signals.h"
#include "tools/ltp/ltp_tool.h"

/* Per turn, so that both directions have theirs. */
#define TURN_BYTES (256 * 1024)
#define SOCKET_BYTES (64 * 1024 * 1024)
#define SEND_BYTES (4 * 1024 * 1024)
#define BURST (100 * TICK_US)
#define SLACK (2 * TICK_MS)
#define LATE TICK_MS  /* what is usual on a machine that has time is below */
#define FOLLOW_RTOS 3 /* a sender repeats each rto what is not answered */

static int open_engine(struct port *p, const struct ltp_tool_options *o, uint32_t exports)
{
    struct ltp_config config = {
        .engine = o->engine,
        .seed = clock_wall() ^ (uint64_t)getpid(),
        .held_bytes = 2 * o->block_max,
        .sink = p->log == NULL ? NULL : seglog_sink,
        .sink_context = p->log,
    };
    struct ltp_span span = {
        .peer = o->peer_engine,
        .segment_max = p->segment,
        .export_sessions = exports,
        .block_max = o->block_max,
        .rto = o->rto,
        .retries_max = (uint32_t)o->retries,
        .idle_timeout = o->idle,
        .confirm_import = o->receive,
        .recovery = o->recovery ? ltp_recovery_default : ltp_recovery_plain,
        .profile = o->profile,
    };
    int r = ltp_new(&p->engine, &config);
    if (r == 0)
        r = ltp_service_open(p->engine, o->service);
    if (r == 0)
        r = ltp_span_set(p->engine, &span, p->now);
    if (r == 0 && p->known)
        r = ltp_link(p->engine, p->peer, true, p->now);
    if (r != 0)
        fprintf(stderr, "helio-ltp: LTP engine: %s\n", helio_strerror(r));
    return r == 0 ? 0 : -1;
}

static int open_socket(struct port *p, const struct ltp_tool_options *o)
{
    char text[ADDRESS_TEXT_MAX];
    uint64_t rx, tx;
    int r = udp_open(&p->io, &o->local, true);
    if (r != 0) {
        fprintf(stderr, "helio-ltp: --local: cannot bind %s: %s\n", address_write(&o->local, text),
                helio_strerror(r));
        return -1;
    }
    if (!udp_buffers(p->io, SOCKET_BYTES, SEND_BYTES, &rx, &tx) && rx < 4 * 1024 * 1024)
        fprintf(stderr,
                "helio-ltp: the receive buffer has only %llu bytes (net.core.rmem_max): bursts "
                "may be lost\n",
                (unsigned long long)rx);
    return 0;
}

int port_open(struct port *p, const struct ltp_tool_options *o, uint32_t exports)
{
    memset(p, 0, sizeof *p);
    p->now = clock_now();
    p->peer = o->peer_engine;
    p->segment = (uint32_t)o->segment;
    p->overhead = (uint32_t)o->overhead;
    p->rto = o->rto;
    p->known = address_given(&o->remote);
    p->follow = !p->known;
    p->to.address = o->remote;
    bucket_init(&p->bucket, o->rate_bps, BURST, SLACK, p->now);
    p->signals = signals_open((const int[]){SIGINT, SIGTERM, 0}, NULL);
    int r = p->signals < 0 ? -1 : 0;
    if (r == 0 && o->log != NULL) {
        r = seglog_open(&p->log, o->log, o->engine, clock_offset());
        if (r != 0)
            fprintf(stderr, "helio-ltp: --log %s: %s\n", o->log, helio_strerror(r));
    }
    if (r == 0)
        r = open_socket(p, o);
    if (r == 0)
        r = open_engine(p, o, exports);
    if (r != 0)
        port_close(p);
    return r == 0 ? 0 : -1;
}

void port_close(struct port *p)
{
    ltp_free(p->engine);
    udp_close(p->io);
    seglog_close(p->log);
    if (p->signals >= 0)
        close(p->signals);
    memset(p, 0, sizeof *p);
    p->signals = -1;
}

void port_output(struct port *p)
{
    uint32_t head_max = p->segment > LTP_HEAD_MAX ? p->segment : LTP_HEAD_MAX;
    uint64_t sent = 0;
    p->behind = false;
    if (!p->known || udp_pending(p->io))
        return;
    bucket_begin(&p->bucket, p->now);
    while (sent < TURN_BYTES && bucket_ready(&p->bucket, p->now)) {
        if (!udp_room(p->io, head_max) && !udp_flush(p->io))
            return;
        struct ltp_out out = {.head = udp_head(p->io, head_max), .head_cap = head_max};
        if (ltp_output(p->engine, p->peer, p->now, &out) == 0)
            break;
        udp_add(p->io, &p->to, out.head_len, out.data);
        uint64_t air = out.head_len + out.data.len + p->overhead;
        bucket_spend(&p->bucket, air, p->now);
        sent += air;
    }
    p->behind = udp_flush(p->io) && sent >= TURN_BYTES;
}

/* Is it a segment of the peer's sessions, or of one that it would like to open? */
static bool is_peers(enum verdict v)
{
    return v == VERDICT_OK || v == VERDICT_DUPLICATE || v == VERDICT_CLOSED_SESSION ||
           v == VERDICT_NO_CLIENT_SERVICE || v == VERDICT_LIMIT_BYTES ||
           v == VERDICT_LIMIT_SESSIONS;
}

/* Answers go to where the peer's segments come from; to another place than before only when none
 * came from there for a while. */
static void follow_peer(struct port *p, const struct address *from)
{
    bool same = p->known && address_equal(from, &p->to.address);
    if (!same && p->known && p->now - p->heard < FOLLOW_RTOS * p->rto)
        return;
    if (!same && udp_pending(p->io))
        return;
    if (!same)
        p->to = (struct udp_peer){.address = *from};
    p->heard = p->now;
    if (!p->known)
        (void)ltp_link(p->engine, p->peer, true, p->now); /* the span exists */
    p->known = true;
}

static void input_datagrams(struct port *p)
{
    struct slice datagram;
    if (!udp_fill(p->io, TURN_BYTES))
        return;
    while (udp_next(p->io, &datagram)) { /* each verdict is counted */
        enum verdict v = ltp_input(p->engine, datagram.data, datagram.len, p->now);
        if (p->follow && is_peers(v))
            follow_peer(p, udp_from(p->io));
    }
}

static tick wake_time(const struct port *p, tick until)
{
    tick wake = tick_min(until, ltp_deadline(p->engine));
    if (p->known && !udp_pending(p->io) && ltp_has_output(p->engine, p->peer))
        wake = tick_min(wake, bucket_wake(&p->bucket, p->now));
    if (p->log != NULL)
        wake = tick_min(wake, p->now + TICK_S);
    return p->behind ? p->now : wake;
}

void port_wait(struct port *p, tick until)
{
    struct pollfd fds[] = {
        {.fd = udp_fd(p->io), .events = (short)(POLLIN | (udp_pending(p->io) ? POLLOUT : 0))},
        {.fd = p->signals, .events = POLLIN}};
    tick wake = wake_time(p, until), due = wake > p->now ? wake : p->now;
    int r = clock_poll(fds, 2, wake);
    p->now = clock_now();
    if (p->now > tick_add(due, LATE)) /* no time in which the peer could have answered */
        ltp_late(p->engine, p->now - due);
    if (r > 0) {
        if (udp_pending(p->io))
            (void)udp_flush(p->io);
        if (fds[0].revents != 0)
            input_datagrams(p); /* an error of the socket is cleared by reading it */
        if (fds[1].revents & POLLIN)
            p->stopped = true;
    }
    ltp_expire(p->engine, p->now);
    if (p->log != NULL && p->now - p->flushed >= TICK_S) {
        log_writer_flush(p->log->file);
        p->flushed = p->now;
    }
}

void port_linger(struct port *p, tick quiet, tick most)
{
    tick end = tick_add(p->now, most), calm = tick_add(p->now, quiet);
    while (p->now < end && !p->stopped && (p->now < calm || !ltp_idle(p->engine))) {
        struct ltp_notice n;
        port_output(p);
        while (ltp_poll(p->engine, &n) != 0)
            buf_drop(n.data);
        port_wait(p, ltp_idle(p->engine) ? calm : end);
    }
    port_output(p);
}

static void put_segment(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_number(v));
}

json_t *port_counters(const struct port *p)
{
    const struct ltp_counters *n = ltp_counters(p->engine);
    json_t *o = json_object(), *types = json_object(), *verdicts = json_object();
    for (int i = 0; i < 16; i++) {
        if (n->rx[i] == 0 && n->tx[i] == 0)
            continue;
        json_t *t = json_object();
        put_segment(t, "rx", n->rx[i]);
        put_segment(t, "tx", n->tx[i]);
        json_object_set_new(types, event_type_name(i), t);
    }
    for (int v = 0; v < VERDICT_COUNT; v++)
        put_segment(verdicts, verdict_name((enum verdict)v), n->verdicts[v]);
    json_object_set_new(o, "segments", types);
    json_object_set_new(o, "verdicts", verdicts);
    put_segment(o, "retransmitted_bytes", n->retransmitted_bytes);
    put_segment(o, "checkpoint_timers", n->timers[TIMER_CHECKPOINT]);
    put_segment(o, "report_timers", n->timers[TIMER_REPORT]);
    put_segment(o, "datagrams_rx", udp_counters(p->io)->rx_datagrams);
    put_segment(o, "datagrams_tx", udp_counters(p->io)->tx_datagrams);
    put_segment(o, "socket_drops", udp_counters(p->io)->rx_socket_drops);
    return o;
}

const char *port_reason(enum ltp_reason reason)
{
    static const char *const names[] = {"user_cancelled",       "unreachable_service",
                                        "retransmission_limit", "miscoloured",
                                        "system_cancelled",     "retransmission_cycle_limit"};
    return (size_t)reason < sizeof names / sizeof *names ? names[reason] : "reserved";
}
