/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams and frames of streams in transit between nodes in virtual time, by the time of their
 * arrival. */
#ifndef TESTS_SIM_FLIGHTS_H
#define TESTS_SIM_FLIGHTS_H

#include "sim/virtual.h"

struct flight {
    struct list node;
    tick due;
    struct address from;
    size_t to; /* owner of the port */
    bool stream;
    size_t len;
    uint8_t bytes[];
};

/* A datagram of a port, for a node: head and data one behind the other. */
void flight_datagram(struct list *flying, tick due, const struct virtual_port *from, size_t to,
                     struct slice head, struct slice data);
void flight_stream(struct list *flying, tick due, struct slice frame);

tick flights_due(const struct list *flying); /* TICK_NEVER: there is none */

/* The first one arrives. False: a datagram without a destination. */
bool flights_step(struct list *flying, struct virtual_world *w);
void flights_fini(struct list *flying);

#endif
