/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reference-counted block of bytes: [head room | data | tail room] in one allocation. A payload
 * needs no further copy between the system call that reads it and the one that sends it: headers
 * are written into the head room, check values into the tail room. Not thread-safe: one thread
 * holds all references of a buffer, or passes the only one to another thread.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct buf {
    uint32_t refs;
    size_t cap;                  /* bytes in mem */
    size_t off;                  /* first byte of data; off + len <= cap */
    size_t len;                  /* bytes of data */
    __extension__ uint8_t mem[]; /* the bytes themselves */
};

/* A buffer with one reference, `head` bytes of head room and `room` bytes after it; len is 0. NULL:
 * no memory. */
struct buf *buf_new(size_t head, size_t room);

/* One more reference; returns b. */
struct buf *buf_keep(struct buf *b);

/* The same bytes in a buffer of capacity `cap` (at least off + len), or NULL when memory is out and
 * b is as before. The only reference to b becomes the one to the result. */
struct buf *buf_resize(struct buf *b, size_t cap);

/* Makes room for at least one more byte of data that arrives in pieces. `most` is the announced
 * total length (> len). The function allocates up to 1 MiB at once, and more only as data arrives,
 * whatever was announced. b NULL: a new buffer without head room. Returns NULL without memory, and
 * b is unchanged; else b's only reference is replaced by that to the result. */
struct buf *buf_grow(struct buf *b, uint64_t most);

/* Returns the same bytes in a buffer without head and tail room. Replaces the only reference; it
 * cannot fail. */
struct buf *buf_fit(struct buf *b);

/* One reference less; the last one frees. NULL is allowed. */
void buf_drop(struct buf *b);

/* The first byte of the data; valid until the buffer is freed. */
static inline uint8_t *buf_data(struct buf *b)
{
    return b->mem + b->off;
}

/* Bytes by which buf_append can lengthen the data. */
static inline size_t buf_tailroom(const struct buf *b)
{
    return b->cap - b->off - b->len;
}

/* The data as a slice, which is valid as long as the buffer. */
static inline struct slice buf_slice(const struct buf *b)
{
    return slice_of(b->mem + b->off, b->len);
}

/* Lengthens the data by n bytes at the front (or the back) and returns their address; NULL: not
 * enough room. The bytes are not initialised. */
uint8_t *buf_prepend(struct buf *b, size_t n);
/* The same at the back. */
uint8_t *buf_append(struct buf *b, size_t n);

#ifdef __cplusplus
}
#endif

#endif
