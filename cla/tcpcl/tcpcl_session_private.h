/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a session, for its files. */
#ifndef CLA_TCPCL_SESSION_PRIVATE_H
#define CLA_TCPCL_SESSION_PRIVATE_H

#include "base/hash.h"
#include "base/list.h"
#include "cla/tcpcl/tcpcl_session.h"

#define SCRATCH_BYTES (256u * 1024) /* heads and short payloads are read here, at most */
#define SCRATCH_LEAST                                                                              \
    8192u /* … before much was read: who has not identified itself has no more                   \
           */
#define READ_LEAST 4096u
#define DIRECT_LEAST 4096u /* of a segment's rest: it is read into its bundle */
#define PIECES 256u        /* slices to write; a power of two */
#define CONTROL_BYTES 16384u
#define CONTROL_LEAST 512u /* room that is sufficient for any message's own bytes */
#define PLANNED_BYTES                                                                              \
    (256u * 1024) /* with so many planned, answers wait for no further segment                     \
                   */
#define REJECTS_MAX 16u

/* A bundle to send: in `waiting` until its first segment is planned, then in `begun`. */
struct tcpcl_export {
    struct list node;
    struct hash_node by_id; /* of those in `begun` */
    uint64_t key, id;
    struct buf *bundle;
    uint64_t planned; /* bytes that are in segments */
    uint64_t acked;   /* of these, bytes that the peer has acknowledged */
    bool several;     /* segments */
};

/* Answers to incoming segments, sent in the order of the segments (§5.2.4: a refusal follows the
 * answers to all earlier transfers). */
struct tcpcl_answer {
    uint64_t id, length; /* of XFER_ACK; what a bundle holds while it is not confirmed */
    uint8_t flags;       /* of XFER_ACK */
    uint8_t refusal;     /* of XFER_REFUSE */
    bool refuse;
    bool ready; /* false: tcpcl_confirm is awaited */
};

struct tcpcl_piece {
    const uint8_t *data;
    size_t len;
    struct buf *keep; /* NULL: the bytes lie in `control` */
};

enum tcpcl_step {
    STEP_CONTACT, /* a contact header */
    STEP_HEAD,    /* of a message, up to what has a length of its own */
    STEP_ITEMS,   /* extension items, of SESS_INIT or of a segment */
    STEP_REPEAT,  /* the rest of a SESS_INIT that was rejected: skipped */
    STEP_LENGTH,  /* of the data of a START segment, behind its items */
    STEP_DATA,    /* of a segment */
};

struct tcpcl_session {
    struct tcpcl_setup setup;
    struct tcpcl_terms terms;
    struct tcpcl_counters *n;
    enum tcpcl_state state;
    enum tcpcl_end end;
    tick started, heard, spoke; /* spoke: the last byte that was written */
    tick ending_due;            /* TICK_NEVER: not ending */
    /* when what the peer's SESS_INIT answers was to be written; TICK_NEVER: it is no answer */
    tick asked;
    struct tcpcl_peer peer;
    uint64_t keepalives, rejects; /* received */
    bool use_tls;                 /* both can (§4.3) */
    bool paused;                  /* the owner has no room */
    bool rests;                   /* the last messages took the owner long */
    bool deaf;                    /* nothing was read when it was last polled */
    bool stream_over, told_contact, told_peer, told_up, told_ending, told_over;

    struct { /* what is read */
        uint8_t *scratch;
        size_t cap;      /* of scratch */
        size_t off, len; /* [off, len) is not parsed yet */
        size_t size;     /* of the next read */
        uint32_t turn;   /* messages and items that may still be parsed; UINT32_MAX: any */
        uint32_t debt;   /* of turns to come, for what brought nothing */
        bool direct;     /* tcpcl_space returned memory of the bundle */
        enum tcpcl_step step;
        uint8_t type, flags;
        uint64_t id, items, left; /* bytes of items, of data that are still to come */
        size_t value;             /* of `items`: of a value that is dropped */
        bool skip;                /* the data of this segment are dropped */
        uint64_t dropped;         /* bytes of such data */
        bool items_bad;           /* the list of items is not whole: the rest is dropped */
    } in;

    struct {            /* the incoming transfer */
        bool open;      /* begun, not ended */
        bool refused;   /* what follows of it is dropped, and refused again */
        bool critical;  /* an item that must be understood is not */
        bool has_total; /* it has a Transfer Length item; any value of that may come */
        uint64_t id, total;
        tick grown; /* arrival of its last byte */
        struct buf *bundle;
    } import;

    struct { /* answers, in the order of the segments */
        struct tcpcl_answer *ring;
        size_t size;             /* of the ring, a power of two, or 0 */
        uint64_t first, next;    /* tokens: [first, next) wait */
        uint64_t bundles, bytes; /* not confirmed */
    } answers;

    struct {
        struct list waiting, begun; /* struct tcpcl_export.node */
        struct hash ids;            /* of begun */
        struct tcpcl_export *now;   /* its segments are being sent; NULL: none */
        uint64_t next_id, count;
    } exports;

    struct {                         /* octets of bundles under way (tcpcl_flight.c) */
        uint64_t queued;             /* in no segment yet */
        uint64_t sent, acked;        /* in segments; of these acknowledged, refused, or lost */
        uint64_t written;            /* of sent: also written */
        tick written_at;             /* the last of these */
        uint64_t refused;            /* sent, when a transfer of several segments was refused */
        uint64_t bound;              /* limit of octets in flight */
        bool round, limited;         /* a round runs; the bound was reached in it */
        tick began, marked;          /* when the round began; when its mark was written */
        uint64_t acked_before, mark; /* acked at its beginning; it ends with so many */
        bool grew;                   /* the rate, in the last round */
        uint64_t rate, rate_before;  /* octets/s: the greatest of this epoch, of the last one */
        tick epoch;                  /* when this one began */
        bool epoch_limited;          /* the bound was reached in it */
        tick trip, trip_at;          /* shortest time to acknowledge; when that was last seen */
        unsigned drain;              /* rounds until the time is measured anew; 0: not now */
    } flight;

    struct { /* what is written */
        struct tcpcl_piece ring[PIECES];
        size_t first, count;
        size_t planned; /* bytes of them */
        uint64_t pace;  /* of tcpcl_pace */
        uint64_t made;  /* messages, and the contact header */
        uint8_t control[CONTROL_BYTES];
        size_t head, tail; /* [tail, head) is in use, around the end */
        uint8_t rejects[REJECTS_MAX][2];
        size_t rejects_len;
        bool contact_due, init_due, term_due, term_reply, term_sent, term_heard, alive_due;
        uint8_t term_reason;
    } out;
};

/* tcpcl_session.c: the session ends; what is planned is still written. */
void tcpcl_end(struct tcpcl_session *s, enum tcpcl_end end, tick now);
void tcpcl_end_with(struct tcpcl_session *s, enum tcpcl_end end, uint8_t reason, tick now);
void tcpcl_begin_ending(struct tcpcl_session *s, enum tcpcl_end end, tick now);
void tcpcl_terminate_for(struct tcpcl_session *s, enum tcpcl_end end, uint8_t reason, tick now);
bool tcpcl_established(const struct tcpcl_session *s);

/* tcpcl_parse.c: one step. */
enum tcpcl_parsed { PARSED_NOTHING, PARSED_SOME, PARSED_NOTICE };
enum tcpcl_parsed tcpcl_parse(struct tcpcl_session *s, struct tcpcl_notice *out, tick now);
void tcpcl_reject(struct tcpcl_session *s, enum tcpcl_rejection reason, uint8_t type, tick now);
/* A message that the state does not allow, after which the two do not understand each other. */
void tcpcl_reject_and_end(struct tcpcl_session *s, uint8_t type, tick now);
void tcpcl_take(struct tcpcl_session *s, size_t len); /* so many bytes are parsed */
void tcpcl_waste(struct tcpcl_session *s);            /* the received data caused useless work */

/* tcpcl_import.c. head: a segment's head has arrived; false: an error ended the session. item: an
 * item of a segment; only the value of a Transfer Length with a valid length is present.
 * long_items: its list of items exceeds TCPCL_ITEMS_MAX. data: its length is known. room: memory
 * for its next bytes; NULL: they are dropped from now on. ended: its last byte has arrived. */
void tcpcl_segment_head(struct tcpcl_session *s, tick now);
void tcpcl_segment_item(struct tcpcl_session *s, uint8_t flags, unsigned type, const uint8_t *value,
                        size_t len);
void tcpcl_segment_long_items(struct tcpcl_session *s);
void tcpcl_segment_data(struct tcpcl_session *s);
bool tcpcl_segment_room(struct tcpcl_session *s);
bool tcpcl_segment_ended(struct tcpcl_session *s, struct tcpcl_notice *out);
bool tcpcl_answers_full(const struct tcpcl_session *s);
void tcpcl_import_drop(struct tcpcl_session *s);
tick tcpcl_import_due(const struct tcpcl_session *s); /* refused then, unless it grows */
void tcpcl_import_expire(struct tcpcl_session *s, tick now);

/* tcpcl_export.c. */
struct tcpcl_export *tcpcl_export_find(const struct tcpcl_session *s, uint64_t id);
void tcpcl_export_drop(struct tcpcl_session *s, struct tcpcl_export *e);
bool tcpcl_acked(struct tcpcl_session *s, uint64_t id, uint64_t length, struct tcpcl_notice *out,
                 tick now);
bool tcpcl_was_refused(struct tcpcl_session *s, uint64_t id, uint8_t reason,
                       struct tcpcl_notice *out, tick now);
bool tcpcl_export_fail(struct tcpcl_session *s, bool all, struct tcpcl_notice *out);

/* tcpcl_flight.c. init: of a new session. acked: some octets were. wrote: messages were,
 * with so many octets of bundles. refused: a transfer of several segments, and acked follows. */
void tcpcl_flight_init(struct tcpcl_session *s, tick now);
void tcpcl_flight_acked(struct tcpcl_session *s, tick now);
void tcpcl_flight_refused(struct tcpcl_session *s);
void tcpcl_flight_wrote(struct tcpcl_session *s, uint64_t octets, tick now);

/* tcpcl_plan.c */
void tcpcl_plan_drop(struct tcpcl_session *s);

#endif
