/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets in frames: the published vectors; any packets through any format, gathered or copied;
 * erased frames cost the packets that touched them and no other; each defect and its count.
 */
#include "base/rng.h"
#include "frames/mpdu_extract.h"
#include "frames/mpdu_pack.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

static struct mpdu_pack_config aos_config(uint32_t length)
{
    return (struct mpdu_pack_config){.format = {.kind = FRAME_AOS, .length = length, .fecf = 2},
                                     .scid = 0xab,
                                     .vcid = 5,
                                     .idle = PACKET_ENCAP};
}

static const char *const vectors[] = {
    "6ac5000000000000e51610171e252c333a41484f565d646b727980878e95e56620272e353c434a51585f666d747b"
    "828990979ea5acb3bac1c8cfd6dde4ebe34c",
    "6ac50000010007fff2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5"
    "fc030a11181f262d343b424950575e653e75",
    "6ac50000020000106c737a81888f969da4abb2b9c0c7ced5e50c30373e454c535a61686fe52040474e555c636a71"
    "787f868d949ba2a9b0b7bec5ccd3dae192ec",
    "6ac5000003000006e8eff6fd040be130000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000d10f",
};
enum { VECTORS = sizeof vectors / sizeof vectors[0] };

START_TEST(packs_vectors)
{
    static const size_t lens[] = {20, 100, 10, 30};
    struct mpdu_pack_config config = aos_config(64);
    struct mpdu_pack p;
    uint8_t frame[64], payload[4][100], header[PACKET_HEADER_MAX];
    struct slice one;
    struct mpdu_frame out;
    size_t packet = 0;
    mpdu_pack_init(&p, &config);
    ck_assert_uint_eq(mpdu_pack_slices_max(&p), 1);
    for (int i = 0; i < VECTORS; i++) {
        mpdu_pack_open(&p, frame, &one);
        while (!mpdu_pack_full(&p) && packet < 4) {
            fill_steps(payload[packet], lens[packet], 0x10 * (unsigned)(packet + 1));
            struct slice s = slice_of(payload[packet], lens[packet]);
            size_t n = packet_write_encap(PACKET_LTP, s.len, header);
            mpdu_pack_put(&p, header, n, &s, 1);
            packet++;
        }
        if (!mpdu_pack_full(&p)) {
            ck_assert_uint_eq(mpdu_pack_room(&p), 48);
            mpdu_pack_fill(&p);
        }
        mpdu_pack_close(&p, NULL, &out);
        ck_assert_uint_eq(out.count, (uint64_t)i);
        ck_assert(out.slice_count == 1 && out.slices[0].data == frame && out.slices[0].len == 64);
        assert_hex(frame, 64, vectors[i]);
    }
    ck_assert(!mpdu_pack_pending(&p));
    ck_assert(p.totals.frames == 4 && p.totals.packets == 4 && p.totals.packet_bytes == 168 &&
              p.totals.idle_packets == 1 && p.totals.idle_bytes == 48);
}
END_TEST

START_TEST(extracts_vectors)
{
    static const size_t lens[] = {20, 100, 10, 30};
    struct frame_channel c = {.format = aos_config(64).format, .scid = 0xab};
    struct mpdu_extract x;
    struct packet_piece piece;
    struct frame f;
    uint8_t data[64], buffer[128], want[100];
    struct packet_join join = {.buffer = buffer, .room = sizeof buffer};
    struct slice payload;
    unsigned packets = 0;
    mpdu_extract_init(&x, 1000);
    for (int i = 0; i < VECTORS; i++) {
        read_hex(vectors[i], data);
        ck_assert_int_eq(frame_input(&c, data, 64, &f), FRAME_OK_VERDICT);
        ck_assert(f.vcid == 5 && f.count == (uint64_t)i);
        ck_assert_int_eq(mpdu_extract_input(&x, &f), FRAME_OK_VERDICT);
        while (mpdu_extract_next(&x, &piece)) {
            ck_assert(!piece.abandoned && piece.packet->protocol == PACKET_LTP);
            if (!packet_join(&join, &piece, &payload))
                continue;
            ck_assert_uint_eq(payload.len, lens[packets]);
            fill_steps(want, payload.len, 0x10 * ++packets);
            ck_assert_mem_eq(payload.data, want, payload.len);
        }
    }
    ck_assert(packets == 4 && x.counts.packets == 4 && x.counts.idle == 1 && x.counts.frames == 4);
    ck_assert(x.counts.cut == 0 && x.counts.skipped_bytes == 0 && x.counts.pointer == 0);
}
END_TEST

/* What was sent: packet i has a payload of its own, and the first and last frame that it is in. */
enum { PACKETS = 400, FRAMES = 4000, PAYLOAD = 700 };
struct sent {
    size_t len;
    uint64_t first, last;
    bool space;
};
struct run {
    struct rng rng;
    struct mpdu_pack_config config;
    struct mpdu_pack pack;
    struct mpdu_extract extract;
    struct sent sent[PACKETS];
    uint8_t payload[PACKETS][PAYLOAD];
    uint8_t *frames; /* whole, as they would be on the air */
    uint64_t frame_count, first_count;
    size_t put;
    bool lost[FRAMES];
};
static struct run run;

static void draw_payload(size_t i)
{
    struct sent *s = &run.sent[i];
    s->len = 4 + rng_below(&run.rng, rng_chance(&run.rng, 0.5) ? 30 : PAYLOAD - 4);
    s->space = rng_chance(&run.rng, 0.2);
    for (size_t k = 0; k < s->len; k++)
        run.payload[i][k] = (uint8_t)rng_u64(&run.rng);
    memcpy(run.payload[i], &(uint32_t){(uint32_t)i}, 4); /* says which it is */
}

static void put_packet(size_t i)
{
    uint8_t header[PACKET_HEADER_MAX];
    struct sent *s = &run.sent[i];
    draw_payload(i);
    struct packet p = {.kind = PACKET_SPACE, .apid = 7, .length = PACKET_SPACE_HEADER + s->len};
    size_t n = s->space ? packet_write(&p, header) : packet_write_encap(PACKET_BP, s->len, header);
    size_t cut = rng_below(&run.rng, s->len + 1);
    struct slice parts[2] = {slice_of(run.payload[i], cut),
                             slice_of(run.payload[i] + cut, s->len - cut)};
    s->first = s->last = run.frame_count;
    mpdu_pack_put(&run.pack, header, n, parts, 2);
    if (mpdu_pack_pending(&run.pack))
        s->last++;
}

static void join_slices(const struct mpdu_frame *f, uint8_t *out, size_t want)
{
    size_t len = 0;
    for (size_t i = 0; i < f->slice_count; i++) {
        ck_assert_uint_le(len + f->slices[i].len, want);
        memcpy(out + len, f->slices[i].data, f->slices[i].len);
        len += f->slices[i].len;
    }
    ck_assert_uint_eq(len, want);
}

/* All packets into frames, some of which wait for no more. */
static void send_all(void)
{
    static uint8_t frame[FRAME_LENGTH_MAX];
    static struct slice slices[2048];
    uint32_t length = run.config.format.length;
    ck_assert_uint_le(mpdu_pack_slices_max(&run.pack), 2048);
    for (run.put = 0; run.put < PACKETS || mpdu_pack_pending(&run.pack); run.frame_count++) {
        struct mpdu_frame out;
        memset(frame, 0xdd, length);
        mpdu_pack_open(&run.pack, frame, slices);
        if (mpdu_pack_full(&run.pack) && mpdu_pack_pending(&run.pack) && run.put > 0)
            run.sent[run.put - 1].last = run.frame_count + 1;
        while (!mpdu_pack_full(&run.pack) && run.put < PACKETS && rng_chance(&run.rng, 0.95))
            put_packet(run.put++);
        mpdu_pack_fill(&run.pack);
        mpdu_pack_close(&run.pack, NULL, &out);
        ck_assert_uint_lt(run.frame_count, FRAMES);
        join_slices(&out, run.frames + run.frame_count * length, length);
    }
}

static bool is_touched(const struct sent *s)
{
    for (uint64_t f = s->first; f <= s->last; f++)
        if (run.lost[f])
            return true;
    return false;
}

/* Those that were not lost, to the receiver. Returns how many packets it told. */
static size_t receive_all(void)
{
    static uint8_t buffer[PAYLOAD];
    struct packet_join join = {.buffer = buffer, .room = sizeof buffer};
    struct frame_channel c = {.format = run.config.format, .scid = run.config.scid};
    uint32_t length = run.config.format.length, next = 0, i;
    size_t told = 0;
    mpdu_extract_init(&run.extract, 1000);
    for (uint64_t k = 0; k < run.frame_count; k++) {
        struct frame f;
        struct packet_piece piece;
        struct slice payload;
        if (run.lost[k])
            continue;
        ck_assert_int_eq(frame_input(&c, run.frames + k * length, length, &f), FRAME_OK_VERDICT);
        ck_assert_int_eq(mpdu_extract_input(&run.extract, &f), FRAME_OK_VERDICT);
        while (mpdu_extract_next(&run.extract, &piece)) {
            if (!packet_join(&join, &piece, &payload))
                continue;
            memcpy(&i, payload.data, 4);
            if (i < next || i >= PACKETS || payload.len != run.sent[i].len ||
                memcmp(payload.data, run.payload[i], payload.len) != 0)
                ck_abort_msg("packet %u: out of order, or not what was sent", i);
            for (; next < i; next++)
                if (!is_touched(&run.sent[next]))
                    ck_abort_msg("packet %u is missing, and none of its frames", next);
            next = i + 1;
            told++;
        }
    }
    for (; next < PACKETS; next++)
        if (!is_touched(&run.sent[next]))
            ck_abort_msg("packet %u is missing, and none of its frames", next);
    return told;
}

static void begin_run(uint64_t seed, struct mpdu_pack_config config)
{
    free(run.frames);
    memset(&run, 0, sizeof run);
    rng_init(&run.rng, seed);
    run.config = config;
    run.frames = malloc((size_t)FRAMES * config.format.length);
    ck_assert_ptr_nonnull(run.frames);
    ck_assert_ptr_null(mpdu_pack_problem(&config));
    mpdu_pack_init(&run.pack, &config);
    send_all();
}

static struct mpdu_pack_config draw_config(struct rng *r)
{
    struct mpdu_pack_config c = {
        .scid = (uint16_t)rng_below(r, 256), .vcid = (uint8_t)rng_below(r, 8), .count = rng_u64(r)};
    struct frame_format *f = &c.format;
    static const uint32_t lengths[] = {64, 100, 256, 1115, 2040};
    f->kind = (enum frame_kind)rng_below(r, FRAME_TC);
    f->length = lengths[rng_below(r, 5)] + (uint32_t)rng_below(r, 8);
    f->fecf = rng_chance(r, 0.7) ? 2 : 0;
    f->ocf = rng_chance(r, 0.3);
    f->fhec = f->kind == FRAME_AOS && rng_chance(r, 0.3);
    f->count_cycle = f->kind == FRAME_AOS && rng_chance(r, 0.3);
    f->count_len = f->kind == FRAME_USLP ? (uint8_t)(2 + rng_below(r, 6)) : 0;
    f->insert_len = f->kind != FRAME_TM && rng_chance(r, 0.3) ? (uint16_t)rng_below(r, 20) : 0;
    f->secondary_len = f->kind == FRAME_TM && rng_chance(r, 0.3) ? 4 : 0;
    c.idle = rng_chance(r, 0.5) ? PACKET_ENCAP : PACKET_SPACE;
    c.gather_min = rng_chance(r, 0.5) ? 0 : 16 + (uint32_t)rng_below(r, 200);
    return c;
}

START_TEST(without_loss)
{
    struct rng r;
    rng_init(&r, 11);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct mpdu_counts *n = &run.extract.counts;
        begin_run(seed, draw_config(&r));
        ck_assert_uint_eq(receive_all(), PACKETS);
        ck_assert_uint_eq(n->packets, PACKETS);
        ck_assert_uint_eq(n->idle, run.pack.totals.idle_packets - mpdu_pack_pending(&run.pack));
        ck_assert(n->cut + n->gaps + n->pointer + n->skipped_bytes + n->bad_length == 0);
    }
}
END_TEST

/* Short bursts, so that 8 bits of frame count do not come round. */
START_TEST(with_loss)
{
    struct rng r;
    uint64_t gone = 0;
    rng_init(&r, 12);
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct mpdu_counts *n = &run.extract.counts;
        begin_run(seed, draw_config(&r));
        double often = rng_unit(&r) * 0.3;
        uint64_t lost = 0, gaps = 0, most = 1 + rng_below(&r, 10);
        for (uint64_t k = 1; k + 1 < run.frame_count; k++) {
            uint64_t burst = rng_chance(&r, often) ? 1 + rng_below(&r, most) : 0;
            gaps += burst > 0;
            for (; burst > 0 && k + 1 < run.frame_count; burst--, k++, lost++)
                run.lost[k] = true;
        }
        size_t told = receive_all();
        gone += PACKETS - told;
        ck_assert_uint_eq(n->packets, told);
        ck_assert_uint_eq(n->frames, run.frame_count - lost);
        ck_assert_uint_eq(n->lost, lost);
        ck_assert_uint_eq(n->gaps, gaps);
        ck_assert_uint_eq(n->repeated + n->backward + n->bad_length + n->bad_version, 0);
        ck_assert_uint_eq(n->pointer, 0);
    }
    ck_assert_uint_gt(gone, 1000);
}
END_TEST

/* Copied or gathered, the frames are the same. */
START_TEST(gathers)
{
    struct rng r;
    rng_init(&r, 13);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct mpdu_pack_config c = draw_config(&r);
        c.gather_min = 0;
        begin_run(seed, c);
        uint64_t n = run.frame_count, bytes = n * c.format.length;
        uint8_t *copied = malloc(bytes);
        ck_assert_ptr_nonnull(copied);
        memcpy(copied, run.frames, bytes);
        c.gather_min = 16;
        begin_run(seed, c);
        ck_assert_uint_eq(run.frame_count, n);
        ck_assert_mem_eq(copied, run.frames, bytes);
        free(copied);
    }
}
END_TEST

/* One frame of 20 octets of zone with this in it. */
static enum frame_verdict input_zone(struct mpdu_extract *x, uint64_t count, uint32_t pointer,
                                     const char *zone)
{
    static uint8_t bytes[32];
    struct frame f = {
        .kind = FRAME_AOS, .count = count, .count_bits = 24, .pointer = pointer, .packets = true};
    memset(bytes, 0xe0, sizeof bytes);
    read_hex(zone, bytes);
    f.zone = slice_of(bytes, 20);
    return mpdu_extract_input(x, &f);
}

/* "n" whole, "-" a piece, "x" abandoned. */
static void assert_told(struct mpdu_extract *x, const char *want)
{
    char got[32];
    size_t n = 0;
    struct packet_piece piece;
    while (mpdu_extract_next(x, &piece))
        got[n++] = piece.abandoned ? 'x' : piece.last ? 'n' : '-';
    got[n] = '\0';
    ck_assert_str_eq(got, want);
}

START_TEST(defects)
{
    struct mpdu_extract x;
    struct mpdu_counts *n = &x.counts;
    mpdu_extract_init(&x, 100);
    ck_assert_int_eq(input_zone(&x, 9, 2, "aabbe504cafe"), FRAME_OK_VERDICT); /* in the middle */
    assert_told(&x, "n");
    ck_assert(n->skipped_bytes == 2 && n->gaps == 0 && n->idle == 14);
    ck_assert_int_eq(input_zone(&x, 9, 0, ""), FRAME_REPEATED_VERDICT);
    ck_assert_uint_eq(n->repeated, 1);
    input_zone(&x, 10, 0, "e51e"); /* 30 octets: 10 are to come */
    assert_told(&x, "-");
    input_zone(&x, 11, 10, "");
    assert_told(&x, "n");
    input_zone(&x, 12, 0, "e51e");
    assert_told(&x, "-");
    input_zone(&x, 13, 5, "0000000000e504cafe"); /* it ends at 10, not at 5 */
    assert_told(&x, "xn");
    ck_assert(n->pointer == 1 && n->cut == 1 && n->skipped_bytes == 7);
    input_zone(&x, 14, FRAME_NO_START, ""); /* something begins at 0 */
    assert_told(&x, "");
    ck_assert(n->pointer == 2 && n->cut == 1 && n->skipped_frames == 1 && n->skipped_bytes == 27);
    input_zone(&x, 15, 20, ""); /* beyond the zone */
    assert_told(&x, "");
    ck_assert(n->pointer == 3 && n->skipped_frames == 2);
    input_zone(&x, 16, 18, "000000000000000000000000000000000000e0e5"); /* half a header */
    assert_told(&x, "");
    input_zone(&x, 17, 2, "03bbe503aa");
    assert_told(&x, "nn");
    input_zone(&x, 19, 19, "00000000000000000000000000000000000000e5");
    assert_told(&x, "");
    ck_assert(n->gaps == 1 && n->lost == 1 && n->cut == 1);
    input_zone(&x, 21, 0, "e503aa"); /* the other half was lost */
    assert_told(&x, "n");
    ck_assert(n->gaps == 2 && n->lost == 2 && n->cut == 2);
    input_zone(&x, 22, 0, "e503aa40"); /* no version */
    assert_told(&x, "n");
    ck_assert_uint_eq(n->bad_version, 1);
    input_zone(&x, 23, 0, "e501"); /* no length */
    assert_told(&x, "");
    input_zone(&x, 24, 0, "e4");
    assert_told(&x, "");
    ck_assert_uint_eq(n->bad_length, 2);
    input_zone(&x, 25, 0, "e565"); /* 101 octets */
    assert_told(&x, "");
    ck_assert_uint_eq(n->too_long, 1);
    input_zone(&x, 26, FRAME_NO_START, "e503aa");
    assert_told(&x, "");
    input_zone(&x, 3, 0, "e503aa"); /* back: the sender restarted */
    assert_told(&x, "n");
    ck_assert_uint_eq(n->backward, 1);
    input_zone(&x, 4, 0, "e51e");
    assert_told(&x, "-");
    ck_assert(mpdu_extract_reset(&x) && !mpdu_extract_reset(&x));
    input_zone(&x, 77, 0, "e503aa"); /* with whatever count */
    assert_told(&x, "n");
    ck_assert(n->gaps == 2 && n->cut == 3);
}
END_TEST

START_TEST(idle_frames)
{
    struct mpdu_extract x;
    struct frame idle = {.kind = FRAME_TM,
                         .count = 1,
                         .count_bits = 24,
                         .only_idle = true,
                         .packets = true,
                         .pointer = FRAME_NO_START,
                         .zone = slice_of("idle", 4)};
    mpdu_extract_init(&x, 100);
    input_zone(&x, 0, 0, "e51e");
    assert_told(&x, "-");
    ck_assert_int_eq(mpdu_extract_input(&x, &idle), FRAME_IDLE_VERDICT); /* counted, not read */
    assert_told(&x, "");
    input_zone(&x, 2, 10, "");
    assert_told(&x, "n");
    idle.only_idle = idle.packets = false;
    idle.count = 3;
    ck_assert_int_eq(mpdu_extract_input(&x, &idle), FRAME_NO_PACKETS_VERDICT);
    assert_told(&x, "");
    ck_assert(x.counts.gaps == 0 && x.counts.no_packets == 1);
}
END_TEST

START_TEST(counts_come_round)
{
    struct mpdu_extract x;
    mpdu_extract_init(&x, 100);
    for (uint64_t c = 0xfffffe; c < 0x1000003; c++) {
        ck_assert_int_eq(input_zone(&x, c & 0xffffff, 0, ""), FRAME_OK_VERDICT);
        assert_told(&x, "");
    }
    ck_assert(x.counts.gaps == 0 && x.counts.backward == 0 && x.counts.frames == 5);
    struct mpdu_pack_config config = aos_config(64);
    struct mpdu_pack p;
    struct slice one;
    struct mpdu_frame out;
    uint8_t frame[64];
    config.count = 0xffffff;
    mpdu_pack_init(&p, &config);
    for (uint64_t want = 0xffffff; want != 1; want = (want + 1) & 0xffffff) {
        mpdu_pack_open(&p, frame, &one);
        mpdu_pack_fill(&p);
        mpdu_pack_close(&p, NULL, &out);
        ck_assert_uint_eq(out.count, want);
    }
}
END_TEST

START_TEST(problems)
{
    struct mpdu_pack_config good = aos_config(64), c;
    ck_assert_ptr_null(mpdu_pack_problem(&good));
    c = good, c.format.length = 0;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c = good, c.format = (struct frame_format){.kind = FRAME_TC, .length = 100};
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c = good, c.scid = 256;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c.format.wide_scid = true;
    ck_assert_ptr_null(mpdu_pack_problem(&c));
    c = good, c.vcid = 63;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c = good, c.map = 1;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c = good, c.gather_min = 8;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c = good, c.idle = (enum packet_kind)1;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
    c.format = (struct frame_format){.kind = FRAME_TM, .length = 64}, c.idle = PACKET_SPACE;
    ck_assert_ptr_null(mpdu_pack_problem(&c));
    c.replay = true;
    ck_assert_ptr_nonnull(mpdu_pack_problem(&c));
}
END_TEST

SUITE(frames_mpdu, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, packs_vectors);
    tcase_add_test(t, extracts_vectors);
    tcase_add_test(t, without_loss);
    tcase_add_test(t, with_loss);
    tcase_add_test(t, gathers);
    tcase_add_test(t, defects);
    tcase_add_test(t, idle_frames);
    tcase_add_test(t, counts_come_round);
    tcase_add_test(t, problems);
}
