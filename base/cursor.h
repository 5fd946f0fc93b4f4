/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing bytes with one sticky error: a call beyond the end does nothing, returns
 * zeros and sets `bad`; so a parser or a writer is a straight line of calls and one test at its
 * end.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <endian.h>
#include <stdbool.h>

#include "base/slice.h"

struct reader {
    const uint8_t *p;
    const uint8_t *end;
    bool bad;
};

struct writer {
    uint8_t *start;
    uint8_t *p;
    uint8_t *end;
    bool bad;
};

static inline struct reader reader_of(const void *data, size_t len)
{
    const uint8_t *p = data;
    return (struct reader){.p = p, .end = p == NULL ? NULL : p + len, .bad = false};
}

static inline struct writer writer_of(void *data, size_t len)
{
    uint8_t *p = data;
    return (struct writer){.start = p, .p = p, .end = p + len, .bad = false};
}

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->p);
}

static inline size_t writer_len(const struct writer *w)
{
    return (size_t)(w->p - w->start);
}

static inline uint8_t reader_byte(struct reader *r)
{
    if (r->bad || r->p == r->end) {
        r->bad = true;
        return 0;
    }
    return *r->p++;
}

/* The next n bytes, which stay where they are; an empty slice when there are fewer. */
static inline struct slice reader_take(struct reader *r, uint64_t n)
{
    if (r->bad || n > reader_left(r)) {
        r->bad = true;
        return slice_of(NULL, 0);
    }
    struct slice s = slice_of(r->p, (size_t)n);
    r->p += n;
    return s;
}

/* The number of so many bytes (1 to 8) at p, the highest first. */
static inline uint64_t number_at(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)bytes);
    return be64toh(v) >> (64 - 8 * bytes);
}

/* A number of so many bytes (1 to 8), the highest first. */
static inline uint64_t reader_number(struct reader *r, int bytes)
{
    const struct slice s = reader_take(r, (uint64_t)bytes);
    return s.data == NULL ? 0 : number_at(s.data, bytes);
}

static inline void writer_byte(struct writer *w, uint8_t b)
{
    if (w->bad || w->p == w->end) {
        w->bad = true;
        return;
    }
    *w->p++ = b;
}

static inline void writer_bytes(struct writer *w, const void *data, size_t n)
{
    if (w->bad || n > (size_t)(w->end - w->p)) {
        w->bad = true;
        return;
    }
    if (n > 0)
        memcpy(w->p, data, n);
    w->p += n;
}

/* A number of so many bytes (1 to 8), the highest first. */
static inline void writer_number(struct writer *w, uint64_t v, int bytes)
{
    v = htobe64(v << (64 - 8 * bytes));
    writer_bytes(w, &v, (size_t)bytes);
}

#endif
