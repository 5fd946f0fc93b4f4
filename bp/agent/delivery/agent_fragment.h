/* SPDX-License-Identifier: Apache-2.0 */
/* Reassembly of fragments for this node (RFC 9171 §5.9). Private to bp/agent. */
#ifndef BP_AGENT_FRAGMENT_H
#define BP_AGENT_FRAGMENT_H

#include "base/ranges.h"
#include "bp/agent/agent_record.h"

/*
 *    the first fragment
 *          |
 *          v                                            accepted, or no policy
 *      GATHERING --- the last missing bytes ---> WHOLE -----------------------> VERIFIED
 *       |     ^                                    |                               |
 *    a piece  | computed again                     +------- the bundle ends -------+
 *     ends    |                                                    |
 *       v     |                                                    v
 *        STALE                      GATHERING <--- a late fragment --- OVER
 *
 * It is freed with its last fragment, in any state.
 */
enum reassembly_state {
    REASSEMBLY_GATHERING, /* some bytes are missing */
    REASSEMBLY_STALE,     /* likewise, and a piece was removed: `have` must be computed again */
    REASSEMBLY_WHOLE,     /* all bytes are here: the joined bundle is in a queue */
    REASSEMBLY_VERIFIED,  /* likewise, and the security policy has accepted it */
    REASSEMBLY_OVER       /* the joined bundle has ended and was counted: only late pieces remain */
};

/*
 * Fragments of one bundle for this node with the same total length and destination. While bytes are
 * missing, each fragment expires by itself. When the last one has arrived, `whole` is created: the
 * forwarding of the joined bundle. It waits in the endpoint's queue. When it ends, all its
 * fragments end.
 */
struct reassembly {
    struct hash_node by_id;
    struct eid destination;
    uint64_t total, fragments; /* bytes; fragments of this bundle, stored or not */
    struct holder holder;      /* account of the first fragment */
    uint64_t source;           /* quota_source_id of the first fragment */
    struct list order;         /* in agent.gathering, as long as `whole` is NULL */
    tick grown;                /* when its latest piece arrived */
    struct list pieces;        /* stored fragments, each with bytes that the ones before lack */
    struct ranges have; /* bytes of all pieces; after `whole` exists: those copied to `joined` */
    enum reassembly_state state;
    struct forwarding *whole;       /* in REASSEMBLY_WHOLE and REASSEMBLY_VERIFIED */
    const struct forwarding *first; /* the piece with the start of the payload, after the join */
    struct buf *joined;             /* buffer of the joined payload, while it is being filled */
    struct list *next;              /* the piece to copy next */
    /* The bundle without its payload, for the security policy; NULL: none. */
    struct buf *frame;
    size_t id_len;
    uint8_t id[]; /* id of the bundle; the ids of its fragments begin with it */
};

/* agent_fragment.c: bundles for this node that come in fragments (RFC 9171 §5.9) */
/* Makes room for one more fragment in the reassembly of its bundle. The first fragment creates the
 * reassembly. Older reassemblies that do not grow may be dropped for it. */
enum agent_refusal fragment_enter(struct agent *a, const struct agent_head *h,
                                  const struct holder *holder, bool restored,
                                  struct reassembly **out);
/* Are other fragments of its bundle here? */
bool fragment_begun(const struct agent *a, const struct agent_head *h);
/* Adds a new one to the reassembly. */
void fragment_entered(struct agent *a, struct forwarding *f, struct reassembly *as);
/* Adds a copy of a fragment, which is in no queue; the copy may end. */
void fragment_gather(struct agent *a, struct forwarding *c, const struct agent_head *h,
                     struct reassembly *as);
/* An unfragmented bundle of a group has arrived: ends its fragments. True: the fragments were
 * already complete. */
bool fragment_outrun(struct agent *a, const struct agent_head *h);
/* Removes a fragment; the reassembly is freed with the last one. */
void fragment_leave(struct agent *a, struct reassembly *as, enum agent_end why);
void fragment_free_reassembly(struct agent *a, struct reassembly *as);
/* Is the bundle (or the bundle of this fragment) here, or was it here? Its own id is not looked
 * up. */
bool fragment_known(const struct agent *a, const struct bundle *b, struct record **held);
/* Places a stored bundle for an endpoint here. True: it needs no queue. */
bool fragment_place(struct agent *a, struct forwarding *f, const struct agent_head *h);
/* The joined bundle has ended: ends its pieces. */
void fragment_end_all(struct agent *a, struct reassembly *as, enum agent_end why);

/* agent_join.c. Returns 1 and a LOAD action; or 0: the payload is in whole->buf now, or a piece is
 * being loaded, or the whole is paused. */
int fragment_join(struct agent *a, struct forwarding *whole, struct agent_action *out);

#endif
