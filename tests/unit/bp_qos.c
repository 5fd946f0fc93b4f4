/* SPDX-License-Identifier: Apache-2.0 */
/* The block that has a bundle's priority, in the forms that are met on links. */
#include <string.h>

#include "bp/codec/block.h"
#include "bp/codec/qos.h"
#include "tests/unit/suite.h"

static struct bundle with_block(uint64_t type, const void *content, size_t len)
{
    struct bundle b;
    bundle_init(&b);
    b.others[0] = (struct bundle_block){.type = type, .number = 2, .data = slice_of(content, len)};
    b.others_len = 1;
    return b;
}

/* What ION writes for standard priority: an array of four numbers. */
START_TEST(the_form_of_ion)
{
    static const uint8_t standard[] = {0x84, 0x00, 0x01, 0x00, 0x00};
    static const uint8_t urgent[] = {0x84, 0x03, 0x02, 0x18, 0xfe, 0x19, 0x01, 0x00};
    struct bundle_qos q = {.priority = BUNDLE_NORMAL};
    uint8_t out[QOS_CONTENT_MAX];
    ck_assert_uint_eq(qos_encode(&q, out), sizeof standard);
    ck_assert_mem_eq(out, standard, sizeof standard);
    ck_assert_int_eq(qos_decode(slice_of(urgent, sizeof urgent), &q), 0);
    ck_assert_int_eq(q.priority, BUNDLE_EXPEDITED);
    ck_assert_uint_eq(q.ordinal, 254);
    ck_assert_uint_eq(q.flags, QOS_CRITICAL | QOS_BEST_EFFORT);
    ck_assert_uint_eq(q.label, 256);
    ck_assert_uint_eq(qos_encode(&q, out), sizeof urgent);
    ck_assert_mem_eq(out, urgent, sizeof urgent);
}
END_TEST

START_TEST(numbers_of_any_size_fit)
{
    struct bundle_qos q = {BUNDLE_EXPEDITED, 255, UINT64_MAX, UINT64_MAX}, again;
    uint8_t out[QOS_CONTENT_MAX];
    size_t len = qos_encode(&q, out);
    ck_assert_int_eq(qos_decode(slice_of(out, len), &again), 0);
    ck_assert(again.flags == q.flags && again.label == q.label && again.ordinal == 255);
}
END_TEST

/* A type for private use may hold anything: what does not look like a priority is none. */
START_TEST(other_contents_say_nothing)
{
    static const struct {
        size_t len;
        uint8_t bytes[8];
    } wrong[] = {{0, {0}},
                 {5, {0x85, 0, 1, 0, 0}},          /* too short, and five of them */
                 {6, {0x85, 0, 0x41, 0, 0, 0}},    /* the draft's form */
                 {5, {0x84, 0, 3, 0, 0}},          /* no such priority */
                 {6, {0x84, 0, 1, 0x19, 1, 0}},    /* cut */
                 {7, {0x84, 0, 1, 0x19, 1, 0, 0}}, /* ordinal 256 */
                 {6, {0x84, 0, 1, 0, 0, 0}},       /* a byte behind it */
                 {1, {0x01}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bundle b = with_block(BLOCK_QOS, wrong[i].bytes, wrong[i].len);
        struct bundle_qos q;
        ck_assert(!bundle_qos(&b, &q) && !bundle_understood(&b, 0));
        ck_assert_int_eq(q.priority, BUNDLE_NORMAL);
    }
}
END_TEST

START_TEST(the_form_of_hdtn)
{
    static const uint8_t two[] = {2}, three[] = {3}, custody[] = {0x82, 1, 2};
    struct bundle_qos q;
    struct bundle b = with_block(BLOCK_HDTN_PRIORITY, two, 1);
    ck_assert(bundle_qos(&b, &q) && bundle_understood(&b, 0));
    ck_assert_int_eq(q.priority, BUNDLE_EXPEDITED);
    b = with_block(BLOCK_HDTN_PRIORITY, three, 1);
    ck_assert(!bundle_qos(&b, &q));
    b = with_block(BLOCK_HDTN_PRIORITY, custody, sizeof custody); /* type 13 as others use it */
    ck_assert(!bundle_qos(&b, &q) && !bundle_understood(&b, 0));
}
END_TEST

/* Of two that say something the block that says more counts, wherever it stands. */
START_TEST(the_own_form_counts_first)
{
    static const uint8_t bulk[] = {0x84, 0, 0, 0, 0}, two[] = {2};
    struct bundle_qos q;
    struct bundle b = with_block(BLOCK_HDTN_PRIORITY, two, 1);
    b.others[1] = (struct bundle_block){.type = BLOCK_QOS, .number = 3, .data = slice_of(bulk, 5)};
    b.others_len = 2;
    ck_assert(bundle_qos(&b, &q));
    ck_assert_int_eq(q.priority, BUNDLE_BULK);
    struct bundle_block first = b.others[0];
    b.others[0] = b.others[1];
    b.others[1] = first;
    ck_assert(bundle_qos(&b, &q));
    ck_assert_int_eq(q.priority, BUNDLE_BULK);
}
END_TEST

/* One that a confidentiality block encrypts cannot be read here. */
START_TEST(an_encrypted_one_says_nothing)
{
    static const uint8_t bulk[] = {0x84, 0, 0, 0, 0}, targets[] = {0x81, 2};
    struct bundle_qos q;
    struct bundle b = with_block(BLOCK_QOS, bulk, sizeof bulk);
    ck_assert(bundle_qos(&b, &q));
    b.others[1] =
        (struct bundle_block){.type = BLOCK_BCB, .number = 3, .data = slice_of(targets, 2)};
    b.others_len = 2;
    ck_assert(!bundle_qos(&b, &q) && !bundle_understood(&b, 0));
}
END_TEST

START_TEST(words)
{
    ck_assert_str_eq(bundle_priority_word(BUNDLE_BULK), "bulk");
    ck_assert_str_eq(bundle_priority_word(BUNDLE_NORMAL), "normal");
    ck_assert_str_eq(bundle_priority_word(BUNDLE_EXPEDITED), "expedited");
}
END_TEST

SUITE(bp_qos, t)
{
    tcase_add_test(t, the_form_of_ion);
    tcase_add_test(t, numbers_of_any_size_fit);
    tcase_add_test(t, other_contents_say_nothing);
    tcase_add_test(t, the_form_of_hdtn);
    tcase_add_test(t, the_own_form_counts_first);
    tcase_add_test(t, an_encrypted_one_says_nothing);
    tcase_add_test(t, words);
}
