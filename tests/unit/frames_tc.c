/* SPDX-License-Identifier: Apache-2.0 */
/* Packets in TC frames of type BD, whole and in segments, with frames that are lost; and frames out
 * of a stream of octets, in each of its modes. */
#include "base/rng.h"
#include "frames/cltu.h"
#include "frames/frame_stream.h"
#include "frames/tc_extract.h"
#include "frames/tc_pack.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

enum { PACKETS = 400, LONGEST = 3000, FRAMES = 4000, ROOM = LONGEST + PACKET_HEADER_MAX };

struct sent {
    size_t len;
    uint8_t bytes[LONGEST];
};

struct out {
    size_t len;
    uint8_t bytes[FRAME_TC_MAX];
};

static struct sent sent[PACKETS];
static struct out out[FRAMES];
static size_t sent_len, out_len;

static struct tc_pack_config config_of(uint32_t length, bool segments, bool numbered)
{
    return (struct tc_pack_config){
        .format = {.kind = FRAME_TC, .length = length, .fecf = 2, .segments = segments},
        .scid = 0x1ab,
        .vcid = 3,
        .map = segments ? 9 : 0,
        .numbered = numbered};
}

static void close_frame(struct tc_pack *p)
{
    ck_assert_uint_lt(out_len, FRAMES);
    struct out *o = &out[out_len++];
    o->len = tc_pack_close(p, o->bytes);
    ck_assert_uint_le(o->len, p->config.format.length);
}

static enum tc_pack_result put(struct tc_pack *p, const uint8_t *bytes, size_t len)
{
    uint8_t header[PACKET_HEADER_MAX];
    struct slice parts[2] = {slice_of(bytes, len / 3), slice_of(bytes + len / 3, len - len / 3)};
    size_t n = packet_write_encap(PACKET_LTP, len, header);
    enum tc_pack_result r;
    while ((r = tc_pack_put(p, header, n, parts, 2)) == TC_PACK_FULL)
        close_frame(p);
    while (tc_pack_full(p))
        close_frame(p);
    return r;
}

/* Packets of 1 to `longest` octets, a frame that is not full closed now and then. */
static struct tc_pack pack_drawn(struct rng *rng, const struct tc_pack_config *c, size_t longest)
{
    struct tc_pack p;
    tc_pack_init(&p, c);
    out_len = 0;
    for (sent_len = 0; sent_len < PACKETS; sent_len++) {
        struct sent *s = &sent[sent_len];
        s->len = 1 + rng_below(rng, rng_chance(rng, 0.5) ? 60 : longest);
        for (size_t i = 0; i < s->len; i++)
            s->bytes[i] = (uint8_t)rng_u64(rng);
        ck_assert_int_eq(put(&p, s->bytes, s->len), TC_PACK_TAKEN);
        if (tc_pack_open(&p) && rng_chance(rng, 0.2))
            close_frame(&p);
    }
    if (tc_pack_open(&p))
        close_frame(&p);
    return p;
}

/* Each packet that comes is one that was sent, after those that came before. Returns how many. */
static size_t extract_all(const struct tc_pack_config *c, struct rng *rng, double erase,
                          struct mpdu_counts *counts)
{
    static uint8_t buffer[ROOM];
    struct tc_extract x;
    struct tc_extract_config config = {
        .numbered = c->numbered, .map = c->map, .buffer = buffer, .room = sizeof buffer};
    size_t got = 0, next = 0;
    tc_extract_init(&x, &config);
    for (size_t i = 0; i < out_len; i++) {
        struct frame f;
        struct packet_piece piece;
        if (rng_chance(rng, erase))
            continue;
        ck_assert_int_eq(frame_parse(&c->format, out[i].bytes, out[i].len, &f), FRAME_OK_VERDICT);
        ck_assert(f.scid == 0x1ab && f.vcid == 3 && f.bypass && !f.command);
        ck_assert_int_eq(tc_extract_input(&x, &f), FRAME_OK_VERDICT);
        for (; tc_extract_next(&x, &piece); got++, next++) {
            ck_assert(piece.offset == 0 && piece.last && piece.packet->protocol == PACKET_LTP);
            while (next < sent_len &&
                   (sent[next].len != piece.data.len ||
                    memcmp(sent[next].bytes, piece.data.data, piece.data.len) != 0))
                next++;
            ck_assert_msg(next < sent_len, "what was never sent, or out of order");
        }
    }
    *counts = x.counts;
    return got;
}

START_TEST(packets_in_frames)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int kind = 0; kind < 4; kind++) {
        struct tc_pack_config c = config_of(kind & 1 ? 1024 : 300, kind & 2, kind & 1);
        struct tc_pack p = pack_drawn(&rng, &c, kind & 2 ? LONGEST : 280);
        struct mpdu_counts n;
        ck_assert_uint_eq(extract_all(&c, &rng, 0, &n), PACKETS);
        ck_assert(p.totals.packets == PACKETS && p.totals.frames == out_len);
        ck_assert(n.frames == out_len && n.packets == PACKETS && n.lost == 0 && n.cut == 0);
        ck_assert_uint_lt(out_len, kind & 2 ? FRAMES : PACKETS); /* several share a frame */
        if (!c.numbered)
            ck_assert(out[0].bytes[4] == 0 && out[out_len - 1].bytes[4] == 0);
    }
}
END_TEST

START_TEST(lost_frames)
{
    struct rng rng;
    struct mpdu_counts n;
    rng_init(&rng, 2);
    struct tc_pack_config c = config_of(500, true, true);
    (void)pack_drawn(&rng, &c, LONGEST);
    size_t got = extract_all(&c, &rng, 0.05, &n);
    ck_assert(got > PACKETS / 2 && got < PACKETS);
    ck_assert_uint_gt(n.gaps, 10);
    ck_assert(n.cut > 0 && n.skipped_frames > 0);
    ck_assert_uint_le(out_len - n.frames - n.lost, 5); /* losses at the end show to nobody */
    ck_assert_uint_eq(n.packets, got);
}
END_TEST

START_TEST(what_does_not_fit)
{
    struct tc_pack_config c = config_of(100, false, true);
    struct tc_pack p;
    uint8_t bytes[200] = {0};
    tc_pack_init(&p, &c);
    out_len = 0;
    ck_assert_int_eq(put(&p, bytes, 91), TC_PACK_TAKEN); /* 100 - 7 - 2: exactly full */
    ck_assert_uint_eq(out_len, 1);
    ck_assert_int_eq(put(&p, bytes, 92), TC_PACK_LONG);
    ck_assert(!tc_pack_open(&p) && p.totals.packets == 1);
    c.scid = 1024;
    ck_assert_ptr_nonnull(tc_pack_problem(&c));
    c = config_of(1025, true, true);
    ck_assert_ptr_nonnull(tc_pack_problem(&c));
    c = config_of(100, false, true);
    c.map = 1;
    ck_assert_ptr_nonnull(tc_pack_problem(&c));
    c.format.kind = FRAME_AOS;
    ck_assert_ptr_nonnull(tc_pack_problem(&c));
}
END_TEST

/* One frame for the reader; its verdict. */
static enum frame_verdict feed(struct tc_extract *x, const struct frame *head, const char *zone)
{
    struct frame_format format = {.kind = FRAME_TC, .length = 200, .segments = true};
    uint8_t bytes[200];
    struct frame f;
    size_t n = frame_write_tc(&format, head, slice_of(zone, strlen(zone)), bytes, sizeof bytes);
    ck_assert_int_eq(frame_parse(&format, bytes, n, &f), FRAME_OK_VERDICT);
    enum frame_verdict v = tc_extract_input(x, &f);
    struct packet_piece piece;
    while (v == FRAME_OK_VERDICT && tc_extract_next(x, &piece))
        ck_assert_uint_eq(piece.data.len, 4);
    return v;
}

/* Of type AD, when FARM-1 has accepted them: whole packets and segments; never control commands. */
START_TEST(accepted_frames)
{
    uint8_t buffer[16];
    struct tc_extract x;
    struct tc_extract_config c = {.accepted = true, .map = 9, .buffer = buffer, .room = 16};
    struct frame h = {.kind = FRAME_TC, .map = 9, .sequence = 3, .count = 200};
    tc_extract_init(&x, &c);
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_OK_VERDICT);
    h.sequence = 1;
    ck_assert_int_eq(feed(&x, &h, "\xe5"), FRAME_OK_VERDICT);
    h.sequence = 2;
    ck_assert_int_eq(feed(&x, &h, "\x06wxyz"), FRAME_OK_VERDICT);
    h.bypass = true; /* type BD */
    h.sequence = 3;
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_OK_VERDICT);
    h.command = true;
    ck_assert_int_eq(feed(&x, &h, "\x82"), FRAME_NO_PACKETS_VERDICT);
    ck_assert(x.counts.packets == 3 && x.counts.no_packets == 1);
}
END_TEST

START_TEST(what_is_not_read)
{
    uint8_t buffer[16];
    struct tc_extract x;
    struct tc_extract_config c = {.numbered = true, .map = 9, .buffer = buffer, .room = 16};
    struct frame h = {.kind = FRAME_TC, .map = 9, .bypass = true, .sequence = 3};
    tc_extract_init(&x, &c);
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_OK_VERDICT);
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_REPEATED_VERDICT);
    h.bypass = false; /* type AD */
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_NO_PACKETS_VERDICT);
    h.bypass = true;
    h.map = 8;
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz"), FRAME_NO_PACKETS_VERDICT);
    h.map = 9;
    h.count = 1;
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz\xe5\x06wx"), FRAME_OK_VERDICT); /* cut */
    h.count = 2;
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz\x60zzz"), FRAME_OK_VERDICT); /* version 3 */
    h = (struct frame){.kind = FRAME_TC, .map = 9, .bypass = true, .sequence = 2, .count = 3};
    ck_assert_int_eq(feed(&x, &h, "last"), FRAME_OK_VERDICT); /* of what? */
    h.sequence = 1;
    h.count = 4;
    ck_assert_int_eq(feed(&x, &h, "\xe5\x06wxyz......"), FRAME_OK_VERDICT);
    h.sequence = 0;
    h.count = 5;
    ck_assert_int_eq(feed(&x, &h, "....."), FRAME_OK_VERDICT); /* more than its buffer has */
    h.sequence = 1;
    h.count = 6;
    ck_assert_int_eq(feed(&x, &h, "\xe5"), FRAME_OK_VERDICT);
    h.sequence = 2;
    h.count = 7;
    ck_assert_int_eq(feed(&x, &h, "\x06wxyz"), FRAME_OK_VERDICT); /* well */
    const struct mpdu_counts *n = &x.counts;
    ck_assert(n->packets == 4 && n->no_packets == 2 && n->repeated == 1 && n->too_long == 1);
    ck_assert(n->cut == 1 && n->bad_version == 1 && n->skipped_frames == 1 && n->lost == 0);
}
END_TEST

/* ---- streams ---- */

static const uint32_t length_of[] = {200, 200, 300, 300};
static uint8_t octets[FRAMES * 64], stream_buffer[4096];
static size_t octets_len;

static void add_octets(const void *data, size_t len)
{
    ck_assert_uint_le(octets_len + len, sizeof octets);
    memcpy(octets + octets_len, data, len);
    octets_len += len;
}

static void write_unit(enum frame_stream_mode mode, struct rng *rng, struct out *o)
{
    static const uint8_t marker[] = {0x1a, 0xcf, 0xfc, 0x1d};
    bool variable = mode == FRAME_STREAM_TC || mode == FRAME_STREAM_CLTU;
    o->len = variable ? 8 + rng_below(rng, 292) : 200;
    for (size_t i = 0; i < o->len; i++)
        o->bytes[i] = (uint8_t)rng_u64(rng);
    if (variable) { /* a TC frame's header */
        o->bytes[0] = 0x21;
        o->bytes[2] = (uint8_t)((o->len - 1) >> 8);
        o->bytes[3] = (uint8_t)((o->len - 1) & 0xff);
    }
    if (mode == FRAME_STREAM_MARKED)
        add_octets(marker, sizeof marker);
    if (mode != FRAME_STREAM_CLTU) {
        add_octets(o->bytes, o->len);
        return;
    }
    uint8_t cltu[600];
    add_octets(cltu, cltu_write(o->bytes, o->len, false, cltu, sizeof cltu));
}

static bool is_frame(enum frame_stream_mode mode, struct slice got, const struct out *o)
{
    uint8_t plain[400];
    struct cltu c;
    if (mode != FRAME_STREAM_CLTU)
        return got.len == o->len && memcmp(got.data, o->bytes, o->len) == 0;
    return cltu_read(got.data, got.len, BCH_CORRECT, false, plain, sizeof plain, &c) == CLTU_OK &&
           c.used == got.len && memcmp(plain, o->bytes, o->len) == 0;
}

/* In drawn pieces; how many of the frames came, in their order. */
static size_t read_stream(struct frame_stream *s, enum frame_stream_mode mode, struct rng *rng)
{
    size_t at = 0, got = 0, next = 0;
    frame_stream_init(s, mode, length_of[mode], stream_buffer, sizeof stream_buffer);
    while (at < octets_len) {
        size_t room;
        uint8_t *to = frame_stream_space(s, &room);
        size_t n = 1 + rng_below(rng, rng_chance(rng, 0.5) ? 3 : room);
        n = n < octets_len - at ? n : octets_len - at;
        n = n < room ? n : room;
        memcpy(to, octets + at, n);
        at += n;
        frame_stream_fed(s, n);
        struct slice frame;
        bool ready = frame_stream_ready(s);
        for (bool first = true; frame_stream_next(s, &frame); first = false) {
            ck_assert(ready || !first);
            while (next < out_len && !is_frame(mode, frame, &out[next]))
                next++;
            if (next == out_len)
                return got;
            got++;
            next++;
        }
    }
    return got;
}

START_TEST(streams)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (enum frame_stream_mode m = FRAME_STREAM_FIXED; m <= FRAME_STREAM_CLTU; m++) {
        struct frame_stream s;
        octets_len = 0;
        for (out_len = 0; out_len < 300; out_len++)
            write_unit(m, &rng, &out[out_len]);
        ck_assert_uint_eq(read_stream(&s, m, &rng), out_len);
        ck_assert(s.skipped == 0 && s.at == s.have);
    }
}
END_TEST

/* What is nothing is skipped, and counted; half a frame's worth of it costs at most the next. */
START_TEST(streams_with_noise)
{
    struct rng rng;
    rng_init(&rng, 4);
    for (enum frame_stream_mode m = FRAME_STREAM_MARKED; m <= FRAME_STREAM_CLTU; m += 2) {
        struct frame_stream s;
        size_t noise = 0;
        octets_len = 0;
        for (out_len = 0; out_len < 300; out_len++) {
            if (rng_chance(&rng, 0.3)) {
                uint8_t bytes[40];
                size_t n = 1 + rng_below(&rng, sizeof bytes);
                for (size_t i = 0; i < n; i++)
                    bytes[i] = (uint8_t)rng_u64(&rng) & 0x7f; /* no beginning of a CLTU */
                add_octets(bytes, n);
                noise += n;
            }
            write_unit(m, &rng, &out[out_len]);
        }
        ck_assert_uint_eq(read_stream(&s, m, &rng), out_len);
        ck_assert_uint_eq(s.skipped, noise);
        frame_stream_reset(&s);
        ck_assert_uint_eq(s.have, 0);
    }
}
END_TEST

/* Octets come as they are, in pieces of at most the length. */
START_TEST(streams_of_octets)
{
    struct rng rng;
    struct frame_stream s;
    struct slice piece;
    size_t at = 0, got = 0;
    rng_init(&rng, 5);
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (uint8_t)rng_u64(&rng);
    frame_stream_init(&s, FRAME_STREAM_OCTETS, 200, stream_buffer, 400);
    ck_assert_uint_eq(frame_stream_unit(FRAME_STREAM_OCTETS, 200), 200);
    ck_assert(!frame_stream_ready(&s) && !frame_stream_next(&s, &piece));
    while (at < sizeof octets) {
        size_t room;
        uint8_t *to = frame_stream_space(&s, &room);
        size_t n = 1 + rng_below(&rng, room);
        n = n < sizeof octets - at ? n : sizeof octets - at;
        memcpy(to, octets + at, n);
        at += n;
        frame_stream_fed(&s, n);
        ck_assert(frame_stream_ready(&s));
        while (frame_stream_next(&s, &piece)) {
            ck_assert(piece.len == 200 || got + piece.len == at);
            ck_assert_mem_eq(piece.data, octets + got, piece.len);
            got += piece.len;
        }
        ck_assert_uint_eq(got, at); /* none waits for more */
    }
    ck_assert_uint_eq(s.skipped, 0);
    (void)frame_stream_space(&s, &at);
    frame_stream_fed(&s, 7);
    frame_stream_reset(&s);
    ck_assert(s.skipped == 7 && !frame_stream_ready(&s));
}
END_TEST

SUITE(frames_tc, t)
{
    tcase_add_test(t, packets_in_frames);
    tcase_add_test(t, lost_frames);
    tcase_add_test(t, what_does_not_fit);
    tcase_add_test(t, what_is_not_read);
    tcase_add_test(t, accepted_frames);
    tcase_add_test(t, streams);
    tcase_add_test(t, streams_with_noise);
    tcase_add_test(t, streams_of_octets);
}
