/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FOP-1 (CCSDS 232.1-B section 5): numbers the type-AD frames of a virtual channel, keeps them
 * until FARM-1 has reported them in a CLCW, and sends again what it has not. The engine has only
 * the user's number of a frame's data: the user keeps the data until a notice says that they are
 * finished.
 *
 *     ACTIVE ◄──► RETRANSMIT ◄──► RETRANSMIT_WAIT         CLCWs with the flags Retransmit and Wait
 *       ▲ E1: the CLCW shows that FARM-1 is ready
 *     INITIALISING, INITIALISING_BC ◄── INITIAL           by directives
 *     any ──► INITIAL                                     alert, suspension, termination
 *
 * Calls: push events (fop_send, fop_direct, fop_clcw, fop_response, fop_expire); then take all of
 * fop_notice and fop_transmit; wake it at fop_deadline.
 */
#ifndef FRAMES_FOP_H
#define FRAMES_FOP_H

#include "base/tick.h"
#include "frames/clcw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* States of FOP-1, S1 to S6 (CCSDS 232.1-B §5). */
enum fop_state {
    FOP_ACTIVE,
    FOP_RETRANSMIT,
    FOP_RETRANSMIT_WAIT,
    FOP_INITIALISING,
    FOP_INITIALISING_BC,
    FOP_INITIAL,
    FOP_STATES
};

/* The book's events, by their numbers; E101 to E104 are those of its corrigendum. */
#define FOP_EVENT_NUMBERS(X)                                                                       \
    X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(101), X(102), X(8), X(9), X(10), X(11), X(12),     \
        X(103), X(13), X(14), X(15), X(16), X(104), X(17), X(18), X(19), X(20), X(21), X(22),      \
        X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31), X(32), X(33), X(34), X(35), \
        X(36), X(37), X(38), X(39), X(40), X(41), X(42), X(43), X(44), X(45), X(46)
#define FOP_EVENT_ENUM(n) FOP_E##n
enum fop_event { FOP_EVENT_NUMBERS(FOP_EVENT_ENUM), FOP_EVENTS };
#undef FOP_EVENT_ENUM

/* Services of a frame: AD (sequence-controlled), BC (control commands), BD (expedited). */
enum fop_service { FOP_AD, FOP_BC, FOP_BD, FOP_SERVICES };

enum fop_directive {
    FOP_INITIATE,         /* AD service without waiting for a CLCW */
    FOP_INITIATE_CLCW,    /* when a CLCW shows that FARM-1 is ready */
    FOP_INITIATE_UNLOCK,  /* after the control command Unlock */
    FOP_INITIATE_SET_V_R, /* after Set V(R); the qualifier is the number */
    FOP_TERMINATE,
    FOP_RESUME,
    FOP_SET_V_S,          /* 0 to 255 */
    FOP_SET_WINDOW,       /* K, 1 to 255 */
    FOP_SET_TIMER,        /* T1 in milliseconds, at least 1 */
    FOP_SET_LIMIT,        /* transmissions of a frame, 1 to 255 */
    FOP_SET_TIMEOUT_TYPE, /* 0: alert, 1: suspension, after the last one */
    FOP_DIRECTIVES
};

/* Reasons of an alert (CCSDS 232.1-B §5). */
enum fop_alert {
    FOP_ALERT_LIMIT,
    FOP_ALERT_T1,
    FOP_ALERT_LOCKOUT,
    FOP_ALERT_SYNCH,
    FOP_ALERT_NNR,
    FOP_ALERT_CLCW,
    FOP_ALERT_LLIF,
    FOP_ALERT_TERM
};

enum fop_notice_kind {
    FOP_ACCEPTED,  /* data: accepted, and being transmitted */
    FOP_REJECTED,  /* data: the user may give them again later; the end of them */
    FOP_CONFIRMED, /* data: FARM-1 has them; the end of them */
    FOP_FAILED,    /* data: FARM-1 may have them or not; the end of them */
    FOP_DIRECTIVE_ACCEPTED,
    FOP_DIRECTIVE_REJECTED,
    FOP_DIRECTIVE_CONFIRMED,
    FOP_DIRECTIVE_FAILED,
    FOP_ALERTED,   /* the AD service has terminated: `alert` */
    FOP_SUSPENDED, /* the timer expired; FOP_RESUME continues */
    FOP_ABORT      /* to the layer below: what it has of types AD and BC need not be sent */
};

struct fop_notice {
    enum fop_notice_kind kind;
    uint64_t id; /* the user's, of data and directives */
    enum fop_alert alert;
};

/* What the layer below shall send. */
struct fop_transmission {
    enum fop_service service;
    uint64_t id;        /* AD, BD: the user's data */
    uint8_t number;     /* AD: N(S) */
    uint8_t command[3]; /* BC: the control command */
    uint8_t command_len;
};

struct fop_config {
    uint8_t vcid;
    uint8_t window;       /* K, 1 to 255 */
    uint8_t limit;        /* transmissions of a frame, at least 1 */
    uint8_t timeout_type; /* 0 or 1 */
    tick timer;           /* T1, at least 1 */
};

#define FOP_SENT_MAX 255
#define FOP_NOTICES_MAX (FOP_SENT_MAX + 8)

/* Private. */
struct fop_frame {
    uint64_t id;
    uint8_t number;
    bool again; /* to be retransmitted */
};

struct fop {
    struct fop_config config;
    enum fop_state state;
    uint8_t v_s, nn_r;
    unsigned count;   /* transmissions of the first frame of `sent` */
    unsigned suspend; /* 0, or the state to resume, from 1 on */
    bool ready[FOP_SERVICES];
    tick deadline; /* of the timer */
    bool waiting;  /* the Wait_Queue has data */
    uint64_t wait_id;
    struct fop_frame sent[FOP_SENT_MAX + 1]; /* type AD, from sent_at on, modulo */
    unsigned sent_at, sent_count;
    bool bc_held, bc_again; /* a control command is sent, and not yet effective */
    struct fop_transmission bc;
    bool directed; /* a directive of initiation is not confirmed yet */
    uint64_t directive_id;
    struct fop_transmission out[FOP_SERVICES];
    bool has_out[FOP_SERVICES];
    struct fop_notice notices[FOP_NOTICES_MAX];
    unsigned notice_at, notice_count;
};

/* State INITIAL; the layer below is ready. The configuration's values are in range. */
void fop_init(struct fop *f, const struct fop_config *c);

/* The user has data to send by type AD or BD. */
void fop_send(struct fop *f, tick now, enum fop_service service, uint64_t id);

/* A directive; a qualifier out of range is rejected. */
void fop_direct(struct fop *f, tick now, enum fop_directive directive, uint32_t qualifier,
                uint64_t id);

/* A CLCW; those of other virtual channels are ignored. */
void fop_clcw(struct fop *f, tick now, const struct clcw *c);

/* The layer below has taken a transmission, or refuses it. */
void fop_response(struct fop *f, tick now, enum fop_service service, bool accepted);

/* TICK_NEVER, or when fop_expire is to be called; earlier calls do nothing. */
tick fop_deadline(const struct fop *f);
/* Serves the timer: call it when fop_deadline is not after `now`. */
void fop_expire(struct fop *f, tick now);

/* The next one; false: there is none. */
bool fop_notice(struct fop *f, struct fop_notice *out);
/* Takes the next frame to transmit. False: there is none now. */
bool fop_transmit(struct fop *f, struct fop_transmission *out);

/* The state after an event, by the state table; FOP_STATES: it cannot happen in that state. */
enum fop_state fop_next(enum fop_state state, enum fop_event event);

/* Asserts what holds between calls. */
void fop_check(const struct fop *f);

#ifdef __cplusplus
}
#endif

#endif
