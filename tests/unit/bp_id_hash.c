/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that follow one another are neighbours, 64 of them at most; all others are anywhere. */

#include "bp/agent/agent_head.h"
#include "tests/unit/suite.h"

#define SEED 7

static uint64_t hash_of(uint64_t node, uint64_t time_ms, uint64_t sequence)
{
    uint8_t bytes[AGENT_ID_MAX];
    const struct bundle_id id = {
        .source = eid_ipn(0, node, 1), .time_ms = time_ms, .sequence = sequence};
    return agent_id_hash(SEED, slice_of(bytes, agent_id_encode(&id, 0, bytes)));
}

START_TEST(neighbours)
{
    const uint64_t starts[] = {0, 64, 128, 16384, UINT64_C(1) << 40, UINT64_MAX - 63};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
        for (uint64_t i = 0; i < 64; i++)
            ck_assert_uint_eq(hash_of(1, 1000, starts[s] + i), hash_of(1, 1000, starts[s]) + i);
}
END_TEST

/* Numbers that an attacker may choose to meet in one place of a table of a million. */
START_TEST(no_other_ones)
{
    enum { N = 4096, SLOTS = 1 << 20 };
    static uint8_t used[SLOTS];
    unsigned most = 0;
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t slot = hash_of(1, 1000, i * SLOTS) % SLOTS;
        used[slot]++;
        most = used[slot] > most ? used[slot] : most;
    }
    ck_assert_uint_lt(most, 4);
    ck_assert_uint_ne(hash_of(1, 1000, 5), hash_of(2, 1000, 5));
    ck_assert_uint_ne(hash_of(1, 1000, 5), hash_of(1, 1001, 5));
    ck_assert_uint_ne(hash_of(1, 1000, 63) + 1, hash_of(1, 1000, 64));
}
END_TEST

/* What a store gives back may be no id. */
START_TEST(any_octets)
{
    const uint8_t bytes[] = {0x80, 0x81, 0xff, 0xff, 0xff, 0xff,
                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    for (size_t len = 0; len <= sizeof bytes; len++)
        ck_assert_uint_eq(agent_id_hash(SEED, slice_of(bytes, len)),
                          agent_id_hash(SEED, slice_of(bytes, len)));
}
END_TEST

SUITE(bp_id_hash, t)
{
    tcase_add_test(t, neighbours);
    tcase_add_test(t, no_other_ones);
    tcase_add_test(t, any_octets);
}
