/* SPDX-License-Identifier: Apache-2.0 */
/* Space Data Link Security: frames of another implementation both ways, every flipped bit, other
 * keys, replays and the edges of the window, truncated frames, numbers that end. */
#include "frames/sdls.h"

#include "base/rng.h"
#include "frames_help.h"
#include "os/crypto/crypto.h"

struct vector {
    struct frame_format format;
    struct sdls_association association;
    const char *key, *clear, *secured;
};
static const struct vector vectors[] = {
#include "frames_sdls_vectors.h"
#include "tests/unit/suite.h"
};
enum { VECTORS = sizeof vectors / sizeof vectors[0], ROOM = 256 };

static struct crypto crypto;
static struct sdls sdls;
static struct sdls_association associations[3];
static uint8_t out[ROOM], again[ROOM];

static void set_up(void)
{
    ck_assert(crypto_open(&crypto));
}

static void tear_down(void)
{
    crypto_close(&crypto);
}

/* All virtual channels that this kind has. */
static uint64_t list_vcids(enum frame_kind kind)
{
    return kind == FRAME_TM ? 0xff : UINT64_MAX >> (kind == FRAME_TC ? 0 : 1);
}

static void begin(const struct vector *v)
{
    size_t which;
    associations[0] = v->association;
    associations[0].vcids = list_vcids(v->format.kind);
    read_hex(v->key, associations[0].key);
    sdls = (struct sdls){.format = v->format, .at = associations, .len = 1, .crypto = &crypto};
    ck_assert_ptr_null(sdls_problem(&sdls, &which));
}

/* A frame as octets, until the next call of the same `slot`. */
static struct slice octets_of(const char *hex, int slot)
{
    static uint8_t data[2][ROOM];
    return slice_of(data[slot], read_hex(hex, data[slot]));
}

static enum sdls_verdict process(struct slice frame)
{
    size_t len = 1;
    enum sdls_verdict v = sdls_process(&sdls, frame, out, sizeof out, &len);
    ck_assert((v == SDLS_OK_VERDICT || v == SDLS_CLEAR_VERDICT) == (len > 0));
    return v;
}

START_TEST(applied_as_elsewhere)
{
    size_t len;
    const struct vector *v = &vectors[_i];
    begin(v);
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), out, sizeof out, &len),
                     SDLS_OK_VERDICT);
    assert_hex(out, len, v->secured);
    ck_assert_uint_eq(sdls.applied[SDLS_OK_VERDICT], 1);
    ck_assert_uint_eq(len, strlen(v->clear) / 2 + sdls_overhead(&sdls, 5));
    /* The next one has the next number, and so differs. */
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), again, sizeof again, &len),
                     SDLS_OK_VERDICT);
    ck_assert_int_ne(memcmp(out, again, len), 0);
    ck_assert_uint_eq(associations[0].next, v->association.next + 2);
}
END_TEST

START_TEST(processed_as_elsewhere)
{
    size_t len;
    const struct vector *v = &vectors[_i];
    begin(v);
    ck_assert_int_eq(sdls_process(&sdls, octets_of(v->secured, 0), out, sizeof out, &len),
                     SDLS_OK_VERDICT);
    assert_hex(out, len, v->clear);
    ck_assert(associations[0].begun && associations[0].last == v->association.next);
    ck_assert_int_eq(process(octets_of(v->secured, 0)), SDLS_REPLAYED_VERDICT);
    ck_assert_uint_eq(sdls.processed[SDLS_REPLAYED_VERDICT], 1);
}
END_TEST

/* The check value is made right, so that security alone can notice it. */
static enum sdls_verdict process_sealed(uint8_t *frame, size_t len)
{
    struct frame_format f = sdls.format;
    struct slice all = slice_of(frame, len - f.fecf);
    f.length = (uint32_t)len;
    frame_seal(&f, &all, 1, frame);
    return process(slice_of(frame, len));
}

/* Which octets of the vector's frame a MAC does not cover although the frame is good without. */
static bool is_uncovered(const struct vector *v, size_t at, size_t len)
{
    bool ocf = v->format.ocf || v->format.kind == FRAME_TM || v->format.kind == FRAME_USLP;
    size_t front = v->format.kind == FRAME_TM     ? 10
                   : v->format.kind == FRAME_AOS  ? 6U + v->format.insert_len
                   : v->format.kind == FRAME_USLP ? 10
                                                  : 5;
    return at < front || at >= len - v->format.fecf - (ocf ? 4 : 0);
}

START_TEST(each_flipped_bit)
{
    const struct vector *v = &vectors[_i];
    struct slice good = octets_of(v->secured, 0);
    uint8_t bad[ROOM];
    begin(v);
    for (size_t bit = 0; bit < 8 * good.len; bit++) {
        memcpy(bad, good.data, good.len);
        bad[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        associations[0].begun = false;
        enum sdls_verdict got = process_sealed(bad, good.len);
        if (got == SDLS_OK_VERDICT)
            ck_assert_msg(is_uncovered(v, bit / 8, good.len), "bit %zu", bit);
        else
            ck_assert(!associations[0].begun); /* and it does not move the window */
    }
    ck_assert_uint_gt(sdls.processed[SDLS_MAC_VERDICT], 8 * 40); /* each of the data field */
    ck_assert_uint_gt(sdls.processed[SDLS_SPI_VERDICT], 0);
    associations[0].begun = false;
    ck_assert_int_eq(process(good), SDLS_OK_VERDICT);
}
END_TEST

/* Bits of the virtual channel are covered, of every kind. */
START_TEST(moved_to_another_channel)
{
    static const uint8_t bits[][2] = {[FRAME_TM] = {1, 0x0e},
                                      [FRAME_AOS] = {1, 0x3f},
                                      [FRAME_USLP] = {3, 0xe0},
                                      [FRAME_TC] = {2, 0xfc}};
    const struct vector *v = &vectors[_i];
    struct slice good = octets_of(v->secured, 0);
    uint8_t bad[ROOM];
    begin(v);
    for (uint8_t bit = 1; bit != 0; bit = (uint8_t)(bit << 1)) {
        if ((bits[v->format.kind][1] & bit) == 0)
            continue;
        memcpy(bad, good.data, good.len);
        bad[bits[v->format.kind][0]] ^= bit;
        ck_assert_int_eq(process_sealed(bad, good.len), SDLS_MAC_VERDICT);
    }
    associations[0].vcids = 1; /* not that of the vector */
    associations[1] = associations[0];
    associations[1].spi = 77;
    associations[1].vcids = list_vcids(v->format.kind) & ~UINT64_C(1);
    sdls.len = 2;
    ck_assert_int_eq(process(good), SDLS_CHANNEL_VERDICT);
}
END_TEST

START_TEST(other_keys)
{
    const struct vector *v = &vectors[_i];
    begin(v);
    for (size_t i = 0; i < associations[0].key_len; i++) {
        associations[0].key[i] ^= 1;
        ck_assert_int_eq(process(octets_of(v->secured, 0)), SDLS_MAC_VERDICT);
        associations[0].key[i] ^= 1;
    }
    associations[0].spi = 99;
    ck_assert_int_eq(process(octets_of(v->secured, 0)), SDLS_SPI_VERDICT);
}
END_TEST

static void set_length(uint8_t *tc, size_t len)
{
    tc[2] = (uint8_t)(tc[2] & 0xfc);
    tc[3] = (uint8_t)(len - 1);
}

START_TEST(truncated)
{
    const struct vector *v = &vectors[_i];
    struct slice good = octets_of(v->secured, 0);
    begin(v);
    for (size_t len = 0; len < good.len; len++) {
        uint8_t part[ROOM];
        memcpy(part, good.data, len);
        sdls.format.length = v->format.length;
        ck_assert_int_ne(process(slice_of(part, len)), SDLS_OK_VERDICT);
        sdls.format.length = (uint32_t)len; /* a good frame of that length, if there is one */
        if (len < 12 || frame_format_problem(&sdls.format) != NULL)
            continue;
        if (v->format.kind == FRAME_TC)
            set_length(part, len);
        if (v->format.kind == FRAME_USLP)
            part[5] = (uint8_t)(len - 1);
        enum sdls_verdict got = process_sealed(part, len);
        ck_assert(got != SDLS_OK_VERDICT && got != SDLS_CLEAR_VERDICT);
    }
    ck_assert_uint_gt(sdls.processed[SDLS_LENGTH_VERDICT], 0);
    ck_assert(!associations[0].begun);
}
END_TEST

/* ---- numbers ---- */

/* A frame with that number is received. */
static enum sdls_verdict receive(const struct vector *v, uint64_t number)
{
    size_t len;
    associations[0].next = number;
    associations[0].end = number + 1;
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), again, ROOM, &len), SDLS_OK_VERDICT);
    return process(slice_of(again, len));
}

START_TEST(window)
{
    const struct vector *v = &vectors[_i];
    begin(v);
    associations[0].begun = true; /* as it was before a restart */
    associations[0].last = 1000;
    ck_assert_int_eq(receive(v, 1000), SDLS_REPLAYED_VERDICT);
    ck_assert_int_eq(receive(v, 999), SDLS_REPLAYED_VERDICT);
    ck_assert_int_eq(receive(v, 1), SDLS_REPLAYED_VERDICT);
    ck_assert_int_eq(receive(v, 1011), SDLS_AHEAD_VERDICT);
    ck_assert_uint_eq(associations[0].last, 1000);
    ck_assert_int_eq(receive(v, 1010), SDLS_OK_VERDICT);
    ck_assert_int_eq(receive(v, 1011), SDLS_OK_VERDICT);
    ck_assert_int_eq(receive(v, 1009), SDLS_REPLAYED_VERDICT); /* late */
    ck_assert_uint_eq(associations[0].last, 1011);
    associations[0].window = UINT64_MAX;
    ck_assert_int_eq(receive(v, 65535), SDLS_OK_VERDICT);
}
END_TEST

static int reservations;

static bool reserve_three(void *self, struct sdls_association *a)
{
    ck_assert_ptr_eq(self, &sdls);
    a->end += 3;
    return reservations-- > 0;
}

START_TEST(numbers_end)
{
    size_t len;
    const struct vector *v = &vectors[_i];
    struct sdls_association *a = &associations[0];
    begin(v);
    a->next = a->end = 1;
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), out, ROOM, &len),
                     SDLS_NUMBERS_VERDICT);
    ck_assert(len == 0 && a->next == 1);
    sdls.reserve = reserve_three;
    sdls.self = &sdls;
    reservations = 2;
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), out, ROOM, &len),
                         SDLS_OK_VERDICT);
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), out, ROOM, &len),
                     SDLS_NUMBERS_VERDICT);
    /* The last number of the field is used, and none behind it. */
    uint64_t most = a->sequence_len == 0 || a->sequence_len == 8
                        ? UINT64_MAX - 1
                        : (UINT64_C(1) << 8 * a->sequence_len) - 1;
    a->next = most;
    a->end = UINT64_MAX;
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), out, ROOM, &len), SDLS_OK_VERDICT);
    ck_assert_int_eq(sdls_apply(&sdls, octets_of(v->clear, 0), again, ROOM, &len),
                     SDLS_NUMBERS_VERDICT);
    a->begun = true;
    a->last = most - 1;
    ck_assert_int_eq(process(slice_of(out, strlen(v->secured) / 2)), SDLS_OK_VERDICT);
}
END_TEST

/* ---- what is not secured, and what cannot be ---- */

START_TEST(clear_frames)
{
    size_t len;
    const struct vector *v = &vectors[_i];
    struct slice frame = octets_of(v->secured, 0);
    begin(v);
    associations[0].vcids = 1; /* not that of the vector */
    ck_assert_int_eq(process(frame), SDLS_CLEAR_VERDICT);
    assert_hex(out, frame.len, v->secured);
    ck_assert_int_eq(sdls_apply(&sdls, frame, out, ROOM, &len), SDLS_CLEAR_VERDICT);
    assert_hex(out, len, v->secured);
    ck_assert_uint_eq(sdls_overhead(&sdls, 5), 0);
    ck_assert_int_eq(sdls_apply(&sdls, frame, out, frame.len - 1, &len), SDLS_LENGTH_VERDICT);
    ck_assert_int_eq(sdls_process(&sdls, frame, out, frame.len - 1, &len), SDLS_LENGTH_VERDICT);
}
END_TEST

/* 232.0-B 6.3.1: frames of type C have no security header. */
START_TEST(control_commands)
{
    uint8_t frame[16];
    size_t len;
    const struct frame unlock = {
        .kind = FRAME_TC, .scid = 1, .vcid = 3, .bypass = true, .command = true};
    begin(&vectors[6]);
    size_t n = frame_write_tc(&sdls.format, &unlock, slice_of("\0", 1), frame, sizeof frame);
    ck_assert_int_eq(sdls_apply(&sdls, slice_of(frame, n), out, ROOM, &len), SDLS_CLEAR_VERDICT);
    ck_assert(len == n && memcmp(out, frame, n) == 0);
    ck_assert_int_eq(process(slice_of(frame, n)), SDLS_CLEAR_VERDICT);
    /* too long a frame for security */
    uint8_t data[ROOM] = {0}, longest[ROOM];
    const struct frame f = {.kind = FRAME_TC, .scid = 1, .vcid = 3, .bypass = true};
    for (uint32_t more = 0; more < 2; more++) {
        size_t payload = sdls.format.length - sdls_overhead(&sdls, 3) - 7 + more;
        n = frame_write_tc(&sdls.format, &f, slice_of(data, payload), longest, ROOM);
        ck_assert_int_eq(sdls_apply(&sdls, slice_of(longest, n), out, ROOM, &len),
                         more == 0 ? SDLS_OK_VERDICT : SDLS_LENGTH_VERDICT);
    }
}
END_TEST

/* Fill that another sender announces is removed; more of it than data is refused. */
START_TEST(padding)
{
    size_t len;
    begin(&vectors[2]); /* one octet of pad length, at 6 + 2 + 12 */
    associations[0].window = 100;
    struct slice clear = octets_of(vectors[2].clear, 0);
    for (unsigned fill = 0; fill < 256; fill += fill < 45 ? 1 : 50) {
        struct sdls_association *a = &associations[0];
        uint8_t aad[6 + 2 + 12 + 1] = {0, 5}, frame[ROOM];
        a->next = fill + 1;
        a->end = fill + 2;
        ck_assert_int_eq(sdls_apply(&sdls, clear, frame, ROOM, &len), SDLS_OK_VERDICT);
        aad[7] = 3;
        aad[20] = frame[20] = (uint8_t)fill;
        memcpy(frame + 21, clear.data + 6, clear.len - 8);
        ck_assert(crypto.seal(crypto.self, slice_of(a->key, a->key_len), slice_of(frame + 8, 12),
                              slice_of(aad, sizeof aad), frame + 21, clear.len - 8,
                              frame + len - 18));
        enum sdls_verdict v = process_sealed(frame, len);
        ck_assert_int_eq(v, fill < clear.len - 8 ? SDLS_OK_VERDICT : SDLS_PADDING_VERDICT);
        if (v == SDLS_OK_VERDICT)
            ck_assert_int_eq(memcmp(out + 6, clear.data + 6, clear.len - 8 - fill), 0);
    }
}
END_TEST

START_TEST(another_sender)
{
    begin(&vectors[2]);
    associations[0].sender ^= 1;
    ck_assert_int_eq(process(octets_of(vectors[2].secured, 0)), SDLS_SENDER_VERDICT);
    ck_assert(!associations[0].begun);
}
END_TEST

/* An AOS header with errors is corrected before it is authenticated. */
START_TEST(corrected_header)
{
    uint8_t plain[ROOM], secured[ROOM], data[ROOM];
    size_t len;
    struct frame f = {.kind = FRAME_AOS, .scid = 7, .vcid = 9, .pointer = 0};
    struct vector v = vectors[2];
    v.format = (struct frame_format){.kind = FRAME_AOS, .length = 100, .fhec = true};
    begin(&v);
    struct frame_format inner = v.format;
    inner.length -= sdls_overhead(&sdls, 9);
    fill_steps(data, sizeof data, 1);
    memcpy(plain, data, inner.length);
    frame_write(&inner, &f, plain);
    ck_assert_int_eq(sdls_apply(&sdls, slice_of(plain, inner.length), secured, ROOM, &len),
                     SDLS_OK_VERDICT);
    for (int bit = 0; bit < 16; bit++) {
        uint8_t bad[ROOM];
        memcpy(bad, secured, len);
        bad[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        associations[0].begun = false;
        ck_assert_int_eq(process(slice_of(bad, len)), SDLS_OK_VERDICT);
        ck_assert_int_eq(memcmp(out, plain, inner.length), 0);
    }
    plain[1] ^= 1; /* of a frame that is sent it is no error of the channel */
    ck_assert_int_eq(sdls_apply(&sdls, slice_of(plain, inner.length), secured, ROOM, &len),
                     SDLS_FRAME_VERDICT);
}
END_TEST

/* ---- associations ---- */

static void expect_problem(const char *part)
{
    size_t which;
    const char *got = sdls_problem(&sdls, &which);
    ck_assert_ptr_nonnull(got);
    ck_assert_msg(strstr(got, part) != NULL, "%s", got);
}

#define EXPECT(vector, change, part)                                                               \
    do {                                                                                           \
        begin(&vectors[vector]);                                                                   \
        struct sdls_association *a = &associations[0];                                             \
        (void)a;                                                                                   \
        change;                                                                                    \
        expect_problem(part);                                                                      \
    } while (0)

START_TEST(problems)
{
    EXPECT(0, a->spi = 0, "SPI");
    EXPECT(0, a->spi = 65535, "SPI");
    EXPECT(0, a->vcids = 0, "no virtual channel");
    EXPECT(0, a->vcids = 0x100, "of TM 0 to 7");
    EXPECT(2, a->vcids = UINT64_C(1) << 63, "0 to 62");
    EXPECT(0, a->window = 0, "window");
    EXPECT(6, a->service = SDLS_AUTHENTICATED_ENCRYPTION, "aes-gcm alone");
    EXPECT(0, a->iv_len = 8, "12 octets");
    EXPECT(6, a->iv_len = 12, "no IV");
    EXPECT(6, a->sequence_len = 0, "1 to 8");
    EXPECT(0, a->sequence_len = 9, "1 to 8");
    EXPECT(1, a->pad_len = 1, "pad length");
    EXPECT(0, a->pad_len = 3, "pad length");
    EXPECT(0, a->mac_len = 12, "16 octets");
    EXPECT(6, a->mac_len = 7, "8 to 16");
    EXPECT(6, a->mac_len = 17, "8 to 16");
    EXPECT(4, a->mac_len = 33, "8 to 16");
    EXPECT(0, a->key_len = 24, "16 or 32");
    EXPECT(4, a->key_len = 15, "16 to 64");
    EXPECT(0, sdls.format.length = 38, "too short");
    EXPECT(0, sdls.format.length = 20, "too short");
    EXPECT(0, (associations[1] = *a, sdls.len = 2), "this SPI");
    EXPECT(0, (associations[1] = *a, associations[1].spi = 9, sdls.len = 2), "this key");
}
END_TEST

SUITE(frames_sdls, t)
{
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, applied_as_elsewhere, 0, VECTORS);
    tcase_add_loop_test(t, processed_as_elsewhere, 0, VECTORS);
    tcase_add_loop_test(t, each_flipped_bit, 0, VECTORS);
    tcase_add_loop_test(t, moved_to_another_channel, 0, VECTORS);
    tcase_add_loop_test(t, other_keys, 0, VECTORS);
    tcase_add_loop_test(t, truncated, 0, VECTORS);
    tcase_add_loop_test(t, window, 0, VECTORS);
    tcase_add_loop_test(t, numbers_end, 0, VECTORS);
    tcase_add_loop_test(t, clear_frames, 0, VECTORS);
    tcase_add_test(t, control_commands);
    tcase_add_test(t, padding);
    tcase_add_test(t, another_sender);
    tcase_add_test(t, corrected_header);
    tcase_add_test(t, problems);
}
