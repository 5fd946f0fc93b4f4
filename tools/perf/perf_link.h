/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pair of connections that each end of helio-perf keeps to its node: one sends from the
 * endpoint, one receives for it. When one is gone both are closed, and opened again together.
 */
#ifndef TOOLS_PERF_LINK_H
#define TOOLS_PERF_LINK_H

#include "tools/aap2/aap2_client.h"
#include "tools/perf/perf_options.h"

#define PERF_LINK_WAIT (3 * TICK_S)

struct perf_link {
    const struct perf_options *options;
    void *world; /* the simulator's, in virtual time */
    char service[64];
    char endpoint[AAP2_EID_MAX];
    char secret[40];
    uint32_t window;
    uint64_t payload_max;
    struct aap2_client *tx, *rx; /* both, or neither */
    tick retry_at, give_up_at;   /* while neither */
    tick pause;
    uint64_t reconnects;
    char why[AAP2_WHY_MAX]; /* of the last failure */
};

/* A link that is not open yet. `random` makes the secret and, where the service has no name, its
 * number. */
void perf_link_init(struct perf_link *l, const struct perf_options *o, uint64_t random,
                    uint32_t window, uint64_t payload_max);

/* l->endpoint, from the node's name. 0 or HELIO_EINVAL. */
int perf_link_endpoint(struct perf_link *l, const char *node);

/* Opens both. Returns 0 or an error; `why` says it. This and the time of day are perf_os.c's, or a
 * simulator's in its place. */
int perf_link_open(struct perf_link *l);
tick perf_realtime(const struct perf_link *l);

/* The same at the start, with patience: a node that is not there yet has PERF_LINK_WAIT to appear
 * (said on standard error when that takes time; a signal on the descriptor `signals` ends it);
 * after that, with options->reconnect, 0 is returned and perf_link_retry goes on. */
int perf_link_start(struct perf_link *l, int signals);

/* Closes both. From now on perf_link_retry tries to open them again, for options->reconnect. */
void perf_link_close(struct perf_link *l, tick now);

/* While closed: 1 = open again, 0 = not yet (see retry_at), HELIO_EIO = given up. */
int perf_link_retry(struct perf_link *l, tick now);

tick perf_now(void); /* CLOCK_MONOTONIC */

/* A descriptor that becomes readable at SIGINT or SIGTERM, which no longer end the process. */
int perf_signals(void);

/* Waits until one of the descriptors (signals and the link's) is ready or `until` has come. Returns
 * true when a signal arrived. */
bool perf_wait(const struct perf_link *l, int signals, bool read_rx, tick until);

#endif
