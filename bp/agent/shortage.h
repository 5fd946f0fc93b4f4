/* SPDX-License-Identifier: Apache-2.0 */
/* For a person: which limit left no room for a bundle, and how full it was; by how much a bundle
 * would have been too late. */
#ifndef BP_AGENT_SHORTAGE_H
#define BP_AGENT_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By the names of agent_config. */
enum agent_limit {
    AGENT_LIMIT_NONE,
    AGENT_LIMIT_COUNT,        /* held_bundles */
    AGENT_LIMIT_BYTES,        /* held_bytes */
    AGENT_LIMIT_MEMORY,       /* total_bytes; memory_only: held_bytes */
    AGENT_LIMIT_STORING,      /* memory_bytes, of bundles that are being stored */
    AGENT_LIMIT_PEER,         /* what reserve_percent leaves the neighbour, or the applications */
    AGENT_LIMIT_USER,         /* source_percent, of a user of applications */
    AGENT_LIMIT_SOURCE,       /* source_percent */
    AGENT_LIMIT_ENDPOINT,     /* endpoint_percent */
    AGENT_LIMIT_QUEUE,        /* a link's bundles_max or bytes_max */
    AGENT_LIMIT_ASSEMBLIES,   /* assemblies_max */
    AGENT_LIMIT_FRAGMENTS,    /* fragments_max */
    AGENT_LIMIT_FRAGMENTS_ALL /* fragments_all_max */
};
enum agent_unit {
    AGENT_UNIT_BUNDLES,
    AGENT_UNIT_BYTES,
    AGENT_UNIT_ASSEMBLIES,
    AGENT_UNIT_FRAGMENTS
};
struct agent_shortage {
    enum agent_limit limit; /* NONE: there was none yet */
    enum agent_unit unit;
    uint64_t used, most; /* what is here of that; what the limit is for these now */
    uint64_t bytes;      /* of the bundle */
    bool idle;           /* ENDPOINT: of all endpoints that nobody takes */
    bool unproven; /* SOURCE: of all sources of the neighbour that have not proved themselves */
    bool beside;   /* COUNT, BYTES: beside what queue_percent sets apart */
    int from, way; /* links: that brought it, that it would go to; negative: none */
    struct bundle_id id;
    struct eid destination;
};

/* A bundle that no way brings to its destination before its lifetime ends. By the agent's clock. */
struct agent_late {
    tick arrival; /* the first time at which one could; 0: none is known */
    tick expires; /* its end at this node; 0: there was no such bundle */
    int from;     /* the link that brought it; negative: it started here */
    struct bundle_id id;
    struct eid destination;
};

#ifdef __cplusplus
}
#endif

#endif
