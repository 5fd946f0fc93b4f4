/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of extension blocks: what its rows promise, and what is asked of all of them. */
#include "bp/codec/block_kind.h"
#include "bp/codec/qos.h"
#include "tests/unit/suite.h"

START_TEST(rows_are_whole)
{
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        const struct block_kind *k = block_kinds[i];
        ck_assert_uint_gt(k->type, BLOCK_PAYLOAD);
        ck_assert_uint_eq(block_kind_find(k->type), i); /* no other row has this type */
        ck_assert_ptr_nonnull(k->section);
        ck_assert((k->read != NULL) == (k->write != NULL));
        ck_assert((k->read != NULL) != (k->understood != NULL));
        ck_assert(bundle_made_here(k->type) == (k->read != NULL));
        if (k->read == NULL) {
            ck_assert(k->rule == NULL && k->hop == NULL && !k->each_fragment);
            continue;
        }
        ck_assert(k->single); /* the bundle has one place for it */
        ck_assert_uint_lt(k->has, sizeof(struct bundle));
        ck_assert_uint_le(k->frame + sizeof(struct bundle_frame), sizeof(struct bundle));
        for (size_t j = 0; j < i; j++)
            ck_assert(block_kinds[j]->read == NULL ||
                      (block_kinds[j]->has != k->has && block_kinds[j]->frame != k->frame));
    }
    ck_assert_uint_eq(block_kind_find(BLOCK_PAYLOAD), BLOCK_KIND_COUNT);
    ck_assert(bundle_made_here(BLOCK_PAYLOAD) && !bundle_made_here(BLOCK_BIB));
}
END_TEST

static struct bundle whole_bundle(void)
{
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, 1);
    b.destination = eid_ipn(0, 2, 1);
    b.previous = eid_ipn(0, 3, 0);
    b.has_previous = b.has_hops = b.has_age = true;
    b.hop_limit = 9;
    b.hop_count = 4;
    b.age_ms = 1000;
    b.payload = slice_of("abcdef", 6);
    return b;
}

/* The wire has the blocks in the order of the table; each is found, and read back. */
START_TEST(kinds_are_written_in_their_order)
{
    static const uint64_t order[] = {BLOCK_PREVIOUS_NODE, BLOCK_HOP_COUNT, BLOCK_AGE};
    const struct bundle b = whole_bundle();
    struct buf *bytes = bundle_encode_copy(&b);
    struct bundle back;
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(bundle_decode(buf_data(bytes), bytes->len, BUNDLE_STRICT, &back, NULL), 0);
    uint64_t number = 2;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct block_kind *k = block_kinds[block_kind_find(order[i])];
        ck_assert(bundle_has(&back, order[i]) && !bundle_has_other(&back, order[i]));
        ck_assert_uint_eq(block_kind_of(k, &back)->number, number++);
    }
    ck_assert(eid_equal(&back.previous, &b.previous) && back.hop_count == 4 && back.age_ms == 1000);
    ck_assert(bundle_has(&back, BLOCK_PAYLOAD) && !bundle_has(&back, BLOCK_QOS));
    buf_drop(bytes);
}
END_TEST

/* Each fragment describes the copy at hand, with or without the flag to replicate. */
START_TEST(fragments_have_what_describes_the_copy)
{
    const struct bundle b = whole_bundle();
    struct buf *bytes = bundle_fragment(&b, 2, 3);
    struct bundle back;
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(bundle_decode(buf_data(bytes), bytes->len, BUNDLE_STRICT, &back, NULL), 0);
    ck_assert(back.has_previous && !(back.previous_frame.flags & BLOCK_REPLICATE));
    ck_assert(back.has_hops && back.has_age);
    buf_drop(bytes);
}
END_TEST

START_TEST(a_hop_writes_the_blocks_anew)
{
    const struct eid here = eid_ipn(0, 7, 0);
    const struct bundle_hop hop = {.node = &here, .hop_count = 5, .age_ms = 1234};
    struct bundle b = whole_bundle();
    bundle_pass(&b, &hop);
    ck_assert(b.has_previous && eid_equal(&b.previous, &here));
    ck_assert(b.hop_limit == 9 && b.hop_count == 5 && b.age_ms == 1234);

    bundle_init(&b); /* without a time of creation it gets an age, and no hop count */
    bundle_pass(&b, &hop);
    ck_assert(b.has_previous && b.has_age && !b.has_hops && b.age_ms == 1234);

    bundle_init(&b); /* encrypted ones stay, alone of their type */
    b.others[b.others_len++] = (struct bundle_block){.type = BLOCK_AGE, .number = 2};
    b.others[b.others_len++] = (struct bundle_block){.type = BLOCK_PREVIOUS_NODE, .number = 3};
    bundle_pass(&b, &hop);
    ck_assert(!b.has_previous && !b.has_age && bundle_has(&b, BLOCK_AGE));
}
END_TEST

SUITE(bp_kinds, t)
{
    tcase_add_test(t, rows_are_whole);
    tcase_add_test(t, kinds_are_written_in_their_order);
    tcase_add_test(t, fragments_have_what_describes_the_copy);
    tcase_add_test(t, a_hop_writes_the_blocks_anew);
}
