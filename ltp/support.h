/* SPDX-License-Identifier: Apache-2.0 */
/* Private: which recovery extensions the peer's receiver supports (profile.c). */
#ifndef LTP_SUPPORT_H
#define LTP_SUPPORT_H

#include "ltp/event.h"
#include "ltp/ltp.h"
#include "ltp/segment.h"

struct checkpoint;
struct export_session;
struct peer;
struct rtt;

/* latest reports of an export session: does each come from one checkpoint? */
#define ANSWERS_KEPT 4

/* profile.c: what the peer's receiver supports beyond the least of RFC 5326. */
struct support {
    struct ltp_recovery use; /* the switches of the span that are in use */
    enum ltp_learnt learnt;
    /* The receiver may count checkpoints or reports. So the parts of a divided report are answered
     * together and, unless this is still unknown, the timer only grows. */
    bool careful;
    bool early;                      /* it supports early checkpoints */
    tick ask_next;                   /* no session probes before */
    struct export_session *early_by; /* the session that presently tries early checkpoints */
    uint32_t credits;    /* sessions that found one report for two arrivals of a checkpoint */
    uint32_t early_good; /* sessions with early checkpoints that were not cancelled */
    /* Since the last decision: answered checkpoints; those of them that had copies; copies of
     * these; repeated reports. */
    uint32_t answered, copied, copies, repeats;
    /* Time of the decision: enough was observed, and its effects have arrived by then; 0: not
     * enough. */
    tick judge_at;
    uint64_t probes, against;
};

/* The bytes of a checkpoint, and its serial numbers. */
struct signature {
    uint8_t type;
    uint64_t serial, rpt_serial;
    uint64_t offset, length;
};

/* A processed report. */
struct answer {
    uint64_t cp_serial, rpt_serial;
    uint64_t lower, upper;
};

/* profile.c: the peer's span, or the knowledge about the peer, has changed. */
void ltp_support_apply(struct peer *p);
/* How this timer of the peer is computed (rto.c): fixed as configured; only growing; or following
 * the measurements. */
enum rto_mode { RTO_FIXED, RTO_GROWS, RTO_FOLLOWS };
enum rto_mode ltp_support_rto(const struct peer *p, const struct rtt *r);
/* May this session have early checkpoints? */
bool ltp_support_early(struct peer *p, struct export_session *e);
/* Observations of an open or closed session. report: a new report, which may be evidence against
 * support (born: the first of a run of the receiver). repeat: a repeated report (serial number of
 * its checkpoint; e NULL: the session is closed). answered: a checkpoint was answered. closed: the
 * session ended. cancelled: the peer cancels it; called before closed. */
void ltp_support_report(struct ltp *l, struct export_session *e, const struct ltp_segment *s,
                        bool born, tick now);
void ltp_support_repeat(struct ltp *l, struct peer *p, struct export_session *e, uint64_t cp_serial,
                        tick now);
void ltp_support_answered(struct export_session *e, const struct checkpoint *c, tick now);
void ltp_support_closed(struct export_session *e, enum event_outcome outcome);
void ltp_support_cancelled(struct ltp *l, struct export_session *e, enum ltp_reason reason,
                           tick now);
/* Should the job that answers s probe the peer? ask: the job's last byte was sent, so its
 * checkpoint c becomes the answered one again. asked: that caused no new report; c becomes the
 * planned checkpoint. */
bool ltp_support_may_ask(struct export_session *e, const struct ltp_segment *s, tick now);
void ltp_support_ask(struct checkpoint *c, const struct signature *next, tick now);
void ltp_support_asked(struct checkpoint *c);

#endif
