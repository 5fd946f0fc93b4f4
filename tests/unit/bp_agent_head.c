/* SPDX-License-Identifier: Apache-2.0 */
/* Heads as they are kept in memory and in the store: numbers of any length come back, and what is
 * cut or longer than a number is no head. */
#include <stdlib.h>

#include "base/err.h"
#include "bp/agent/agent_head.h"
#include "tests/unit/suite.h"

#define NUMBERS 11

/* With at least one of each length that a number can have, and both ends of that. */
static uint64_t value_of(unsigned i)
{
    return i < 64 ? UINT64_C(1) << i : UINT64_MAX >> (127 - i);
}

static void set_all(struct agent_head *h, unsigned i)
{
    *h = (struct agent_head){.from_link = true, .rewrite = true, .has_hops = true};
    uint64_t *const numbers[NUMBERS] = {&h->flags,  &h->expires_ms, &h->arrived_ms, &h->lifetime_ms,
                                        &h->age_ms, &h->hop_limit,  &h->hop_count,  &h->payload_len,
                                        &h->peer,   &h->id.time_ms, &h->id.sequence};
    for (unsigned k = 0; k < NUMBERS; k++)
        *numbers[k] = value_of((i + 11 * k) % 128);
    h->qos.priority = BUNDLE_NORMAL;
    h->destination = eid_ipn(value_of(i % 32), value_of((i + 5) % 32), value_of(i));
    h->report_to = eid_none();
    h->id.source = eid_ipn(0, value_of((i + 9) % 32), value_of((i + 64) % 128));
}

static void check_equal(const struct agent_head *a, const struct agent_head *b)
{
    ck_assert_uint_eq(a->flags, b->flags);
    ck_assert_uint_eq(a->expires_ms, b->expires_ms);
    ck_assert_uint_eq(a->arrived_ms, b->arrived_ms);
    ck_assert_uint_eq(a->lifetime_ms, b->lifetime_ms);
    ck_assert_uint_eq(a->age_ms, b->age_ms);
    ck_assert_uint_eq(a->hop_limit, b->hop_limit);
    ck_assert_uint_eq(a->hop_count, b->hop_count);
    ck_assert_uint_eq(a->payload_len, b->payload_len);
    ck_assert_uint_eq(a->peer, b->peer);
    ck_assert(eid_equal(&a->destination, &b->destination));
    ck_assert(eid_equal(&a->report_to, &b->report_to));
    ck_assert(bundle_id_equal(&a->id, &b->id));
}

START_TEST(numbers_of_any_length)
{
    for (unsigned i = 0; i < 128; i++) {
        uint8_t bytes[AGENT_HEAD_MAX];
        struct agent_head h, back;
        size_t id_off, at;
        set_all(&h, i);
        const size_t len = agent_head_encode(&h, bytes, &id_off);
        ck_assert_int_eq(agent_head_decode(slice_of(bytes, len), &back, &at), 0);
        ck_assert_uint_eq(at, id_off);
        check_equal(&h, &back);
        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *part = malloc(cut + 1); /* its end is one of the memory, too */
            memcpy(part + 1, bytes, cut);
            ck_assert_int_eq(agent_head_decode(slice_of(part + 1, cut), &back, &at), HELIO_EFORMAT);
            free(part);
        }
    }
}
END_TEST

/* The sequence number is last: with one byte it may have, and one that it may not. */
START_TEST(a_number_ends_with_its_64th_bit)
{
    uint8_t bytes[AGENT_HEAD_MAX];
    struct agent_head h, back;
    size_t id_off, at;
    set_all(&h, 0);
    h.id.sequence = UINT64_MAX;
    const size_t len = agent_head_encode(&h, bytes, &id_off);
    ck_assert_uint_eq(bytes[len - 1], 1);
    ck_assert_int_eq(agent_head_decode(slice_of(bytes, len), &back, &at), 0);
    bytes[len - 1] = 2;
    ck_assert_int_eq(agent_head_decode(slice_of(bytes, len), &back, &at), HELIO_EFORMAT);
    bytes[len - 1] = 0x81;
    bytes[len] = 0;
    ck_assert_int_eq(agent_head_decode(slice_of(bytes, len + 1), &back, &at), HELIO_EFORMAT);
}
END_TEST

SUITE(bp_agent_head, t)
{
    tcase_add_test(t, numbers_of_any_length);
    tcase_add_test(t, a_number_ends_with_its_64th_bit);
}
