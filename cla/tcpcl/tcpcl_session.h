/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session of TCPCLv4 (RFC 9174), pure: it does no I/O and reads no clock. Its owner has the
 * byte stream and passes the time, which never decreases.
 *
 *   push:  tcpcl_fed · tcpcl_wrote · tcpcl_closed · tcpcl_secured · tcpcl_admit · tcpcl_send ·
 *          tcpcl_confirm · tcpcl_terminate · tcpcl_expire
 *   pull:  tcpcl_poll (the next notice) · tcpcl_space and tcpcl_reads (where and whether to read) ·
 *          tcpcl_stopped (messages are left for the next turn: tcpcl_turn) · tcpcl_output (what to
 *          write) · tcpcl_deadline
 *
 * After each push the owner calls tcpcl_poll until there is no notice, then writes the data of
 * tcpcl_output, in turns until there is none or the stream is full. Sent payloads are not copied;
 * long received ones are read directly into their bundle.
 *
 * The phases of a session: contact headers → TCPCL_CONTACT, TLS or not → tcpcl_secured → SESS_INIT
 * of both ends → TCPCL_PEER, the owner decides → tcpcl_admit → TCPCL_UP → transfers → SESS_TERM of
 * both ends, or the end of the stream → an outcome for each bundle without one → TCPCL_OVER.
 */
#ifndef CLA_TCPCL_SESSION_H
#define CLA_TCPCL_SESSION_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/tick.h"
#include "cla/tcpcl/tcpcl_wire.h"

struct tcpcl_session;

#define TCPCL_NODE_ID_MAX 263   /* longest Node ID that is read or sent: the longest EID */
#define TCPCL_ANSWERS_MAX 65536 /* acknowledgements and refusals that wait to be sent */
/* Octets of a list of extension items: 16 items of the greatest length. A longer list ends the
 * session (TCPCL_END_ITEMS): it would have to be read to its end, up to 4 GiB. */
#define TCPCL_ITEMS_MAX (1u << 20)

/* What no correct peer exceeds, and what ends the session (TCPCL_END_FLOOD). §4.7: the least
 * interval of keepalives is a second; twice as many as that, and some more, are accepted. §5.1.2: a
 * MSG_REJECT answers a message, so that there are no more of them than messages were sent. */
#define TCPCL_KEEPALIVES_SPARE 64
#define TCPCL_KEEPALIVES_PER_S 2
#define TCPCL_REJECTS_SPARE 16

/* Does this side want TLS (§4.4)? OFF: CAN_TLS is 0. OPTIONAL: if the peer can. REQUIRED: without
 * it the session ends with "contact failure". */
enum tcpcl_tls { TCPCL_TLS_OFF, TCPCL_TLS_OPTIONAL, TCPCL_TLS_REQUIRED };

/* What this side says in its SESS_INIT (§4.6), and its own limits. */
struct tcpcl_terms {
    char node_id[TCPCL_NODE_ID_MAX + 1];
    uint16_t keepalive_s;  /* 0: none */
    uint64_t segment_mru;  /* longest segment to receive, bytes, >= 1 */
    uint64_t transfer_mru; /* longest bundle to receive, bytes, >= 1 */
    uint64_t segment_max;  /* longest segment to send, bytes, >= 1 */
    /* silence of the peer that ends the session; 0: twice the negotiated keepalive, never without
     * one */
    tick idle;
    /* an incoming transfer that has not grown for so long is refused; 0: never */
    tick transfer_idle;
    uint64_t held_bytes; /* of bundles that wait for tcpcl_confirm: with more, nothing is read */
};

/* What was sent and received, and what was found: of all sessions that share it. */
struct tcpcl_counters {
    uint64_t tx[TCPCL_MESSAGE_COUNT], rx[TCPCL_MESSAGE_COUNT]; /* messages; 0: contact headers */
    uint64_t tx_bytes, rx_bytes;                               /* of the stream */
    uint64_t refused_tx[TCPCL_REFUSAL_COUNT], refused_rx[TCPCL_REFUSAL_COUNT];
    uint64_t rejected_tx[TCPCL_REJECTION_COUNT], rejected_rx[TCPCL_REJECTION_COUNT]; /* 0: others */
    uint64_t term_tx[TCPCL_TERM_COUNT], term_rx[TCPCL_TERM_COUNT];
    uint64_t items_ignored; /* extension items of unknown type that were not critical */
    uint64_t unknown_rx;    /* messages of unknown type */
    uint64_t late;          /* answers to transfers that have their outcome */
    uint64_t transfers_cut; /* incoming transfers that ended without END */
    uint64_t transfers_idle, transfers_shed; /* … that were refused: not grown; tcpcl_shed */
    uint64_t answers_full;                   /* times that TCPCL_ANSWERS_MAX answers waited */
};

struct tcpcl_setup {
    bool active; /* this side connected */
    enum tcpcl_tls tls;
    tick contact_timeout;            /* from the beginning to established */
    tick ending_timeout;             /* from SESS_TERM to the end, for open transfers */
    struct tcpcl_terms terms;        /* active: at once; passive: tcpcl_admit has others */
    struct tcpcl_counters *counters; /* outlives the session */
};

enum tcpcl_state {
    TCPCL_IN_CONTACT,  /* the peer's contact header is awaited */
    TCPCL_IN_SECURING, /* tcpcl_secured is awaited */
    TCPCL_IN_INIT,     /* the peer's SESS_INIT is awaited */
    TCPCL_IN_ADMIT,    /* tcpcl_admit is awaited */
    TCPCL_IN_UP,       /* established */
    TCPCL_IN_ENDING,   /* SESS_TERM was sent or received: no new transfers */
    TCPCL_IN_CLOSING,  /* nothing is read any more; what was begun is still written */
    TCPCL_IN_OVER,     /* the owner closes the stream */
};

/* Why a session has ended. */
#define TCPCL_ENDS(X)                                                                              \
    X(NONE, "it is not over")                                                                      \
    X(STREAM, "the connection ended")                                                              \
    X(MAGIC, "what the peer sent is no contact header")                                            \
    X(VERSION, "the peer has another protocol version")                                            \
    X(NO_TLS, "TLS is required, and the peer does not offer it")                                   \
    X(TLS, "the TLS handshake failed")                                                             \
    X(INIT, "the peer's SESS_INIT is not acceptable")                                              \
    X(NOT_ADMITTED, "the peer is not let in")                                                      \
    X(CONTACT_TIMEOUT, "the peer did not say who it is in time")                                   \
    X(IDLE, "nothing was heard of the peer")                                                       \
    X(PROTOCOL, "the peer violated the protocol")                                                  \
    X(FLOOD, "the peer sent more KEEPALIVE or MSG_REJECT than any correct peer")                   \
    X(ITEMS, "the peer sent a list of extension items that is too long")                           \
    X(OWN_TERM, "this side ended the session")                                                     \
    X(PEER_TERM, "the peer ended the session")                                                     \
    X(MEMORY, "out of memory")
#define TCPCL_END_ENUM(name, text) TCPCL_END_##name,
enum tcpcl_end { TCPCL_ENDS(TCPCL_END_ENUM) TCPCL_END_COUNT };
#undef TCPCL_END_ENUM
const char *tcpcl_end_text(enum tcpcl_end e); /* static */

enum tcpcl_fate {
    TCPCL_ACKED,   /* all of it was acknowledged: the peer has it */
    TCPCL_REFUSED, /* XFER_REFUSE; `refusal` says why */
    TCPCL_UNSENT,  /* the session ends, and nothing of it was sent */
    TCPCL_LOST,    /* sent in whole or in part; the session ended without an answer */
};

struct tcpcl_notice {
    enum {
        TCPCL_CONTACT, /* answer with tcpcl_secured, now or later. `tls`: after a handshake */
        TCPCL_PEER,    /* tcpcl_peer has the identity; answer with tcpcl_admit or tcpcl_terminate */
        TCPCL_UP,      /* established: bundles can be sent */
        TCPCL_RECEIVED, /* `bundle` is the owner's; answer `token` with tcpcl_confirm */
        TCPCL_DONE,     /* `fate` of the bundle `key` of tcpcl_send; once for each */
        TCPCL_ENDING,   /* no more bundles can be sent; open transfers may finish */
        TCPCL_OVER,     /* the last notice, once; `end` has the reason */
    } kind;
    bool tls;
    struct buf *bundle;
    uint64_t token, key, length; /* length: bytes of the bundle `key` */
    enum tcpcl_fate fate;
    enum tcpcl_refusal refusal;
    enum tcpcl_end end;
};

/* The peer's SESS_INIT, and the negotiated values. For a session that reached TCPCL_PEER. */
struct tcpcl_peer {
    char node_id[TCPCL_NODE_ID_MAX + 1]; /* "": it has none */
    uint16_t keepalive_s;                /* negotiated: the smaller one */
    uint64_t segment_mru, transfer_mru;
    /* from what this side said to the answer, ns: of the active side its SESS_INIT, of a passive
     * one its contact header, but not before TLS; 0: not known */
    tick round_trip;
};

/* Adds each counter of `n` to that of `sum`. */
void tcpcl_add_counters(struct tcpcl_counters *sum, const struct tcpcl_counters *n);

/* NULL: memory is out. */
struct tcpcl_session *tcpcl_new(const struct tcpcl_setup *setup, tick now);
/* In any state; bundles without an outcome are dropped. */
void tcpcl_free(struct tcpcl_session *s);

enum tcpcl_state tcpcl_state(const struct tcpcl_session *s);
const struct tcpcl_peer *tcpcl_peer(const struct tcpcl_session *s);

/* True while bytes of the stream are wanted (back-pressure). */
bool tcpcl_reads(const struct tcpcl_session *s);
/* Where the next bytes go, *len >= 1 at most. Before TLS no byte behind the
 * contact header is asked for. tcpcl_reads must be true. */
uint8_t *tcpcl_space(struct tcpcl_session *s, size_t *len);
void tcpcl_fed(struct tcpcl_session *s, size_t len, tick now); /* so many lie there */

/* Fairness: from now on at most so many messages (and extension items) are understood, until the
 * next call; octets beyond them stay in the session. A segment without data, and a transfer that is
 * refused, count as TCPCL_WASTE of them: they make work and bring nothing. A new session has no
 * such bound. left: so many of them may still be. stopped: it has such octets, and reads nothing;
 * the owner calls tcpcl_turn after others had their turn. */
#define TCPCL_WASTE 16
void tcpcl_turn(struct tcpcl_session *s, uint32_t messages);
uint32_t tcpcl_turn_left(const struct tcpcl_session *s);
bool tcpcl_stopped(const struct tcpcl_session *s);

/* Bytes of data that were read for nothing: they are of no transfer, or of one that was refused, be
 * it before its end or by tcpcl_confirm. */
uint64_t tcpcl_dropped(const struct tcpcl_session *s);

/* So many octets, or none (0: the default), are planned before a segment is made; no segment is
 * longer. For an owner that writes at a rate: answers wait for what is planned. */
void tcpcl_pace(struct tcpcl_session *s, uint64_t octets);
/* Nothing is to be written, and no transfer that may go on waits. */
bool tcpcl_plan_empty(const struct tcpcl_session *s);

/* It rests (on): no message is understood and nothing is read. KEEPALIVEs go out, and the peer's
 * silence does not count. */
void tcpcl_rest(struct tcpcl_session *s, bool on);

/* held: received bytes of the incoming transfer: the memory that it uses. shed: refuses it (§5.2.4)
 * and frees its memory; for an owner without room. No effect without a transfer. */
uint64_t tcpcl_held(const struct tcpcl_session *s);
void tcpcl_shed(struct tcpcl_session *s, enum tcpcl_refusal reason, tick now);

/* on: the owner has no room: no message is processed and nothing is read. Exception: while bundles
 * wait for the peer's acknowledgements, which follow the peer's transfers; then the owner refuses
 * what it cannot hold. KEEPALIVEs are sent, and the peer's silence does not count. */
void tcpcl_pause(struct tcpcl_session *s, bool on);

/* The stream has ended. */
void tcpcl_closed(struct tcpcl_session *s, tick now);

/* Answers to TCPCL_CONTACT: bytes from here on are those behind TLS, or of the same stream. !ok:
 * the handshake failed. */
void tcpcl_secured(struct tcpcl_session *s, bool ok, tick now);
/* Answers TCPCL_PEER. terms: for the SESS_INIT of a passive end; ignored for an active one. */
void tcpcl_admit(struct tcpcl_session *s, const struct tcpcl_terms *terms, tick now);

/* Takes its own reference; TCPCL_DONE follows. 0; HELIO_EAGAIN: not established, or ending;
 * HELIO_ENOMEM; HELIO_ESPACE: longer than the peer's transfer MRU, or empty. */
int tcpcl_send(struct tcpcl_session *s, uint64_t key, struct buf *bundle);
/* Are as many octets of bundles in flight (passed, and not acknowledged) as the peer's
 * acknowledgements justify? The limit is twice the octets that fill the path, as measured; on a
 * short path the octets acknowledged in a second, at most TCPCL_FLOOR_MOST, or in 2 ms, at most
 * TCPCL_FLOOR_FAST; TCPCL_FLIGHT_FIRST before the first acknowledgement (tcpcl_flight.c). Bundles
 * that wait outside can still be ordered. It is advice: tcpcl_send accepts more. Without bundles it
 * is never full. Changes with tcpcl_send, tcpcl_take_back and tcpcl_poll. */
#define TCPCL_FLOOR_MOST (UINT64_C(5) << 18) /* 1024 bundles of 1 kB, a whole window, fit in */
#define TCPCL_FLOOR_FAST (UINT64_C(16) << 20)
#define TCPCL_FLIGHT_FIRST (UINT64_C(4) << 20)
bool tcpcl_flight_full(const struct tcpcl_session *s);
/* With so many of them it is full; at least 1. */
uint64_t tcpcl_bound(const struct tcpcl_session *s);
/* The shortest time to acknowledge, from which it comes. TICK_NEVER: not measured yet. */
tick tcpcl_trip(const struct tcpcl_session *s);
/* True: nothing of it was sent, no TCPCL_DONE follows, and it had *len bytes. False: it continues,
 * or is unknown. */
bool tcpcl_take_back(struct tcpcl_session *s, uint64_t key, uint64_t *len);

/* Answers TCPCL_RECEIVED: ok acknowledges, else the bundle is refused for this reason. Once for
 * each token while the session exists; also between two polls. */
void tcpcl_confirm(struct tcpcl_session *s, uint64_t token, bool ok, enum tcpcl_refusal reason);

/* Ends the session by §6.1: open transfers finish, those not begun are returned. Before it is
 * established: at once. */
void tcpcl_terminate(struct tcpcl_session *s, enum tcpcl_term reason, tick now);
/* Ends the session at once, with open transfers. SESS_TERM is not sent for this: it has been
 * sent. */
void tcpcl_cut(struct tcpcl_session *s, tick now);

/* Up to `max` slices of what is to be written next, one behind the other; 0: nothing. They stay
 * until the next call of tcpcl_wrote, which says how many bytes were taken. */
size_t tcpcl_output(struct tcpcl_session *s, struct slice *parts, size_t max, tick now);
void tcpcl_wrote(struct tcpcl_session *s, size_t len, tick now);

/* The next notice; false: there is none now. */
bool tcpcl_poll(struct tcpcl_session *s, struct tcpcl_notice *out, tick now);

tick tcpcl_deadline(const struct tcpcl_session *s);
void tcpcl_expire(struct tcpcl_session *s, tick now);

/* Sends a KEEPALIVE now, if both ends have negotiated them, to test whether the peer's system
 * answers. */
void tcpcl_alive(struct tcpcl_session *s);
/* The peer's system does not answer: the session ends, as after too long a silence. */
void tcpcl_silent(struct tcpcl_session *s, tick now);

/* Its own invariants, asserted. */
void tcpcl_check(const struct tcpcl_session *s);

/* For status: bundles sent and not yet answered, received and not yet confirmed. */
uint64_t tcpcl_in_flight(const struct tcpcl_session *s);
uint64_t tcpcl_unconfirmed(const struct tcpcl_session *s);
/* Bytes of those, and whether they are more than terms.held_bytes: nothing is read then. */
uint64_t tcpcl_unconfirmed_bytes(const struct tcpcl_session *s);
bool tcpcl_unconfirmed_full(const struct tcpcl_session *s);
/* Acknowledgements and refusals that wait to be sent: with TCPCL_ANSWERS_MAX nothing is read.
 * *unread: the first of them could be sent, but the peer does not read; else its bundle is not
 * confirmed yet. */
uint64_t tcpcl_answers(const struct tcpcl_session *s, bool *unread);

#endif
