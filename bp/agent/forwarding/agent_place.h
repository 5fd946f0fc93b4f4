/* SPDX-License-Identifier: Apache-2.0 */
/* Where bundles go: questions to the router, and their routes. Private to bp/agent. */
#ifndef BP_AGENT_PLACE_H
#define BP_AGENT_PLACE_H

#include "bp/agent/forwarding/agent_forwarding.h"
#include "bp/agent/router.h"

struct agent_head;
struct record;

/* agent_place.c */
uint64_t agent_life(const struct agent *a); /* agent_life_ms at the latest push */
/* A bundle with this id is a duplicate if it arrives before until_ms (of agent_life). */
void agent_remember(struct agent *a, struct slice id, uint64_t until_ms);
/* an expiry by the same clock */
uint64_t agent_until_ms(const struct agent *a, tick expires);
uint64_t record_until_ms(const struct agent *a, const struct record *r);
bool agent_is_here(const struct agent *a, const struct eid *e);
/* The link went up or down: bundles that wait for links may have another route. */
void agent_link_changed(struct agent *a, uint32_t link);
void agent_place(struct agent *a, struct forwarding *f);
/* its link is removed: it is placed elsewhere */
void agent_leave_link(struct agent *a, struct forwarding *f);
/* h: its head, or NULL */
void agent_await_route(struct agent *a, struct forwarding *f, const struct agent_head *h,
                       tick until);
/* Asks the router for bundles without a route and places them, up to one slice. */
void agent_place_all(struct agent *a);
void agent_place_anew(struct agent *a); /* the same, also for queued bundles of links */
/* for those at the heads of these queues, unless they are booked, and for due ones */
void agent_place_heads(struct agent *a);
/* for those that another length limit of this link concerns; least: the lower one of both */
void agent_place_longer(struct agent *a, uint32_t link, uint64_t least);
void agent_place_touched(struct agent *a); /* for those that the router's latest change concerns */
void agent_place_slice(struct agent *a);
bool agent_places(const struct agent *a); /* there is more to do */
/* Places a waiting bundle that is in no kind again. False: it stays where it is. */
bool agent_place_again(struct agent *a, struct forwarding *f);
bool agent_goes_elsewhere(const struct agent *a, const struct forwarding *f);
/* After a pause or a loss: to its former position in its queue, or to another route. */
void agent_proceed(struct agent *a, struct forwarding *f);
/* The same after the pause of a failed bundle. */
void agent_retry(struct agent *a, struct forwarding *f);
/* The same, but it stays with an open link that it waits for, unless a router counts volumes or is
 * being asked again. */
void agent_go_on(struct agent *a, struct forwarding *f);
/* ends all pauses; long work is done in slices */
void agent_resume(struct agent *a, struct queue *q);
tick agent_expiry(const struct agent *a, uint64_t expires_ms);
uint64_t record_age_ms(const struct agent *a, const struct record *r, uint64_t age_ms);

/* agent_ask.c: questions and notes to the router */
/* The route of a bundle that is not admitted yet: TO_ENDPOINT, a link, or NO_ROUTE (there is one
 * later). Else REFUSE_NO_ROUTE, or REFUSE_TOO_LONG if it must not be fragmented. */
enum agent_refusal agent_find_route(struct agent *a, const struct agent_head *h, int came_from,
                                    int *link);
struct ask_answer {
    int link;         /* TO_ENDPOINT, a link, or NO_ROUTE */
    tick until;       /* NO_ROUTE: when to ask again */
    bool none;        /* NO_ROUTE: there is no route at all */
    bool too_late;    /* NO_ROUTE: no route is in time */
    tick arrival;     /* too_late: the router's earliest arrival */
    uint64_t booking; /* of a link; 0: none */
    uint64_t fits;    /* for a link: bytes that its route can transmit; 0: all; not for copies */
    /* For a link: further links; valid until the next question. */
    const struct router_copy *also;
    size_t also_len;
    /* For a link: also to this node's endpoint. For TO_ENDPOINT: a fragment for a group, whose copy
     * is reassembled here. */
    bool here;
};
/* Asks for the route of a bundle from here. Changes nothing. */
struct ask_answer ask_router(const struct agent *a, const struct forwarding *f,
                             const struct agent_head *h);
/* The link was added, removed, or went up or down. True: bundles without a route may have one. */
bool ask_changed(struct agent *a, uint32_t link);
/* Cost of the router's answers so far (router_ops.work). */
uint64_t ask_work(const struct agent *a);
#define ASK_WORK_MAX 50000 /* of one call; the next call asks the rest. Some 5 ms */
#define ASK_WORK_EACH 20   /* beside what the router counts: of a question and its links */
#define ASK_WORK_NS 100    /* approximate time of a unit */
#define ASK_REST 3 /* times as long as questions after a change have taken, nothing is asked */
/* Requests questions for all bundles to the nodes of this link's routes, wherever they wait, and
 * for the heads of queues. False: its routes are for more than single nodes, or the router uses it
 * for others, too. */
bool ask_link_nodes(struct agent *a, uint32_t link);
/* Notes that it is in the queue of its link by this answer; an earlier booking ends. */
void ask_placed(struct agent *a, struct forwarding *f, const struct ask_answer *answer);
/* Ends its booking, if it has one, with this outcome. */
void ask_ended(struct agent *a, struct forwarding *f, enum router_note_kind how);

/* agent_declined.c: links that must never transmit a bundle again. has: are there any? list: writes
 * those that exist; returns their number. */
bool declined_has(const struct agent *a, const struct forwarding *f);
size_t declined_list(const struct agent *a, const struct forwarding *f,
                     uint32_t out[AGENT_DECLINES_MAX]);
void declined_forget(struct agent *a, struct forwarding *f);
void declined_fini(struct agent *a);

/* agent_why.c: remembers for agent_why that an attempt to forward or to deliver the bundle failed.
 * reason: static text; NULL: it was taken back before it was sent. */
void forwarding_failed(struct forwarding *f, const char *reason);

#endif
