/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LTP engine (RFC 5326 with erratum 1657, CCSDS 734.1-B-1): pure, without I/O, clock or
 * callbacks.
 *
 *   push:  ltp_span_set · ltp_span_remove · ltp_link · ltp_send · ltp_cancel · ltp_accept ·
 * ltp_input · ltp_expire pull:  ltp_output (the next segment to radiate) · ltp_poll (the next
 * notice) · ltp_deadline
 *
 * Each push takes the time `now`, which never goes back. After any push, call ltp_poll until it
 * returns 0, ltp_output for each span while its link has capacity, and ltp_expire when ltp_deadline
 * has come. Every notice and segment is asked for; the engine never calls its user (but for the
 * event sink and the functions of ltp/auth.h, which must not call back; what a datagram causes,
 * such as the opening or closing of a session, is told before the record of the datagram, which has
 * its verdict). An engine and all it returns belong to one thread. Two engines fit in a process.
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

#define LTP_SOURCE_MAX 28 /* bytes of an address that a datagram came from */

/* RFC 5326 §3.1: a session is named by the engine that opened it and that engine's number for it.
 */
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

/* Limits of an engine; 0 takes the default in brackets. */
struct ltp_config {
    uint64_t engine;    /* this engine's number, 1..2^64-1; by default the ipn node number */
    uint64_t seed;      /* of session numbers, serials and hashes; another one at each start */
    uint64_t secret[2]; /* of the serials by which unconfigured peers prove their address; nobody
                           else knows it [from the seed] */
    uint32_t import_sessions; /* open import sessions, all peers together [4096] */
    uint64_t held_bytes; /* memory of all import sessions together, bytes [1 GiB]: of blocks as they
                            arrive, and what is noted of their gaps and reports. Half of it, and of
                            import_sessions, is promised in equal parts to the spans' peers and to
                            all unconfigured peers; the rest is for the first to come */
    uint32_t closed_memory; /* closed import sessions that are remembered [65536] */
    tick closed_time;       /* for how long at least, unless there are too many [300 s] */
    bool earlier_life; /* an engine of this number was here before and its sessions are forgotten: a
                          peer may believe that we have what that one has claimed. Red data from the
                          midst of a session that may have begun then is cancelled (SYS_CNCLD) */
    bool tell_start;   /* LTP_IMPORT_START is given */
    event_sink *sink;  /* NULL: no event records are made, only counters */
    void *sink_context;
    /* Unconfigured peers: engines that no span names and that may send all the same; see
     * ltp_unconfigured_at. */
    uint32_t unconfigured_max;           /* at once, up to 65536 [none] */
    const struct ltp_span *unconfigured; /* what holds for each of them, copied; its peer is not
                                     looked at, its idle_timeout must not be 0 */
    uint32_t unconfigured_sessions; /* open import sessions of all unconfigured peers [a quarter of
                                       those of all] */
    uint64_t unconfigured_bytes;    /* their share of held_bytes [a quarter] */
};

/*
 * Faster recovery: switches of a span, each off at 0. All that is sent is legal by RFC 5326, but
 * not every receiver supports it: see enum ltp_profile. docs/recovery.md says what each of them
 * brings.
 */
struct ltp_recovery {
    /* The timer follows the measured time from a checkpoint to its report, and from a report to its
     * acknowledgement: mean + 4 x deviation, never below the latest measurement; each firing
     * doubles it, up to the span's rto, which also serves until something was measured; until then
     * each firing doubles those of all that follows, up to 64 x rto (or rto_max). */
    bool rto_auto;
    tick rto_min, rto_max; /* ns [100 µs; 0 = unbounded]. rto_max gives way to what is measured */
    /* The checkpoint that closes a red part or a repetition is a segment of its own with at most so
     * many bytes of data. */
    uint32_t closing_bytes;
    /* A closing checkpoint is sent again, unanswered, each copy_spacing, up to `copies` times; then
     * its timer starts. It counts as one try. The same for reports. */
    uint32_t copies, report_copies;
    tick copy_spacing; /* ns [rto / 8] */
    /* A checkpoint at least every so many segments, or so much time, of a block's first sending. */
    uint32_t checkpoint_segments;
    tick checkpoint_time; /* ns */
    /* A gap is sent again this long after the report that showed it; what other reports say in the
     * meantime counts. ns */
    tick resend_wait;
    /* Bytes that were sent again and are not yet reported on are not sent again for other reports.
     */
    bool merge_claims;
    /* Of several sessions' gaps those of the oldest session go first; else as reports came. */
    bool oldest_first;
    /* export_sessions is only the upper bound: the limit grows when the link could send, nothing
     * waits and all permitted sessions are open; and shrinks by one when that did not happen for
     * sessions_age. */
    bool sessions_auto;
    uint64_t sessions_bytes; /* of blocks of open export sessions [256 MiB]: no further one when
                                they are as many, but 2 may always be open */
    tick sessions_age;       /* ns [10 s] */
};

/*
 * What a peer's receiver supports of them. Legal is not supported: one that makes a new report for
 * every copy of a checkpoint and limits the reports of a session cancels it (docs/recovery.md).
 */
enum ltp_profile {
    LTP_PROFILE_HELIOGRAPH, /* all switches, from the first session on */
    LTP_PROFILE_HDTN,       /* the same; for who reads the configuration */
    LTP_PROFILE_ION,   /* only what the peer cannot see: merge_claims, oldest_first, sessions. With
                          rto_auto the timer of checkpoints only grows: never below rto, longer with
                          what was measured and with each firing. With merge_claims one checkpoint
                          follows all parts of a divided answer */
    LTP_PROFILE_PLAIN, /* none but that of the sessions; the timer of checkpoints is rto */
    LTP_PROFILE_AUTO   /* begins as with ION; what the peer does decides how it goes on */
};

/* What was learnt of a peer with LTP_PROFILE_AUTO; it stays as long as the engine lives. */
enum ltp_learnt {
    LTP_LEARNT_NOTHING,  /* as with ION, and some sessions ask in a way that costs no report */
    LTP_LEARNT_TRIAL,    /* it answers a checkpoint once: few copies now, to see what they cost */
    LTP_LEARNT_REPEATS,  /* it sends the same report again for each copy: few copies, none early */
    LTP_LEARNT_SUPPORTS, /* all switches; early checkpoints in single sessions first */
    LTP_LEARNT_PLAIN     /* it counts reports, or has cancelled for them: as with ION, for good */
};

/* The named sets of switches. */
extern const struct ltp_recovery ltp_recovery_plain;   /* all off */
extern const struct ltp_recovery ltp_recovery_default; /* what measures best on fading links */

#define LTP_CHECKPOINT_EXTRA 20 /* bytes: the longest two serial numbers */

/* What is agreed with one peer. 0 takes the default in brackets. */
struct ltp_span {
    uint64_t peer;        /* its engine number */
    uint32_t segment_max; /* longest segment to send, bytes, header included, 64..65000 [1400] */
    /* A checkpoint may be longer than segment_max by its serial numbers, at most by so many bytes,
     * 0..LTP_CHECKPOINT_EXTRA [0]: with the most, a repetition has exactly the segments that were
     * lost. With less, a full last gap whose checkpoint does not fit becomes two segments. */
    uint32_t checkpoint_extra;
    uint32_t export_sessions; /* parallel sessions that we open, 1..65536 [16] */
    uint32_t import_sessions; /* parallel sessions that the peer may open [1024] */
    uint64_t block_max;  /* longest block to receive, bytes [1 GiB]; longer ones are cancelled */
    uint32_t ranges_max; /* ranges (gaps + 1) per import session [4096], or one for each KiB
                            received, if that is more; the same of what our receiver claims */
    uint32_t claims_max; /* claims per report segment that we send, as far as they fit segment_max
                            [256]; more go into further ones */
    /* The retransmission timer of checkpoints, reports and cancels, ns: from de-queueing for
     * transmission. Fixed, the binder computes it: either as configured, or 2 x one-way light time
     * + margins. 100 µs … ; no default. */
    tick rto;
    tick round_trip; /* light time there and back, ns, where it is known [0 = it is not]. When it
                        changes, what was measured changes by as much. A timer that only grows does
                        not double it */
    uint32_t retries_max; /* times that a checkpoint, report or cancel is sent again [20] */
    uint32_t cycles_max;  /* retransmission cycles of an export session (checkpoints whose reports
                             asked for data again); one more cancels it, reason RXMTCYCEXC [0 = any
                             number, as long as the bytes asked for are bounded] */
    tick report_delay;    /* waits between a checkpoint's arrival and its report, ns [0]: emulates
                             processing. What the report claims is what is here when it leaves */
    tick report_defer;    /* a report that would show gaps waits so long, ns [0]: segments that were
                             overtaken may fill them; when they do, it waits no longer */
    tick idle_timeout;    /* an import session in which nothing arrived for so long, and no report
                             waits for its acknowledgement, is cancelled; green pieces are given,
                             ns [0 = never for red, 10 x rto for green]. With 0 a sender that is
                             gone for good leaves its red sessions open here. */
    tick green_timeout;   /* the same for a wholly green one, whose pieces are then given
                             [0 = idle_timeout] */
    bool confirm_import;  /* the report that completes a red part waits for ltp_accept, and so does
                             the answer that an orange block is delivered */
    /* Orange blocks (see struct ltp_block). As their receiver: one in which nothing arrived for
     * orange_wait is lost, ns [rto]; orange_deaf: they are green, nothing is told. As their
     * sender: one of which nothing was heard for orange_answer since its last segment left is lost,
     * ns [orange_wait + 3 x rto: two of the answers may get lost]. */
    tick orange_wait, orange_answer;
    bool orange_deaf;
    /* RFC 5327. With auth all that is sent is authenticated, and what comes is examined before it
     * has any effect; it must live as long as the engine. NULL: neither. With a cookie (cookie_len
     * > 0) all that is sent has it, and so must what comes. Both can only change while the peer has
     * no session. segment_max >= LTP_SEGMENT_AUTH_MIN + auth->value_len, or with a
     * cookie only LTP_SEGMENT_COOKIE_MIN. */
    const struct ltp_auth *auth;
    enum ltp_auth_mode auth_mode;
    uint8_t cookie[LTP_COOKIE_MAX];
    uint8_t cookie_len;
    struct ltp_recovery recovery;
    enum ltp_profile profile; /* which of its switches are in use toward this peer */
};

int ltp_new(struct ltp **out, const struct ltp_config *config);
void ltp_free(struct ltp *l); /* drops all blocks; NULL is allowed */

/* Adds or changes the span to a peer. Its link starts down. What is open goes on: its ranges_max
 * and confirm_import stay what they were, all else holds from now on; timers that run, run out.
 * Returns 0, HELIO_EINVAL, HELIO_ENOMEM; HELIO_EAGAIN while it is an unconfigured peer of which
 * something is open or waits, or when a session has reports that no longer fit a segment and can
 * make no more.
 */
int ltp_span_set(struct ltp *l, const struct ltp_span *span, tick now);

/* The span is no more. What is open with its peer is cancelled here, which its notices tell, and
 * what waits for it goes unsent. Its segments are those of an unknown peer from now on; but
 * sessions that are over are remembered as ever (of the latest 256 such peers), and count again
 * when a span to the same engine is set. Returns 0 or HELIO_ENOENT. */
int ltp_span_remove(struct ltp *l, uint64_t peer, tick now);

/* One way or both of the link to the peer are known to be up or down (RFC 5326 §4.1), as a contact
 * plan knows them: whether we transmit to it (§6.1, §6.4) and whether it transmits to us (§6.5,
 * §6.6). While we do not, nothing is output. While it does not, the timers of what it should answer
 * stand still. Returns 0 or HELIO_ENOENT. */
enum ltp_way { LTP_TRANSMIT = 1, LTP_RECEIVE = 2 };
int ltp_link_ways(struct ltp *l, uint64_t peer, unsigned ways, bool up, tick now);

/* Both. */
int ltp_link(struct ltp *l, uint64_t peer, bool up, tick now);

/* What the peer's datagrams come with as `source` of ltp_input_from, at most LTP_SOURCE_MAX bytes.
 * Of these the first `match` have to be equal, or its segments are refused before they have any
 * effect (VERDICT_WRONG_SOURCE); 0: they may come from anywhere. With several peers, reports and
 * cancels of sessions that are not known are acknowledged to the one whose source it is. Returns 0,
 * HELIO_ENOENT, HELIO_EINVAL (too long, or shorter than `match`). */
int ltp_source(struct ltp *l, uint64_t peer, struct slice source, size_t match);

/* Engine number of the peer whose segment was the latest with VERDICT_WRONG_SOURCE,
 * VERDICT_AUTH_MISSING, VERDICT_AUTH_BAD or VERDICT_BAD_COOKIE, or session originator of the latest
 * one with VERDICT_UNKNOWN_PEER; 0: there was none. */
uint64_t ltp_refused_peer(const struct ltp *l);

/* Client services that accept blocks; blocks for others are cancelled with LTP_UNREACH. Service 1
 * (bundles, CCSDS 734.1) is open from the start. Returns 0 or HELIO_EINVAL (above 2^32-1),
 * HELIO_ENOMEM. */
int ltp_service_open(struct ltp *l, uint64_t client_service);

/*
 * A block to send (RFC 5326 §4.2 transmission request). The first red_len bytes are red (reliable),
 * the rest green. The engine keeps a reference to the block until the session's close notice, which
 * carries `tag` back. The block's bytes must not change in the meantime. Returns 0 and the
 * session's id; HELIO_EAGAIN when the span's limit of export sessions is reached; HELIO_ENOENT
 * unknown peer; HELIO_EINVAL (empty block, red_len > length, orange with red_len > 0, or longer
 * than 2^32-1); HELIO_ENOMEM.
 *
 * An orange block is a green one whose sender is told what became of it: its segments carry an
 * extension that asks for it, and a receiver that knows the extension answers with a cancel that
 * has the same extension and says "delivered" or "lost". Nothing is sent again; the session ends
 * with LTP_EXPORT_DONE (delivered) or LTP_EXPORT_LOST, the latter also when no answer came in time:
 * always by a receiver that does not know the extension, sometimes for a block that did arrive.
 */
struct ltp_block {
    uint64_t peer;
    uint64_t client_service;
    struct buf *data; /* borrowed: the engine takes its own reference on success */
    uint64_t red_len; /* 0 … data->len */
    bool orange;
    uint64_t tag; /* of the user, opaque */
};
int ltp_send(struct ltp *l, const struct ltp_block *block, tick now, struct ltp_session_id *out);

/* How many more blocks ltp_send would take for this peer now. 0 for an unknown peer. With
 * sessions_auto it can grow when ltp_output gives the last segment that waits, and fall to 0 by the
 * bytes of a block that was sent: ask again after either. */
uint32_t ltp_room(const struct ltp *l, uint64_t peer);

/* How many blocks may be open to this peer at once; with sessions_auto it grows, as above, and
 * shrinks when a block closes, or to what is open when that is sessions_bytes. 0 for an unknown
 * peer. */
uint32_t ltp_window(const struct ltp *l, uint64_t peer);

/* Is the peer silent: a session was given up (RLEXC) and nothing was heard of the peer since its
 * last new checkpoint? Until it is heard, or ltp_link says that the link is up, the red part of a
 * block that is sent from now on begins with one short segment, and the rest waits in the engine:
 * it is worth little to have more than one of them. */
bool ltp_silent(const struct ltp *l, uint64_t peer);

/* Memory of the import sessions of a peer, as held_bytes counts it; peer 0: of all unconfigured
 * peers. Of a peer that no span names: 0. When it has changed, the peer is touched (ltp_touched).
 */
uint64_t ltp_held(const struct ltp *l, uint64_t peer);
/* It may not grow beyond `most` bytes from now on, whatever held_bytes leaves: what would is judged
 * as beyond held_bytes. What is more already stays. UINT64_MAX: it may. */
void ltp_hold(struct ltp *l, uint64_t peer, uint64_t most);

/* Cancels a session from this end, export or import (RFC 5326 §4.3, §6.15-6.17).
 * Returns 0 or HELIO_ENOENT. The close notice follows. */
int ltp_cancel(struct ltp *l, struct ltp_session_id id, enum ltp_reason reason, tick now);

/* With confirm_import: the user has made the red part (or a whole orange block) its own (stored
 * it); the completing report may go. Without this call the peer keeps repeating its checkpoint, and
 * an orange block is told to be lost. Returns 0 or HELIO_ENOENT. */
int ltp_accept(struct ltp *l, struct ltp_session_id id, tick now);

/* One datagram. The bytes are copied where needed, nothing refers to them afterwards. The verdict
 * is counted and given to the sink. Never fails otherwise. */
enum verdict ltp_input(struct ltp *l, const uint8_t *data, size_t len, tick now);

/*
 * The same with the address that the datagram came from: bytes that mean something to the binder,
 * at most LTP_SOURCE_MAX. A data segment that could open a session for an engine that no span names
 * makes that engine an unconfigured peer, bound to this source; its segments from another source
 * are refused (VERDICT_WRONG_SOURCE). Unconfigured peers may send blocks to us, and nothing is sent
 * to them but reports, cancels and acknowledgements. An unconfigured peer gives up its place only
 * for another one, and only when nothing of it is open and nothing was heard of it, nor a session
 * of it closed, for closed_time; until then there is no place for a further one
 * (VERDICT_LIMIT_PEERS). So unknown senders cannot drive out an unconfigured peer, and all that
 * unconfigured peers have together is bounded: sessions, bytes, and a quarter of closed_memory
 * besides that of the others. Sources can be forged: until an unconfigured peer has answered a
 * report, ltp_output gives no more than 3 times the bytes that came from it, both
 * counted with 28 to 48 bytes of UDP and IP headers a segment.
 */
enum verdict ltp_input_from(struct ltp *l, const uint8_t *data, size_t len, struct slice source,
                            tick now);

struct ltp_unconfigured {
    uint64_t peer;  /* its engine number: for ltp_output */
    uint32_t place; /* 0 … unconfigured_max - 1, its own as long as it is in */
    uint32_t sessions;
    tick quiet_since; /* last heard, or a session of it closed */
    uint8_t source[LTP_SOURCE_MAX];
    uint8_t source_len;
};

/* An unconfigured peer for which something waits; each gets its turn. ltp_output may give nothing
 * all the same when too little came from the unconfigured peer's address. False: there is none. */
bool ltp_unconfigured_next(struct ltp *l, struct ltp_unconfigured *out);

/* May ltp_unconfigured_next have one? */
bool ltp_unconfigured_ready(const struct ltp *l);

/* The unconfigured peer in a place; false: it is free. */
bool ltp_unconfigured_at(const struct ltp *l, uint32_t place, struct ltp_unconfigured *out);

bool ltp_is_unconfigured(const struct ltp *l, uint64_t peer);

/* Acts on all timers that are due. */
void ltp_expire(struct ltp *l, tick now);

/* For `time` nanoseconds before now the caller did not run when it should have: so much later all
 * running timers expire, since what went wrong here is not counted against the peers. Call it
 * before the input that waits, and that before ltp_expire. */
void ltp_late(struct ltp *l, tick time);

/* When ltp_expire should be called; TICK_NEVER when no timer runs. */
tick ltp_deadline(const struct ltp *l);

/*
 * The next segment for the link to `peer`, in the order of RFC 5326 §5 with retransmissions first:
 * cancels and their acknowledgements, report acknowledgements and reports, data sent again, new
 * data of the oldest session (one session's new data is sent to its end before the next session
 * starts). The call is the moment of transmission: it starts the timer of a checkpoint, report or
 * cancel.
 *
 * All data segments of a block have exactly segment_max bytes whatever their header's length, so
 * that a batch suits UDP_SEGMENT; but the last of a stretch is what remains. If it is full it is
 * longer by the checkpoint's serials, up to checkpoint_extra; when that is not enough, the one
 * before it is short. No segment is longer than segment_max, but for checkpoints by
 * checkpoint_extra, whatever numbers the peer has chosen. A checkpoint that stays unanswered
 * several times is cut to segment_max: a path may refuse what is longer.
 *
 * Returns 1 and a segment, or 0 when there is nothing to send. `head` is written by the engine;
 * `data` points into the block and holds until the next push call.
 */
#define LTP_HEAD_MAX 160         /* longest header of a data segment */
#define LTP_SEGMENT_AUTH_MIN 256 /* and then authentication and some data */
#define LTP_SEGMENT_COOKIE_MIN 128
struct ltp_out {
    uint8_t *head;     /* the caller's buffer of at least max(LTP_HEAD_MAX, segment_max +
                          checkpoint_extra) bytes */
    uint32_t head_cap; /* its size */
    uint32_t head_len; /* bytes written: the whole segment, or the header of a data segment */
    struct slice data; /* the data part, empty for control segments and authenticated ones */
};
int ltp_output(struct ltp *l, uint64_t peer, tick now, struct ltp_out *out);

/* Is there anything that ltp_output would give for this peer (its link being up)? */
bool ltp_has_output(const struct ltp *l, uint64_t peer);

/* A peer to which something has happened since it was named last, in this order: it may have output
 * now, another window (ltp_window), hold other memory (ltp_held), or be silent or not (ltp_silent);
 * of all others these are as they were, but for what ltp_output changes. Unconfigured peers are not
 * named (ltp_unconfigured_next). False: there are no more. Who looks at all peers each time need
 * not ask. */
bool ltp_touched(struct ltp *l, uint64_t *peer);

enum ltp_notice_kind {
    LTP_BLOCK, /* a red part (and what followed of a mixed block's green part is reported by
                  LTP_GREEN) has arrived whole: `data` has red_len bytes */
    LTP_GREEN, /* green data has arrived in `data` at `offset`; `end` when it is the block's last
                  byte. A wholly green block whose bytes all arrived is given as one notice with
                  offset 0 and end true. When bytes are missing, the contiguous pieces are given in
                  order of offset once the last segment arrived and reordering had its time; the
                  longest one of a block always, others as memory allows (pieces_dropped). */
    LTP_EXPORT_DONE, /* our block: the red part is at the receiver, or all green data was sent; an
                        orange block is at the receiver */
    LTP_EXPORT_CANCELLED, /* our block, by either side; see reason and remote */
    LTP_IMPORT_CANCELLED, /* the peer's block, by either side */
    LTP_INITIAL_SENT,     /* our block: all of it has been sent once (RFC 5326 §7.7) */
    LTP_EXPORT_LOST,  /* our orange block: lost, as the receiver says (remote), or not answered */
    LTP_IMPORT_START, /* with tell_start: the first segment of the peer's block has come (§7.1) */
};

struct ltp_notice {
    enum ltp_notice_kind kind;
    struct ltp_session_id id;
    uint64_t peer;
    uint64_t client_service;
    uint64_t tag;     /* of ltp_send, for our blocks */
    struct buf *data; /* LTP_BLOCK, LTP_GREEN: one reference, now the caller's */
    uint64_t offset;  /* of data in the block */
    uint64_t red_len;
    bool end;    /* data reaches the end of the block */
    bool orange; /* LTP_GREEN: the sender is told; with confirm_import, that the whole block is here
                    once ltp_accept has been called. LTP_EXPORT_DONE: of an orange block */
    enum ltp_reason reason;
    bool remote; /* the peer cancelled */
};

/* The next notice: 1, or 0 when there is none. */
int ltp_poll(struct ltp *l, struct ltp_notice *out);

/* Counters since ltp_new; never reset. */
struct ltp_counters {
    uint64_t rx[16], tx[16];     /* segments by type */
    uint64_t rx_bytes, tx_bytes; /* of whole segments */
    uint64_t verdicts[VERDICT_COUNT];
    uint64_t retransmitted_bytes; /* data bytes sent again */
    uint64_t timers[4];           /* by enum event_timer */
    uint64_t opened_export, opened_import;
    uint64_t closed[5];                                    /* by enum event_outcome */
    uint64_t orange_delivered, orange_lost, orange_silent; /* our blocks: as answered, or not */
    uint64_t reports_padded; /* report segments with octets behind them, which are ignored */
    /* Limits that have no verdict: */
    uint64_t acks_dropped;   /* 4096 acknowledgements of one peer wait; it will ask again */
    uint64_t closed_evicted; /* closed sessions forgotten before closed_time */
    uint64_t cancels_unsent; /* as many cancels wait as import sessions are allowed */
    uint64_t pieces_dropped; /* of incomplete green parts: 4096 wait for ltp_poll, or no memory */
    uint64_t unconfigured, unconfigured_accepted; /* now in; in all. Refused ones have verdicts */
    uint64_t unconfigured_unsent; /* segments for unconfigured peers that had no credit */
    uint64_t peers_narrowed;      /* peers found not to support our recovery */
};
const struct ltp_counters *ltp_counters(const struct ltp *l);

/* What is known of a peer's support of our recovery. */
struct ltp_support {
    enum ltp_profile profile; /* as configured */
    enum ltp_learnt learnt;   /* with AUTO */
    bool early;               /* early checkpoints are in use */
    uint64_t probes;          /* sessions that asked */
    uint64_t against;         /* reports and cancels that spoke against it */
};
/* False: no span names the peer. */
bool ltp_peer_support(const struct ltp *l, uint64_t peer, struct ltp_support *out);

/* "heliograph", "hdtn", …; "nothing", "trial", "repeats", "supports", "plain". Static. */
const char *ltp_profile_name(enum ltp_profile profile);
bool ltp_profile_parse(const char *name, enum ltp_profile *out);
const char *ltp_learnt_name(enum ltp_learnt learnt);

/*
 * The same of one peer, named as the instrumentation of other LTP engines names them
 * (docs/ltp-udp.md): output is what we send in sessions of ours and hear of them, input what comes
 * in those of the peer. Bytes are those of whole segments for what is popped (given to the link),
 * else of data. positive and negative: a report that claims all of its scope, or not.
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
    X(output_cycle_limit_count) /* ours: sessions that ended for too many of these */              \
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
struct ltp_span_counters {
    LTP_SPAN_COUNTERS(LTP_SPAN_COUNTER)
};
#undef LTP_SPAN_COUNTER
/* Since the peer was added. 0 or HELIO_ENOENT. */
int ltp_span_counters(const struct ltp *l, uint64_t peer, struct ltp_span_counters *out);

/* What an operator watches of a peer; a call costs little however much is open. */
struct ltp_watch {
    tick rto;        /* that a checkpoint which is sent now gets */
    tick round_trip; /* smoothed, from a checkpoint to its report; 0: nothing was measured */
    tick heard;      /* the latest segment of the peer; TICK_NEVER: none came */
    tick asked; /* the first segment since then that it should answer; TICK_NEVER: none was sent */
    uint64_t tx_bytes, rx_bytes; /* segments */
    uint64_t resent_bytes;       /* data, for a report, by a timer or as a copy */
    uint32_t exports, imports;   /* open sessions */
};
/* 0 or HELIO_ENOENT. */
int ltp_watch(const struct ltp *l, uint64_t peer, struct ltp_watch *out);

/* A view of one open session, for status pages. */
struct ltp_session_info {
    struct ltp_session_id id;
    uint64_t peer, client_service;
    bool is_export;
    uint64_t length;  /* of the block; EVENT_NONE while unknown */
    uint64_t red_len; /* EVENT_NONE while unknown */
    uint64_t done;    /* bytes claimed by the receiver (export) or received (import) */
    uint64_t held;    /* bytes of memory held for the block */
    tick opened;
};
/* One of them. 0, or HELIO_ENOENT. */
int ltp_session_get(const struct ltp *l, struct ltp_session_id id, struct ltp_session_info *out);

/* Up to `max` sessions into out; returns how many there are in all. */
size_t ltp_sessions(const struct ltp *l, struct ltp_session_info *out, size_t max);

/* Nothing open, nothing to send, no notice waiting, no byte held. */
bool ltp_idle(const struct ltp *l);

/* Asserts every invariant of the engine. For tests: it walks everything. */
void ltp_check(const struct ltp *l);

#ifdef __cplusplus
}
#endif

#endif
