/* SPDX-License-Identifier: Apache-2.0 */
/* What PDUs are made of: BER, times, names, channels, credentials, messages of the transport
 * mapping. */
#include "sle/auth.h"
#include "sle/ber.h"
#include "sle/tml.h"
#include "tests/unit/sle_help.h"
#include "tests/unit/suite.h"

START_TEST(integers)
{
    static const struct {
        int64_t value;
        const char *octets;
    } cases[] = {{0, "020100"},         {-1, "0201ff"},
                 {127, "02017f"},       {128, "02020080"},
                 {65518, "020300ffee"}, {-128, "020180"},
                 {-129, "0202ff7f"},    {4294967295, "020500ffffffff"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t octets[16];
        struct ber w = ber_writer(octets, sizeof octets);
        int64_t v = cases[i].value;
        ber_int(&w, BER_INTEGER, &v, INT64_MIN, INT64_MAX);
        ck_assert(ber_done(&w));
        assert_hex(octets, writer_len(&w.w), cases[i].octets);
        struct ber r = ber_reader(slice_of(octets, writer_len(&w.w)));
        v = 12345;
        ber_int(&r, BER_INTEGER, &v, INT64_MIN, INT64_MAX);
        ck_assert(ber_done(&r));
        ck_assert_int_eq(v, cases[i].value);
    }
}
END_TEST

START_TEST(lengths)
{
    static const struct {
        const char *octets;
        bool good;
    } cases[] = {
        {"0401aa", true},
        {"048101aa", true},
        {"04820001aa", true},
        {"0484 00000001 aa", true},
        {"0485 0000000001 aa", true}, /* zeros in front */
        {"0480aa0000", false},        /* indefinite */
        {"0402aa", false},
        {"0484 80000001 aa", false},
        {"0489 010000000000000001 aa", false},
        {"0401aabb", false},
        {"0501aa", false},
        {"04", false},
        {"", false},
        {"0488", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t octets[32];
        struct slice got;
        struct ber r = ber_reader(slice_of(octets, read_hex(cases[i].octets, octets)));
        ber_octets(&r, BER_OCTETS, &got, 1, 1);
        ck_assert_msg(ber_done(&r) == cases[i].good, "%s", cases[i].octets);
        if (cases[i].good)
            ck_assert_uint_eq(got.data[0], 0xaa);
    }
}
END_TEST

START_TEST(written_lengths_are_shortest)
{
    static const size_t lens[] = {0, 1, 127, 128, 255, 256, 65535, 65536};
    static uint8_t content[65536], out[65600];
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        struct slice s = slice_of(content, lens[i]), back;
        struct ber w = ber_writer(out, sizeof out);
        struct ber_mark outer = ber_open(&w, 0xbf64);
        ber_octets(&w, BER_OCTETS, &s, 0, SIZE_MAX);
        ber_close(&w, outer);
        ck_assert(ber_done(&w));
        size_t inner = lens[i] + 2 + (lens[i] > 127) + (lens[i] > 255) + (lens[i] > 65535);
        ck_assert_uint_eq(writer_len(&w.w),
                          inner + 3 + (inner > 127) + (inner > 255) + (inner > 65535));
        struct ber r = ber_reader(slice_of(out, writer_len(&w.w)));
        ck_assert_uint_eq(ber_choice(&r, 0), 0xbf64);
        outer = ber_open(&r, 0xbf64);
        ber_octets(&r, BER_OCTETS, &back, 0, SIZE_MAX);
        ber_close(&r, outer);
        ck_assert(ber_done(&r) && back.len == lens[i]);
        struct ber narrow = ber_writer(out, inner);
        outer = ber_open(&narrow, 0xbf64);
        ber_octets(&narrow, BER_OCTETS, &s, 0, SIZE_MAX);
        ber_close(&narrow, outer);
        ck_assert(!ber_done(&narrow));
    }
}
END_TEST

START_TEST(times)
{
    struct sle_time t = sle_time_of(0);
    ck_assert_uint_eq(t.day, 4383);
    uint64_t ns = UINT64_C(1763834391123456789);
    t = sle_time_of(ns);
    ck_assert_uint_eq(sle_time_unix(t), ns / 1000 * 1000);
    struct sle_time later = t, fine = t;
    later.day++;
    later.ms = 0;
    fine.ps++;
    ck_assert_int_lt(sle_time_compare(t, later), 0);
    ck_assert_int_gt(sle_time_compare(later, t), 0);
    ck_assert_int_lt(sle_time_compare(t, fine), 0);
    ck_assert_int_eq(sle_time_compare(t, t), 0);
    ck_assert_uint_eq(sle_time_unix((struct sle_time){.day = 4382}), 0);
}
END_TEST

START_TEST(instance_identifiers)
{
    static const char *const bad[] = {
        "",
        "sagr=A.spack=B.rsl-fg=C",
        "sagr=A.spack=B.rsl-fg=C.raf=onlc",
        "sagr=A.spack=B.rsl-fg=C.raf=cltu1",
        "sagr=A.spack=B.fsl-fg=C.raf=onlc1",
        "sagr=A.spack=B.rsl-fg=C.cltu=cltu1",
        "sagr=.spack=B.rsl-fg=C.raf=onlc1",
        "sagr=A.spack=B.rsl-fg=C.raf=onlc1.",
        "sagr=A.spack=B C.rsl-fg=C.raf=onlc1",
        "spack=B.sagr=A.rsl-fg=C.raf=onlc1",
        "sagr=A=1.spack=B.rsl-fg=C.raf=onlc1",
    };
    static const struct {
        const char *text;
        enum sle_service service;
        enum sle_mode mode;
    } good[] = {{"sagr=SAGR.spack=SPACK.rsl-fg=RSL-FG.raf=onlc1", SLE_RAF, SLE_COMPLETE},
                {"sagr=1.spack=2.rsl-fg=3.rcf=onlt12", SLE_RCF, SLE_TIMELY},
                {"sagr=1.spack=2.rsl-fg=3.rocf=offl1", SLE_ROCF, SLE_OFFLINE},
                {"sagr=1.spack=2.fsl-fg=3.cltu=cltu1", SLE_FCLTU, SLE_FORWARD}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct sle_siid id;
        enum sle_service service;
        enum sle_mode mode;
        ck_assert_int_eq(sle_siid_parse(good[i].text, &id, &service, &mode), 0);
        ck_assert_str_eq(id.text, good[i].text);
        ck_assert(service == good[i].service && mode == good[i].mode);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sle_siid id;
        ck_assert_msg(sle_siid_parse(bad[i], &id, NULL, NULL) == HELIO_EFORMAT, "%s", bad[i]);
    }
    ck_assert(sle_authority_ok("ABC") && !sle_authority_ok("AB") && !sle_authority_ok("A BC"));
    ck_assert(sle_authority_ok("1234567890123456") && !sle_authority_ok("12345678901234567"));
}
END_TEST

START_TEST(channels_of_frames)
{
    /* The AOS frame and the TC frame's cousin of the vectors: SCID 0xab, VC 5. */
    static const uint8_t aos[] = {0x6a, 0xc5}, tm[] = {0x0a, 0xba}, none[] = {0xd0, 0, 0, 0},
                         uslp[] = {0xc9, 0xc4, 0x0d, 0x4f};
    struct sle_gvcid g;
    ck_assert(sle_gvcid_of_frame(slice_of(aos, 2), &g));
    ck_assert(g.version == 1 && g.scid == 0xab && g.vcid == 5);
    ck_assert(sle_gvcid_has((struct sle_gvcid){.version = 1, .scid = 0xab, .vcid = SLE_MASTER}, g));
    ck_assert(sle_gvcid_has(g, g));
    ck_assert(!sle_gvcid_has((struct sle_gvcid){.version = 1, .scid = 0xab, .vcid = 4}, g));
    ck_assert(
        !sle_gvcid_has((struct sle_gvcid){.version = 0, .scid = 0xab, .vcid = SLE_MASTER}, g));
    ck_assert(sle_gvcid_of_frame(slice_of(tm, 2), &g));
    ck_assert(g.version == 0 && g.scid == 0xab && g.vcid == 5);
    ck_assert(!sle_gvcid_of_frame(slice_of(tm, 1), &g) &&
              !sle_gvcid_of_frame(slice_of(uslp, 3), &g));
    /* 0x9c40 = 40000, destination, VC 42, MAP 7, truncated */
    ck_assert(sle_gvcid_of_frame(slice_of(uslp, 4), &g));
    ck_assert(g.version == 12 && g.scid == 40000 && g.vcid == 42);
    ck_assert(!sle_gvcid_of_frame(slice_of(none, 4), &g)); /* 1101 */
    ck_assert(sle_gvcid_ok(g) && sle_gvcid_ok((struct sle_gvcid){65535, 12, SLE_MASTER}));
    ck_assert(sle_gvcid_ok((struct sle_gvcid){1023, 3, 63}));
    ck_assert(!sle_gvcid_ok((struct sle_gvcid){1024, 1, 0}) &&
              !sle_gvcid_ok((struct sle_gvcid){0, 4, 0}) &&
              !sle_gvcid_ok((struct sle_gvcid){0, 11, 0}) &&
              !sle_gvcid_ok((struct sle_gvcid){0, 13, 0}) &&
              !sle_gvcid_ok((struct sle_gvcid){0, 12, 64}));
}
END_TEST

static const struct sle_identity test_user = {
    .id = "TEST-USER",
    .password = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .password_len = 16,
};

/* Recomputed by an independent DER encoder and hash. */
static const struct {
    enum sle_hash which;
    const char *time, *input, *digest;
    uint32_t random;
} vectors[] = {
    {SLE_SHA1, "62480446f4190000",
     "302d0408 62480446f4190000 0204 03cc3c50 1a09 544553542d55534552 0410 "
     "000102030405060708090a0b0c0d0e0f",
     "fced3a1e96765b483c4136b10f21beb326b98816", 0x03cc3c50},
    {SLE_SHA256, "62480446d7960000",
     "302d0408 62480446d7960000 0204 3ce37b24 1a09 544553542d55534552 0410 "
     "000102030405060708090a0b0c0d0e0f",
     "3f0e530c22916f60fdbefc1cdf98ed0b5322e1d8b840117e7e193c8ef00edc53", 0x3ce37b24},
    {SLE_SHA256, "62480446ea640000",
     "302c0408 62480446ea640000 0203 2fb37e 1a09 544553542d55534552 0410 "
     "000102030405060708090a0b0c0d0e0f",
     "d0b44f0885418c7d4a33ffa2a05758748c4bd4aba9c4bb39bfd1a50574ce5d9b", 0x2fb37e},
};

/* The hash of the vectors' inputs, and of nothing else. */
static bool known_hash(void *context, enum sle_hash which, struct slice in, uint8_t *out)
{
    (void)context;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t input[160];
        size_t n = read_hex(vectors[i].input, input);
        if (which == vectors[i].which && slice_equal(in, slice_of(input, n))) {
            read_hex(vectors[i].digest, out);
            return true;
        }
    }
    return false;
}

static struct sle_time vector_time(size_t i)
{
    uint8_t p[8];
    read_hex(vectors[i].time, p);
    return (struct sle_time){.day = (uint16_t)(p[0] << 8 | p[1]),
                             .ms = (uint32_t)p[2] << 24 | (uint32_t)p[3] << 16 |
                                   (uint32_t)p[4] << 8 | p[5],
                             .ps = (uint32_t)(p[6] << 8 | p[7]) * 1000000};
}

START_TEST(hash_inputs)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t out[160];
        size_t n = sle_hash_input(&test_user, vector_time(i), vectors[i].random, out, sizeof out);
        assert_hex(out, n, vectors[i].input);
        ck_assert_uint_eq(sle_hash_input(&test_user, vector_time(i), vectors[i].random, out, n - 1),
                          0);
    }
    struct sle_identity longest = {.password_len = SLE_PASSWORD_MAX};
    uint8_t out[160];
    memset(longest.id, 'x', SLE_AUTHORITY_MAX);
    ck_assert_uint_gt(sle_hash_input(&longest, vector_time(0), UINT32_MAX, out, sizeof out), 0);
}
END_TEST

START_TEST(credentials)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct sle_credentials c, back;
        struct sle_time at = vector_time(i), late = at, early = at;
        uint8_t out[SLE_CREDENTIALS_MAX];
        char want[200];
        ck_assert(sle_credentials_make(&test_user, vectors[i].which, known_hash, NULL, at,
                                       vectors[i].random, &c));
        size_t n = sle_credentials_write(&c, out, sizeof out);
        unsigned digest = vectors[i].which == SLE_SHA1 ? 20 : 32,
                 random = vectors[i].random > 0xffffff ? 4 : 3;
        snprintf(want, sizeof want, "30%02x0408%s02%02x%0*x04%02x%s", 10 + 2 + random + 2 + digest,
                 vectors[i].time, random, (int)(2 * random), vectors[i].random, digest,
                 vectors[i].digest);
        assert_hex(out, n, want);
        ck_assert(sle_credentials_read(slice_of(out, n), &back));
        ck_assert_int_eq(sle_credentials_check(&back, &test_user, known_hash, NULL, at, 0),
                         SLE_AUTH_OK);
        late.ms += 180000;
        early.ms -= 180000;
        ck_assert_int_eq(
            sle_credentials_check(&back, &test_user, known_hash, NULL, late, 180 * TICK_S),
            SLE_AUTH_OK);
        ck_assert_int_eq(
            sle_credentials_check(&back, &test_user, known_hash, NULL, early, 180 * TICK_S),
            SLE_AUTH_OK);
        late.ms++;
        early.ms--;
        ck_assert_int_eq(
            sle_credentials_check(&back, &test_user, known_hash, NULL, late, 180 * TICK_S),
            SLE_AUTH_TIME);
        ck_assert_int_eq(
            sle_credentials_check(&back, &test_user, known_hash, NULL, early, 180 * TICK_S),
            SLE_AUTH_TIME);
        back.digest[digest - 1] ^= 1;
        ck_assert_int_eq(sle_credentials_check(&back, &test_user, known_hash, NULL, at, 0),
                         SLE_AUTH_WRONG);
        for (size_t cut = 0; cut < n; cut++)
            ck_assert(!sle_credentials_read(slice_of(out, cut), &back));
        out[n - digest - 1]--; /* a digest of 19 or 31 octets */
        ck_assert(!sle_credentials_read(slice_of(out, n - 1), &back));
    }
}
END_TEST

START_TEST(random_numbers_of_32_bits)
{
    struct sle_credentials c = {.random = 0xfedcba98, .digest_len = 20, .time = {.day = 1}}, back;
    uint8_t out[SLE_CREDENTIALS_MAX];
    size_t n = sle_credentials_write(&c, out, sizeof out);
    ck_assert(sle_credentials_read(slice_of(out, n), &back));
    ck_assert_uint_eq(back.random, 0xfedcba98);
}
END_TEST

START_TEST(messages)
{
    /* As captured: 30 s, dead factor 3. */
    uint8_t octets[64];
    struct sle_tml_message m;
    sle_tml_write_context(30, 3, octets);
    assert_hex(octets, SLE_TML_CONTEXT, "020000000000000c 49535031 00000001 001e 0003");
    for (size_t n = 0; n < SLE_TML_CONTEXT; n++)
        ck_assert_int_eq(sle_tml_read(slice_of(octets, n), 100, &m), SLE_TML_MORE);
    ck_assert_int_eq(sle_tml_read(slice_of(octets, sizeof octets), 100, &m), SLE_TML_OK);
    ck_assert(m.type == SLE_TML_CONTEXT_MESSAGE && m.heartbeat_s == 30 && m.dead_factor == 3 &&
              m.total == 20);
    sle_tml_write_header(SLE_TML_HEARTBEAT, 0, octets);
    assert_hex(octets, 8, "0300000000000000");
    ck_assert_int_eq(sle_tml_read(slice_of(octets, 8), 100, &m), SLE_TML_OK);
    ck_assert(m.type == SLE_TML_HEARTBEAT && m.total == 8);
    sle_tml_write_header(SLE_TML_PDU, 100, octets);
    assert_hex(octets, 8, "0100000000000064");
    ck_assert_int_eq(sle_tml_read(slice_of(octets, 64), 100, &m), SLE_TML_MORE);
    ck_assert_uint_eq(m.total, 108);
    ck_assert_int_eq(sle_tml_read(slice_of(octets, 8), 99, &m), SLE_TML_TOO_LONG);
}
END_TEST

START_TEST(messages_that_are_none)
{
    static const struct {
        const char *octets;
        enum sle_tml_verdict verdict;
    } cases[] = {
        {"04", SLE_TML_BAD_TYPE},
        {"00", SLE_TML_BAD_TYPE},
        {"01", SLE_TML_MORE},
        {"0100010000000064", SLE_TML_BAD_TYPE},
        {"0100000000000000", SLE_TML_BAD_TYPE},
        {"0300000000000001", SLE_TML_BAD_TYPE},
        {"020000000000000d", SLE_TML_BAD_CONTEXT},
        {"020000000000000c 49535032 00000001 001e 0003", SLE_TML_BAD_CONTEXT},
        {"020000000000000c 49535031 00000002 001e 0003", SLE_TML_BAD_CONTEXT},
        {"010000007fffffff", SLE_TML_TOO_LONG},
        {"01000000ffffffff", SLE_TML_TOO_LONG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t octets[64];
        struct sle_tml_message m;
        size_t n = read_hex(cases[i].octets, octets);
        ck_assert_msg(sle_tml_read(slice_of(octets, n), 4 << 20, &m) == cases[i].verdict, "%s",
                      cases[i].octets);
    }
}
END_TEST

SUITE(sle_parts, t)
{
    tcase_add_test(t, integers);
    tcase_add_test(t, lengths);
    tcase_add_test(t, written_lengths_are_shortest);
    tcase_add_test(t, times);
    tcase_add_test(t, instance_identifiers);
    tcase_add_test(t, channels_of_frames);
    tcase_add_test(t, hash_inputs);
    tcase_add_test(t, credentials);
    tcase_add_test(t, random_numbers_of_32_bits);
    tcase_add_test(t, messages);
    tcase_add_test(t, messages_that_are_none);
}
