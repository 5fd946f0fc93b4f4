/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR (RFC 8949) for bundles: reads item by item, with one sticky error. Strings are views;
 * nothing is copied or allocated.
 */
#ifndef BP_CBOR_H
#define BP_CBOR_H

#include "base/cursor.h"

#define ITEM_LEVELS_MAX 8

enum item_kind {
    ITEM_NONE, /* nothing left, or not well-formed */
    ITEM_UINT,
    ITEM_NEGATIVE,
    ITEM_BYTES,
    ITEM_TEXT,
    ITEM_ARRAY,
    ITEM_ARRAY_OPEN, /* indefinite length */
    ITEM_TAG,
    ITEM_BOOL,
    ITEM_BREAK,
    ITEM_OTHER, /* maps, floats, null, indefinite strings: not used in bundles */
};

struct item_reader {
    struct reader in;    /* in.bad is the sticky error */
    const uint8_t *base; /* offsets are counted from here */
    const char *why;     /* the first error, static text */
    size_t why_at;
    bool wide; /* a head was longer than needed (RFC 8949 §4.2.1), first at wide_at */
    size_t wide_at;
};

/* A reader of `part`. Offsets count from `base` (part must lie in the same object, after base). */
struct item_reader item_reader_of(const uint8_t *base, struct slice part);

/* Offset of the next item. */
size_t item_at(const struct item_reader *r);
/* The next item's kind; it is not consumed. */
enum item_kind item_peek(const struct item_reader *r);

/* Each reads one item and returns 0, an empty slice or false after an error. */
uint64_t item_uint(struct item_reader *r);
uint64_t item_array(struct item_reader *r); /* definite length: the number of elements */
void item_array_open(struct item_reader *r);
struct slice item_bytes(struct item_reader *r);
struct slice item_text(struct item_reader *r);
uint64_t item_tag(struct item_reader *r);
bool item_bool(struct item_reader *r);
void item_break(struct item_reader *r);
uint64_t item_map(struct item_reader *r); /* definite length: the number of pairs */
int64_t item_int(struct item_reader *r);  /* from INT64_MIN to INT64_MAX */
void item_null(struct item_reader *r);

/* Skips one item of any of these kinds. Arrays may be nested in at most `levels` arrays. */
void item_skip(struct item_reader *r, unsigned levels);

/* Sets an error that the caller found. Only the first error is kept. */
void item_fail(struct item_reader *r, const char *why, size_t at);

/* Bytes of the shortest head for a number, a length or a count. */
size_t item_size(uint64_t value);

/* Writing: always the shortest form. A write without room sets w->bad. */
void item_put_uint(struct writer *w, uint64_t value);
void item_put_array(struct writer *w, size_t count);
void item_put_array_open(struct writer *w);
void item_put_bytes_head(struct writer *w, size_t len);
void item_put_text(struct writer *w, struct slice s);
void item_put_bool(struct writer *w, bool value);
void item_put_break(struct writer *w);
void item_put_map(struct writer *w, size_t pairs);
void item_put_int(struct writer *w, int64_t value);
void item_put_null(struct writer *w);

#endif
