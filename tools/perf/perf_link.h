/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pair of connections that each end of helio-perf keeps to its node: one sends from the
 * endpoint, one receives for it. When one is closed, both are closed and opened again together.
 * Nothing blocks: the link's owner calls perf_link_turn each time that the link calls `ready`, and
 * at retry_at.
 */
#ifndef TOOLS_PERF_LINK_H
#define TOOLS_PERF_LINK_H

#include "node/aap2/aap2_client.h"
#include "tools/perf/perf_options.h"

#define PERF_LINK_WAIT (3 * TICK_S)

struct perf_link {
    const struct perf_options *options;
    struct world *world;
    void (*ready)(void *context);
    void *context;
    char service[64];
    char endpoint[AAP2_EID_MAX];
    char secret[40];
    uint32_t window;
    uint64_t payload_max;
    struct aap2_client *tx, *rx;         /* both, and open; or neither */
    struct aap2_client *new_tx, *new_rx; /* being opened, one after the other */
    bool starting; /* the first time: the node has until give_up_at to appear */
    tick retry_at,
        give_up_at; /* while neither is there; retry_at TICK_NEVER: one is being opened */
    tick told_at;   /* starting: when the wait is said */
    tick pause;
    uint64_t reconnects;
    char why[AAP2_WHY_MAX]; /* of the last failure */
};

/* A link that is not open yet: the first turn begins. `random` makes the secret and, for a service
 * without a name, its number. ready: turn and connections may have something new. */
void perf_link_init(struct perf_link *l, struct world *w, const struct perf_options *o,
                    uint64_t random, uint32_t window, uint64_t payload_max,
                    void (*ready)(void *context), void *context);
void perf_link_fini(struct perf_link *l);

/*
 * 1 = open, 0 = not yet, or an error: it has failed, and `why` has the reason. A node that does not
 * run at the start is waited for up to PERF_LINK_WAIT (reported on standard error if that takes
 * time); later, and after that, options->reconnect.
 */
int perf_link_turn(struct perf_link *l, tick now);

/* Closes both. From now on turns try to open them again, for options->reconnect. */
void perf_link_close(struct perf_link *l, tick now);

/* The same after an error of a connection, which `why` says then. */
void perf_link_lost(struct perf_link *l, int error, tick now);

/* Its own invariants and those of its connections, asserted. */
void perf_link_check(const struct perf_link *l);

#endif
