/* SPDX-License-Identifier: Apache-2.0 */
/* What a link shows of itself. Counters of engine and socket are those of the local address, shared
 * by its links. Memory that runs out leaves fields away. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

#include "cla/ltp/ltp_link.h"
#include "conf/json_number.h"
#include "frames/clcw.h"

#define SESSIONS_SHOWN 64

static json_t *put_object(json_t *o, const char *key)
{
    json_t *inner = json_object();
    json_object_set_new(o, key, inner);
    return inner;
}

static void put_ltp(json_t *o, const struct ltp_counters *n)
{
    uint64_t tx = 0, rx = 0;
    json_t *by_type = put_object(o, "segments");
    for (int i = 0; i < 16; i++) {
        rx += n->rx[i];
        tx += n->tx[i];
        if (n->rx[i] == 0 && n->tx[i] == 0)
            continue;
        json_t *type = put_object(by_type, event_type_name(i));
        json_put_number(type, "rx", n->rx[i]);
        json_put_number(type, "tx", n->tx[i]);
    }
    json_put_number(o, "segments_rx", rx);
    json_put_number(o, "segments_tx", tx);
    json_put_number(o, "segment_bytes_rx", n->rx_bytes);
    json_put_number(o, "segment_bytes_tx", n->tx_bytes);
    json_put_number(o, "retransmitted_bytes", n->retransmitted_bytes);
    json_put_number(o, "sessions_opened_export", n->opened_export);
    json_put_number(o, "sessions_opened_import", n->opened_import);
    json_put_number(o, "sessions_done", n->closed[OUTCOME_DONE]);
    json_put_number(o, "sessions_cancelled_local", n->closed[OUTCOME_CANCELLED_LOCAL]);
    json_put_number(o, "sessions_cancelled_remote", n->closed[OUTCOME_CANCELLED_REMOTE]);
    json_put_number(o, "sessions_lost", n->closed[OUTCOME_LOST]);
    json_put_number(o, "sessions_discarded", n->closed[OUTCOME_DISCARDED]);
    json_put_number(o, "orange_delivered", n->orange_delivered);
    json_put_number(o, "orange_lost", n->orange_lost);
    json_put_number(o, "orange_silent", n->orange_silent);
    json_put_number(o, "reports_padded", n->reports_padded);
    json_put_number(o, "acks_dropped", n->acks_dropped);
    json_put_number(o, "closed_evicted", n->closed_evicted);
    json_put_number(o, "cancels_unsent", n->cancels_unsent);
    json_put_number(o, "pieces_dropped", n->pieces_dropped);
    json_put_number(o, "peers_narrowed", n->peers_narrowed);
    json_t *timers = put_object(o, "timers");
    json_put_number(timers, "checkpoint", n->timers[TIMER_CHECKPOINT]);
    json_put_number(timers, "report", n->timers[TIMER_REPORT]);
    json_put_number(timers, "cancel", n->timers[TIMER_CANCEL]);
    json_put_number(timers, "idle", n->timers[TIMER_IDLE]);
    json_t *verdicts = put_object(o, "verdicts");
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_put_number(verdicts, verdict_name((enum verdict)v), n->verdicts[v]);
}

/* What concerns this link's peer alone. */
static void put_span(json_t *o, const struct link *l)
{
    struct ltp_span_counters n;
    if (ltp_span_counters(l->endpoint->engine, l->peer, &n) != 0)
        return;
    json_t *span = put_object(o, "span");
#define PUT(name) json_put_number(span, #name, n.name);
    LTP_SPAN_COUNTERS(PUT)
#undef PUT
}

static void put_socket(json_t *o, const struct udp_io *io)
{
    const struct udp_counters *n = udp_counters(io);
    json_put_number(o, "local_port", udp_port(io));
    json_put_number(o, "datagrams_tx", n->tx_datagrams);
    json_put_number(o, "datagrams_rx", n->rx_datagrams);
    json_put_number(o, "socket_bytes_tx", n->tx_bytes);
    json_put_number(o, "socket_bytes_rx", n->rx_bytes);
    json_put_number(o, "socket_calls_tx", n->tx_calls);
    json_put_number(o, "socket_calls_rx", n->rx_calls);
    json_put_number(o, "socket_blocked", n->tx_blocked);
    json_put_number(o, "socket_refused", n->tx_refused);
    json_put_number(o, "socket_errors", n->tx_errors);
    json_put_number(o, "socket_drops", n->rx_socket_drops);
}

/* Of the physical channel: all that have a virtual channel of it share these. */
static void put_frame_line(json_t *frames, const struct frame_port_counters *n, int kind)
{
    static const char *const kinds[] = {"datagrams", "connect", "listen", "file", "sle"};
    json_t *line = put_object(frames, "line");
    json_object_set_new(line, "port", json_string(kinds[kind]));
    if (kind == FRAME_WIRE_CONNECT || kind == FRAME_WIRE_LISTEN || kind == FRAME_WIRE_SLE)
        json_object_set_new(line, "connected", json_boolean(n->wire.connected));
#define PUT_WIRE(name, text) json_put_number(line, #name, n->wire.name);
    FRAME_WIRE_COUNTS(PUT_WIRE)
#undef PUT_WIRE
#define PUT_LINE(name, text) json_put_number(line, #name, n->line.name);
    FRAME_LINE_COUNTS(PUT_LINE)
#undef PUT_LINE
}

/* What the peer says that it has received of our TC frames. */
static void put_clcw(json_t *frames, const struct frame_port_counters *n)
{
    struct clcw c;
    if (!n->clcw_told || !clcw_decode(n->clcw, &c))
        return;
    json_t *o = put_object(frames, "clcw");
    json_put_number(o, "vcid", c.vcid);
    json_put_number(o, "farm_b", c.farm_b);
    json_object_set_new(o, "no_rf", json_boolean(c.no_rf));
    json_object_set_new(o, "no_bitlock", json_boolean(c.no_bitlock));
}

static void put_sdls_verdicts(json_t *o, const char *key, const uint64_t counts[SDLS_VERDICT_COUNT])
{
    json_t *verdicts = put_object(o, key);
    for (unsigned v = 0; v < SDLS_VERDICT_COUNT; v++)
        if (v != SDLS_FRAME_VERDICT) /* frames with errors have their own verdicts */
            json_put_number(verdicts, sdls_verdict_name((enum sdls_verdict)v), counts[v]);
}

/* What Space Data Link Security made of frames, of the physical channel. */
static void put_security(json_t *frames, const struct frame_secure_counts *n)
{
    if (!n->sends && !n->receives)
        return;
    json_t *o = put_object(frames, "sdls");
    if (n->sends)
        put_sdls_verdicts(o, "sent", n->applied);
    if (n->receives)
        put_sdls_verdicts(o, "received", n->processed);
}

/* CCSDS frames: received ones by verdict, results of their packets, sent ones. */
static void put_frames(json_t *o, const struct port *port, int wire)
{
    struct frame_port_counters n;
    frame_port_count(port, &n);
    json_t *frames = put_object(o, "frames"), *verdicts = put_object(frames, "verdicts"),
           *received = put_object(frames, "received"), *sent = put_object(frames, "sent");
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        json_put_number(verdicts, frame_verdict_name((enum frame_verdict)v), n.verdicts[v]);
#define PUT_RECEIVED(name, text) json_put_number(received, #name, n.received.name);
    MPDU_COUNTS(PUT_RECEIVED)
#undef PUT_RECEIVED
    json_put_number(received, "other_protocol", n.other_protocol);
    json_put_number(sent, "frames", n.sent.frames);
    json_put_number(sent, "packets", n.sent.packets);
    json_put_number(sent, "packet_bytes", n.sent.packet_bytes);
    json_put_number(sent, "idle_bytes", n.sent.idle_bytes);
    json_put_number(sent, "too_long", n.too_long);
    json_put_number(sent, "dropped", n.line.dropped);
    put_frame_line(frames, &n, wire);
    put_security(frames, &n.secure);
    put_clcw(frames, &n);
}

/* What this machine's lack of time cost. */
static void put_lateness(json_t *o, const struct link *l)
{
    json_put_number(o, "late_ns", l->endpoint->late_ns);
    json_put_number(o, "late_wakeups", l->endpoint->late_wakeups);
    json_put_number(o, "credit_lost", bucket_lost_bytes(&l->bucket));
}

static void put_support(json_t *o, const struct link *l)
{
    struct ltp_support b;
    if (!ltp_peer_support(l->endpoint->engine, l->peer, &b))
        return;
    json_object_set_new(o, "peer_profile", json_string(ltp_profile_name(b.profile)));
    if (b.profile == LTP_PROFILE_AUTO)
        json_object_set_new(o, "peer_learnt", json_string(ltp_learnt_name(b.learnt)));
    json_object_set_new(o, "early_checkpoints", json_boolean(b.early));
    json_put_number(o, "peer_probes", b.probes);
    json_put_number(o, "peer_against", b.against);
}

static void put_link(json_t *o, const struct link *l)
{
    json_object_set_new(o, "peer_silent", json_boolean(l->silent));
    json_put_number(o, "peer_silences", l->n.silences);
    json_object_set_new(o, "up", json_boolean(l->up));
    json_object_set_new(o, "receives", json_boolean(l->hears));
    if (link_round_trip(l) != 0)
        json_put_number(o, "round_trip_ns", link_round_trip(l));
    json_put_number(o, "engine", l->endpoint->engine_number);
    json_put_number(o, "peer_engine", l->peer);
    json_put_number(o, "window", l->cla.limits.window);
    json_put_number(o, "rate_bps", l->config->pace.rate);
    json_put_number(o, "overhead", l->config->pace.overhead);
    json_put_number(o, "rto_ns", ltp_link_rto(l->config));
    json_put_number(o, "receive_buffer", l->rx_buffer);
    json_put_number(o, "send_buffer", l->tx_buffer);
    json_object_set_new(o, "batch", json_boolean(l->config->udp.batch && !l->to.plain));
    json_put_number(o, "bundles_sent", l->n.bundles_sent);
    json_put_number(o, "bundles_failed", l->n.bundles_failed);
    json_put_number(o, "bundles_lost", l->n.bundles_lost);
    json_put_number(o, "bundles_received", l->n.bundles_received);
    json_put_number(o, "bundles_refused", l->n.bundles_refused);
    json_put_number(o, "green_incomplete", l->n.green_incomplete);
    json_put_number(o, "not_a_bundle", l->n.not_a_bundle);
    json_put_number(o, "aggregates_sent", l->n.aggregates_sent);
    json_put_number(o, "aggregates_received", l->n.aggregates_received);
    json_t *colours = put_object(o, "bundles_by_colour");
    json_put_number(colours, "red", l->n.by_colour[LTP_LINK_RED]);
    json_put_number(colours, "green", l->n.by_colour[LTP_LINK_GREEN]);
    json_put_number(colours, "orange", l->n.by_colour[LTP_LINK_ORANGE]);
    json_put_number(o, "bundles_waiting", l->waiting_len);
    json_put_number(o, "arriving_bytes", l->arriving);
    json_put_number(o, "air_bytes", l->n.air_bytes);
    put_support(o, l);
}

static json_t *session_json(const struct ltp_session_info *s, tick now)
{
    json_t *o = json_object();
    json_put_number(o, "originator", s->id.originator);
    json_put_number(o, "number", s->id.number);
    json_object_set_new(o, "direction", json_string(s->is_export ? "export" : "import"));
    json_put_number(o, "client_service", s->client_service);
    if (s->length != EVENT_NONE)
        json_put_number(o, "length", s->length);
    if (s->red_len != EVENT_NONE)
        json_put_number(o, "red_length", s->red_len);
    json_put_number(o, "done", s->done);
    json_put_number(o, "held", s->held);
    json_put_number(o, "age_ns", now > s->opened ? now - s->opened : 0);
    return o;
}

static void put_sessions(json_t *o, const struct link *l)
{
    static const size_t most = 4096;
    struct ltp_session_info *all = calloc(most, sizeof *all);
    if (all == NULL)
        return;
    json_t *shown = json_array();
    size_t total = ltp_sessions(l->endpoint->engine, all, most), mine = 0;
    for (size_t i = 0; i < total && i < most; i++) {
        bool unconfigured =
            l->endpoint->host == l && ltp_is_unconfigured(l->endpoint->engine, all[i].peer);
        if (all[i].peer != l->peer && !unconfigured)
            continue;
        if (mine++ < SESSIONS_SHOWN)
            json_array_append_new(shown, session_json(&all[i], ltp_endpoint_now(l->endpoint)));
    }
    json_put_number(o, "sessions_open", mine);
    json_object_set_new(o, "sessions", shown);
    free(all);
}

static void frame_gauges(const struct port *port, struct cla_gauges *out)
{
    struct frame_port_counters n;
    frame_port_count(port, &n);
    out->cadus = n.cadus;
    out->cadu_good = n.line.cadu_good;
    out->cadu_corrected = n.line.cadu_corrected;
    out->cadu_codewords_failed = n.line.cadu_codewords_failed;
    out->cadu_iterations = n.line.cadu_iterations;
    out->cadu_erred = n.line.cadu_erred;
    out->cadu_sync_losses = n.line.cadu_sync_losses;
    out->cadu_symbols_wrong = n.line.cadu_symbols_wrong;
    out->sdls_sends = n.secure.sends;
    out->sdls_sent = n.secure.applied[SDLS_OK_VERDICT];
    out->sdls_unsent = n.secure.applied[SDLS_LENGTH_VERDICT] +
                       n.secure.applied[SDLS_NUMBERS_VERDICT] +
                       n.secure.applied[SDLS_CRYPTO_VERDICT];
    out->sdls_receives = n.secure.receives;
    out->sdls_accepted = n.secure.processed[SDLS_OK_VERDICT];
    out->sdls_spi = n.secure.processed[SDLS_SPI_VERDICT];
    out->sdls_mac = n.secure.processed[SDLS_MAC_VERDICT];
    out->sdls_replayed = n.secure.processed[SDLS_REPLAYED_VERDICT];
    out->sdls_ahead = n.secure.processed[SDLS_AHEAD_VERDICT];
    static const enum sdls_verdict others[] = {
        SDLS_CLEAR_VERDICT,   SDLS_LENGTH_VERDICT,  SDLS_CHANNEL_VERDICT, SDLS_SENDER_VERDICT,
        SDLS_PADDING_VERDICT, SDLS_NUMBERS_VERDICT, SDLS_CRYPTO_VERDICT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        out->sdls_other += n.secure.processed[others[i]];
}

void link_gauges(const struct cla *c, struct cla_gauges *out)
{
    const struct link *l = container_of(c, struct link, cla);
    struct ltp_watch w;
    assert(l->endpoint != NULL);
    if (ltp_watch(l->endpoint->engine, l->peer, &w) != 0)
        return;
    *out = (struct cla_gauges){.rate = l->config->pace.rate,
                               .tx_bytes = w.tx_bytes,
                               .rx_bytes = w.rx_bytes,
                               .resent_bytes = w.resent_bytes,
                               .rto = w.rto,
                               .round_trip = w.round_trip,
                               .heard = w.heard,
                               .asked = l->hears ? w.asked : TICK_NEVER,
                               .off = !l->allowed,
                               .given_up = l->silent,
                               .unconfirmed = l->unconfirmed.heard ? l->unconfirmed.since : 0,
                               .answers_short = l->unconfirmed.reported,
                               .sessions = (uint64_t)w.exports + w.imports};
    source_gauges(l, out);
    coded_gauges(l->endpoint->coded, out);
    if (l->endpoint->framed)
        frame_gauges(l->endpoint->port, out);
}

/* What is in force, beside what is configured. */
static void put_watch(json_t *o, const struct link *l)
{
    struct ltp_watch w;
    tick now = ltp_endpoint_now(l->endpoint);
    if (ltp_watch(l->endpoint->engine, l->peer, &w) != 0)
        return;
    json_put_number(o, "rto_in_force_ns", w.rto);
    if (w.round_trip != 0)
        json_put_number(o, "round_trip_smoothed_ns", w.round_trip);
    if (w.heard != TICK_NEVER)
        json_put_number(o, "heard_ns", now > w.heard ? now - w.heard : 0);
}

void link_status(struct cla *c, struct json_t *object)
{
    const struct link *l = container_of(c, struct link, cla);
    assert(object != NULL && l->endpoint != NULL);
    put_link(object, l);
    put_watch(object, l);
    source_status(l, object);
    remote_name_status(&l->remote, object);
    const struct udp_io *io = l->endpoint->framed ? frame_port_socket(l->endpoint->port) : NULL;
    put_socket(object, io != NULL ? io : l->endpoint->io);
    if (l->endpoint->framed)
        put_frames(object, l->endpoint->port, l->config->frames.wire);
    if (l->endpoint->coded != NULL)
        coded_status(l->endpoint->coded, object);
    put_ltp(object, ltp_counters(l->endpoint->engine));
    put_span(object, l);
    put_lateness(object, l);
    put_sessions(object, l);
    unconfigured_status(l, object);
}
