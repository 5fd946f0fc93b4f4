/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories of two whole nodes: agent, store, link adapter and LTP engine of each, as in heliod, in
 * virtual time; kills, clean restarts, losses, duplicates, late frames and contact gaps are drawn
 * from a seed. What is outermost (clock, store, sockets, applications) is here a model: the store
 * is what survives a kill.
 */
#ifndef TESTS_SIM_HISTORIES_H
#define TESTS_SIM_HISTORIES_H

#include "base/list.h"
#include "base/rng.h"
#include "cla/ltp/ltp_config.h"
#include "node/node.h"
#include "sim/virtual.h"

#define HISTORY_BUNDLES 48
#define HISTORY_EVENTS 48

enum history_what {
    HISTORY_KILL,
    HISTORY_STOP, /* cleanly */
    HISTORY_START,
    HISTORY_DARK, /* no frame arrives, in either direction … */
    HISTORY_LIGHT,
    HISTORY_DOWN, /* … and this node is informed, or informed when it is over */
    HISTORY_UP
};

struct history_event {
    tick at;
    enum history_what what;
    size_t node;
};

struct history_bundle {
    tick at;
    size_t from;
    uint32_t size;
};

enum history_adapter { HISTORY_LTP, HISTORY_TCPCL, HISTORY_UDP };

struct history_case {
    uint64_t seed;
    enum history_adapter adapter;
    struct ltp_link_config link[2]; /* addresses aside; of others than LTP its rto, for spans */
    char keys[2][512];              /* of others than LTP */
    double resets;                  /* share of connections */
    int durability[2];              /* enum store_durability */
    bool clockless;                 /* DTN time is 0 at both */
    tick store_time[2];             /* of a transaction */
    tick app_time;                  /* between a delivery and its answer */
    tick delay, later;
    double loss, twice, late; /* shares of frames; late ones take up to `later` more */
    struct history_bundle bundle[HISTORY_BUNDLES]; /* by time */
    struct history_event event[HISTORY_EVENTS];    /* by time */
    size_t bundles, events;
};

void history_draw(struct history_case *c, enum history_adapter adapter, uint64_t seed);
void history_describe(const struct history_case *c, char *out, size_t cap);

struct history_totals {
    unsigned long long histories, bundles, confirmed, delivered, twice, excused, kills, stops, gaps,
        frames, lost, missing, steps;
};

/* Plays and judges. show: what happens, to the standard output. NULL, or what is wrong, static. */
const char *history_run(const struct history_case *c, struct history_totals *t, bool show);

/* ---- the inside ---- */

struct history;

/* What is on the medium: it outlives the node. */
struct history_kept {
    struct list node;
    uint64_t key;
    size_t head_len;
    uint8_t head[1024];
    struct buf *bundle;
    int index; /* of the bundle; -1: none of ours */
};
struct history_mark {
    struct list node;
    size_t len;
    uint64_t until_ms;
    uint8_t id[400];
};
struct history_disk {
    struct list bundles, marks;
    uint64_t sequence; /* numbers below it were used; 0: not noted */
};

/* A delivery that the application has not answered. */
struct history_answer {
    struct list node;
    uint64_t key;
    tick due;
    bool recalled;
};

struct storage {
    struct history_node *owner;
    struct list collected, running; /* of jobs */
    tick due;                       /* of those that run; TICK_NEVER: none do */
};

struct apps {
    struct history_node *owner;
    struct list answers; /* by time */
};

struct history_node {
    struct node node;
    struct config config;
    struct history *history;
    size_t index;
    uint32_t lives; /* so far */
    bool alive, planned_up;
    struct history_disk disk;
    struct storage storage;
    struct apps apps;
};

/* What is known of a bundle, from outside. */
struct history_entry {
    struct bundle_id id;
    bool sent, stored, confirmed, refused;
    unsigned delivered;
    uint64_t key;    /* at its destination */
    bool marked;     /* there: removed, with a mark against duplicates, on the medium */
    bool twice_fair; /* may arrive again: it ended there before it was marked */
    bool excused;    /* lost with the memory of a node without a durable store */
};

struct history {
    const struct history_case *c;
    struct history_totals *t;
    struct rng rng;
    struct virtual_world world;
    size_t event, bundle; /* the next ones */
    bool dark, show;
    struct history_node nodes[2];
    struct history_entry entry[HISTORY_BUNDLES];
    struct list flying;
    struct pipe_wire wire;
    uint64_t gone; /* datagrams that were lost, had no destination, or were not stored yet */
    const char *wrong;
};

void history_complain(struct history *h, const char *what);
void history_say(const struct history *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int history_index(const struct history *h, const struct bundle_id *id); /* -1: none of ours */

/* histories_node.c */
void history_node_init(struct history *h, size_t index);
void history_node_start(struct history_node *n);
void history_node_end(struct history_node *n, bool killed);
void history_node_fini(struct history_node *n);
void history_node_link(struct history_node *n, bool up);
bool history_node_holds(const struct history_node *n, int index);
tick history_apps_due(const struct history_node *n);
void history_apps_step(struct history_node *n);
void history_send(struct history *h, size_t index);

/* histories_store.c: the first four are what a node asks of its store. */
int history_store_put(struct storage *s, const struct agent_action *a);
int history_store_get(struct storage *s, uint64_t key);
int history_store_remove(struct storage *s, const struct agent_action *a);
void history_store_submit(struct storage *s);
void history_store_open(struct history_node *n);
void history_store_step(struct history_node *n); /* what runs is done */
void history_store_finish(struct history_node *n);
void history_store_kill(struct history_node *n, bool done); /* what ran: was it written? */
void history_disk_fini(struct history_disk *d);

/* histories_net.c */
void history_net_init(struct history *h);
void history_net_step(struct history *h);

#endif
