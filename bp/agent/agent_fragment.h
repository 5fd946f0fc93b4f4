/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles for this node that come in fragments (RFC 9171 §5.9); for the agent's files. */
#ifndef BP_AGENT_FRAGMENT_H
#define BP_AGENT_FRAGMENT_H

#include "base/ranges.h"
#include "bp/agent/agent_record.h"

/*
 * Fragments of one bundle for this node that agree on its length and destination. While bytes are
 * missing each fragment has its own expiry; when the last one is placed, `whole` is made, which
 * waits in the endpoint's queue for all of them, and ends them all when it ends.
 */
struct assembly {
    struct hash_node by_id;
    struct eid destination;
    uint64_t total, fragments; /* bytes; records that have this assembly, stored or not */
    struct holder holder;      /* who began it */
    uint64_t source;           /* likewise: quota_source_id */
    struct list order;         /* in agent.gathering, without `whole` */
    tick grown;                /* when its last piece came */
    struct list pieces;        /* stored fragments, each with bytes that those before lack */
    struct ranges have;        /* bytes of all pieces; with `whole`: those in `joined` */
    bool stale;                /* have is to be made anew: a piece is gone */
    bool over;                 /* its whole ended, and was counted; late pieces remain */
    bool verified;             /* the security policy let the whole pass */
    struct record *whole;
    const struct record *first; /* the piece whose bytes its payload begins with, once joined */
    struct buf *joined;         /* the whole payload in the making */
    struct list *next;          /* the piece to copy next */
    struct buf *frame; /* the bundle without its payload, for the security policy; NULL: none */
    size_t id_len;
    uint8_t id[]; /* of the bundle: what the ids of its fragments begin with */
};

/* agent_fragment.c: bundles for this node that come in fragments (RFC 9171 §5.9) */
/* Room for one more fragment in the assembly of its bundle, which is made when it is the first;
 * older ones that do not grow may give way. */
enum agent_refusal fragment_enter(struct agent *a, const struct agent_head *h,
                                  const struct holder *holder, bool restored,
                                  struct assembly **out);
/* Are others of its bundle here? */
bool fragment_begun(const struct agent *a, const struct agent_head *h);
/* The record that was made for it is in the assembly. */
void fragment_entered(struct agent *a, struct record *r, struct assembly *as);
/* A copy of a fragment that was entered, in no queue; it may end. */
void fragment_gather(struct agent *a, struct record *c, const struct agent_head *h,
                     struct assembly *as);
/* A bundle of a group comes in one piece: its fragments end. True: they are all here already. */
bool fragment_outrun(struct agent *a, const struct agent_head *h);
/* One fragment less; the last one frees. */
void fragment_leave(struct agent *a, struct assembly *as, enum agent_end why);
void assembly_free(struct agent *a, struct assembly *as);
/* Is the bundle (or the one whose fragment it is) here or gone already, beside its own id? */
bool fragment_known(const struct agent *a, const struct bundle *b, struct record **held);
/* For a stored bundle whose destination is here: true when it needs no queue. */
bool fragment_place(struct agent *a, struct record *r, const struct agent_head *h);
/* The whole is gone: so are its pieces. */
void fragment_end_all(struct agent *a, struct assembly *as, enum agent_end why);

/* agent_join.c: 1 and a LOAD; or 0: the payload is in whole->buf now, or bytes of a piece are on
 * their way, or the whole pauses */
int fragment_join(struct agent *a, struct record *whole, struct agent_action *out);

#endif
