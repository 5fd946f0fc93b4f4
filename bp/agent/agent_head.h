/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a bundle that the agent needs without reading it. It is in memory for each bundle,
 * and in the store as the bundle's head. Encoding: one version byte, flags, numbers as LEB128, and
 * last the bundle's id, which also detects duplicates.
 */
#ifndef BP_AGENT_HEAD_H
#define BP_AGENT_HEAD_H

#include "base/slice.h"
#include "bp/codec/qos.h"

#define AGENT_HEAD_MAX 1024 /* longest encoding, bytes; = STORE_HEAD_MAX */
#define AGENT_ID_MAX 400    /* longest id; = STORE_MARK_MAX */

/* The fields of a bundle's priority block (bp/codec/qos.h) that the agent uses. */
struct agent_qos {
    uint8_t priority; /* enum bundle_priority */
    uint8_t ordinal;
    bool critical;
};

struct agent_head {
    /* from_link: quota_peer_id of the neighbour. Unknown: 0 when encoded, 1 after decoding. */
    uint64_t peer;
    /* User of the sending application, 0: unknown. Not encoded. */
    uint64_t user;
    bool from_link; /* received from a peer; else it was created here */
    bool rewrite;   /* its blocks change when it is forwarded */
    bool has_hops;
    uint64_t flags;                  /* of the bundle */
    uint64_t expires_ms, arrived_ms; /* DTN times; UINT64_MAX: never */
    uint64_t lifetime_ms;
    uint64_t age_ms;               /* when it arrived here */
    uint64_t hop_limit, hop_count; /* when it arrived here */
    uint64_t payload_len;
    struct agent_qos qos;
    struct eid destination, report_to;
    struct bundle_id id;
};

/* Encodes the head. Returns the length; the id is at [*id_off, length). */
size_t agent_head_encode(const struct agent_head *h, uint8_t out[AGENT_HEAD_MAX], size_t *id_off);
/* 0 or HELIO_EFORMAT. */
int agent_head_decode(struct slice head, struct agent_head *out, size_t *id_off);
/* Decodes only the id of a head that was encoded here or decoded before. */
void agent_head_id(struct slice head, size_t id_off, struct bundle_id *out);
/* Do the blocks of its bundle change when it is forwarded (agent_head.rewrite)? Of such a head. */
bool agent_head_rewrites(struct slice head);
/* Encodes only the id. For fragments it includes the payload's length, because two fragments may
 * start at one offset. */
size_t agent_id_encode(const struct bundle_id *id, uint64_t payload_len, uint8_t out[AGENT_ID_MAX]);
/* Hash of an encoded id. Bundles with consecutive sequence numbers of a source are neighbours in a
 * table, so that the next look-up finds the cache warm. Only 64 of them are neighbours, so that a
 * sender cannot choose numbers that all collide. */
uint64_t agent_id_hash(uint64_t seed, struct slice id);

#endif
