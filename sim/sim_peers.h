/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several peers in virtual time: node 1 sends blocks to nodes 2, 3 … for the whole duration, each
 * over a channel of its own. All use one line, which they share by their weights, or each has a
 * line of its own. A part of the blocks is red, the rest green. Pure; the same parameters give the
 * same events.
 */
#ifndef SIM_PEERS_H
#define SIM_PEERS_H

#include "sim/sim_run.h"

#define SIM_PEERS_MAX 16

struct sim_peer {
    const char *name;          /* of its trace, for the report */
    const struct trace *trace; /* erasures of the forward direction, or NULL */
    tick trace_offset;
    double loss;           /* independent erasures */
    uint32_t weight;       /* of the line, >= 1 */
    double red;            /* share of the blocks that are red, 0..1 */
    tick out_from, out_to; /* nothing passes its channel in either direction, and the engines are
                              not informed */
};

struct sim_peers {
    struct sim_params base; /* common values; its trace, loss, red part and rules are not used */
    bool own_lines;         /* each has a line of the rate */
    size_t count;           /* 1..SIM_PEERS_MAX */
    struct sim_peer peer[SIM_PEERS_MAX];
};

/* Blocks that are red, or those that are green. */
struct sim_blocks {
    uint64_t sent, delivered; /* begun; whole at the peer, between warm-up and end */
    double goodput_bps;
};

struct sim_peer_result {
    struct sim_blocks red, green;
    double goodput_bps;         /* of both */
    double line_share;          /* of the bytes on the air that all sent together */
    struct sim_figures figures; /* of red sessions */
    uint64_t frames, frames_lost, cancelled, rto_firings;
};

struct sim_peers_result {
    double goodput_bps;
    double fairness;      /* Jain's index of goodput over weight: 1 equal, 1/n one has all */
    double fairness_line; /* the same of the bytes on the air */
    tick until;
    struct sim_peer_result peer[SIM_PEERS_MAX];
};

/* Returns as sim_run_experiment. */
int sim_peers_run(const struct sim_peers *p, struct sim_peers_result *out);

/* (Σ x)² / (n Σ x²); 1 where all are 0. */
double sim_fairness(const double *x, size_t n);

#endif
