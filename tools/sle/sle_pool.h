/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that many frames lie in, one behind the other; used again when nobody holds them. The
 * octets of a frame are its taker's until the next pool_take, and longer if it keeps the buffer.
 */
#ifndef TOOLS_SLE_POOL_H
#define TOOLS_SLE_POOL_H

#include <stdbool.h>

#include "base/buf.h"

#define POOL_BUFS 512 /* that are used again */

struct pool {
    uint32_t users;
    uint32_t frame, gap; /* octets of a frame at most, and before each */
    bool numbered;       /* filled with numbered frames of this length once */
    size_t room;         /* of each buffer */
    struct buf *current; /* its len is how much is used */
    size_t count;
    struct buf *bufs[POOL_BUFS];
};

/* With one user; NULL: memory is out. */
struct pool *pool_new(uint32_t frame, uint32_t gap, bool numbered);
struct pool *pool_keep(struct pool *p); /* one more user */
void pool_drop(struct pool *p);         /* NULL is allowed */

/* A buffer that nobody holds becomes the current one, with len 0. False: memory is out. */
bool pool_turn(struct pool *p);
/* `len` octets of the current buffer, or of the next, behind the gap; NULL: memory is out. */
uint8_t *pool_take(struct pool *p, size_t len);

#endif
