/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of LTP's options. The first table has the options that are agreed with one peer; the
 * second has those of a whole engine.
 *
 * Several modules read the first table: the keys of a link of heliod and whether they can change
 * while the link is open (cla/ltp/), the options of helio-sim and helio-ltp, the scenario language
 * (tests/sim), and the choice of the options that the engine uses toward a receiver (profile.c).
 * Python reads both tables by `heliod --keys --json`.
 *
 * A new option takes a field in struct ltp_span or ltp_config, one line here, and the code that
 * uses it.
 */
#ifndef LTP_OPTIONS_H
#define LTP_OPTIONS_H

#include "ltp/ltp.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LTP_OPTION_HOUR (3600 * TICK_S)

/* Type and unit of the field. TIME: tick, ns. BYTES, COUNT: uint64_t or uint32_t. FLAG: bool. */
enum ltp_option_unit { LTP_OPTION_TIME, LTP_OPTION_BYTES, LTP_OPTION_COUNT, LTP_OPTION_FLAG };

/* Which end must support the option. All but AGREED are recovery switches: `recovery: own` sets
 * them one by one, and ltp_profile enables them. */
enum ltp_option_part {
    LTP_OPTION_AGREED = 1,   /* no switch: used toward any peer */
    LTP_OPTION_BOUND = 2,    /* a bound of other switches: used together with them */
    LTP_OPTION_UNSEEN = 4,   /* the peer cannot observe it: used with all profiles but `plain` */
    LTP_OPTION_RECEIVER = 8, /* the peer's receiver has to support it */
    LTP_OPTION_SENDER = 16   /* the peer's sender has to support it */
};

/*
 * X(group, name, unit, field of struct ltp_span, part, default, least, most, word, meaning)
 *
 * The group (with a dot; "" for none) is the section of the key in a configuration. The name is
 * unique. Bounds are inclusive, in ns, bytes or one; most 0: only the field's own range. The word
 * is another spelling of the value 0 in a file; NULL: there is none. If the meaning explains the
 * default 0, the caller or ltp_span_set replaces it. Every option can change while sessions are
 * open (ltp_span_set).
 */
#define LTP_OPTIONS(X)                                                                             \
    X("", segment, BYTES, segment_max, AGREED, "1024B", 64, 65000, NULL,                           \
      "length of a whole LTP segment, header included; less where TC frames have room for less")   \
    X("recovery.", checkpoint_extra, BYTES, checkpoint_extra, AGREED, "20B", 0,                    \
      LTP_CHECKPOINT_EXTRA, NULL,                                                                  \
      "a checkpoint may be so much longer, for its serial numbers; 0: segment is a hard limit")    \
    X("", sessions, COUNT, export_sessions, AGREED, "16", 1, 65536, "auto",                        \
      "export sessions at once, one bundle each; auto: as many as keep the link busy")             \
    X("limits.", sessions_bytes, BYTES, recovery.sessions_bytes, AGREED, "0", 0, 0, NULL,          \
      "with sessions: auto, bytes of the bundles that are open; 0: 256MiB")                        \
    X("limits.", sessions_age, TIME, recovery.sessions_age, AGREED, "0", 0,                        \
      10000 * LTP_OPTION_HOUR, NULL,                                                               \
      "with sessions: auto, the number falls by one when it was not needed for so long; 0: 10s")   \
    X("", rto, TIME, rto, AGREED, "0", 0, 10000 * LTP_OPTION_HOUR, NULL,                           \
      "retransmission timer of checkpoints, reports and cancels; 0: 2 x owlt + "                   \
      "recovery.margin")                                                                           \
    X("recovery.", retries, COUNT, retries_max, AGREED, "20", 1, 100000, NULL,                     \
      "times that a checkpoint, report or cancel is sent again before the session is cancelled")   \
    X("recovery.", cycles, COUNT, cycles_max, AGREED, "0", 0, 1000000, NULL,                       \
      "retransmission cycles of a session before it is cancelled (reason RXMTCYCEXC); 0: any "     \
      "number")                                                                                    \
    X("recovery.", rto_auto, FLAG, recovery.rto_auto, RECEIVER, "no", 0, 0, NULL,                  \
      "the timer follows the measured round trip, from rto on")                                    \
    X("recovery.", rto_min, TIME, recovery.rto_min, BOUND, "0", 0, LTP_OPTION_HOUR, NULL,          \
      "floor of the timer with rto_auto; 0: 100us")                                                \
    X("recovery.", rto_max, TIME, recovery.rto_max, BOUND, "0", 0, 10000 * LTP_OPTION_HOUR, NULL,  \
      "ceiling of the timer with rto_auto, above what was measured; 0: none")                      \
    X("recovery.", closing, COUNT, recovery.closing_bytes, RECEIVER, "0", 0, 64, NULL,             \
      "data bytes of a closing checkpoint, a segment of its own; 0: no segment of its own")        \
    X("recovery.", copies, COUNT, recovery.copies, RECEIVER, "0", 0, 1000, NULL,                   \
      "copies of an unanswered closing checkpoint before its timer starts")                        \
    X("recovery.", report_copies, COUNT, recovery.report_copies, SENDER, "0", 0, 1000, NULL,       \
      "copies of an unacknowledged report before its timer starts")                                \
    X("recovery.", copy_spacing, TIME, recovery.copy_spacing, BOUND, "0", 0, LTP_OPTION_HOUR,      \
      NULL,                                                                                        \
      "time between copies of a checkpoint or report; 0: an eighth of the retransmission timer")   \
    X("recovery.", checkpoint_segments, COUNT, recovery.checkpoint_segments, RECEIVER, "0", 0,     \
      1000000, NULL, "an early checkpoint at least each so many segments of a block; 0: none")     \
    X("recovery.", checkpoint_time, TIME, recovery.checkpoint_time, RECEIVER, "0", 0,              \
      LTP_OPTION_HOUR, NULL,                                                                       \
      "an early checkpoint at least each so much time of a block's sending; 0: none")              \
    X("recovery.", resend_wait, TIME, recovery.resend_wait, RECEIVER, "0", 0, LTP_OPTION_HOUR,     \
      NULL, "wait between a report and the repetition, for the claims of further reports")         \
    X("recovery.", merge_claims, FLAG, recovery.merge_claims, UNSEEN, "no", 0, 0, NULL,            \
      "bytes that are under way are not repeated for a further report")                            \
    X("recovery.", oldest_first, FLAG, recovery.oldest_first, UNSEEN, "no", 0, 0, NULL,            \
      "of several sessions' gaps those of the oldest one go first")                                \
    X("recovery.", report_delay, TIME, report_delay, AGREED, "0", 0, LTP_OPTION_HOUR, NULL,        \
      "wait between a checkpoint's arrival and its report, to emulate processing")                 \
    X("recovery.", report_defer, TIME, report_defer, AGREED, "0", 0, LTP_OPTION_HOUR, NULL,        \
      "a report that would show gaps waits so long: segments that were overtaken may fill them")   \
    X("recovery.", claims, COUNT, claims_max, AGREED, "256", 1, 10000, NULL,                       \
      "claims per report segment, as far as they fit segment; more go into further ones")          \
    X("limits.", ranges, COUNT, ranges_max, AGREED, "4096", 1, 10000000, NULL,                     \
      "stretches of received data per import session")                                             \
    X("recovery.", orange_wait, TIME, orange_wait, AGREED, "0", 0, 10000 * LTP_OPTION_HOUR, NULL,  \
      "a peer's orange block in which nothing arrived for so long is lost; 0: RTO")                \
    X("recovery.", orange_answer, TIME, orange_answer, AGREED, "0", 0, 10000 * LTP_OPTION_HOUR,    \
      NULL,                                                                                        \
      "our orange block of which nothing was heard for so long is lost; 0: orange_wait + 3 x RTO") \
    X("limits.", block_max, BYTES, block_max, AGREED, "0", 0, UINT32_MAX, NULL,                    \
      "longest block to receive; 0: the node's longest bundle")                                    \
    X("limits.", import_sessions, COUNT, import_sessions, AGREED, "1024", 1, 1000000, NULL,        \
      "import sessions that the peer may have open")                                               \
    X("limits.", idle_timeout, TIME, idle_timeout, AGREED, "0", 0, 10000 * LTP_OPTION_HOUR, NULL,  \
      "an import session without arrivals for so long is cancelled; 0: red 60s or RTO x (retries " \
      "+ 2), whichever is longer, green 10 x RTO")

/*
 * X(key, name, unit, field of struct ltp_config, default, least, most, meaning): as above. All
 * peers of the engine share these options. They cannot change while the engine exists. The key is
 * the path in a configuration; the name is unique.
 */
#define LTP_ENGINE_OPTIONS(X)                                                                      \
    X("limits.import_sessions_all", import_sessions_all, COUNT, import_sessions, "4096", 1,        \
      10000000, "import sessions of all peers of the local address")                               \
    X("limits.held_bytes", held_bytes, BYTES, held_bytes, "1GiB", 65536, 0,                        \
      "memory of all import sessions of the local address")                                        \
    X("limits.closed_sessions", closed_sessions, COUNT, closed_memory, "65536", 1, 100000000,      \
      "closed import sessions that the local address remembers, so that a late duplicate opens "   \
      "none")                                                                                      \
    X("limits.closed_time", closed_time, TIME, closed_time, "300s", TICK_MS,                       \
      10000 * LTP_OPTION_HOUR, "how long it remembers them")                                       \
    X("unknown.accept", accept_unknown, COUNT, unconfigured_max, "0", 0, 65536,                    \
      "LTP engines of no link that may send to the local address, at once; 0: they are refused")   \
    X("unknown.sessions", unknown_sessions, COUNT, unconfigured_sessions, "0", 0, 10000000,        \
      "import sessions of all these; 0: a quarter of limits.import_sessions_all")                  \
    X("unknown.bytes", unknown_bytes, BYTES, unconfigured_bytes, "0", 0, 0,                        \
      "memory of all import sessions of all these; 0: a quarter of limits.held_bytes")

/* A row of the first table. */
struct ltp_option {
    const char *group; /* for example "recovery."; "": none */
    const char *name;  /* NULL ends the table */
    enum ltp_option_unit unit;
    enum ltp_option_part part;
    size_t at, size; /* offset and size of the field in struct ltp_span, bytes */
    const char *initial;
    uint64_t least, most;
    const char *word, *help;
};

extern const struct ltp_option ltp_options[];

/* Finds an option by its name; '-' and '_' are equal. NULL: there is none. */
const struct ltp_option *ltp_option_find(const char *name);

/* Writes the value of `text` (base/units.h; yes or no) into the option's field. Returns 0;
 * HELIO_EFORMAT (not a value of this unit); HELIO_EINVAL (outside the option's range). On errors
 * *span is unchanged. */
int ltp_option_set(const struct ltp_option *o, struct ltp_span *span, const char *text);

/* Writes `value`, which must be in the option's range, into its field. */
void ltp_option_put(const struct ltp_option *o, struct ltp_span *span, uint64_t value);

/* Turns off all switches that belong to none of `parts` (enum ltp_option_part, or-ed).
 * sessions_auto is no switch and stays. */
void ltp_recovery_keep(struct ltp_recovery *k, unsigned parts);

/* Is a switch of these parts on? */
bool ltp_recovery_has(const struct ltp_recovery *k, unsigned parts);

#ifdef __cplusplus
}
#endif

#endif
