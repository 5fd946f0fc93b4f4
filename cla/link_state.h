/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a link: what was heard over it. One rule and one vocabulary, for `helioctl links`
 * and `top`, routes, metrics, the status page, alerts and the log. Pure.
 *
 * LTP has no keepalive: a peer without data says nothing unless it is asked. So a link is not up
 * because nothing speaks against it, and a peer that owes no answer is not silent. The first line
 * that holds is the state:
 *
 *   not open   set to down by an operator or the configuration                  down
 *              its contact plan has no contact now, but a later one             waiting
 *              the last attempt was refused, by either end                      refused
 *              otherwise                                                        down
 *   open       an answer is due for longer than link_patience (of the time      silent
 *              since it opened), or an exchange was given up for want of any
 *              answer and nothing was heard since
 *              a session is established whose protocol ends it on silence       up
 *              the peer was heard since the link opened, no longer ago than     up
 *              LINK_RECENT or link_patience, whichever is longer
 *              otherwise: no answer is overdue, and nothing was heard lately    unheard
 *
 * A link on which nothing was sent and nothing was heard is `unheard`. So is one whose adapter
 * expects no answers (UDPCL, LTP with green data only) while its peer sends nothing.
 */
#ifndef CLA_LINK_STATE_H
#define CLA_LINK_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"

#define LINK_STATES(X)                                                                             \
    X(UP, "up")                                                                                    \
    X(UNHEARD, "unheard")                                                                          \
    X(SILENT, "silent")                                                                            \
    X(WAITING, "waiting")                                                                          \
    X(DOWN, "down")                                                                                \
    X(REFUSED, "refused")
#define LINK_STATE_ENUM(name, word) LINK_STATE_##name,
enum link_state { LINK_STATES(LINK_STATE_ENUM) LINK_STATE_COUNT };
#undef LINK_STATE_ENUM

/* What is known of a link at `now`. Times are ticks of one clock. */
struct link_facts {
    tick now;
    bool open;    /* bundles may be sent over it (cla_events.link) */
    tick opened;  /* since when, <= now; of a link that is open */
    bool off;     /* an operator, or its configuration, set it to down */
    bool planned; /* a contact plan says something of it: */
    bool contact; /* this node may transmit to the peer now */
    tick next;    /* when its next contact begins, > now; TICK_NEVER: there is none */
    bool refused; /* as in struct cla_gauges, like the rest */
    bool session;
    bool given_up;
    tick heard; /* TICK_NEVER: never */
    tick asked; /* TICK_NEVER: no answer is due */
    tick rto;   /* 0: there is none */
    tick unconfirmed;
    bool answers_short;
    const char *refusal; /* why what came in the peer's name was refused here; NULL: nothing was */
    tick refused_at;     /* the latest of it */
};

/* A peer that was heard in the last minute is there. */
#define LINK_RECENT (60 * TICK_S)

/*
 * How long an answer may be due before the peer is silent: 10 retransmission timers (rto, ns), at
 * least 2 s, since fades of a working link are shorter. Of 10 timers longer than a minute: a
 * minute, or 3 timers if these are longer, so that a peer an hour of light away is not waited for
 * all day.
 */
tick link_patience(tick rto);

enum link_state link_state_of(const struct link_facts *f);
const char *link_state_word(enum link_state s); /* static */
/* Is the peer heard, while nothing of ours is confirmed? Of a link in any state. */
bool link_state_one_way(const struct link_facts *f);

#define LINK_SPAN_MAX 24
/* A time for a person: "200 ms", "34 s", "5 min", "2.5 h". Returns out. */
const char *link_span_text(tick t, char out[LINK_SPAN_MAX]);

#define LINK_WHY_MAX 240
/* What the state rests on, such as "no answer for 34 s; never heard since it opened 40 s ago". An
 * empty text for a link that is down or refused, of which the adapter may know more. Returns out,
 * which has LINK_WHY_MAX bytes. */
const char *link_state_why(const struct link_facts *f, char *out);

#endif
