/* SPDX-License-Identifier: Apache-2.0 */
/* A view of bytes with another owner. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that somebody else owns; `data` may be NULL when `len` is 0. */
struct slice {
    const uint8_t *data;
    size_t len;
};

/* The slice of `len` bytes at `data`, which must outlive it. */
static inline struct slice slice_of(const void *data, size_t len)
{
    struct slice s = {(const uint8_t *)data, len}; /* C++ reads this, too */
    return s;
}

/* Have both the same bytes? Returns 1 or 0. */
static inline int slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#ifdef __cplusplus
}
#endif

#endif
