/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations for people: which limit left no room for a bundle, and how much of it was used; and
 * by how much a bundle would be too late. */
#ifndef BP_AGENT_SHORTAGE_H
#define BP_AGENT_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Named after the fields of agent_config. */
enum agent_limit {
    AGENT_LIMIT_NONE,
    AGENT_LIMIT_COUNT,    /* held_bundles */
    AGENT_LIMIT_BYTES,    /* held_bytes */
    AGENT_LIMIT_MEMORY,   /* total_bytes; memory_only: held_bytes */
    AGENT_LIMIT_STORING,  /* memory_bytes, for bundles that are being stored */
    AGENT_LIMIT_PEER,     /* the neighbour's, or the applications', part under reserve_percent */
    AGENT_LIMIT_USER,     /* source_percent, for a user of applications */
    AGENT_LIMIT_SOURCE,   /* source_percent */
    AGENT_LIMIT_ENDPOINT, /* endpoint_percent */
    AGENT_LIMIT_QUEUE,    /* a link's bundles_max or bytes_max */
    AGENT_LIMIT_REASSEMBLIES, /* reassemblies_max */
    AGENT_LIMIT_FRAGMENTS,    /* fragments_max */
    AGENT_LIMIT_FRAGMENTS_ALL /* fragments_all_max */
};
/* What `used` and `most` of struct agent_shortage count. */
enum agent_unit {
    AGENT_UNIT_BUNDLES,
    AGENT_UNIT_BYTES,
    AGENT_UNIT_REASSEMBLIES,
    AGENT_UNIT_FRAGMENTS
};
struct agent_shortage {
    enum agent_limit limit; /* NONE: there was none yet */
    enum agent_unit unit;
    uint64_t used, most; /* amount in use; present limit for it */
    uint64_t bytes;      /* of the bundle */
    bool idle;           /* ENDPOINT: for all endpoints without an active receiver together */
    /* SOURCE: for all unproven sources of the neighbour together (agent_quota.h). */
    bool unproven;
    bool beside;  /* COUNT, BYTES: outside the part that queue_percent reserves */
    int from, to; /* links: that received it, that would transmit it; negative: none */
    struct bundle_id id;
    struct eid destination;
};

/* A bundle that no route can deliver before its lifetime expires. Times are those of the agent's
 * clock. */
struct agent_late {
    tick arrival; /* the earliest possible arrival; 0: unknown */
    tick expires; /* end of its lifetime at this node; 0: there was no such bundle */
    int from;     /* the link that received it; negative: created here */
    struct bundle_id id;
    struct eid destination;
};

#ifdef __cplusplus
}
#endif

#endif
