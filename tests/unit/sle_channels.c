/* SPDX-License-Identifier: Apache-2.0 */
/* RCF of USLP frames; control words by ROCF; qualities: what is refused, delivered, reported. */
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

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

static const struct sle_gvcid channel = {.scid = 0xab, .version = 1, .vcid = 5};

static void begin_rocf(struct sle_provider_config *c)
{
    c->id = ROCF_ID;
    c->buffer_frames = 1;
    c->gvcids = &channel;
    c->gvcid_count = 1;
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, c, 5);
    pair_connect(&pair);
}

static unsigned start_rocf(enum sle_control_word word, uint8_t tc_vcid, enum sle_update update)
{
    struct sle_start s = {.gvcid = channel, .word = word, .tc_vcid = tc_vcid, .update = update};
    pair_start(&pair, &s);
    return pair.user.of[SLE_STARTED].diag;
}

static enum sle_taken offer_word(uint32_t word)
{
    struct sle_frame f = {.data = slice_of("\x6a\xc5xxxx", 6), .has_ocf = true};
    for (unsigned k = 0; k < 4; k++)
        f.ocf[k] = (uint8_t)(word >> 8 * (3 - k));
    enum sle_taken taken = sle_provider_frame(pair.serves, &f, pair.now);
    pair_settle(&pair);
    return taken;
}

static void stop_rocf(void)
{
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
}

/* Permitted: CLCWs of TC VC 7, continuously. */
START_TEST(rocf_refusals)
{
    struct sle_provider_config c = {.permitted_words = 1u << SLE_CLCW,
                                    .permitted_tc_vcids = 1u << 7,
                                    .permitted_updates = 1u << SLE_CONTINUOUS};
    begin_rocf(&c);
    ck_assert_uint_eq(start_rocf(SLE_ALL_WORDS, 7, SLE_CONTINUOUS), SLE_START_INVALID_CONTROL_WORD);
    ck_assert_uint_eq(start_rocf(SLE_NOT_CLCW, 7, SLE_CONTINUOUS), SLE_START_INVALID_CONTROL_WORD);
    ck_assert_uint_eq(start_rocf(SLE_CLCW, 6, SLE_CONTINUOUS), SLE_START_INVALID_TC_VCID);
    ck_assert_uint_eq(start_rocf(SLE_CLCW, 7, SLE_CHANGE_BASED), SLE_START_INVALID_UPDATE_MODE);
    ck_assert_uint_eq(start_rocf(SLE_CLCW, 7, SLE_CONTINUOUS), SLE_OK);
    pair_fini(&pair);
}
END_TEST

START_TEST(rocf_words_and_reports)
{
    struct sle_provider_config c = {0};
    struct sle_schedule now = {SLE_REPORT_NOW, 0};
    begin_rocf(&c);
    ck_assert_uint_eq(start_rocf(SLE_NOT_CLCW, SLE_TC_VC_NONE, SLE_CONTINUOUS), SLE_OK);
    ck_assert_int_eq(offer_word(0x811c0001), SLE_TAKEN);
    ck_assert_int_eq(offer_word(0x811c0001), SLE_TAKEN); /* continuous: the same again */
    ck_assert_int_eq(offer_word(0x011c0001), SLE_FILTERED);
    stop_rocf();
    ck_assert_uint_eq(start_rocf(SLE_CLCW, SLE_TC_VC_NONE, SLE_CHANGE_BASED), SLE_OK);
    ck_assert_int_eq(offer_word(0x011c0001), SLE_TAKEN); /* of any TC VC; the first one always */
    ck_assert_int_eq(offer_word(0x01180001), SLE_TAKEN);
    ck_assert_int_eq(offer_word(0x01180001), SLE_FILTERED);
    stop_rocf();
    ck_assert_uint_eq(start_rocf(SLE_ALL_WORDS, SLE_TC_VC_NONE, SLE_CONTINUOUS), SLE_OK);
    ck_assert_int_eq(offer_word(0x811c0001), SLE_TAKEN);
    ck_assert_int_eq(offer_word(0x011c0001), SLE_TAKEN);
    ck_assert_int_eq(sle_user_schedule(pair.asks, &now, pair.now), 0);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.of[SLE_STATUS].u.status.processed, 8);
    ck_assert_uint_eq(pair.user.of[SLE_STATUS].u.status.delivered, 6);
    ck_assert_uint_eq(pair.frames, 6);
    pair_fini(&pair);
}
END_TEST

static void offer_judged(uint32_t number, enum sle_quality quality, int32_t continuity)
{
    struct buf *b = pair_frame(number, 100);
    const struct sle_frame f = {.owner = b,
                                .data = buf_slice(b),
                                .time = sle_now(pair.provider.sle, pair.now),
                                .quality = quality,
                                .continuity = continuity};
    (void)sle_provider_frame(pair.serves, &f, pair.now);
    buf_drop(b);
}

static int32_t told[16];
static enum sle_quality qualities_told[16];

static void note_judged(struct pair *p, const struct sle_notice *n)
{
    told[p->frames - 1] = n->u.item.continuity;
    qualities_told[p->frames - 1] = n->u.item.quality;
}

/* What is missing is told with the next frame that this user asked for; what it did not ask for is
 * not missing. */
START_TEST(qualities)
{
    static const struct sle_gvcid channels[] = {{.scid = 0xab, .version = 1, .vcid = SLE_MASTER}};
    static const int32_t want[4][5] = {{-1, 2, 7}, {-1, 5, 4}, {-1, 2, 0, 3, 4}, {-1, 2, 4}};
    static const unsigned frames[] = {3, 3, 5, 3};
    struct sle_provider_config c = {
        .id = _i == 3 ? RCF_ID : RAF_ID, .gvcids = channels, .gvcid_count = 1};
    struct sle_start s = {.quality = _i == 3 ? SLE_GOOD_ONLY : (enum sle_wanted)_i,
                          .gvcid = {.scid = 0xab, .version = 1, .vcid = 5}};
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, &c, 5);
    pair_connect(&pair);
    pair_start(&pair, &s);
    pair.frame = note_judged;
    if (_i == 1)
        offer_judged(0, SLE_ERRED, 9); /* the first one, whatever is missing before it */
    offer_judged(0, SLE_GOOD, _i == 1 ? 0 : 9);
    offer_judged(1, SLE_GOOD, 2);
    offer_judged(2, _i == 1 ? SLE_GOOD : SLE_ERRED, 0);
    offer_judged(3, SLE_ERRED, 3);
    offer_judged(4, _i == 1 ? SLE_ERRED : SLE_GOOD, 4);
    sle_provider_flush(pair.serves, pair.now);
    pair_settle(&pair);
    ck_assert_uint_eq(pair.frames, frames[_i]);
    for (unsigned k = 0; k < frames[_i]; k++)
        ck_assert_int_eq(told[k], want[_i][k]);
    ck_assert(_i != 2 || (qualities_told[2] == SLE_ERRED && qualities_told[4] == SLE_GOOD));
    pair_fini(&pair);
}
END_TEST

SUITE(sle_channels, t)
{
    tcase_add_test(t, rcf_of_uslp);
    tcase_add_test(t, rocf_refusals);
    tcase_add_test(t, rocf_words_and_reports);
    tcase_add_loop_test(t, qualities, 0, 4);
}
