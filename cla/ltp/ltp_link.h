/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "ltp-udp", for its ltp_link*.c files. */
#ifndef CLA_LTP_LINK_H
#define CLA_LTP_LINK_H

#include "base/bucket.h"
#include "base/hash.h"
#include "cla/framed/frame_guess.h"
#include "cla/framed/frame_keys.h"
#include "cla/framed/frame_port.h"
#include "cla/local_endpoint.h"
#include "cla/ltp/auth.h"
#include "cla/ltp/ltp_coded.h"
#include "cla/ltp/ltp_rule.h"
#include "cla/remote_name.h"
#include "ltp/sda.h"
#include "os/net/udp_io.h"
#include "os/world.h"

#define CAPSULES_RX_MAX 65536 /* bundles of one received block */
#define CAPSULES_TURN 512     /* of these, given to the node in one turn of the loop */

struct link;

/* If few datagrams arrive in short intervals, the endpoint may wait for more before it reads. */
struct ltp_endpoint_gather {
    tick wait;  /* wait time; 0: never */
    tick until; /* the port is read then and not watched before; TICK_NEVER: it is watched */
    tick came;  /* when it was read last */
    /* In this turn few datagrams arrived, soon after others. */
    bool little;
};

/* Refused segments: in the name of the peer, sent from another address (see `source`) or without
 * the right authentication or cookie; of an LTP engine that no link has as peer; packets of an
 * erasure code; or CCSDS frames. */
struct link_refusals {
    uint64_t count;
    struct address from; /* the latest of them */
    tick quiet;          /* until then no more is said of them */
    tick at;             /* arrival of the latest one; 0: none */
    const char *why;     /* of a peer's: why the latest was refused; static */
};

/* A local address: one socket, one LTP engine, the links that go through them. */
struct ltp_endpoint {
    struct local_endpoint common; /* ending: handles are closing */
    struct address local;
    uint64_t engine_number;
    struct ltp *engine;
    struct world *world;
    struct port *port;        /* NULL: not open yet */
    struct udp_io *io;        /* of the port */
    bool framed;              /* the port is one of cla/framed/frame_port.h */
    bool leaves, arrives;     /* what it says of its wire; others: true */
    struct ltp_coded *coded;  /* its erasure code; NULL: none */
    struct frame_keys frames; /* with which it was opened; its texts are not kept */
    int source;               /* of the frames, likewise */
    uint64_t dscp;            /* likewise */
    struct address remote;    /* likewise */
    struct alarm alarm;
    struct ltp_endpoint_gather gather;
    struct hash by_peer; /* its links, by the peer's engine number */
    /* Of struct link.active: links that may have output or notices, the next one to serve first.
     * Other links are not examined. */
    struct list active;
    struct list outgoing;    /* of struct outgoing.node */
    struct auth_held *auths; /* of its links, and of unknown senders: the engine has them */
    struct hash incoming;    /* received bundles that wait for confirm, by token */
    struct list rows;        /* of struct row.node: blocks of which bundles are to be given yet */
    uint32_t capsules;       /* that may be given in this turn */
    struct list halves;      /* red parts, or green ones, that wait for the other */
    size_t halves_len;
    uint64_t halves_bytes;
    struct link *
        host; /* unconfigured peers' bundles come in by it; NULL: there are no unconfigured peers */
    struct udp_peer *unconfigured_to; /* by place */
    struct bucket unconfigured_bucket;
    struct link_refusals unknown_refusals, coded_refusals, framed_refusals;
    uint64_t next_token;
    tick now; /* the clock, read once per turn */
    tick due; /* when the next turn should begin at the latest; TICK_NEVER: it need not */
    uint64_t late_ns, late_wakeups; /* turns that began later: by how much; those above LATE */
    bool quiet;                     /* the turn had no notices and no output */
    unsigned held; /* turns for which timers that are due have waited for the socket */
    bool busy;     /* in a turn: a call from a callback leaves the rest to its pump */
};

struct auth_held {
    struct auth_held *next;
    struct ltp_auth *auth;
};

struct link_counters {
    uint64_t bundles_sent, bundles_failed, bundles_lost; /* as reported by `done` */
    /* Orange export sessions: with an answer, or without. */
    uint64_t orange_answered, orange_silent;
    uint64_t bundles_received, bundles_refused;
    uint64_t silences;         /* times that the peer did not answer at all */
    uint64_t green_incomplete; /* green blocks with missing pieces: dropped */
    uint64_t not_a_bundle; /* blocks with red and green data, or without whole bundles: dropped */
    uint64_t aggregates_sent, aggregates_received; /* blocks of several bundles */
    uint64_t by_colour[3];                         /* bundles given to the engine */
    uint64_t air_bytes;                            /* segments, or frames, and overhead */
};

/* Red blocks that failed for want of an answer (RLEXC), since the last that proves the contrary: as
 * long as one of these, or longer than a segment. A fade cannot cause `heard`: a session that began
 * after the first failure failed as well, and the peer was heard in between. */
struct link_unconfirmed {
    tick since;       /* the first of them was opened; TICK_NEVER: there is none */
    tick ended;       /* … and closed */
    size_t least;     /* bytes of the shortest one */
    uint64_t reports; /* of the peer, when the first one ended */
    bool heard, reported;
};

struct link {
    struct cla cla;
    struct list active;
    struct hash_node by_peer;
    struct ltp_endpoint *endpoint;
    struct cla_env env;
    const struct ltp_link_config *config; /* in force: `given`, or that bounded by the contact */
    const struct ltp_link_config *given;
    struct ltp_link_config bounded;
    struct cla_contact contact;
    bool planned;       /* there is a contact's word */
    uint64_t peer;      /* engine number */
    struct udp_peer to; /* its address: not given until the name of remote is known */
    struct remote_name remote;
    struct bucket bucket;
    struct frame_port_air paid; /* of the frames: what the bucket knows of, */
    uint64_t ahead;             /* reported progress before they were complete */
    bool allowed;               /* by the operator */
    bool up, hears;     /* we transmit, the peer does: both words together, and the wire's */
    bool silent;        /* last reported state: the peer does not answer (ltp_silent) */
    tick silence_quiet; /* until then no more is said of it */
    uint64_t rx_buffer, tx_buffer; /* what the kernel gave */
    const struct ltp_auth *auth;   /* of its span, the local endpoint's; NULL: none */
    struct list waiting; /* struct waiting: bundles for the next blocks, when they are aggregated */
    uint64_t waiting_len, waiting_bytes;
    uint64_t rows_bytes;         /* of its blocks in endpoint->rows */
    uint64_t halves_bytes;       /* of its peers' mixed blocks, in endpoint->halves */
    uint64_t arriving;           /* bytes that the node has counted for blocks that are arriving */
    bool full;                   /* the node had no room for all of them */
    tick full_quiet;             /* until then no more is said of it */
    enum ltp_learnt told_learnt; /* knowledge about the peer's receiver that was last logged */
    bool no_aggregates;          /* the peer has no client service 2 */
    uint64_t alone; /* so many bundles go by themselves: a block with them was refused */
    struct link_unconfirmed unconfirmed;
    struct link_counters n;
    struct link_refusals refusals, auth_refusals;
};

/* A bundle that waits to become a block, or a part of one. */
struct waiting {
    struct list node;
    uint64_t key;
    struct buf *bundle;
    tick since;
    struct ltp_link_choice choice;
};

/* A block in transmission; its address is the tag. */
struct outgoing {
    struct list node;
    struct link *link; /* NULL: the link was closed */
    struct ltp_session_id id;
    int colour; /* enum ltp_link_colour */
    tick opened;
    size_t bytes;       /* of the block */
    size_t count, over; /* of its bundles; of these, taken back: the first ones of keys */
    uint64_t keys[];    /* of its bundles */
};

/* A received block of several bundles, of which some are not yet confirmed. */
struct group {
    struct ltp_session_id id;
    uint32_t left;
    bool refused; /* one of them was */
    bool gone;    /* its link was closed: no answer */
};

/* A block of several bundles, of which some are to be given to the node yet. */
struct row {
    struct list node;
    struct link *link;
    struct group *group; /* NULL: no answer is expected */
    uint64_t client_service;
    struct buf *data;
    struct slice rest; /* of its bytes */
};

/* A bundle that the node has not yet confirmed. */
struct incoming {
    struct hash_node node; /* hash = token */
    struct ltp_session_id id;
    struct link *link;
    struct group *group; /* NULL: it is a block by itself */
};

/* ltp_link_wake.c: what wakes a local endpoint up. open: its port and alarm; 0 or an error with its
 * text. close: ltp_endpoint_free follows, later than the call. */
int ltp_endpoint_wake_open(struct ltp_endpoint *h, const struct link *l, char *why, size_t why_cap);
/* Keys of frames' security are read again: cla_ops.renew. */
int ltp_endpoint_renew(struct ltp_endpoint *h, const struct link *l, bool *changed, char *why,
                       size_t why_cap);
void ltp_endpoint_wake_close(struct ltp_endpoint *h);
void ltp_endpoint_arm(struct ltp_endpoint *h, tick wake); /* a turn at this time, or earlier */
void ltp_endpoint_watch(struct ltp_endpoint *h); /* a turn when the port has something for us */

/* A turn: begin, what happened (ltp_endpoint_input: datagrams may be there), end. */
void ltp_endpoint_turn_begin(struct ltp_endpoint *h);
bool ltp_endpoint_input(struct ltp_endpoint *h); /* false: there were none */
/* A segment for the engine; source is the key of `from`. */
void ltp_endpoint_segment(struct ltp_endpoint *h, struct slice segment, const struct address *from,
                          struct slice source);
void ltp_endpoint_turn_end(struct ltp_endpoint *h);
void ltp_endpoint_free(struct ltp_endpoint *h);

/* ltp_endpoint.c: begin, end and turns. */
int ltp_endpoint_join(struct link *l, uint64_t engine, char *why,
                      size_t why_cap); /* 0 or an error with its text */
void ltp_endpoint_leave(struct link *l);
/* The link's configuration in force is another one now. 0 or an error with its text. */
int ltp_endpoint_change(struct link *l, char *why, size_t why_cap);
tick ltp_endpoint_now(struct ltp_endpoint *h); /* for a push: within a turn the time of that turn */
void ltp_endpoint_buffers(struct link *l); /* asks the kernel for what its configuration needs */
void ltp_endpoint_kick(struct ltp_endpoint *h);  /* a push from outside: pump soon, once */
void ltp_endpoint_again(struct ltp_endpoint *h); /* from within a turn: another one soon */
/* Something of the link is another than the last turn left it: the next turn looks at it. */
void link_touch(struct link *l);
/* Has it segments or repair segments to send, its link being up? */
bool link_has_output(const struct link *l);
/* Has it output, or notices for the node? */
bool link_is_active(const struct link *l);
uint32_t link_window(const struct link *l);
void link_limits(struct link *l); /* brings cla.limits up to date; the node reads them */
struct link *ltp_endpoint_link(struct ltp_endpoint *h, uint64_t peer); /* NULL: none */
struct link *ltp_endpoint_owner(struct ltp_endpoint *h,
                                uint64_t peer); /* the same, or for an unconfigured peer its host */

/* Two links with frames at one local address: is the wire of one not that of the other, since its
 * frames go to, and come from, another address? */
bool ltp_link_other_wire(const struct frame_keys *k, const struct address *remote,
                         const struct address *other);

/* ltp_link_source.c: permitted sources of the peer's datagrams. set: applies the present
 * configuration. refuse: the engine refused the latest segment for its address or authentication.
 * refuse_unknown: no link has the LTP engine as peer; is_data: a data segment, not a cancel.
 * refuse_coded: a packet of an erasure code, but the local endpoint has none. refuse_framed:
 * likewise for CCSDS frames; `what`: frame_guess of it. Each is logged at most once a minute. warn:
 * logs that the link listens at all addresses without authentication. resolved: a look-up of remote
 * has ended; its address and so the permitted sources may have changed. */
void source_set(struct link *l);
void source_resolved(void *link);
void source_refuse(struct ltp_endpoint *h, const struct address *from, enum verdict why);
void source_refuse_unknown(struct ltp_endpoint *h, const struct address *from, bool is_data);
void source_refuse_coded(struct ltp_endpoint *h, const struct address *from);
void source_refuse_framed(struct ltp_endpoint *h, const struct address *from, const char *what);
void source_warn(struct link *l);
/* What was refused in the name of the peer, for metrics and the state of the link. */
void source_gauges(const struct link *l, struct cla_gauges *out);
void source_status(const struct link *l, struct json_t *object);

/* ltp_link_contact.c. refresh: the effective configuration, from the configured one and the
 * contact. directions: sets the link state of each direction; of all links of an endpoint, when its
 * wire works or fails. round_trip: its light time, 0 if unknown. Also cla_ops.contact. */
void link_refresh(struct link *l);
void link_directions(struct link *l);
void ltp_endpoint_directions(struct ltp_endpoint *h);
tick link_round_trip(const struct link *l);
tick link_light(const struct link *l); /* the same, or twice the configured owlt; ns */
void link_contact(struct cla *c, const struct cla_contact *contact);

/* ltp_link_pump.c */
void ltp_endpoint_pump(struct ltp_endpoint *h);

/* ltp_link_unconfigured.c: destinations of segments to unconfigured peers. init: allocates them;
 * returns 0 or HELIO_ENOMEM. */
int unconfigured_init(struct ltp_endpoint *h, struct link *host, tick now);
struct udp_peer *unconfigured_peer(struct ltp_endpoint *h, const struct ltp_unconfigured *g);
void unconfigured_status(const struct link *l, struct json_t *object);

/* ltp_link_outgoing.c: bundles become blocks, blocks come to their end. */
int outgoing_send(struct link *l, uint64_t key, struct buf *bundle);
int outgoing_cancel(struct link *l, uint64_t key); /* as cla_ops.cancel */
void outgoing_down(struct link *l);                /* the link is down */
bool outgoing_form(struct ltp_endpoint *h);        /* true when a block was made of what waited */
tick outgoing_due(const struct link *l);           /* when what waits becomes a block by itself */
void outgoing_closed(struct ltp_notice *n);        /* an export session has closed */
void outgoing_forget(struct ltp_endpoint *h,
                     struct link *l); /* the link is closed: no `done` follows */

/* ltp_link_incoming.c: blocks become bundles, bundles get the node's answer. */
void incoming_block(struct ltp_endpoint *h, struct ltp_notice *n);
void incoming_answer(struct ltp_endpoint *h, uint64_t token, bool ok);
void incoming_drop(struct ltp_endpoint *h, const struct link *l); /* NULL: of every link */
/* A turn begins: CAPSULES_TURN bundles of blocks of several are given, or as many as there are. */
void incoming_turn(struct ltp_endpoint *h);

/* ltp_link_account.c: memory of blocks that are being received counts at the node: of a link; of
 * all active links; and when the link's sessions have closed. */
void link_account(struct link *l);
void ltp_endpoint_account(struct ltp_endpoint *h);
void link_account_end(struct link *l);

/* ltp_link_mixed.c: is this a part of a block with red and green data? add: stores the part;
 * returns the whole block when the other part is present, else NULL. drop: link NULL: of every
 * link. */
bool mixed_is(const struct ltp_notice *n);
struct buf *mixed_add(struct ltp_endpoint *h, struct link *l, const struct ltp_notice *n);
void mixed_drop(struct ltp_endpoint *h, const struct link *l);

/* ltp_link.c */
void link_check(const struct cla *c);

/* ltp_link_status.c */
void link_status(struct cla *c, struct json_t *object);
void link_gauges(const struct cla *c, struct cla_gauges *out);

#endif
