/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peers that send towards the far end, one flow each. A flow has its peer's address and the
 * socket for its frames, so that an answer to that socket finds the peer. A frame in flight refers
 * to its flow by a number that is never reused.
 */
#ifndef CHANNEL_EMU_EMU_FLOW_H
#define CHANNEL_EMU_EMU_FLOW_H

#include <stdint.h>

#include "base/tick.h"
#include "os/net/udp_io.h"

#define EMU_FLOWS_MAX 256u

struct emu_flow {
    uint64_t id; /* never 0, never used twice; id % EMU_FLOWS_MAX is its place */
    struct udp_peer peer;
    int fd; /* its own socket, or the listening one */
    tick last_active;
    bool used;
};

struct emu_flows {
    struct emu_flow at[EMU_FLOWS_MAX];
    unsigned top; /* places in use are below */
    uint64_t generation;
    struct emu_flow *latest; /* heard last; NULL at first */
};

/* The flow of a peer; NULL when it has none. */
struct emu_flow *emu_flow_find(struct emu_flows *f, const struct address *peer);
/* The flow with this number; NULL: it was closed. */
struct emu_flow *emu_flow_of(struct emu_flows *f, uint64_t id);
/* The flow whose frames leave by this socket (of several, the one heard last); or NULL. */
struct emu_flow *emu_flow_by_socket(struct emu_flows *f, int fd);

/* A place for a new flow: a free one, else that of the flow with the longest silence, which the
 * caller must close first (then *evicted is true). */
struct emu_flow *emu_flow_place(struct emu_flows *f, bool *evicted);
/* Makes the place a flow. */
void emu_flow_open(struct emu_flows *f, struct emu_flow *place, const struct address *peer, int fd,
                   tick now);

#endif
