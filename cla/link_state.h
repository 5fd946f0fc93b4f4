/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a link, from its last arrivals and open requests. `helioctl links`, `top`, routes,
 * metrics, the status page, alerts and the log all use this rule and these words. Pure.
 *
 * LTP has no keepalive: a peer without data is silent unless it must answer. So a link without
 * errors is not necessarily up, and a peer that owes no answer is not `silent`. The first matching
 * line is the state:
 *
 *   not open   set to down by an operator or the configuration                  down
 *              its contact plan has no contact now, but a later one             waiting
 *              the last attempt was refused, by either end                      refused
 *              otherwise                                                        down
 *   open       an answer is due for longer than link_patience (counted only     silent
 *              while the link is open), or an exchange failed without any
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

/* The known facts of a link at `now`. Times are ticks of one clock. */
struct link_facts {
    tick now;
    bool open;    /* bundles may be sent over it (cla_events.link) */
    tick opened;  /* time when it opened, <= now; only if open */
    bool off;     /* an operator, or the configuration, set it to down */
    bool planned; /* the contact plan has contacts of this link */
    bool contact; /* this node may transmit to the peer now */
    tick next;    /* start of its next contact, > now; TICK_NEVER: none */
    bool refused; /* this and the next fields: as in struct cla_gauges */
    bool session;
    bool given_up;
    tick heard; /* TICK_NEVER: never */
    tick asked; /* TICK_NEVER: no answer is due */
    tick rto;   /* 0: no timer */
    tick unconfirmed;
    bool answers_short;
    /* Why segments or datagrams of the peer were refused; NULL: none was. */
    const char *refusal;
    tick refused_at; /* time of the latest refusal */
};

/* A peer that was heard in the last minute is `up`. */
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
/* Is the peer heard, but does it confirm nothing? For a link in any state. */
bool link_state_one_way(const struct link_facts *f);

#define LINK_SPAN_MAX 24
/* A time as text: "200 ms", "34 s", "5 min", "2.5 h". Returns out. */
const char *link_span_text(tick t, char out[LINK_SPAN_MAX]);

#define LINK_WHY_MAX 240
/* The reason of the state, such as "no answer for 34 s; never heard since it opened 40 s ago".
 * Empty for a link that is down or refused: the adapter may know more. Returns out, which has
 * LINK_WHY_MAX bytes. */
const char *link_state_why(const struct link_facts *f, char *out);

#endif
