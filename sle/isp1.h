/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links over ISP1 (CCSDS 913.1-B-2), as Space Link Extension and the Cross Support Transfer
 * Services have them in common: transport mapping (§3.3), credentials (§3.1.2), the octets in both
 * directions, the times, and the end. Private to sle/, csts/ and what puts a link on a stream
 * (cla/framed/isp1_conn.h).
 *
 * A service's engine contains one `struct isp1`, and each of its links a `struct isp1_link`. The
 * service decides what PDUs mean. It gets them, and the end of a link, through `struct
 * isp1_service`; the rest are calls down. A link:
 *
 *   initiator: isp1_link_init → isp1_connect (context is queued) → BIND …
 *   responder: isp1_link_init → isp1_accept → context received → BIND …
 *   both:      … → isp1_end / isp1_abort / isp1_close → service.ended → isp1_link_fini
 *
 * Transfer buffers are messages of the service's own (`struct out` with `buffer`): they come back
 * by service.written or service.dropped, all others are freed here.
 */
#ifndef SLE_ISP1_H
#define SLE_ISP1_H

#include "base/agenda.h"
#include "base/list.h"
#include "base/rng.h"
#include "sle/engine.h"
#include "sle/replay.h"

/* ---- times: all of an engine are in its one agenda ---- */

enum {
    KEPT_ESTABLISH, /* TMS: context and BIND must have come */
    KEPT_SILENCE,   /* HBR: the peer must have sent something */
    KEPT_ASSOCIATE, /* the return of BIND or UNBIND must have come */
    KEPT_RETURN,    /* that of the oldest invocation must have come: the service serves it */
    KEPT_CLOSE,     /* CPA: the peer must have closed */
    KEPT_HEARTBEAT, /* HBT: we must have sent something */
    KEPT_OF_LINK    /* the service's own kinds begin here */
};
/* Of those due at one tick the lowest rank comes first. */
enum { KEPT_ENDS, KEPT_PRODUCES, KEPT_SENDS };
struct kept {
    struct heap_node node;
    uint8_t kind, rank;
};

struct isp1_peer {
    struct list node;
    struct sle_peer p;
    struct replay replay;
};

struct out;
struct isp1_link;
struct isp1_service {
    /* A PDU was received, behind a context. */
    void (*take_pdu)(struct isp1_link *l, struct slice body, tick now);
    /* The link has ended: what it served forgets it. Called once. */
    void (*ended)(struct isp1_link *l, tick now);
    /* NULL: there are no messages with `buffer`. Both take the message. */
    void (*written)(struct isp1_link *l, struct out *o, tick now);
    void (*dropped)(struct isp1_link *l, struct out *o);
    uint8_t return_timeout; /* octet of the PEER-ABORT when a return does not come */
};

/* What all links of an engine share. */
struct isp1 {
    struct sle_config config;
    const struct isp1_service *service;
    uint64_t *counts; /* ISP1_COUNTS of the engine */
    struct list links, peers;
    uint32_t link_count;
    struct agenda agenda;
    size_t kept_max;      /* times for which the agenda has room */
    struct buf *rx_spare; /* the receive buffer that links take in turns; NULL: one has it */
    struct rng rng;
};

/* The first of SLE_COUNTS and of CSTS_COUNTS, in their order. */
#define ISP1_COUNT_ENUM(name, text) ISP1_##name,
enum isp1_count { ISP1_COUNTS(ISP1_COUNT_ENUM) ISP1_COUNT };
#undef ISP1_COUNT_ENUM

struct chunk {
    struct chunk *next;
    size_t size, used;
    uint8_t octets[];
};

/* A message on its way out. Octets of heads lie in chunks, which do not move. */
struct out {
    struct list node;
    struct chunk *chunks, *at;
    struct slice *parts;
    struct buf **owners;
    uint8_t **stamps; /* where credentials go */
    uint8_t *front;   /* of a buffer: its first item; octets before it are free */
    uint32_t part_count, part_room, owner_count, owner_room, stamp_count, stamp_room;
    uint32_t part_done; /* parts that are written wholly, and octets of the next */
    size_t part_off;
    size_t octets, written;
    tick stamped; /* when the credentials were made; TICK_NEVER: not yet */
    bool buffer;  /* a TRANSFER-BUFFER */
    bool exposed; /* given to the host since its last isp1_wrote */
    uint32_t frames, syncs, good;
    uint64_t frame_octets;
};

struct isp1_link {
    struct list node;
    struct isp1 *isp;
    uint64_t *instance_counts; /* ISP1_COUNTS of the instance, too; NULL: none */
    void *host;
    bool initiator;
    bool bound; /* the service has accepted the BIND, or its return */
    bool ended;
    /* the peer */
    char peer_id[SLE_AUTHORITY_MAX + 1]; /* as its BIND or BIND return said */
    struct sle_peer peer;                /* a copy; level NONE before it is known */
    struct replay *replay;               /* of that peer */
    bool forgets;             /* a user: credentials are remembered of returns of BIND alone */
    enum sle_hash by_version; /* what SLE_HASH_BY_VERSION is */
    /* transport mapping */
    bool context; /* sent, or received */
    uint16_t heartbeat_s, dead_factor;
    tick last_in, last_out;
    struct kept kept[KEPT_OF_LINK];
    size_t times; /* for which it has room in the agenda */
    /* in */
    struct buf *rx;
    size_t rx_wanted; /* octets of the message that is not whole */
    bool hungry;      /* no whole message is there */
    bool eof;
    unsigned notices; /* of the service that its host has not polled: nothing is read */
    bool waits;       /* for room in the service: nothing is taken or read */
    /* out */
    struct list queue; /* struct out */
    size_t queue_octets;
    size_t answer_octets; /* of those messages of it that are not transfer buffers */
    size_t answers_max;   /* with more nothing is read, so that a slow peer waits; 0: no limit. One
                             side has none, so that one of both always reads */
    /* the end */
    enum sle_stream stream;
    enum sle_end end;
    unsigned abort, bind_diag;
    bool closing; /* what is queued still goes; then SLE_STREAM_CLOSE */
    bool polite;  /* but the peer closes first, if it does so in time */
    bool over_told;
};

static inline void isp1_count(struct isp1_link *l, enum isp1_count which, uint64_t n)
{
    l->isp->counts[which] += n;
    if (l->instance_counts != NULL)
        l->instance_counts[which] += n;
}

/* ---- isp1.c: the engine's part ---- */

/* Copies the configuration, with defaults. `counts` stay the caller's. False: the identity is none.
 */
bool isp1_init(struct isp1 *s, const struct sle_config *config, const struct isp1_service *service,
               uint64_t *counts);
void isp1_fini(struct isp1 *s); /* has no links any more */
struct isp1_peer *isp1_peer(const struct isp1 *s, const char *id);
/* HELIO_EINVAL (a level without a hash is one), HELIO_ENOMEM */
int isp1_peer_set(struct isp1 *s, const struct sle_peer *peer);
struct sle_time isp1_time(const struct isp1 *s, tick now);

/* `times`: how many the service keeps of the link itself. False: memory, links_max. */
bool isp1_link_init(struct isp1_link *l, struct isp1 *s, size_t times, tick now);
void isp1_link_fini(struct isp1_link *l); /* in any state; service.ended is called if it was not */
void isp1_accept(struct isp1_link *l, tick now);
int isp1_connect(struct isp1_link *l, struct isp1_peer *peer, tick now); /* HELIO_ENOMEM */

/* ---- isp1.c: the end. Only the first counts. ---- */

void isp1_end(struct isp1_link *l, enum sle_end end, enum sle_stream stream, unsigned abort,
              tick now);
void isp1_abort(struct isp1_link *l, enum sle_end end, unsigned diagnostic, tick now);
void isp1_close(struct isp1_link *l, enum sle_end end, tick now); /* when all is written */
/* After the return of UNBIND: the initiator closes; if it does not, we do. */
void isp1_close_politely(struct isp1_link *l, tick now);
void isp1_urgent(struct isp1_link *l, uint8_t octet, tick now);
void isp1_closed(struct isp1_link *l);

/* ---- isp1.c: times ---- */

static inline struct kept *link_kept(struct isp1_link *l, unsigned kind)
{
    return &l->kept[kind];
}
/* When it is really due, as far as that can be known without the agenda: what is kept may be
 * earlier, never later. TICK_NEVER: not. Of KEPT_ASSOCIATE and KEPT_RETURN the service knows. */
tick isp1_due(const struct isp1_link *l, unsigned kind);
/* Serves it (not KEPT_RETURN); false: it was not due yet, and is kept again. */
bool isp1_serve(struct isp1_link *l, unsigned kind, tick now);
struct isp1_link *isp1_link_of(struct kept *k); /* whose it is; k->kind < KEPT_OF_LINK */
void isp1_check(const struct isp1 *s);          /* isp1_check.c: invariants, asserted */

/* ---- isp1_in.c ---- */

void isp1_take_context(struct isp1_link *l, const struct sle_tml_message *m, tick now); /* isp1.c */
bool isp1_reads(const struct isp1_link *l);
uint8_t *isp1_space(struct isp1_link *l, size_t *len);
void isp1_fed(struct isp1_link *l, size_t len, tick now);
/* Takes one message, or sees the end of the stream. False: there is nothing to take. */
bool isp1_step(struct isp1_link *l, tick now);
/* Are these credentials right? They are remembered then; of a BIND or its return they must be new.
 * *replayed: they are right, and not new. */
bool isp1_authentic(struct isp1_link *l, struct slice credentials, bool binds, bool *replayed,
                    tick now);
/* The initiator of a BIND is unknown. True: the link is closed as for wrong credentials, after the
 * same work, so that the peer does not learn which users exist. False: no peer has to authenticate,
 * and the answer is "access denied". */
bool isp1_hides(struct isp1_link *l, struct slice credentials, tick now);

/* ---- isp1_out.c ---- */

/* Octets of credentials of such a PDU; 0: none are sent. */
size_t isp1_credentials_len(const struct isp1_link *l, bool binding);
void isp1_enqueue(struct isp1_link *l, struct out *o); /* takes it */
void isp1_drop_queue(struct isp1_link *l);             /* but for what is exposed */
size_t isp1_output(struct isp1_link *l, struct slice *parts, size_t max, tick now);
size_t isp1_lend(struct isp1_link *l, struct slice *parts, size_t max, struct sle_lent *lent,
                 tick now);
void isp1_wrote(struct isp1_link *l, size_t octets, tick now);

/* ---- kept.c. A list of times has no more than was asked for, so that keeping cannot fail. ---- */

void kept_init(struct kept *k, unsigned kind, unsigned rank);
int kept_reserve(struct isp1 *s, size_t count); /* for so many more; 0 or HELIO_ENOMEM */
void kept_release(struct isp1 *s, size_t count);
/* Keeps the time, instead of the one before it; TICK_NEVER: none. */
void kept_set(struct isp1 *s, struct kept *k, tick due);
/* The same, but an earlier one stays: what it is for is looked at then, and kept again. */
void kept_by(struct isp1 *s, struct kept *k, tick due);
/* The first one that is due, no longer kept; NULL: none. */
struct kept *kept_next(struct isp1 *s, tick now);
static inline bool kept_is(const struct kept *k)
{
    return heap_has(&k->node);
}
tick kept_tick(const struct isp1 *s, struct sle_time t); /* 0: before tick 0 */

/* ---- of Space Link Extension: link.c, engine.c ---- */

struct isp1_link *sle_link_isp1(struct sle_link *l);
struct isp1 *sle_isp1(struct sle *s);

/* ---- out.c ---- */

struct out *out_new(size_t first_chunk);
void out_free(struct out *o);
void out_reset(struct out *o); /* empty, with its memory */
/* Room for one more of each and for n octets of heads; of credentials for one more yet, so that any
 * buffer can notify a backlog. */
bool out_reserve(struct out *o, size_t n);
uint8_t *out_place(struct out *o);     /* where the next heads go */
void out_add(struct out *o, size_t n); /* n octets were put there */
/* What lies behind the last part becomes one with it. */
void out_refer(struct out *o, struct slice data, struct buf *owner);

#endif
