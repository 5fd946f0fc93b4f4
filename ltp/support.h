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

#define ANSWERS_KEPT 4 /* latest reports of an export session: do they tell of one each? */

/* profile.c: what the peer's receiver supports beyond the least of RFC 5326. */
struct support {
    struct ltp_recovery use; /* those of the span's switches that are in use */
    enum ltp_learnt learnt;
    bool careful; /* toward a receiver that may count checkpoints or reports: the parts of a divided
                     answer are answered together and, unless it is still learnt, the timer grows */
    bool early;   /* early checkpoints are borne */
    tick ask_next;                   /* no session asks before */
    struct export_session *early_by; /* the session that tries early checkpoints at present */
    uint32_t credits;    /* sessions that found one report for two arrivals of a checkpoint */
    uint32_t early_good; /* sessions with early checkpoints that were not cancelled */
    /* Since the last judgement: checkpoints answered, and those of them that had copies; copies of
     * these; reports that came again. */
    uint32_t answered, copied, copies, repeats;
    tick judge_at; /* enough was seen, and what it caused has come by then; 0: not enough */
    uint64_t probes, against;
};

/* Which bytes a checkpoint carries, and what it names. */
struct signature {
    uint8_t type;
    uint64_t serial, rpt_serial;
    uint64_t offset, length;
};

/* A report that was acted on. */
struct answer {
    uint64_t cp_serial, rpt_serial;
    uint64_t lower, upper;
};

/* profile.c: the peer's span or what is known of it has changed. */
void ltp_support_apply(struct peer *p);
/* How this timer of the peer's is found (rto.c): it is the configured one, is never shorter, or
 * follows what was measured. */
enum rto_mode { RTO_FIXED, RTO_GROWS, RTO_FOLLOWS };
enum rto_mode ltp_support_rto(const struct peer *p, const struct rtt *r);
/* May this session have early checkpoints? */
bool ltp_support_early(struct peer *p, struct export_session *e);
/* What an open session, or one that is over, tells: a new report (born: the first of a life of the
 * receiver), which may be against us; one that came again (serial of its checkpoint; e NULL: it is
 * over); a checkpoint that was answered; the end; the peer's cancellation, before that. */
void ltp_support_report(struct ltp *l, struct export_session *e, const struct ltp_segment *s,
                        bool born, tick now);
void ltp_support_repeat(struct ltp *l, struct peer *p, struct export_session *e, uint64_t cp_serial,
                        tick now);
void ltp_support_answered(struct export_session *e, const struct checkpoint *c, tick now);
void ltp_support_closed(struct export_session *e, enum event_outcome outcome);
void ltp_support_cancelled(struct ltp *l, struct export_session *e, enum ltp_reason reason,
                           tick now);
/* Should the job that answers s ask? ask: its last byte has left, so its checkpoint c becomes the
 * one that was answered; asked: nothing new came of it, c is what it was to be. */
bool ltp_support_may_ask(struct export_session *e, const struct ltp_segment *s, tick now);
void ltp_support_ask(struct checkpoint *c, const struct signature *next, tick now);
void ltp_support_asked(struct checkpoint *c);

#endif
