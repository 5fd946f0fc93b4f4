/* SPDX-License-Identifier: Apache-2.0 */
/* RCF of USLP frames. */
#include "tests/unit/sle_pair.h"

static struct pair pair;

static enum sle_taken offer_uslp(uint16_t scid, uint8_t vcid)
{
    uint8_t d[40] = {(uint8_t)(0xc0 | scid >> 12), (uint8_t)(scid >> 4),
                     (uint8_t)(scid << 4 | vcid >> 3), (uint8_t)(vcid << 5)};
    struct sle_frame f = {.data = slice_of(d, sizeof d)};
    return sle_provider_frame(pair.serves, &f, pair.now);
}

/* USLP, whose spacecraft have 16 bits: one virtual channel, then the master channel. */
START_TEST(rcf_of_uslp)
{
    static const struct sle_gvcid set[] = {{40000, 12, SLE_MASTER}, {0xab, 12, 5}};
    struct sle_provider_config c = {
        .id = RCF_ID, .buffer_frames = 1, .gvcids = set, .gvcid_count = 2};
    struct sle_start s = {.gvcid = {.scid = 40001, .version = 12, .vcid = 5}};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    pair_start(&pair, &s);
    ck_assert_uint_eq(pair.user.of[SLE_STARTED].diag, SLE_START_INVALID_GVCID);
    s.gvcid = (struct sle_gvcid){.scid = 40000, .version = 1, .vcid = 5};
    ck_assert_int_eq(sle_user_start(pair.asks, &s, pair.now), HELIO_EINVAL);
    s.gvcid = (struct sle_gvcid){.scid = 40000, .version = 12, .vcid = 42};
    pair_start(&pair, &s);
    ck_assert_int_eq(offer_uslp(40000, 42), SLE_TAKEN);
    ck_assert_int_eq(offer_uslp(40000, 41), SLE_FILTERED);
    ck_assert_int_eq(offer_uslp(40001, 42), SLE_FILTERED);
    ck_assert_int_eq(pair_offer(&pair, 0, 100), SLE_FILTERED); /* AOS */
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    s.gvcid.vcid = SLE_MASTER;
    pair_start(&pair, &s);
    for (uint8_t vcid = 0; vcid < 64; vcid++) {
        ck_assert_int_eq(offer_uslp(40000, vcid), SLE_TAKEN);
        pair_settle(&pair);
    }
    ck_assert_int_eq(offer_uslp(0xab, 5), SLE_FILTERED);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, 65);
    const struct sle_counts *n = sle_instance_counts(pair.serves);
    ck_assert_uint_eq(n->frames, 65);
    ck_assert_uint_eq(n->frames_filtered, 4);
    pair_fini(&pair);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sle_channels");
    TCase *t = tcase_create("channels");
    suite_add_tcase(s, t);
    tcase_add_test(t, rcf_of_uslp);
    return run_suite(s);
}
