/* SPDX-License-Identifier: Apache-2.0 */
/* A value is asked from one sample of its link, or of the node. Nothing can fail. */
#include "node/node_values.h"

#include <stdatomic.h>

#include "cla/seglog.h"
#include "node/found/found.h"
#include "node/node_log.h"
#include "node/node_medium.h"
#include "node/node_meter.h"
#include "node/node_security.h"

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
VALUE(received_bytes, true, s->link->received_bytes)
VALUE(source_refused, true, s->g.source_refused)
VALUE(auth_refused, true, s->g.auth_refused)
VALUE(unknown_refused, true, s->g.unknown_refused)
VALUE(tls_ends, s->g.tls_ends > 0, (uint64_t)s->g.tls_ends)
VALUE(tls_ca_ends, s->g.tls_ca_ends > 0, (uint64_t)s->g.tls_ca_ends)
VALUE(repairs, s->g.coded, s->g.repairs_sent)
VALUE(repaired, s->g.coded, s->g.repaired)
VALUE(unrepaired, s->g.coded, s->g.unrepaired)
VALUE(matrices_repaired, s->g.coded, s->g.matrices_repaired)
VALUE(matrices_failed, s->g.coded, s->g.matrices_failed)
VALUE(repair_delay, s->g.coded, s->g.repair_delay)
VALUE(mismatches, s->g.coded, s->g.code_mismatches)
VALUE(cadu_good, s->g.cadus, s->g.cadu_good)
VALUE(cadu_corrected, s->g.cadus, s->g.cadu_corrected)
VALUE(cadu_codewords, s->g.cadus, s->g.cadu_codewords_failed)
VALUE(cadu_iterations, s->g.cadus, s->g.cadu_iterations)
VALUE(cadu_erred, s->g.cadus, s->g.cadu_erred)
VALUE(cadu_sync, s->g.cadus, s->g.cadu_sync_losses)
VALUE(cadu_wrong, s->g.cadus, s->g.cadu_symbols_wrong)
VALUE(sdls_sent, s->g.sdls_sends, s->g.sdls_sent)
VALUE(sdls_unsent, s->g.sdls_sends, s->g.sdls_unsent)
VALUE(sdls_accepted, s->g.sdls_receives, s->g.sdls_accepted)
VALUE(sdls_spi, s->g.sdls_receives, s->g.sdls_spi)
VALUE(sdls_mac, s->g.sdls_receives, s->g.sdls_mac)
VALUE(sdls_replayed, s->g.sdls_receives, s->g.sdls_replayed)
VALUE(sdls_ahead, s->g.sdls_receives, s->g.sdls_ahead)
VALUE(sdls_other, s->g.sdls_receives, s->g.sdls_other)
VALUE(custody_held, s->g.custody, s->g.custody_held)
VALUE(custody_released, s->g.custody, s->g.custody_released)
VALUE(custody_refused, s->g.custody, s->g.custody_refused)
VALUE(custody_lost, s->g.custody, s->g.custody_lost)
VALUE(custody_confirmed, s->g.custody, s->g.custody_confirmed)
VALUE(custody_forged, s->g.custody, s->g.custody_forged)
#undef VALUE

const struct link_value link_values[] = {
    {NULL, false, "link_up", "gauge", "1: its state is up: the peer was heard", 1, ZERO_NOWHERE,
     get_up},
    {NULL, false, "link_open", "gauge", "1: bundles may be sent over the link", 1, ZERO_NOWHERE,
     get_open},
    {NULL, false, "link_transmit_bytes_total", "counter", "bytes sent to the peer", 1, ZERO_NOWHERE,
     get_tx_bytes},
    {NULL, false, "link_receive_bytes_total", "counter", "bytes received from the peer", 1,
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
    {"heard_ns", true, "link_heard_seconds", "gauge",
     "since the last datagram or octet of the peer", 1e9, ZERO_NOWHERE, get_heard},
    {NULL, false, "link_unanswered_seconds", "gauge", "for how long the peer owes an answer", 1e9,
     ZERO_NOWHERE, get_owing},
    {"resent_bps", false, NULL, NULL, NULL, 1, ZERO_NOWHERE, get_resent_bps},
    {"sessions", false, "link_sessions", "gauge", "open sessions, in both directions", 1,
     ZERO_NOWHERE, get_sessions},
    {"bundles", false, "link_waiting_bundles", "gauge",
     "bundles that wait for the link or are on it", 1, ZERO_NOWHERE, get_bundles},
    {"bytes", false, "link_waiting_bytes", "gauge", "their bytes", 1, ZERO_NOWHERE, get_bytes},
    {"oldest_ms", true, "link_oldest_seconds", "gauge", "how long the oldest of them has been here",
     1e3, ZERO_IN_METRICS, get_oldest},
    {"sent", false, "link_bundles_sent_total", "counter", "bundles that the peer has", 1,
     ZERO_NOWHERE, get_sent},
    {"failed", false, "link_bundles_failed_total", "counter", "tries that failed", 1, ZERO_NOWHERE,
     get_failed},
    {"received", false, "link_bundles_received_total", "counter", "received bundles", 1,
     ZERO_NOWHERE, get_received},
    {"received_bytes", false, "link_bundle_bytes_received_total", "counter",
     "bytes of received bundles", 1, ZERO_NOWHERE, get_received_bytes},
    {NULL, false, "link_source_refused_total", "counter",
     "datagrams in the peer's name from another address", 1, ZERO_NOWHERE, get_source_refused},
    {NULL, false, "link_auth_refused_total", "counter",
     "segments in the peer's name without the authentication or cookie that the link wants", 1,
     ZERO_NOWHERE, get_auth_refused},
    {NULL, false, "link_unknown_engine_segments_total", "counter",
     "segments of LTP engines that no link has as peer; all links at one local address have the "
     "same",
     1, ZERO_NOWHERE, get_unknown_refused},
    {NULL, false, "link_certificate_expiry_timestamp_seconds", "gauge",
     "end of this node's certificate, seconds since 1970 UTC", 1, ZERO_NOWHERE, get_tls_ends},
    {NULL, false, "link_ca_expiry_timestamp_seconds", "gauge",
     "end of the trusted certificate that ends first, seconds since 1970 UTC", 1, ZERO_NOWHERE,
     get_tls_ca_ends},
    {NULL, false, "link_erasure_repair_segments_total", "counter", "repair segments sent", 1,
     ZERO_NOWHERE, get_repairs},
    {NULL, false, "link_erasure_repaired_segments_total", "counter",
     "lost segments of the peer that repair segments replaced", 1, ZERO_NOWHERE, get_repaired},
    {NULL, false, "link_erasure_lost_segments_total", "counter",
     "lost segments of the peer that they could not replace", 1, ZERO_NOWHERE, get_unrepaired},
    {NULL, false, "link_erasure_repaired_matrices_total", "counter",
     "matrices of the peer whose lost segments were all repaired", 1, ZERO_NOWHERE,
     get_matrices_repaired},
    {NULL, false, "link_erasure_failed_matrices_total", "counter",
     "matrices of the peer that ended with missing segments", 1, ZERO_NOWHERE, get_matrices_failed},
    {NULL, false, "link_erasure_repair_delay_seconds_total", "counter",
     "decoding delays of the repaired segments, added up", 1e9, ZERO_NOWHERE, get_repair_delay},
    {NULL, false, "link_erasure_mismatches_total", "counter",
     "packets of the peer without erasure code, or with another one", 1, ZERO_NOWHERE,
     get_mismatches},
    {NULL, false, "link_cadu_corrected_symbols_total", "counter",
     "symbols of received CADUs that Reed-Solomon corrected, or bits that LDPC did", 1,
     ZERO_NOWHERE, get_cadu_corrected},
    {NULL, false, "link_cadu_good_frames_total", "counter",
     "received CADUs all of whose codewords were decoded", 1, ZERO_NOWHERE, get_cadu_good},
    {NULL, false, "link_cadu_failed_codewords_total", "counter",
     "codewords of received CADUs that could not be decoded", 1, ZERO_NOWHERE, get_cadu_codewords},
    {NULL, false, "link_cadu_iterations_total", "counter", "rounds of the LDPC decoder", 1,
     ZERO_NOWHERE, get_cadu_iterations},
    {NULL, false, "link_cadu_erred_frames_total", "counter",
     "received CADUs that could not be decoded", 1, ZERO_NOWHERE, get_cadu_erred},
    {NULL, false, "link_cadu_sync_losses_total", "counter",
     "times that no marker of CADUs was where it was due", 1, ZERO_NOWHERE, get_cadu_sync},
    {NULL, false, "link_cadu_wrong_symbols_total", "counter",
     "wrong symbols of the convolutional code, as its decoder sees it", 1, ZERO_NOWHERE,
     get_cadu_wrong},
    {NULL, false, "link_sdls_sent_frames_total", "counter",
     "frames that were sent with Space Data Link Security", 1, ZERO_NOWHERE, get_sdls_sent},
    {NULL, false, "link_sdls_unsent_frames_total", "counter",
     "frames that it kept from being sent: no number, no room", 1, ZERO_NOWHERE, get_sdls_unsent},
    {NULL, false, "link_sdls_accepted_frames_total", "counter",
     "frames that it accepted: authentic and new", 1, ZERO_NOWHERE, get_sdls_accepted},
    {NULL, false, "link_sdls_spi_refused_total", "counter",
     "frames that it refused: no such association", 1, ZERO_NOWHERE, get_sdls_spi},
    {NULL, false, "link_sdls_mac_refused_total", "counter", "frames that it refused: a wrong MAC",
     1, ZERO_NOWHERE, get_sdls_mac},
    {NULL, false, "link_sdls_replay_refused_total", "counter",
     "frames that it refused: a number that was used before", 1, ZERO_NOWHERE, get_sdls_replayed},
    {NULL, false, "link_sdls_ahead_refused_total", "counter",
     "frames that it refused: a number beyond the window", 1, ZERO_NOWHERE, get_sdls_ahead},
    {NULL, false, "link_sdls_other_refused_total", "counter",
     "frames that it refused for another reason", 1, ZERO_NOWHERE, get_sdls_other},
    {NULL, false, "link_custody_bundles", "gauge",
     "bundles that wait for a custody signal of the peer", 1, ZERO_NOWHERE, get_custody_held},
    {NULL, false, "link_custody_accepted_bundles_total", "counter",
     "bundles of which the peer accepted custody", 1, ZERO_NOWHERE, get_custody_released},
    {NULL, false, "link_custody_refused_bundles_total", "counter",
     "times that the peer refused custody of a bundle", 1, ZERO_NOWHERE, get_custody_refused},
    {NULL, false, "link_custody_timeouts_total", "counter",
     "times that a bundle had no custody signal in time", 1, ZERO_NOWHERE, get_custody_lost},
    {NULL, false, "link_custody_confirmed_bundles_total", "counter",
     "received bundles that custody signals were sent of", 1, ZERO_NOWHERE, get_custody_confirmed},
    {NULL, false, "link_custody_forged_signals_total", "counter",
     "custody signals of others than the peer, and sequences of IDs that were not issued", 1,
     ZERO_NOWHERE, get_custody_forged},
};

const size_t link_values_len = sizeof link_values / sizeof *link_values;

/* ---- the node ---- */

void node_sample_take(struct node *n, struct node_sample *out)
{
    static const struct security_counters none;
    *out = (struct node_sample){
        .node = n,
        .c = agent_counters(n->agent),
        .security = n->security == NULL ? &none : security_policy_counters(n->security->policy),
        .apps = n->apps == NULL ? NULL : apps_counters(n->apps),
        .stored = n->storage != NULL,
        .uptime = node_now(n).now - n->started};
    if (out->stored)
        storage_status(n->storage, &out->store);
    if (n->found != NULL)
        discovery_totals(n->found->engine, &out->found);
}

/* Refused bundles, except duplicates of bundles that are here or in transmission. */
static uint64_t sum_refused(const struct agent_counters *c)
{
    uint64_t sum = 0;
    for (int r = REFUSE_NONE + 1; r < REFUSE_COUNT; r++)
        sum += r == REFUSE_DUPLICATE || r == REFUSE_BUSY ? 0 : c->refused[r];
    return sum;
}

static uint64_t sum_no_room(const struct agent_counters *c)
{
    return c->refused[REFUSE_FULL] + c->refused[REFUSE_QUOTA] + c->refused[REFUSE_QUEUE] +
           c->refused[REFUSE_STORE];
}

static uint64_t ignored_beacons(const struct discovery_totals *t)
{
    return t->verdicts[DISCOVERY_ADDRESS] + t->verdicts[DISCOVERY_CLAIMED] +
           t->verdicts[DISCOVERY_FULL];
}

/* X(name, known, expression, key, where, metric, type, help): see struct node_value. */
#define NODE_VALUES(X)                                                                             \
    X(uptime, true, s->uptime, NULL, 0, "uptime_seconds", "gauge", "since the node began")         \
    X(uptime_s, true, s->uptime / TICK_S, "uptime_s", IN_STATUS | IN_TOP, NULL, NULL, NULL)        \
    X(clock_steps, true, s->node->clock.steps, "clock_steps", IN_STATUS, "clock_steps_total",      \
      "counter", "jumps of the wall clock")                                                        \
    X(bundles, true, s->c->bundles, "bundles", IN_STATUS | IN_TOP, "bundles", "gauge",             \
      "bundles at the node")                                                                       \
    X(bundles_max, true, s->node->config->bundles.count, "bundles_max", IN_TOP, "bundles_limit",   \
      "gauge", "bundles that the node may have")                                                   \
    X(bytes, true, s->c->bytes, "bytes", IN_STATUS | IN_TOP, "bundle_bytes", "gauge",              \
      "their bytes")                                                                               \
    X(store_max, true, node_medium_limit(s->node), "store_max", IN_TOP, "bundle_bytes_limit",      \
      "gauge",                                                                                     \
      "bytes of bundles that the node may have: store.limit, or what its medium has room for")     \
    X(limit_bytes, true, s->node->config->store.limit, "limit_bytes", IN_STORE,                    \
      "bundle_bytes_configured", "gauge", "store.limit")                                           \
    X(effective_limit, true, node_medium_limit(s->node), "effective_limit_bytes", IN_STORE, NULL,  \
      NULL, NULL)                                                                                  \
    X(memory, true, agent_memory_used(s->node->agent), "memory_bytes", IN_TOP, "memory_bytes",     \
      "gauge", "memory that bundles, endpoints and reassemblies take")                             \
    X(memory_bytes, true, s->c->memory_bytes, "memory_bytes", IN_STATUS, "bundle_memory_bytes",    \
      "gauge", "bytes of bundles in memory: bundles.memory limits them")                           \
    X(busy_bytes, true, s->c->memory_bytes - s->c->resting_bytes, NULL, 0,                         \
      "bundle_memory_busy_bytes", "gauge",                                                         \
      "of them, those that cannot leave memory: being stored, next, in hand of links or "          \
      "applications")                                                                              \
    X(memory_limit, s->stored, node_watch_memory_max(s->node), NULL, 0,                            \
      "bundle_memory_bytes_limit", "gauge",                                                        \
      "bundles.memory in force: a quarter of bundles.total at most")                               \
    X(record_bytes, true, s->c->record_bytes, "record_bytes", IN_STATUS, NULL, NULL, NULL)         \
    X(arriving_bytes, true, s->c->arriving_bytes, "arriving_bytes", IN_STATUS, "arriving_bytes",   \
      "gauge", "of it, for bundles that are still arriving")                                       \
    X(sending_bytes, true, s->c->sending_bytes, "sending_bytes", IN_STATUS, "sending_bytes",       \
      "gauge", "of it, for bundles that only links have: in transmission")                         \
    X(seen_bytes, true, s->c->seen_bytes, "seen_bytes", IN_STATUS, NULL, NULL, NULL)               \
    X(memory_max, true, agent_memory_max(s->node->agent), "memory_max", IN_TOP,                    \
      "memory_bytes_limit", "gauge",                                                               \
      "memory that they may take: bundles.total, or store.limit with durability none")             \
    X(restored_here, true, s->node->restored, "restored", IN_STATUS, NULL, NULL, NULL)             \
    X(offered, true, s->c->offered, "offered", IN_AGENT, NULL, NULL, NULL)                         \
    X(consumed, true, s->c->consumed, "consumed", IN_AGENT, NULL, NULL, NULL)                      \
    X(storing, true, s->c->storing, "storing", IN_AGENT, NULL, NULL, NULL)                         \
    X(accepted, true, s->c->accepted_local, "accepted_local", IN_AGENT, "bundles_accepted_total",  \
      "counter", "bundles taken from applications")                                                \
    X(received, true, s->c->received, "received", IN_AGENT, "bundles_received_total", "counter",   \
      "bundles taken from peers")                                                                  \
    X(restored, true, s->c->restored, "restored", IN_AGENT, NULL, NULL, NULL)                      \
    X(held, true, s->c->bundles, "held", IN_AGENT, NULL, NULL, NULL)                               \
    X(fragments_in, true, s->c->fragments_in, "fragments_in", IN_AGENT, NULL, NULL, NULL)          \
    X(fragments_held, true, s->c->fragments, "fragments_held", IN_AGENT, NULL, NULL, NULL)         \
    X(fragments_going_on, true, s->c->fragments_going_on, "fragments_going_on", IN_AGENT, NULL,    \
      NULL, NULL)                                                                                  \
    X(reassemblies_begun, true, s->c->reassemblies_begun, "reassemblies_begun", IN_AGENT, NULL,    \
      NULL, NULL)                                                                                  \
    X(reassemblies_held, true, s->c->reassemblies, "reassemblies_held", IN_AGENT, NULL, NULL,      \
      NULL)                                                                                        \
    X(delivered, true, s->c->delivered, "delivered", IN_AGENT | IN_TOP, "deliveries_total",        \
      "counter", "application data units delivered")                                               \
    X(forwarded, true, s->c->ended[END_FORWARDED], "forwarded", IN_TOP, NULL, NULL, NULL)          \
    X(expired, true, s->c->ended[END_EXPIRED], "expired", IN_TOP, NULL, NULL, NULL)                \
    X(bundles_refused, true, sum_refused(s->c), "refused", IN_TOP, NULL, NULL, NULL)               \
    X(refused_room, true, sum_no_room(s->c), "refused_room", IN_TOP, NULL, NULL, NULL)             \
    X(refused_expired, true, s->c->refused[REFUSE_EXPIRED], "refused_expired", IN_TOP, NULL, NULL, \
      NULL)                                                                                        \
    X(send_failures, true, s->c->send_failures, "send_failures", IN_AGENT, "send_failures_total",  \
      "counter", "tries to forward that failed")                                                   \
    X(lost, true, s->c->lost, "lost", IN_AGENT, NULL, NULL, NULL)                                  \
    X(load_failures, true, s->c->load_failures, "load_failures", IN_AGENT, NULL, NULL, NULL)       \
    X(too_late, true, s->c->too_late, "too_late", IN_AGENT, NULL, NULL, NULL)                      \
    X(returned, true, s->c->returned, "returned", IN_AGENT, NULL, NULL, NULL)                      \
    X(lenient, true, s->c->lenient, "lenient", IN_AGENT, NULL, NULL, NULL)                         \
    X(forgotten, true, s->c->forgotten, "forgotten", IN_AGENT, NULL, NULL, NULL)                   \
    X(displaced, true, s->c->displaced, "displaced", IN_AGENT, NULL, NULL, NULL)                   \
    X(reports_sent, true, s->c->reports_sent, "reports_sent", IN_AGENT, NULL, NULL, NULL)          \
    X(reports_received, true, s->c->reports_received, "reports_received", IN_AGENT, NULL, NULL,    \
      NULL)                                                                                        \
    X(reports_limited, true, s->c->reports_limited, "reports_limited", IN_AGENT,                   \
      "status_reports_limited_total", "counter",                                                   \
      "status reports that were not sent: more than report_rate")                                  \
    X(records_ignored, true, s->c->records_ignored, "records_ignored", IN_AGENT, NULL, NULL, NULL) \
    X(security_keys, true, s->node->security == NULL ? 0 : s->node->security->ring->len, "keys",   \
      IN_SECURITY, "security_keys", "gauge", "keys of bundle security")                            \
    X(key_warnings, true, node_security_warnings(s->node), NULL, 0, "security_key_warnings",       \
      "gauge", "of them, those that expire in 14 days, have expired, or made 80 % of their uses")  \
    X(sourced, true, s->security->sourced, "sourced", IN_SECURITY, NULL, NULL, NULL)               \
    X(verified, true, s->security->verified, "verified", IN_SECURITY, NULL, NULL, NULL)            \
    X(acceptor, true, s->security->accepted, "accepted", IN_SECURITY, NULL, NULL, NULL)            \
    X(passed, true, s->security->passed, "passed", IN_SECURITY, "security_passed_total",           \
      "counter", "failed operations of rules with dry_run")                                        \
    X(bundles_dropped, true, s->security->bundles_dropped, "bundles_dropped", IN_SECURITY,         \
      "security_bundles_dropped_total", "counter",                                                 \
      "received bundles that were dropped for a failed operation")                                 \
    X(blocks_dropped, true, s->security->blocks_dropped, "blocks_dropped", IN_SECURITY,            \
      "security_blocks_dropped_total", "counter",                                                  \
      "blocks that were removed for a failed operation")                                           \
    X(not_sent, true, s->security->not_sent, "not_sent", IN_SECURITY, "security_not_sent_total",   \
      "counter", "bundles that start here and could not be protected")                             \
    X(applications, true, s->apps == NULL ? 0 : s->apps->connections, "applications",              \
      IN_STATUS | IN_TOP, NULL, NULL, NULL)                                                        \
    X(connections, s->apps != NULL, s->apps->connections, "connections", IN_APPLICATIONS,          \
      "applications", "gauge", "applications that are connected")                                  \
    X(refused_connections, s->apps != NULL, s->apps->refused_connections, "refused_connections",   \
      IN_APPLICATIONS, NULL, NULL, NULL)                                                           \
    X(malformed, s->apps != NULL, s->apps->malformed, "malformed", IN_APPLICATIONS, NULL, NULL,    \
      NULL)                                                                                        \
    X(requests, s->apps != NULL, s->apps->requests, "requests", IN_APPLICATIONS,                   \
      "application_requests_total", "counter", "requests of applications")                         \
    X(refused, s->apps != NULL, s->apps->refused, "refused", IN_APPLICATIONS, NULL, NULL, NULL)    \
    X(unanswered, s->apps != NULL, s->apps->unanswered, "unanswered", IN_APPLICATIONS, NULL, NULL, \
      NULL)                                                                                        \
    X(unanswered_bytes, s->apps != NULL, s->apps->unanswered_bytes, "unanswered_bytes",            \
      IN_APPLICATIONS, NULL, NULL, NULL)                                                           \
    X(reading_bytes, s->apps != NULL, s->apps->reading_bytes, "reading_bytes", IN_APPLICATIONS,    \
      NULL, NULL, NULL)                                                                            \
    X(pauses, s->apps != NULL, s->apps->pauses, "pauses", IN_APPLICATIONS, NULL, NULL, NULL)       \
    X(deliveries, s->apps != NULL, s->apps->deliveries, "deliveries", IN_APPLICATIONS, NULL, NULL, \
      NULL)                                                                                        \
    X(undelivered, s->apps != NULL, s->apps->undelivered, "undelivered", IN_APPLICATIONS, NULL,    \
      NULL, NULL)                                                                                  \
    X(taken_back, s->apps != NULL, s->apps->taken_back, "taken_back", IN_APPLICATIONS, NULL, NULL, \
      NULL)                                                                                        \
    X(keepalives_missed, s->apps != NULL, s->apps->keepalives_missed, "keepalives_missed",         \
      IN_APPLICATIONS, NULL, NULL, NULL)                                                           \
    X(stalled, s->apps != NULL, s->apps->stalled, "stalled", IN_APPLICATIONS, NULL, NULL, NULL)    \
    X(unconfigured, s->apps != NULL, s->apps->unconfigured, "unconfigured", IN_APPLICATIONS, NULL, \
      NULL, NULL)                                                                                  \
    X(store_bytes, s->stored, s->store.bytes, "store_bytes", IN_TOP, "store_bytes", "gauge",       \
      "bytes of bundles in the store")                                                             \
    X(in_store, s->stored, s->store.bytes, "bytes", IN_STORE, NULL, NULL, NULL)                    \
    X(store_waiting, s->stored, s->store.waiting, "store_waiting", IN_TOP, "store_waiting",        \
      "gauge", "jobs that wait for the medium")                                                    \
    X(jobs_waiting, s->stored, s->store.waiting, "waiting", IN_STORE, NULL, NULL, NULL)            \
    X(commits, s->stored, s->store.commits, "commits", IN_STORE, NULL, NULL, NULL)                 \
    X(jobs, s->stored, s->store.jobs, "jobs", IN_STORE, NULL, NULL, NULL)                          \
    X(failures, s->stored, s->store.failures, "failures", IN_STORE, "store_failures_total",        \
      "counter", "jobs that the medium refused")                                                   \
    X(damaged, s->stored, s->store.damaged, "damaged", IN_STORE, "store_damaged", "gauge",         \
      "bundles that are set aside as damaged")                                                     \
    X(echoed, true, s->node->echoed, "echoed", IN_NODE, NULL, NULL, NULL)                          \
    X(echo_refused, true, s->node->echo_refused, "echo_refused", IN_NODE, NULL, NULL, NULL)        \
    X(echo_unsent, true, s->node->echo_unsent.count, "echo_unsent", IN_NODE, NULL, NULL, NULL)     \
    X(control_refused, true, s->node->refusals.all, "control_refused", IN_NODE, NULL, NULL, NULL)  \
    X(http_cut, s->node->http != NULL, atomic_load(&s->node->http_cut), "http_cut_off", IN_NODE,   \
      "http_connections_cut_off_total", "counter",                                                 \
      "connections of pages and scrapers that were closed for later ones")                         \
    X(store_refused, true, s->node->store_failures, "store_failures", IN_NODE, NULL, NULL, NULL)   \
    X(neighbours, s->node->found != NULL, s->found.neighbours, "neighbours", IN_STATUS,            \
      "discovery_neighbours", "gauge", "neighbours that discovery has heard")                      \
    X(neighbours_up, s->node->found != NULL, s->found.up, "neighbours_up", IN_STATUS,              \
      "discovery_neighbours_up", "gauge", "of them, those whose link is up")                       \
    X(beacons_sent, s->node->found != NULL, s->found.sent, NULL, 0,                                \
      "discovery_beacons_sent_total", "counter", "own beacons")                                    \
    X(beacons_known, s->node->found != NULL,                                                       \
      s->found.verdicts[DISCOVERY_KNOWN] + s->found.verdicts[DISCOVERY_NEW], NULL, 0,              \
      "discovery_beacons_accepted_total", "counter", "beacons of neighbours")                      \
    X(beacons_configured, s->node->found != NULL, s->found.verdicts[DISCOVERY_CONFIGURED], NULL,   \
      0, "discovery_beacons_configured_total", "counter",                                          \
      "beacons with the name of a configured node: nothing changes")                               \
    X(beacons_ignored, s->node->found != NULL, ignored_beacons(&s->found), NULL, 0,                \
      "discovery_beacons_ignored_total", "counter",                                                \
      "beacons without a place: too many of an address, of a name, or of all")                     \
    X(beacons_malformed, s->node->found != NULL, s->found.verdicts[DISCOVERY_MALFORMED], NULL, 0,  \
      "discovery_malformed_total", "counter", "datagrams that were no beacons")                    \
    X(contested, s->node->found != NULL, s->found.contested, NULL, 0, "discovery_contested_total", \
      "counter", "new neighbours whose name another address has claimed, too")                     \
    X(gave_way, s->node->found != NULL, s->found.gave_way, NULL, 0, "discovery_gave_way_total",    \
      "counter", "links to neighbours that were not up in time")                                   \
    X(segment_lines, s->node->segments != NULL, log_writer_lost(s->node->segments->file),          \
      "segment_lines_lost", IN_NODE, NULL, NULL, NULL)                                             \
    X(bundle_lines, s->node->bundle_log != NULL, log_writer_lost(s->node->bundle_log),             \
      "bundle_lines_lost", IN_NODE, NULL, NULL, NULL)

#define NODE_GET(name, known, expression, key, where, metric, type, help)                          \
    static uint64_t node_##name(const struct node_sample *s)                                       \
    {                                                                                              \
        return (known) ? (expression) : LINK_VALUE_UNKNOWN;                                        \
    }
NODE_VALUES(NODE_GET)
#undef NODE_GET

#define NODE_ROW(name, known, expression, key, where, metric, type, help)                          \
    {key, where, metric, type, help, node_##name},
const struct node_value node_values[] = {NODE_VALUES(NODE_ROW)};
#undef NODE_ROW

const size_t node_values_len = sizeof node_values / sizeof *node_values;
