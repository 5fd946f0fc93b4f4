/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sim's options for several peers, as a part of its table for this struct, with
 * sim_peers_options_check as `end`. */
#ifndef TOOLS_SIM_PEERS_OPTIONS_H
#define TOOLS_SIM_PEERS_OPTIONS_H

#include <stdio.h>

#include "channel-emu/trace/trace_file.h"
#include "conf/conf_arguments.h"
#include "sim/sim_peers.h"

struct sim_peers_options {
    struct sim_peers peers; /* count 0: a pair of nodes is wanted */
    size_t highest;         /* of the numbers in --peer */
    double red;             /* of peers whose --peer says nothing of it */
    struct trace_source sources[SIM_PEERS_MAX];
};

extern const struct argument sim_peers_options[];
void sim_peers_options_check(struct argp_state *state, void *base);

void sim_peers_options_init(struct sim_peers_options *o);
void sim_peers_options_fini(struct sim_peers_options *o);

/* Reads the traces of all peers. Peers without their own trace share `trace`, each with another
 * start. Returns an exit code. */
int sim_peers_options_load(struct sim_peers_options *o, const char *trace);

/* 0 or HELIO_ENOMEM, HELIO_EIO. */
int sim_peers_json(FILE *out, const struct sim_peers *p, const struct sim_peers_result *r);
void sim_peers_text(FILE *out, const struct sim_peers *p, const struct sim_peers_result *r);

#endif
