/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The router interface of the bundle agent. The agent knows bundles, queues and link states; a
 * router knows routes. Static routes (bp/agent/forwarding/routes.h) are one router, a contact plan
 * can be another. A router is pure: it gets the time as an argument, and calls nothing.
 *
 * The agent asks when it places a bundle: on arrival, after a failure or a pause, and when the
 * `until` of an answer has passed. When the router reports that its answers may have changed, the
 * agent asks for all waiting and queued bundles. It does so in slices, over several calls of the
 * agent. An answer has no effect until the agent notes it (ROUTER_PLACED). After a change of one
 * link, or of a static route, the agent asks only for bundles whose answers can change: `alike`,
 * `by_routes`, `uses` and `touches` say so.
 */
#ifndef BP_ROUTER_H
#define BP_ROUTER_H

#include "base/tick.h"
#include "bp/codec/qos.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROUTER_NO_LINK (-2)  /* in place of a link's index: no link */
#define ROUTER_FITS_MIN 1024 /* bytes: a smaller fragment is not worth it */
#define ROUTER_DECLINED_MAX 4

/* The present state of a link. */
struct router_link {
    bool used, up; /* it exists; its adapter accepts bundles */
    /* Backlog: queued bundles and those in transmission, without the bundle in question. */
    uint64_t bundles, bytes;
    uint64_t bytes_of[BUNDLE_PRIORITIES]; /* the same bytes by priority of the queue */
    /* Of bytes_of[the question's priority]: bundles of other neighbours and users that have their
     * turns after the bundle in question. Only with `note`. */
    uint64_t behind;
    uint64_t bundle_max; /* longest bundle that it can transmit, bytes; 0: any */
    /* The operator's rules forbid the bundle on this link: it must not be in an answer. */
    bool forbidden;
    /* It leads to the neighbour that sent the bundle; false: unknown, or the bundle was created
     * here. */
    bool back;
};

/* The agent's links by index; beyond the last one used = false. */
struct router_links {
    const void *context;
    struct router_link (*at)(const void *context, uint32_t link);
};

/* Pointers are valid during the call. */
struct router_query {
    tick now;
    const struct eid *destination; /* at another node */
    /* Bytes of the encoded bundle; before encoding, of the payload; after a part was forwarded, of
     * the rest. */
    uint64_t bytes;
    tick expires; /* end of its lifetime here; TICK_NEVER: beyond the clock's range */
    /* It must not be fragmented: only links whose bundle_max is sufficient, and answers without
     * `fits`. */
    bool whole;
    enum bundle_priority priority;
    bool critical; /* its source requests transmission over all routes (QOS_CRITICAL) */
    /* The link that received it; ROUTER_NO_LINK: created here, or unknown after a restart. */
    int came_from;
    /* Links to the previous node are no answer. If there is no other link, now or later, the answer
     * is ROUTER_NONE. */
    bool onward;
    int avoid; /* the link that brought it, or that failed last: use another one if possible */
    /* Booking of a noted answer that is still valid for it: its volume is available to it; 0:
     * none. */
    uint64_t booking;
    const uint32_t *declined; /* links whose peers will never accept it: not in an answer */
    size_t declined_len;      /* at most ROUTER_DECLINED_MAX */
    const struct router_links *links;
};

/* Did the link's peer decline this bundle? Then the link must not be in an answer. */
static inline bool router_declined(const struct router_query *q, uint32_t link)
{
    for (size_t i = 0; i < q->declined_len; i++)
        if (q->declined[i] == link)
            return true;
    return false;
}

enum router_verdict {
    ROUTER_LINK, /* queue it for `link` (which may be down) */
    ROUTER_WAIT, /* it waits without a link; ask again at `until`, or when answers change */
    ROUTER_NONE, /* no route: a new bundle is refused, a stored one waits for a change */
};

/* A further link that must transmit the bundle, too. */
struct router_copy {
    uint32_t link;
    uint64_t booking; /* as `booking` of the answer */
};
#define ROUTER_COPIES_MAX 64 /* of one answer, in addition to its link */

struct router_answer {
    enum router_verdict verdict;
    uint32_t link; /* ROUTER_LINK */
    tick until;    /* ROUTER_WAIT: later than now; TICK_NEVER: unknown */
    bool too_long; /* ROUTER_NONE: there are routes, but none for such a long bundle */
    bool too_late; /* ROUTER_NONE, ROUTER_WAIT: no known route is in time */
    tick arrival;  /* too_late: the earliest arrival; 0: unknown */
    /* ROUTER_LINK: the router's id of this use of the route; 0: nothing is booked */
    uint64_t booking;
    /* ROUTER_LINK: bytes that this route can transmit, as one bundle or as several fragments of it.
     * When they were SENT, the agent asks again for the rest. At least ROUTER_FITS_MIN; not with
     * `also`. 0: all of it. */
    uint64_t fits;
    /* ROUTER_LINK: for one bundle to several neighbours (a group, or a critical bundle), all other
     * links, each once. Valid until the next question. Each copy has its own outcome and notes. A
     * copy stays with its link: the router is not asked for it again. */
    const struct router_copy *also;
    size_t also_len;
};

enum router_note_kind {
    ROUTER_PLACED, /* the bundle is in the link's queue */
    /* it left the queue without transmission: another route, its end, or another booking */
    ROUTER_TAKEN_BACK,
    ROUTER_SENT,   /* the neighbour has received it */
    ROUTER_FAILED, /* the transmission failed; the agent asks again before it retries */
};

/* The outcome of an answer with a booking: PLACED, then exactly one of the others. */
struct router_note {
    enum router_note_kind kind;
    tick now;
    uint64_t booking;
    uint64_t key; /* number of the bundle at this node */
    uint32_t link;
    uint64_t bytes;
};

struct router_ops {
    /* Its answers depend only on links and on these fields of a question: destination, came_from,
     * avoid, declined, critical, priority, whole, and, with `whole`, bytes. It books nothing, and
     * the `until` of ROUTER_WAIT is TICK_NEVER. So the agent asks one question for all such equal
     * bundles. */
    bool by_destination;
    /* The same, for bundles to this destination only. A change of this result is announced with
     * agent_reroute. NULL: by_destination is valid for all. */
    bool (*alike)(const void *router, const struct eid *destination);
    /* Do these answers depend on this link only as the agent's static routes do: for destinations
     * of routes over it? NULL: false. */
    bool (*by_routes)(const void *router, uint32_t link);
    /* Can other answers have this link, now or later? NULL: true. */
    bool (*uses)(const void *router, uint32_t link);
    struct router_answer (*ask)(void *router, const struct router_query *q);
    /* Can one bundle have routes over both links? True is always permitted; false only if it is
     * certain. When the state of a link changes, the agent asks again for bundles of links that it
     * meets. NULL: true. */
    bool (*meet)(const void *router, uint32_t link, uint32_t other);
    /* NULL: bookings are all 0, and no notes are needed. */
    void (*note)(void *router, const struct router_note *n);
    /* A link was added or removed, or changed its state; called after the agent's own change. True:
     * the agent must ask again for bundles without a link, or for those that `touches` selects.
     * NULL: never. */
    bool (*changed)(void *router, uint32_t link, const struct router_link *state, tick now);
    /* After changed or expire returned true: must the agent ask again for bundles of this link, or
     * for those without one (ROUTER_NO_LINK)? Called at once for each link; then `meet` is not
     * called. NULL: for all. */
    bool (*touches)(const void *router, int link);
    /* The time to call expire; NULL: never. */
    tick (*deadline)(const void *router);
    /* True: answers may have changed, and the agent asks again for waiting bundles. Not NULL if
     * deadline is not. */
    bool (*expire)(void *router, tick now);
    /* The cost of all answers, in units of some 100 ns; it only grows. The agent ends a round of
     * questions at a cost of ASK_WORK_MAX, and continues in the next call. NULL: little. */
    uint64_t (*work)(const void *router);
};

/* A router: its functions, and the pointer that they get. */
struct router {
    const struct router_ops *ops;
    void *state;
};

#ifdef __cplusplus
}
#endif

#endif
