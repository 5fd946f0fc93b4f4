/* SPDX-License-Identifier: Apache-2.0 */
/* A value is asked from one sample of its link. Nothing can fail. */
#include "node/node_values.h"

#include "node/node_meter.h"
#include "node/node_state.h"

void link_sample_take(const struct node *n, const struct node_link *l, struct agent_now now,
                      struct link_sample *out)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    *out = (struct link_sample){.link = l, .g = node_link_gauges(l), .now = now.now};
    struct link_facts f = node_link_facts(l, &out->g);
    out->state = link_state_of(&f);
    out->oldest_ms = agent_oldest_ms(n->agent, l->index, now);
    agent_backlog(n->agent, l->index, b);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        out->bundles += b[p].bundles;
        out->bytes += b[p].bytes;
    }
}

static uint64_t time_since(const struct link_sample *s, tick then)
{
    return s->now > then ? s->now - then : 0;
}

#define VALUE(what, known, expression)                                                             \
    static uint64_t get_##what(const struct link_sample *s)                                        \
    {                                                                                              \
        return (known) ? (expression) : LINK_VALUE_UNKNOWN;                                        \
    }
VALUE(up, true, s->state == LINK_STATE_UP)
VALUE(open, true, s->link->up)
VALUE(tx_bytes, true, s->g.tx_bytes)
VALUE(rx_bytes, true, s->g.rx_bytes)
VALUE(resent, true, s->g.resent_bytes)
VALUE(tx_bps, s->link->meter.at != 0, s->link->meter.tx_bps)
VALUE(rx_bps, s->link->meter.at != 0, s->link->meter.rx_bps)
VALUE(rate, s->g.rate != 0, s->g.rate)
VALUE(rto, s->g.rto != 0, s->g.rto)
VALUE(trip, s->g.round_trip != 0, s->g.round_trip)
VALUE(heard, s->g.heard != TICK_NEVER, time_since(s, s->g.heard))
VALUE(owing, true, time_since(s, s->g.asked)) /* TICK_NEVER is later than now */
VALUE(resent_bps, s->link->meter.at != 0, s->link->meter.resent_bps)
VALUE(sessions, true, s->g.sessions)
VALUE(bundles, true, s->bundles)
VALUE(bytes, true, s->bytes)
VALUE(oldest, s->oldest_ms != UINT64_MAX, s->oldest_ms)
VALUE(sent, true, s->link->sent)
VALUE(failed, true, s->link->failed)
VALUE(received, true, s->link->received)
VALUE(source_refused, true, s->g.source_refused)
VALUE(repairs, s->g.coded, s->g.repairs_sent)
VALUE(repaired, s->g.coded, s->g.repaired)
VALUE(unrepaired, s->g.coded, s->g.unrepaired)
VALUE(mismatches, s->g.coded, s->g.code_mismatches)
VALUE(cadu_corrected, s->g.cadus, s->g.cadu_corrected)
VALUE(cadu_erred, s->g.cadus, s->g.cadu_erred)
VALUE(cadu_sync, s->g.cadus, s->g.cadu_sync_losses)
#undef VALUE

const struct link_value link_values[] = {
    {NULL, false, "link_up", "gauge", "1: its state is up: the peer was heard", 1, ZERO_NOWHERE,
     get_up},
    {NULL, false, "link_open", "gauge", "1: bundles may be sent over the link", 1, ZERO_NOWHERE,
     get_open},
    {NULL, false, "link_transmit_bytes_total", "counter", "bytes sent to the peer", 1, ZERO_NOWHERE,
     get_tx_bytes},
    {NULL, false, "link_receive_bytes_total", "counter", "bytes that came from the peer", 1,
     ZERO_NOWHERE, get_rx_bytes},
    {NULL, false, "link_resent_bytes_total", "counter", "data bytes sent again", 1, ZERO_NOWHERE,
     get_resent},
    {"tx_bps", true, "link_transmit_bits_per_second", "gauge", "rate out in the last second", 1,
     ZERO_NOWHERE, get_tx_bps},
    {"rx_bps", true, "link_receive_bits_per_second", "gauge", "rate in in the last second", 1,
     ZERO_NOWHERE, get_rx_bps},
    {"rate_bps", false, "link_rate_bits_per_second", "gauge",
     "nominal rate, where the link has one", 1, ZERO_IN_TOP, get_rate},
    {"rto_ns", false, "link_rto_seconds", "gauge", "retransmission timer in force", 1e9,
     ZERO_NOWHERE, get_rto},
    {"rtt_ns", false, "link_round_trip_seconds", "gauge", "smoothed round trip", 1e9, ZERO_NOWHERE,
     get_trip},
    {"heard_ns", true, "link_heard_seconds", "gauge", "since something came from the peer", 1e9,
     ZERO_NOWHERE, get_heard},
    {NULL, false, "link_unanswered_seconds", "gauge", "for how long the peer owes an answer", 1e9,
     ZERO_NOWHERE, get_owing},
    {"resent_bps", false, NULL, NULL, NULL, 1, ZERO_NOWHERE, get_resent_bps},
    {"sessions", false, "link_sessions", "gauge", "open sessions, both ways", 1, ZERO_NOWHERE,
     get_sessions},
    {"bundles", false, "link_waiting_bundles", "gauge",
     "bundles that wait for the link or are on it", 1, ZERO_NOWHERE, get_bundles},
    {"bytes", false, "link_waiting_bytes", "gauge", "their bytes", 1, ZERO_NOWHERE, get_bytes},
    {"oldest_ms", true, "link_oldest_seconds", "gauge", "how long the oldest of them has been here",
     1e3, ZERO_IN_METRICS, get_oldest},
    {"sent", false, "link_bundles_sent_total", "counter", "bundles that the peer has", 1,
     ZERO_NOWHERE, get_sent},
    {"failed", false, "link_bundles_failed_total", "counter", "tries that failed", 1, ZERO_NOWHERE,
     get_failed},
    {"received", false, "link_bundles_received_total", "counter", "bundles that came", 1,
     ZERO_NOWHERE, get_received},
    {NULL, false, "link_source_refused_total", "counter",
     "datagrams in the peer's name from another address", 1, ZERO_NOWHERE, get_source_refused},
    {NULL, false, "link_erasure_repair_segments_total", "counter", "repair segments sent", 1,
     ZERO_NOWHERE, get_repairs},
    {NULL, false, "link_erasure_repaired_segments_total", "counter",
     "lost segments of the peer that repair segments replaced", 1, ZERO_NOWHERE, get_repaired},
    {NULL, false, "link_erasure_lost_segments_total", "counter",
     "lost segments of the peer that they could not replace", 1, ZERO_NOWHERE, get_unrepaired},
    {NULL, false, "link_erasure_mismatches_total", "counter",
     "packets of the peer without erasure code, or with another one", 1, ZERO_NOWHERE,
     get_mismatches},
    {NULL, false, "link_cadu_corrected_symbols_total", "counter",
     "symbols of received CADUs that Reed-Solomon corrected", 1, ZERO_NOWHERE, get_cadu_corrected},
    {NULL, false, "link_cadu_erred_frames_total", "counter",
     "received CADUs that could not be decoded", 1, ZERO_NOWHERE, get_cadu_erred},
    {NULL, false, "link_cadu_sync_losses_total", "counter",
     "times that no marker of CADUs was where it was due", 1, ZERO_NOWHERE, get_cadu_sync},
};

const size_t link_values_len = sizeof link_values / sizeof *link_values;
