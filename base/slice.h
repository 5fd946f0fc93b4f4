/* SPDX-License-Identifier: Apache-2.0 */
/* A view of bytes that somebody else owns. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *data;
    size_t len;
};

static inline struct slice slice_of(const void *data, size_t len)
{
    return (struct slice){.data = data, .len = len};
}

static inline int slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif
