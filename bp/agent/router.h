/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bundle goes on: what the bundle agent asks, and what a router answers. The agent knows
 * bundles, queues and which links are up; a router knows ways. Static routes (bp/agent/routes.h)
 * are one router, a contact plan can be another. A router is pure: it is told the time, and calls
 * nobody.
 *
 * The agent asks whenever it places a bundle: when one comes, after a failure or a pause, when its
 * `until` is over, and for all that waits (in queues, too) when the router says that its answers
 * may be others now: in slices, so that this may last for several of the agent's calls. An answer
 * binds nothing until the agent notes it (ROUTER_PLACED).
 */
#ifndef BP_ROUTER_H
#define BP_ROUTER_H

#include "base/tick.h"
#include "bp/codec/qos.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROUTER_NO_LINK (-2)  /* instead of the index of a link */
#define ROUTER_FITS_MIN 1024 /* bytes: less is not worth a fragment */
#define ROUTER_DECLINED_MAX 4

/* A link as the agent has it at the moment. */
struct router_link {
    bool used, up;           /* exists; its adapter says that bundles go over it */
    uint64_t bundles, bytes; /* backlog: in its queues and on their way over it, without the bundle
                                that is asked for */
    uint64_t bytes_of[BUNDLE_PRIORITIES]; /* of these, by the queue that they are in */
    uint64_t bundle_max;                  /* longest bundle that it carries, bytes; 0: any */
    bool forbidden; /* the operator's rules do not let the bundle leave over it: no answer has it */
    bool back;      /* it leads to the neighbour that the bundle came from; false: not known, or the
                       bundle started here */
};

/* The agent's links by their index; one beyond the last has used = false. */
struct router_links {
    const void *context;
    struct router_link (*at)(const void *context, uint32_t link);
};

/* Pointers hold during the call. */
struct router_query {
    tick now;
    const struct eid *destination; /* of another node */
    uint64_t bytes;                /* of the encoded bundle as it is here, or of the payload when it
                                      is not encoded yet; of one that went on in part, of the rest */
    tick expires;                  /* when its lifetime ends here; TICK_NEVER: not in our time */
    bool whole;                    /* it must not go in fragments: no link carries it whose
                                      bundle_max is less than its bytes, and no answer has `fits` */
    enum bundle_priority priority;
    bool critical;    /* its source wants it to go over all routes (QOS_CRITICAL) */
    int came_from;    /* the link that brought it; ROUTER_NO_LINK: started here, or
                         not known any more (a restart) */
    bool onward;      /* no link that leads back to the previous node is an answer: without another
                         one, up or down, now or later, the answer is ROUTER_NONE */
    int avoid;        /* the link that it came from, or that failed it last: better another one */
    uint64_t booking; /* of an answer that was noted and still holds for it: its volume is its own;
                         0: none */
    const uint32_t *declined; /* links whose peers will never take it: no answer has one of them */
    size_t declined_len;      /* at most ROUTER_DECLINED_MAX */
    const struct router_links *links;
};

static inline bool router_declined(const struct router_query *q, uint32_t link)
{
    for (size_t i = 0; i < q->declined_len; i++)
        if (q->declined[i] == link)
            return true;
    return false;
}

enum router_verdict {
    ROUTER_LINK, /* to the queue of `link` (which may be down: it waits there) */
    ROUTER_WAIT, /* apart, to be asked again at `until`, or when answers change */
    ROUTER_NONE, /* no way: a new bundle is refused, one that is here waits for a change */
};

/* Another link that the bundle is to go over, too. */
struct router_copy {
    uint32_t link;
    uint64_t booking; /* as that of the answer */
};
#define ROUTER_COPIES_MAX 64 /* of one answer, beside its link */

struct router_answer {
    enum router_verdict verdict;
    uint32_t link;    /* ROUTER_LINK */
    tick until;       /* ROUTER_WAIT: later than now; TICK_NEVER: no time is known */
    bool too_long;    /* ROUTER_NONE: there are ways, but none for a bundle of such length */
    bool too_late;    /* ROUTER_NONE, ROUTER_WAIT: no way, as far as is known, brings it in time */
    tick arrival;     /* too_late: when it would arrive at the earliest; 0: no time is known */
    uint64_t booking; /* ROUTER_LINK: the router's name for this use of the way; 0: it books none */
    uint64_t fits;    /* ROUTER_LINK: so many bytes go this way at most, as one bundle or as several
                         fragments of it; then the agent asks anew for the rest, the booking having
                         been SENT. At least ROUTER_FITS_MIN; not with `also`. 0: all of it */
    /* ROUTER_LINK: for one bundle to several neighbours (a group, or a critical bundle), all other
     * links, each once. Holds until the next question. Each way has its own fate, and its own
     * notes; a copy stays with its link, and is not asked for again. */
    const struct router_copy *also;
    size_t also_len;
};

enum router_note_kind {
    ROUTER_PLACED,     /* the bundle is in the link's queue */
    ROUTER_TAKEN_BACK, /* it left the queue unsent: another way, its end, or another booking */
    ROUTER_SENT,       /* the link has brought it to the neighbour */
    ROUTER_FAILED,     /* the link could not; the agent asks anew before it tries again */
};

/* What became of an answer with a booking: PLACED, then exactly one of the others. */
struct router_note {
    enum router_note_kind kind;
    tick now;
    uint64_t booking;
    uint64_t key; /* of the bundle at this node */
    uint32_t link;
    uint64_t bytes;
};

struct router_ops {
    /* Its answers depend on links and on these of a question alone: destination, came_from, avoid,
     * declined, critical, priority, whole, and bytes of what is whole; it books nothing, and
     * ROUTER_WAIT is until TICK_NEVER. So the agent asks once for all that wait alike. */
    bool by_destination;
    struct router_answer (*ask)(void *router, const struct router_query *q);
    /* May one bundle have ways over both links? May say yes when none has, never no. When a link
     * goes up or down the agent asks anew for what waits for the others that it meets. NULL: yes.
     */
    bool (*meet)(const void *router, uint32_t link, uint32_t other);
    /* NULL: bookings are all 0 and nobody wants to know. */
    void (*note)(void *router, const struct router_note *n);
    /* A link was added or removed, or is up or down now, after the agent's own change. True: what
     * waits apart, or what `touches` says, is to be asked for anew. NULL: never. */
    bool (*changed)(void *router, uint32_t link, const struct router_link *state, tick now);
    /* After changed or expire said so: of which bundles? Of those that wait for this link, or apart
     * (ROUTER_NO_LINK). Asked at once, link by link; then `meet` is not. NULL: of all. */
    bool (*touches)(const void *router, int link);
    /* When expire is to be called; NULL: never. */
    tick (*deadline)(const void *router);
    /* True: answers may be others now, the agent asks anew for what waits. Not NULL when deadline
     * is not. */
    bool (*expire)(void *router, tick now);
};

struct router {
    const struct router_ops *ops;
    void *state;
};

#ifdef __cplusplus
}
#endif

#endif
