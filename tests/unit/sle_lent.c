/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a provider that another thread writes, and the room for frames meanwhile. */
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

static struct pair pair;
static const struct sle_start all_frames = {.quality = SLE_ALL_FRAMES};

/* As many as there is room for are taken without a discarded backlog, in any mode. */
START_TEST(room_is_what_is_taken)
{
    static const char *const ids[] = {RAF_ID, RAF_TIMELY_ID};
    for (unsigned mode = 0; mode < 2; mode++) {
        for (uint32_t size = 1; size < 8; size++) {
            struct sle_provider_config c = {
                .id = ids[mode], .buffer_frames = size, .queue_buffers = 2};
            pair_init(&pair, SLE_AUTH_NONE);
            pair_add(&pair, &c, 5);
            pair_connect(&pair);
            pair_start(&pair, &all_frames);
            uint32_t k = 0;
            for (; sle_provider_room(pair.serves) > 0; k++)
                ck_assert_int_eq(pair_offer(&pair, k, 1000), SLE_TAKEN);
            const struct sle_counts *n = sle_instance_counts(pair.serves);
            ck_assert_uint_eq(n->frames_discarded + n->frames_refused, 0);
            ck_assert_uint_ge(k, 2 * size);
            (void)pair_offer(&pair, k, 1000);
            ck_assert_uint_gt(n->frames_discarded + n->frames_refused, 0);
            pair_fini(&pair);
        }
    }
}
END_TEST

/* A thread has what was lent when the link ends: it stays, and what was written of it counts. */
START_TEST(ends_while_it_is_lent)
{
    struct sle_provider_config c = {.id = RAF_ID, .buffer_frames = 5, .queue_buffers = 3};
    struct slice parts[SLE_LENT_MAX];
    struct sle_lent lent;
    size_t octets = 0;
    pair_init(&pair, SLE_AUTH_ALL);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    pair_start(&pair, &all_frames);
    struct sle_link *l = pair.provider.link;
    for (uint32_t k = 0; k < 20; k++)
        ck_assert_int_eq(pair_offer(&pair, k, 1000), SLE_TAKEN);
    const size_t n = sle_link_lend(l, parts, SLE_LENT_MAX, &lent, pair.now);
    ck_assert(n < SLE_LENT_MAX && lent.len >= 2); /* messages with credentials to be made */
    sle_link_urgent(l, SLE_ABORT_OPERATIONAL, pair.now);
    sle_check(pair.provider.sle);
    sle_lent_sign(&lent, pair_hash, NULL);
    for (size_t k = 0; k < n; k++)
        octets += parts[k].len;
    const struct sle_counts *counts = sle_instance_counts(pair.serves);
    ck_assert_uint_eq(counts->frames, 0);
    sle_link_wrote(l, octets - 1, pair.now); /* the last message is cut */
    sle_check(pair.provider.sle);
    ck_assert(counts->frames > 0 && counts->frames % 5 == 0);
    ck_assert_uint_eq(counts->frames + counts->frames_dropped, 20);
    ck_assert_uint_eq(sle_link_output(l, parts, 4, pair.now), 0);
    pair_fini(&pair);
}
END_TEST

SUITE(sle_lent, t)
{
    tcase_add_test(t, room_is_what_is_taken);
    tcase_add_test(t, ends_while_it_is_lent);
}
