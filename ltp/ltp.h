/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LTP engine (RFC 5326 with erratum 1657, CCSDS 734.1-B-1). It is pure: no I/O, no clock, no
 * callbacks.
 *
 *   push:  ltp_span_set · ltp_span_remove · ltp_link · ltp_send · ltp_cancel · ltp_accept ·
 *          ltp_input · ltp_expire
 *   pull:  ltp_output (the next segment to radiate) · ltp_poll (the next notice) · ltp_deadline
 *
 * Each push call takes the time `now`, which never decreases. After any push call, the user calls
 * ltp_poll until it returns 0, and ltp_output for each span while its link has capacity. The user
 * calls ltp_expire at the time that ltp_deadline returned.
 *
 * The engine never calls its user. There are two exceptions: the event sink and the functions of
 * ltp/auth.h. Both must not call the engine. The sink gets the effects of a datagram (for example,
 * a session opens) before the record of the datagram itself, which has the verdict.
 *
 * An engine, and everything that it returns, belong to one thread. Several engines fit in one
 * process.
 */
#ifndef LTP_LTP_H
#define LTP_LTP_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/tick.h"
#include "ltp/auth.h"
#include "ltp/event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ltp;

#define LTP_SOURCE_MAX 28 /* the longest source address of a datagram, bytes */

/* RFC 5326 §3.1: the engine that opened the session, and the number that it gave to the session. */
struct ltp_session_id {
    uint64_t originator;
    uint64_t number;
};

/* RFC 5326 §3.2.4 with RFC 7116: reason codes of cancel segments. */
enum ltp_reason {
    LTP_USR_CNCLD = 0, /* client service cancelled */
    LTP_UNREACH = 1,   /* unreachable client service */
    LTP_RLEXC = 2,     /* retransmission limit exceeded */
    LTP_MISCOLORED = 3,
    LTP_SYS_CNCLD = 4, /* system error */
    LTP_RXMTCYCEXC = 5 /* retransmission-cycle limit exceeded */
};

/* Limits of an engine. 0 takes the default in brackets. */
struct ltp_config {
    uint64_t engine; /* number of this engine, 1..2^64-1; by default the ipn node number */
    uint64_t seed;   /* of session numbers, serial numbers, hashes; must differ at each start */
    /* Secret key for the report serial numbers by which unconfigured peers prove their address
     * [derived from the seed]. */
    uint64_t secret[2];
    uint32_t import_sessions; /* open import sessions of all peers together [4096] */
    /* Memory of all import sessions together, bytes [1 GiB]: data of incomplete blocks, and the
     * state of their gaps and reports. One half of it (and of import_sessions) is reserved: each
     * configured peer has an equal part, and all unconfigured peers together have one. The other
     * half is shared. */
    uint64_t held_bytes;
    uint32_t closed_memory; /* closed import sessions that the engine remembers [65536] */
    tick closed_time;       /* at least so long, unless closed_memory is reached [300 s] */
    /* The engine restarted and lost its sessions. A peer may still hold claims of the earlier run.
     * So red data from the middle of a session that may have begun then is cancelled
     * (SYS_CNCLD). */
    bool earlier_life;
    bool tell_start;  /* ltp_poll returns LTP_IMPORT_START notices */
    event_sink *sink; /* NULL: the engine makes no event records, only counters */
    void *sink_context;
    /* Unconfigured peers: engines without a span that may send to this engine; see
     * ltp_unconfigured_at. */
    uint32_t unconfigured_max; /* at once, up to 65536 [none] */
    /* Parameters of each unconfigured peer; copied. `peer` is ignored. `idle_timeout` must not be
     * 0. */
    const struct ltp_span *unconfigured;
    /* open import sessions of all unconfigured peers [a quarter of import_sessions] */
    uint32_t unconfigured_sessions;
    uint64_t unconfigured_bytes; /* memory of all unconfigured peers [a quarter of held_bytes] */
};

/*
 * Extensions for faster recovery: switches of a span; each is off at 0. All segments that they
 * cause are legal by RFC 5326, but not every receiver supports them: see enum ltp_profile.
 * docs/recovery.md shows the gain of each switch.
 */
struct ltp_recovery {
    /* The retransmission timer follows the measured time from a checkpoint to its report, and from
     * a report to its acknowledgement. Its value is mean + 4 x deviation, and not less than the
     * latest measurement. Each expiry doubles it, up to the span's `rto`. Before the first
     * measurement the timer is `rto`, and each expiry doubles all later timers, up to 64 x rto (or
     * rto_max). */
    bool rto_auto;
    /* ns [100 µs; 0 = unbounded]; a measurement above rto_max overrides it */
    tick rto_min, rto_max;
    /* The checkpoint that closes a red part or a retransmission is a separate segment with at most
     * so many bytes of data. */
    uint32_t closing_bytes;
    /* The sender repeats an unanswered closing checkpoint every copy_spacing, up to `copies` times.
     * Then the timer starts. All copies count as one try. report_copies is the same for reports. */
    uint32_t copies, report_copies;
    tick copy_spacing; /* ns [rto / 8] */
    /* The first transmission of a block has a checkpoint at least every so many segments, or after
     * so much time. */
    uint32_t checkpoint_segments;
    tick checkpoint_time; /* ns */
    /* Wait between a report with gaps and the retransmission, ns. Claims of reports that arrive
     * meanwhile are taken into account. */
    tick resend_wait;
    /* Bytes that were retransmitted and not yet reported on are not retransmitted for other
     * reports. */
    bool merge_claims;
    /* Retransmissions of the oldest session go first; else the order is that of the reports. */
    bool oldest_first;
    /* The engine adjusts the number of export sessions; export_sessions is only the upper bound.
     * The limit grows by one if the link has capacity, no segment is queued and all permitted
     * sessions are open. It shrinks by one if that did not happen for sessions_age. */
    bool sessions_auto;
    /* With sessions_auto: total bytes of the blocks of open export sessions [256 MiB]. At this
     * limit no further session opens, but 2 may always be open. */
    uint64_t sessions_bytes;
    tick sessions_age; /* ns [10 s] */
};

/*
 * Which of these extensions the peer's receiver supports. A receiver may cancel sessions because of
 * legal segments: for example, one that makes a new report for every copy of a checkpoint and
 * limits the number of reports per session (docs/recovery.md).
 */
enum ltp_profile {
    LTP_PROFILE_HELIOGRAPH, /* all switches, from the first session on */
    LTP_PROFILE_HDTN,       /* the same; documents the peer's implementation in the configuration */
    /* Only switches that the peer cannot observe: merge_claims, oldest_first, sessions_auto. With
     * rto_auto the checkpoint timer only grows: it is at least `rto`, and longer after long
     * measurements and expiries. With merge_claims one checkpoint follows all parts of a divided
     * answer. */
    LTP_PROFILE_ION,
    LTP_PROFILE_PLAIN, /* only sessions_auto; the checkpoint timer is `rto` */
    LTP_PROFILE_AUTO   /* starts like ION; the engine then learns from the peer's behaviour */
};

/* What the engine has learnt about a peer with LTP_PROFILE_AUTO. It is kept until ltp_free. */
enum ltp_learnt {
    /* like ION; some sessions probe the peer without causing additional reports */
    LTP_LEARNT_NOTHING,
    LTP_LEARNT_TRIAL, /* it answers a checkpoint once: trial with few copies */
    /* it repeats the same report for each copy: few copies, no early checkpoints */
    LTP_LEARNT_REPEATS,
    LTP_LEARNT_SUPPORTS, /* all switches; early checkpoints are first tried in single sessions */
    LTP_LEARNT_PLAIN /* it counts reports, or cancelled because of them: like ION, permanently */
};

/* Named sets of switches. */
extern const struct ltp_recovery ltp_recovery_plain;   /* all off */
extern const struct ltp_recovery ltp_recovery_default; /* measured best on fading links */

#define LTP_CHECKPOINT_EXTRA 20 /* bytes: the longest two serial numbers of a checkpoint */

/* Parameters that are agreed with one peer. 0 takes the default in brackets. */
struct ltp_span {
    uint64_t peer;        /* engine number of the peer */
    uint32_t segment_max; /* longest segment to send, bytes, header included, 64..65000 [1400] */
    /* A checkpoint may exceed segment_max by this many bytes, for its serial numbers:
     * 0..LTP_CHECKPOINT_EXTRA [0]. With the maximum, a retransmission has exactly the same segment
     * boundaries as the lost segments. With less, the last segment of a gap may be divided into
     * two. */
    uint32_t checkpoint_extra;
    uint32_t export_sessions; /* parallel sessions that this engine opens, 1..65536 [16] */
    uint32_t import_sessions; /* parallel sessions that the peer may open [1024] */
    uint64_t block_max; /* longest block to receive, bytes [1 GiB]; longer ones are cancelled */
    /* Ranges (gaps + 1) of one import session [4096], or one for each KiB received, if that is
     * more. The same limit holds for the claims of the peer's receiver in one export session. */
    uint32_t ranges_max;
    /* Claims in one report segment, if they fit segment_max [256]. Further claims are sent in
     * further report segments. */
    uint32_t claims_max;
    /* Retransmission timer of checkpoints, reports and cancels, ns, from de-queueing for
     * transmission. The caller computes this fixed value: as configured, or 2 x one-way light time
     * + margins. At least 100 µs; no default. */
    tick rto;
    /* Round-trip light time, ns [0 = unknown]. When it changes, the measured values change by the
     * same amount. Timers that only grow (see LTP_PROFILE_ION) do not double it. */
    tick round_trip;
    uint32_t retries_max; /* retransmissions of a checkpoint, report or cancel [20] */
    /* Retransmission cycles of an export session (checkpoints whose reports showed gaps). One more
     * cancels the session, reason RXMTCYCEXC [0 = unlimited; the total of retransmitted bytes is
     * always bounded]. */
    uint32_t cycles_max;
    /* Wait between the arrival of a checkpoint and its report, ns [0]; emulates processing time.
     * The report claims all data received before it is sent. */
    tick report_delay;
    /* A report with gaps is deferred by this time, ns [0], because reordered segments may fill the
     * gaps. When they do, the report is sent at once. */
    tick report_defer;
    /* An import session is cancelled after so long without a segment, unless one of its reports
     * waits for an acknowledgement. Received green data is then delivered. ns [0 = never for red,
     * 10 x rto for green]. With 0, red sessions of a sender that has disappeared stay open. */
    tick idle_timeout;
    tick green_timeout; /* the same for a wholly green block [0 = idle_timeout] */
    /* The report that completes a red part waits for ltp_accept. So does the answer "delivered" to
     * an orange block. */
    bool confirm_import;
    /* Orange blocks (see struct ltp_block). Receiver: the block is lost after orange_wait without a
     * segment, ns [rto]. With orange_deaf the receiver treats orange blocks as green and does not
     * answer. Sender: the block is lost if orange_answer passes after its last segment without an
     * answer, ns [orange_wait + 3 x rto, so that two answers may be lost]. */
    tick orange_wait, orange_answer;
    bool orange_deaf;
    /* RFC 5327. With `auth` all sent segments are authenticated. Received segments are verified
     * before they have any effect. The object must exist as long as the engine. NULL: no
     * authentication. With a cookie (cookie_len > 0) all segments of both directions have the
     * cookie. Both can only change while the peer has no session. segment_max must be at least
     * LTP_SEGMENT_AUTH_MIN + auth->value_len, or with only a cookie LTP_SEGMENT_COOKIE_MIN. */
    const struct ltp_auth *auth;
    enum ltp_auth_mode auth_mode;
    uint8_t cookie[LTP_COOKIE_MAX];
    uint8_t cookie_len;
    struct ltp_recovery recovery;
    enum ltp_profile profile; /* which of the recovery switches are used toward this peer */
};

/* Returns 0 with *out, which the caller frees with ltp_free; HELIO_ENOMEM, or HELIO_EINVAL: a wrong
 * configuration. */
int ltp_new(struct ltp **out, const struct ltp_config *config);
void ltp_free(struct ltp *l); /* drops all blocks; NULL is allowed */

/* Adds or changes the span to a peer. A new span's link is down. Open sessions continue with the
 * new values, except that they keep their ranges_max and confirm_import. Running timers keep their
 * expiry. Returns 0, HELIO_EINVAL or HELIO_ENOMEM. Returns HELIO_EAGAIN in two cases: the engine is
 * an unconfigured peer with an open session or queued segments; or the reports of a session no
 * longer fit the shorter segments and the session can make no more reports. */
int ltp_span_set(struct ltp *l, const struct ltp_span *span, tick now);

/* Removes the span to a peer. Its open sessions are cancelled locally, with notices; its queued
 * segments are dropped. From now on the peer is unknown. Its closed sessions are still remembered
 * (for the latest 256 removed peers), and are used again when a span to the same engine is set.
 * Returns 0 or HELIO_ENOENT. */
int ltp_span_remove(struct ltp *l, uint64_t peer, tick now);

/* Link state cues for one or both directions (RFC 5326 §4.1), for example from a contact plan.
 * TRANSMIT: this engine can transmit to the peer (§6.1, §6.4); while it cannot, ltp_output returns
 * nothing. RECEIVE: the peer can transmit to this engine (§6.5, §6.6); while it cannot, timers of
 * expected answers are suspended. Returns 0 or HELIO_ENOENT. */
enum ltp_direction { LTP_TRANSMIT = 1, LTP_RECEIVE = 2 };
/* `directions`: of enum ltp_direction, one or both or'ed. */
int ltp_link_directions(struct ltp *l, uint64_t peer, unsigned directions, bool up, tick now);

/* ltp_link_directions for both directions. */
int ltp_link(struct ltp *l, uint64_t peer, bool up, tick now);

/* The source address of the peer's datagrams, as ltp_input_from gets it: at most LTP_SOURCE_MAX
 * bytes. If the first `match` bytes of a datagram's source differ, its segments are refused and
 * have no effect (VERDICT_WRONG_SOURCE). 0: any source is valid. Reports and cancels of unknown
 * sessions name no peer; with several peers, the source selects the peer that gets the
 * acknowledgement. Returns 0, HELIO_ENOENT, HELIO_EINVAL (too long, or shorter than `match`). */
int ltp_source(struct ltp *l, uint64_t peer, struct slice source, size_t match);

/* For the latest refused segment: the peer's engine number (VERDICT_WRONG_SOURCE,
 * VERDICT_AUTH_MISSING, VERDICT_AUTH_BAD, VERDICT_BAD_COOKIE), or the session originator
 * (VERDICT_UNKNOWN_PEER). 0: no segment was refused. */
uint64_t ltp_refused_peer(const struct ltp *l);

/* Adds a client service that accepts blocks. Blocks for other services are cancelled with
 * LTP_UNREACH. Service 1 (bundles, CCSDS 734.1) is always open. Returns 0, HELIO_EINVAL (above
 * 2^32-1) or HELIO_ENOMEM. */
int ltp_service_open(struct ltp *l, uint64_t client_service);

/*
 * A block to send (RFC 5326 §4.2 transmission request). The first red_len bytes are red (reliable),
 * the rest is green. The engine keeps a reference to the block until the close notice of the
 * session, which returns `tag`. The bytes of the block must not change until then. Returns 0 and
 * the session's id; HELIO_EAGAIN when the span's limit of export sessions is reached; HELIO_ENOENT
 * (unknown peer); HELIO_EINVAL (empty block, red_len > length, orange with red_len > 0, or longer
 * than 2^32-1); HELIO_ENOMEM.
 *
 * An orange block is a green block whose receiver reports the outcome. Its segments have an
 * extension that requests an answer. A receiver that supports the extension answers with a cancel
 * segment that has the same extension with "delivered" or "lost". Nothing is retransmitted. The
 * session ends with LTP_EXPORT_DONE (delivered) or LTP_EXPORT_LOST. The latter also means that no
 * answer arrived in time: the receiver does not support the extension, or all answers were lost.
 */
struct ltp_block {
    uint64_t peer;
    uint64_t client_service;
    struct buf *data; /* borrowed: the engine takes its own reference on success */
    uint64_t red_len; /* 0 … data->len */
    bool orange;
    uint64_t tag; /* opaque; returned in the notices */
};
/* Opens a session (RFC 5326 §4.1). Returns 0 with *out, or HELIO_E*. */
int ltp_send(struct ltp *l, const struct ltp_block *block, tick now, struct ltp_session_id *out);

/* Number of further blocks that ltp_send accepts for this peer now; 0 for an unknown peer. With
 * sessions_auto it can grow when ltp_output returns the last queued segment, and a sent block can
 * reduce it to 0 (sessions_bytes). Call it again after either. */
uint32_t ltp_room(const struct ltp *l, uint64_t peer);

/* Number of blocks that may be open to this peer at once; 0 for an unknown peer. With sessions_auto
 * it grows as described above. It shrinks when a block closes. It also shrinks to the number of
 * open sessions when their blocks reach sessions_bytes. */
uint32_t ltp_window(const struct ltp *l, uint64_t peer);

/* Is the peer silent? It is after a session failed (RLEXC) if no segment of the peer arrived since
 * its last new checkpoint. To a silent peer, a new session first sends one short segment of the red
 * part; the rest waits in the engine. So more than one open block is of little use. The state ends
 * when a segment of the peer arrives, or when ltp_link reports the link up. */
bool ltp_silent(const struct ltp *l, uint64_t peer);

/* Memory of the import sessions of a peer, as counted against held_bytes. peer 0: of all
 * unconfigured peers. 0 for an unknown peer. A change puts the peer into the list of
 * ltp_touched. */
uint64_t ltp_held(const struct ltp *l, uint64_t peer);
/* Limits the memory of the peer's import sessions to `most` bytes, in addition to held_bytes. Data
 * beyond it gets the same verdict as data beyond held_bytes. Memory already in use stays.
 * UINT64_MAX: no such limit. */
void ltp_hold(struct ltp *l, uint64_t peer, uint64_t most);

/* Cancels a session from this end, export or import (RFC 5326 §4.3, §6.15-6.17). The close notice
 * follows. Returns 0 or HELIO_ENOENT. */
int ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason reason, tick now);

/* With confirm_import: the user has stored the red part (or a whole orange block), so the engine
 * may send the completing report. Without this call the peer repeats its checkpoint, and an orange
 * block is answered with "lost". Returns 0 or HELIO_ENOENT. */
int ltp_accept(struct ltp *l, struct ltp_session_id id, tick now);

/* Processes one datagram. The engine copies what it needs and keeps no pointer to the bytes. The
 * returned verdict is also counted and given to the sink. */
enum verdict ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now);

/*
 * ltp_input with the source address of the datagram: at most LTP_SOURCE_MAX bytes in the caller's
 * format.
 *
 * A data segment that could open a session for an engine without a span makes that engine an
 * unconfigured peer, bound to this source. Its segments from another source are refused
 * (VERDICT_WRONG_SOURCE). Unconfigured peers may send blocks to this engine. This engine sends them
 * only reports, cancels and acknowledgements.
 *
 * Another unconfigured peer can replace an unconfigured peer only under two conditions: nothing of
 * the latter is open, and for closed_time none of its segments arrived and none of its sessions
 * closed. Until then a further one is refused (VERDICT_LIMIT_PEERS). So unknown senders cannot
 * displace an active unconfigured peer. All unconfigured peers together have bounded resources:
 * sessions, bytes, and a separate quarter of closed_memory.
 *
 * Source addresses can be forged. Until an unconfigured peer has acknowledged a report, ltp_output
 * returns at most 3 times the bytes received from it. Both counts include 28 to 48 bytes of UDP and
 * IP headers per segment.
 */
enum verdict ltp_input_from(struct ltp *l, const uint8_t *data, size_t len, struct slice source,
                            tick now);

struct ltp_unconfigured {
    uint64_t peer;  /* engine number, for ltp_output */
    uint32_t place; /* 0 … unconfigured_max - 1; fixed while the peer is known */
    uint32_t sessions;
    tick quiet_since; /* when its latest segment arrived or its latest session closed */
    uint8_t source[LTP_SOURCE_MAX];
    uint8_t source_len;
};

/* The next unconfigured peer with queued segments, in turn. ltp_output may still return nothing, if
 * too few bytes arrived from the peer's address. False: there is none. */
bool ltp_unconfigured_next(struct ltp *l, struct ltp_unconfigured *out);

/* May ltp_unconfigured_next return a peer? */
bool ltp_unconfigured_ready(const struct ltp *l);

/* The unconfigured peer with this `place`; false: there is none. */
bool ltp_unconfigured_at(const struct ltp *l, uint32_t place, struct ltp_unconfigured *out);

/* Is the peer one that ltp_unconfigured added? */
bool ltp_is_unconfigured(const struct ltp *l, uint64_t peer);

/* Processes all timers that are due. */
void ltp_expire(struct ltp *l, tick now);

/* The caller did not run for `time` ns before now (for example, the process was suspended). All
 * running timers expire so much later, because the delay is not the peers' fault. Call it before
 * ltp_input for the queued datagrams, and call ltp_expire after these. */
void ltp_late(struct ltp *l, tick time);

/* When to call ltp_expire; TICK_NEVER when no timer runs. */
tick ltp_deadline(const struct ltp *l);

/*
 * The next segment for the link to `peer`. The order is that of RFC 5326 §5 with retransmissions
 * first: cancels and their acknowledgements, report acknowledgements, reports, retransmitted data,
 * new data. All new data of one session precede those of the next, oldest first. The call is
 * the moment of transmission: it starts the timer of a checkpoint, report or cancel.
 *
 * All data segments of a block have exactly segment_max bytes, whatever their header's length, so
 * that a batch suits UDP_SEGMENT. The last segment of a contiguous range has the remaining bytes.
 * If that segment is full, its checkpoint serial numbers may exceed segment_max by
 * checkpoint_extra; if that is not enough, the segment before it is shorter. No other segment is
 * longer than segment_max, whatever numbers the peer has chosen. A checkpoint that stays unanswered
 * several times is shortened to segment_max, because the path may drop longer datagrams.
 *
 * Returns 1 and a segment, or 0 when there is nothing to send. The engine writes `head`. `data`
 * points into the block and is valid until the next push call.
 */
#define LTP_HEAD_MAX 160         /* longest header of a data segment */
#define LTP_SEGMENT_AUTH_MIN 256 /* with authentication: the rest is the value and some data */
#define LTP_SEGMENT_COOKIE_MIN 128
struct ltp_out {
    /* The caller's buffer of at least max(LTP_HEAD_MAX, segment_max + checkpoint_extra) bytes. */
    uint8_t *head;
    uint32_t head_cap; /* size of `head` */
    uint32_t head_len; /* bytes written: the whole segment, or the header of a data segment */
    struct slice data; /* the data part, empty for control segments and authenticated ones */
};
/* Writes the next segment for the peer. */
int ltp_output(struct ltp *l, uint64_t peer, tick now, struct ltp_out *out);

/* Would ltp_output return a segment for this peer if its link is up? */
bool ltp_has_output(const struct ltp *l, uint64_t peer);

/* The next peer whose state has changed since the last call that returned it. It may have output
 * (ltp_has_output), or another value of ltp_window, ltp_held or ltp_silent. For all other peers
 * these values are unchanged, except by ltp_output. Unconfigured peers are not returned (see
 * ltp_unconfigured_next). False: there are no more. A user that checks all peers each time needs no
 * call. */
bool ltp_touched(struct ltp *l, uint64_t *peer);

enum ltp_notice_kind {
    /* A red part is complete: `data` has red_len bytes. LTP_GREEN notices report the green part of
     * a mixed block. */
    LTP_BLOCK,
    /* Green data: `data` at `offset`; `end` with the block's last byte. A wholly green block
     * without missing bytes is one notice with offset 0 and `end`. If bytes are missing, the
     * contiguous pieces follow in order of offset, after the last segment and a time for
     * reordering. The longest piece of a block is always returned, others if memory allows
     * (pieces_dropped). */
    LTP_GREEN,
    /* Export session done: the receiver has the red part, or all green data was sent. Orange block:
     * it was delivered. */
    LTP_EXPORT_DONE,
    LTP_EXPORT_CANCELLED, /* export session cancelled by either end; see reason and remote */
    LTP_IMPORT_CANCELLED, /* import session cancelled by either end */
    LTP_INITIAL_SENT,     /* the whole block was sent once (RFC 5326 §7.7) */
    LTP_EXPORT_LOST,  /* orange block: the receiver reported "lost" (remote), or did not answer */
    LTP_IMPORT_START, /* with tell_start: the first segment of a session arrived (§7.1) */
};

struct ltp_notice {
    enum ltp_notice_kind kind;
    struct ltp_session_id id;
    uint64_t peer;
    uint64_t client_service;
    uint64_t tag;     /* of ltp_send; export sessions only */
    struct buf *data; /* LTP_BLOCK, LTP_GREEN: one reference, owned by the caller */
    uint64_t offset;  /* of `data` in the block */
    uint64_t red_len;
    bool end; /* `data` reaches the end of the block */
    /* LTP_GREEN: the sender requests an answer for the orange block. With confirm_import the engine
     * answers "delivered" only after ltp_accept. LTP_EXPORT_DONE: the block was orange. */
    bool orange;
    enum ltp_reason reason;
    bool remote; /* the peer cancelled the session */
};

/* Returns 1 and the next notice, or 0 when there is none. */
int ltp_poll(struct ltp *l, struct ltp_notice *out);

/* Counters since ltp_new; never reset. */
struct ltp_counters {
    uint64_t rx[16], tx[16];     /* segments by type */
    uint64_t rx_bytes, tx_bytes; /* of whole segments */
    uint64_t verdicts[VERDICT_COUNT];
    uint64_t retransmitted_bytes; /* retransmitted data bytes */
    uint64_t timers[4];           /* by enum event_timer */
    uint64_t opened_export, opened_import;
    uint64_t closed[5];                                    /* by enum event_outcome */
    uint64_t orange_delivered, orange_lost, orange_silent; /* export sessions by answer */
    uint64_t reports_padded; /* report segments followed by octets, which are ignored */
    /* Limits without a verdict: */
    uint64_t acks_dropped;   /* 4096 of one peer were queued; the peer repeats */
    uint64_t closed_evicted; /* closed sessions forgotten before closed_time */
    uint64_t cancels_unsent; /* cancels not sent: pending ones reached import_sessions */
    uint64_t pieces_dropped; /* incomplete green parts: 4096 pieces wait, or no memory */
    /* now; accepted since the start. Refusals have verdicts */
    uint64_t unconfigured, unconfigured_accepted;
    uint64_t unconfigured_unsent; /* not sent to unconfigured peers: no credit */
    uint64_t peers_narrowed;      /* peers that proved not to support the recovery extensions */
};
/* The engine's counters, which stay valid as long as it. */
const struct ltp_counters *ltp_counters(const struct ltp *l);

/* Which recovery extensions the peer's receiver supports. */
struct ltp_support {
    enum ltp_profile profile; /* as configured */
    enum ltp_learnt learnt;   /* with AUTO */
    bool early;               /* early checkpoints are in use */
    uint64_t probes;          /* sessions that probed the peer */
    uint64_t against;         /* reports and cancels that showed missing support */
};
/* False: there is no span to the peer. */
bool ltp_peer_support(const struct ltp *l, uint64_t peer, struct ltp_support *out);

/* "heliograph", "hdtn", …; "nothing", "trial", "repeats", "supports", "plain". Static. */
const char *ltp_profile_name(enum ltp_profile profile);
/* The word for what the engine has learnt; static. */
const char *ltp_learnt_name(enum ltp_learnt learnt);

/*
 * Counters of one peer. Their names follow the instrumentation of other LTP engines
 * (docs/ltp-udp.md). "output" counts segments that this engine sends in its export sessions, and
 * the answers to them. "input" counts segments of the peer's sessions. "popped" (given to the link)
 * counts bytes of whole segments; all others count data bytes. A positive acknowledgement is a
 * report that claims all of its scope; other reports are negative.
 */
#define LTP_SPAN_COUNTERS(X)                                                                       \
    X(output_seg_popped_count)                                                                     \
    X(output_seg_popped_bytes)                                                                     \
    X(output_ckpt_xmit_count)                                                                      \
    X(output_pos_ack_recv_count)                                                                   \
    X(output_neg_ack_recv_count)                                                                   \
    X(output_cancel_recv_count)                                                                    \
    X(output_ckpt_re_xmit_count) /* by its timer, or as a copy */                                  \
    X(output_seg_re_xmit_count)  /* for a report */                                                \
    X(output_seg_re_xmit_bytes)                                                                    \
    X(output_cancel_xmit_count)                                                                    \
    X(output_complete_count)                                                                       \
    X(output_cycles_count)      /* ours: checkpoints whose reports asked for data again */         \
    X(output_cycle_limit_count) /* ours: sessions cancelled for too many of these */               \
    X(input_seg_recv_red_count)                                                                    \
    X(input_seg_recv_red_bytes)                                                                    \
    X(input_seg_recv_green_count)                                                                  \
    X(input_seg_recv_green_bytes)                                                                  \
    X(input_seg_redundant_count)                                                                   \
    X(input_seg_redundant_bytes)                                                                   \
    X(input_seg_unk_client_count)                                                                  \
    X(input_seg_unk_client_bytes)                                                                  \
    X(input_seg_stray_count) /* contradicts its session, or there was no room for it */            \
    X(input_seg_stray_bytes)                                                                       \
    X(input_seg_miscolor_count)                                                                    \
    X(input_seg_miscolor_bytes)                                                                    \
    X(input_seg_closed_count)                                                                      \
    X(input_seg_closed_bytes)                                                                      \
    X(input_ckpt_recv_count)                                                                       \
    X(input_pos_ack_xmit_count)                                                                    \
    X(input_neg_ack_xmit_count)                                                                    \
    X(input_cancel_xmit_count)                                                                     \
    X(input_ack_re_xmit_count)                                                                     \
    X(input_cancel_recv_count)                                                                     \
    X(input_complete_count)                                                                        \
    X(current_export_sessions) /* now */                                                           \
    X(current_import_sessions)
#define LTP_SPAN_COUNTER(name) uint64_t name;
/* Counters of one span; LTP_SPAN_COUNTERS lists them. */
struct ltp_span_counters {
    LTP_SPAN_COUNTERS(LTP_SPAN_COUNTER)
};
#undef LTP_SPAN_COUNTER
/* The counters since the peer was added. Returns 0 or HELIO_ENOENT. */
int ltp_span_counters(const struct ltp *l, uint64_t peer, struct ltp_span_counters *out);

/* State of a peer for monitoring. The cost does not depend on the number of sessions. */
struct ltp_watch {
    tick rto;        /* the timer value of the next checkpoint */
    tick round_trip; /* smoothed time from a checkpoint to its report; 0: not measured */
    tick heard;      /* arrival of the peer's latest segment; TICK_NEVER: none */
    tick asked;      /* first segment sent since then that requires an answer; TICK_NEVER: none */
    uint64_t tx_bytes, rx_bytes; /* whole segments */
    uint64_t resent_bytes;       /* retransmitted data: for a report, by a timer or as a copy */
    uint32_t exports, imports;   /* open sessions */
};
/* 0 or HELIO_ENOENT. */
int ltp_watch(const struct ltp *l, uint64_t peer, struct ltp_watch *out);

/* One open session, for status pages. */
struct ltp_session_info {
    struct ltp_session_id id;
    uint64_t peer, client_service;
    bool is_export;
    uint64_t length;  /* of the block; EVENT_NONE while unknown */
    uint64_t red_len; /* EVENT_NONE while unknown */
    uint64_t done;    /* bytes claimed by the receiver (export) or received (import) */
    uint64_t held;    /* memory held for the block, bytes */
    tick opened;
};
/* Returns 0 or HELIO_ENOENT. */
int ltp_session_get(const struct ltp *l, struct ltp_session_id id, struct ltp_session_info *out);

/* Writes up to `max` sessions to `out`. Returns the total number of open sessions. */
size_t ltp_sessions(const struct ltp *l, struct ltp_session_info *out, size_t max);

/* True if nothing is open, nothing is queued, no notice waits and no byte is held. */
bool ltp_idle(const struct ltp *l);

/* Asserts every invariant of the engine. For tests: the cost grows with the number of sessions. */
void ltp_check(const struct ltp *l);

#ifdef __cplusplus
}
#endif

#endif
