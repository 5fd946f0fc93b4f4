/* SPDX-License-Identifier: Apache-2.0 */
/* Octets of a stream in transit, in order: a list of chunks from a pool. They are written from the
 * place to which they were read, without a copy. */
#ifndef CHANNEL_EMU_WAN_BYTES_H
#define CHANNEL_EMU_WAN_BYTES_H

#include "base/slice.h"

#define WAN_CHUNK_BYTES ((size_t)128 << 10) /* of memory, with what is beside the octets */
#define WAN_POOL_SPARE 64u                  /* free chunks that a pool keeps */

struct wan_chunk;

/* Of all streams of a relay. */
struct wan_pool {
    struct wan_chunk *spare;
    size_t spare_len;
    size_t chunks, chunks_most; /* lent now, and at once at most */
};

struct wan_bytes {
    struct wan_pool *pool;
    struct wan_chunk *first, *last; /* NULL: there are none */
    size_t from, to;                /* of the first one's octets, of the last one's */
    uint64_t len;
};

void wan_pool_init(struct wan_pool *p);
/* After all that was lent has come back. */
void wan_pool_fini(struct wan_pool *p);

void wan_bytes_init(struct wan_bytes *b, struct wan_pool *pool);
void wan_bytes_fini(struct wan_bytes *b);

/* Where the next octets are to be put, *len >= 1 of them at most. NULL: memory is out. */
uint8_t *wan_bytes_space(struct wan_bytes *b, size_t *len);
/* So many lie there now. */
void wan_bytes_add(struct wan_bytes *b, size_t len);

/* The first `most` octets as parts, `max` of them at most. Returns their number. */
size_t wan_bytes_parts(const struct wan_bytes *b, uint64_t most, struct slice *parts, size_t max);
/* The first `len` octets go. */
void wan_bytes_sub(struct wan_bytes *b, uint64_t len);

#endif
