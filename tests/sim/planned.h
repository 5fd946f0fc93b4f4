/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole nodes that follow one contact plan, in virtual time: agent, router, links and LTP engines
 * as in heliod. Between them is nothing but the plan's light: a datagram that leaves outside of a
 * contact is a mistake of its node. What is outermost (clock, store, applications) is a model; the
 * store is synchronous and outlives its node.
 */
#ifndef TESTS_SIM_PLANNED_H
#define TESTS_SIM_PLANNED_H

#include "base/list.h"
#include "base/rng.h"
#include "node/node.h"
#include "node/plan/node_plan.h"
#include "route/plan_route.h"
#include "sim/virtual.h"

#define PLANNED_NODES 100
#define PLANNED_BUNDLES 12000
#define PLANNED_OVERHEAD 70000             /* as routing.overhead's default */
#define PLANNED_DTN UINT64_C(820000000000) /* ms of DTN time at time zero */

struct planned;

struct planned_kept {
    struct list node;
    uint64_t key;
    size_t head_len;
    uint8_t head[1024];
    struct buf *bundle; /* NULL: removed, and a mark against duplicates */
    size_t mark_len;
    uint8_t mark[400];
    uint64_t mark_until_ms;
};

struct storage {
    struct planned_node *owner;
    struct list kept;
    uint64_t sequence;
};

/* A delivery, answered after the round. */
struct planned_answer {
    struct list node;
    uint64_t key;
};

struct apps {
    struct planned_node *owner;
    struct list answers;
};

struct planned_node {
    struct node node;
    struct config config;
    struct planned *run;
    size_t index; /* its number less 1 */
    bool alive;
    uint32_t lives;
    struct storage storage;
    struct apps apps;
};

struct planned_bundle {
    tick at;
    size_t from, to;
    uint32_t size;
    tick lifetime;
    bool critical;
    /* what was predicted when it was sent; arrival TICK_NEVER: no route */
    tick earliest, arrival, window;
    struct bundle_id id;
    bool sent, confirmed;
    unsigned delivered;
    tick came;
};

struct planned {
    struct virtual_world world;
    struct rng rng;
    struct plan *plan, *bare; /* with the nodes' allowances, and without any */
    char path[128];
    struct planned_node *nodes;
    size_t len;
    struct planned_bundle *bundle; /* by time */
    size_t bundles, next;
    struct list flying;
    struct pipe_wire wire;
    double loss; /* share of frames */
    uint64_t frames, stray, steps, refused, late;
    size_t dark[2]; /* nothing gets through between these nodes' numbers, unknown to all; 0: none */
    bool mixed;     /* links are LTP's and TCPCL's */
    uint64_t ended[END_COUNT]; /* bundles, of finished runs */
    bool loose; /* contacts are cut or nodes killed: frames may be outside, windows be missed */
    const char *wrong;
};

void planned_complain(struct planned *p, const char *what);
/* A contact in both directions and its light time, before planned_begin. */
void planned_contact(struct planned *p, uint64_t a, uint64_t b, tick start, tick end, uint64_t rate,
                     tick owlt);
void planned_init(struct planned *p, uint64_t seed, size_t nodes);
/* Writes the plan, starts the nodes. keys: of links; store: keeps bundles over a kill. */
void planned_begin(struct planned *p, const char *keys, bool store);
void planned_bundle(struct planned *p, tick at, size_t from, size_t to, uint32_t size,
                    tick lifetime);
/* Everything up to that time. False: something is wrong. */
bool planned_until(struct planned *p, tick end);
void planned_kill(struct planned_node *n);
void planned_start(struct planned_node *n);
void planned_fini(struct planned *p);

/* planned_node.c */
void planned_node_configure(struct planned_node *n, const char *keys, bool store);
void planned_node_send(struct planned_node *n, size_t index);
void planned_node_answer(struct planned_node *n);
/* Its store has no marks any more that ended before this time. */
void planned_node_forget(struct planned_node *n, uint64_t now_ms);
void planned_node_fini(struct planned_node *n);

/* planned_net.c */
void planned_net_init(struct planned *p);

#endif
