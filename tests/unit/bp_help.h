/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the bundle codec share. */
#ifndef TESTS_BP_HELP_H
#define TESTS_BP_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "tests/unit/suite.h"

/* Bytes of a hexadecimal text; blanks are skipped. */
static inline size_t unhex(const char *text, uint8_t *out, size_t cap)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        unsigned byte;
        if (*text == ' ')
            continue;
        ck_assert_uint_lt(n, cap);
        ck_assert_int_eq(sscanf(text, "%2x", &byte), 1);
        out[n++] = (uint8_t)byte;
        text++;
    }
    return n;
}

/* A bundle from ipn:2.1 to ipn:1.2 with every block that the codec knows. */
static inline struct bundle sample_bundle(const void *payload, size_t len)
{
    struct bundle b;
    bundle_init(&b);
    b.destination = eid_ipn(0, 1, 2);
    b.id.source = eid_ipn(0, 2, 1);
    b.report_to = eid_ipn(0, 2, 0);
    b.id.time_ms = UINT64_C(757382400000);
    b.id.sequence = 3;
    b.has_previous = b.has_age = b.has_hops = true;
    b.previous = eid_ipn(977000, 100, 0);
    b.age_ms = 300;
    b.hop_limit = 30;
    b.hop_count = 2;
    b.payload = slice_of(payload, len);
    return b;
}

/* Extension blocks beside previous node, age and hop count. */
static inline size_t count_blocks(const struct bundle *b)
{
    struct bundle_walk w = {0};
    struct bundle_block block;
    size_t n = 0;
    while (bundle_next(b, &w, &block))
        n++;
    return n;
}

static inline void assert_same_blocks(const struct bundle *a, const struct bundle *b)
{
    struct bundle_walk v = {0}, w = {0};
    struct bundle_block x, y;
    ck_assert_uint_eq(count_blocks(a), count_blocks(b));
    while (bundle_next(a, &v, &x) && bundle_next(b, &w, &y)) {
        ck_assert_uint_eq(x.type, y.type);
        ck_assert_uint_eq(x.flags, y.flags);
        ck_assert_int_eq(x.crc, y.crc);
        ck_assert(slice_equal(x.data, y.data));
    }
}

/* All that travels is equal; frames are compared only when asked for. */
static inline void assert_same(const struct bundle *a, const struct bundle *b)
{
    ck_assert_uint_eq(a->flags, b->flags);
    ck_assert_int_eq(a->crc, b->crc);
    ck_assert(eid_equal(&a->destination, &b->destination));
    ck_assert(eid_equal(&a->report_to, &b->report_to));
    ck_assert(bundle_id_equal(&a->id, &b->id));
    ck_assert_uint_eq(a->lifetime_ms, b->lifetime_ms);
    ck_assert_int_eq(a->has_previous, b->has_previous);
    ck_assert_int_eq(a->has_age, b->has_age);
    ck_assert_int_eq(a->has_hops, b->has_hops);
    ck_assert(!a->has_previous || eid_equal(&a->previous, &b->previous));
    ck_assert(!a->has_age || a->age_ms == b->age_ms);
    ck_assert(!a->has_hops || (a->hop_limit == b->hop_limit && a->hop_count == b->hop_count));
    assert_same_blocks(a, b);
    ck_assert_uint_eq(a->payload_flags, b->payload_flags);
    ck_assert_int_eq(a->payload_crc, b->payload_crc);
    ck_assert(slice_equal(a->payload, b->payload));
}

#endif
