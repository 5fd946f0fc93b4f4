/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time: LTP engines joined by one-way channels and a clock that advances to the next event.
 * The world uses no sockets and no files; scenarios, the soak and helio-sim drive it. Simultaneous
 * events have a fixed order: the caller's own actions, arrivals, engine timers, lines that become
 * free; then the lower index; then the earlier insertion.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/bucket.h"
#include "channel-emu/chan/chan.h"
#include "ltp/ltp.h"

#define SIM_NODES_MAX 17
#define SIM_LINKS_MAX 32

struct sim_world;

/* Events that the world reports to its user. Either may be NULL. Both may push to engines and read
 * the world, but must not call sim_touch, sim_step or sim_run. */
struct sim_hooks {
    void *context;
    /* A notice of a node's engine; its data is dropped after the call. */
    void (*notice)(void *context, size_t node, const struct ltp_notice *notice);
    /* A segment that a node radiates on a link. It is up to the hook to call sim_enter, once,
     * several times or never; without a hook each segment enters once. */
    void (*segment)(void *context, size_t link, const uint8_t *data, size_t len);
};

struct sim_node {
    struct ltp *ltp;
    uint64_t engine;
    tick deadline; /* of the engine, as of the last touch */
};

/* One direction between two nodes. The pacer is an ideal line at the channel's rate. */
struct sim_link {
    size_t from, to;
    struct chan *chan;
    struct bucket line;
    uint32_t overhead;
    tick wake; /* when the line is free for a segment that waits; TICK_NEVER without one */
    /* Several links of one node may share the line of the first of them, by their weights. Of those
     * that have something to send, the next is the one whose segment has the least start, counted
     * in bytes over weight (start-time fair queueing). */
    size_t line_of;        /* index of the link whose line it is; its own */
    uint32_t weight;       /* >= 1 */
    uint64_t start, ended; /* of its last segment: bytes << SIM_SHARE_BITS / weight */
    bool shared;           /* its line is shared */
    uint64_t shared_now;   /* of the link whose line it is: start of the line's last segment */
    uint64_t air_bytes;    /* sent, overhead included */
};

#define SIM_SHARE_BITS 16

struct sim_world {
    tick now;
    bool fcs;             /* frames with flipped bits are dropped on arrival, as by a checksum */
    uint32_t check_every; /* run ltp_check after each so many things that happen; 0 = never */
    uint64_t steps;       /* things that happened so far */
    uint64_t fcs_dropped;
    struct sim_hooks hooks;
    size_t node_count, link_count;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_link links[SIM_LINKS_MAX];
    uint8_t *frame;  /* space for the longest segment */
    uint8_t *hollow; /* see sim_fill; NULL: payloads are transmitted */
    size_t head_len; /* of the segment that is radiated */
    size_t next;     /* link or node of the next thing that happens */
    size_t acts;     /* node that acts after it */
};

/* Returns 0 or HELIO_ENOMEM. `hooks` is copied. */
int sim_init(struct sim_world *w, const struct sim_hooks *hooks);
void sim_fini(struct sim_world *w);

/* All blocks will consist of this octet. Only the headers of segments are transmitted, which is
 * faster, and payloads are generated on arrival. `data` of the hook for segments is then the header
 * only. Call it before any event; not with fcs and flipped bits. Returns 0 or HELIO_ENOMEM. */
int sim_fill(struct sim_world *w, uint8_t octet);

/* Adds a node with an engine of its own. Returns 0 and its index, HELIO_ESPACE beyond
 * SIM_NODES_MAX, or an error of ltp_new. */
int sim_node_add(struct sim_world *w, const struct ltp_config *config, size_t *index);

/* Restarts the node's engine: it loses its state, and a new one without spans replaces it. Returns
 * 0 or an error of ltp_new (then the old one stays). */
int sim_node_restart(struct sim_world *w, size_t node, const struct ltp_config *config);

/* Adds a one-way link. Returns 0 and its index, HELIO_ESPACE, or an error of chan_new. */
int sim_link_add(struct sim_world *w, size_t from, size_t to, const struct chan_config *config,
                 size_t *index);

/* Link `link` sends by the line of `with`, a link of the same node, from now on; each with a weight
 * of 1 until it is set. */
void sim_link_share(struct sim_world *w, size_t link, size_t with);

/* The link from one node to another, or SIZE_MAX. */
size_t sim_link_find(const struct sim_world *w, size_t from, size_t to);

/* A frame enters a link's channel now. */
void sim_enter(struct sim_world *w, size_t link, const uint8_t *data, size_t len);
/* … and is lost in it, by rule. */
void sim_enter_rule(struct sim_world *w, size_t link, const uint8_t *data, size_t len);

/* To be called after each push to a node's engine from outside a hook: drains its notices and
 * outputs. */
void sim_touch(struct sim_world *w, size_t node);

/* When the next thing happens; TICK_NEVER if nothing will. */
tick sim_deadline(struct sim_world *w);

/* Does the next thing; sim_deadline must not be TICK_NEVER. */
void sim_step(struct sim_world *w);

/* The same if it happens before `until`; else false. */
bool sim_step_before(struct sim_world *w, tick until);

/* Does everything that happens before `until`, and sets the clock to it. */
void sim_run(struct sim_world *w, tick until);

/* All engines are idle and no frame is in transit. */
bool sim_idle(const struct sim_world *w);

#endif
