/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent must know of a bundle without reading it: kept in memory with each bundle and by
 * the store as its head. One version byte, flags, numbers as LEB128, and last the bundle's id,
 * which is also what duplicates are known by.
 */
#ifndef BP_AGENT_HEAD_H
#define BP_AGENT_HEAD_H

#include "base/slice.h"
#include "bp/codec/qos.h"

#define AGENT_HEAD_MAX 1024 /* longest encoding, bytes; = STORE_HEAD_MAX */
#define AGENT_ID_MAX 400    /* longest id; = STORE_MARK_MAX */

/* What of a bundle's priority block (bp/codec/qos.h) the agent acts upon. */
struct agent_qos {
    uint8_t priority; /* enum bundle_priority */
    uint8_t ordinal;
    bool critical;
};

struct agent_head {
    uint64_t peer;  /* from_link: quota_peer_id of the neighbour; 0 on the way in, 1 on the
                       way out: not known */
    uint64_t user;  /* of the application that sent it, 0: not known; not in the encoding */
    bool from_link; /* came from a peer; else it started here */
    bool rewrite;   /* its blocks change when it is forwarded */
    bool has_hops;
    uint64_t flags;                  /* of the bundle */
    uint64_t expires_ms, arrived_ms; /* DTN times; UINT64_MAX: never */
    uint64_t lifetime_ms;
    uint64_t age_ms;               /* when it came here */
    uint64_t hop_limit, hop_count; /* as it came here */
    uint64_t payload_len;
    struct agent_qos qos;
    struct eid destination, report_to;
    struct bundle_id id;
};

/* Returns the length; the id is at [*id_off, length). */
size_t agent_head_encode(const struct agent_head *h, uint8_t out[AGENT_HEAD_MAX], size_t *id_off);
/* 0 or HELIO_EFORMAT. */
int agent_head_decode(struct slice head, struct agent_head *out, size_t *id_off);
/* The id alone, of a head that was encoded here or decoded before. */
void agent_head_id(struct slice head, size_t id_off, struct bundle_id *out);
/* The id alone. Of fragments it has the payload's length, too: two fragments may start at one
 * offset. */
size_t agent_id_encode(const struct bundle_id *id, uint64_t payload_len, uint8_t out[AGENT_ID_MAX]);
/* Of an encoded id. Bundles that a source numbers one after the other are neighbours in a table, so
 * that looking for the next one finds it in the cache; no more than 64 of them, so that a
 * sender that chooses numbers cannot have them all meet in one place. */
uint64_t agent_id_hash(uint64_t seed, struct slice id);

#endif
