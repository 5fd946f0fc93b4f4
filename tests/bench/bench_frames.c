/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What frames cost, on one core, in Gbit/s of frames: check values three ways, randomising, packing
 * packets into AOS frames of 1115 octets (copied, or gathered), reading the frames and the packets
 * in them, CLTUs. The best of many rounds. JSON on standard output.
 *
 *   bench_frames [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frames/cltu.h"
#include "frames/fecf.h"
#include "frames/frame_stream.h"
#include "frames/mpdu_extract.h"
#include "frames/mpdu_pack.h"
#include "frames/pn.h"
#include "frames/tc_pack.h"

enum { LENGTH = 1115, FRAMES = 512, BYTES = LENGTH * FRAMES, PAYLOAD_MAX = 16384 };

struct bench {
    uint8_t *frames;
    uint8_t *payload;
    struct slice *slices;
    size_t packet_len;
    uint32_t gather_min;
    uint64_t sum; /* so that nothing is left out */
    uint64_t packets;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct frame_format format = {.kind = FRAME_AOS, .length = LENGTH, .fecf = 2};

static void check_clmul(struct bench *b)
{
    for (size_t i = 0; i < FRAMES; i++)
        b->sum += fecf_crc(FECF_INIT, b->frames + i * LENGTH, LENGTH);
}

static void check_sliced(struct bench *b)
{
    for (size_t i = 0; i < FRAMES; i++)
        b->sum += fecf_crc_sliced(FECF_INIT, b->frames + i * LENGTH, LENGTH);
}

static void check_bytewise(struct bench *b)
{
    for (size_t i = 0; i < FRAMES; i++)
        b->sum += fecf_crc_bytewise(FECF_INIT, b->frames + i * LENGTH, LENGTH);
}

static void randomise(struct bench *b)
{
    for (size_t i = 0; i < FRAMES; i++)
        pn_apply(PN_TM, b->frames + i * LENGTH, b->frames + i * LENGTH, LENGTH);
}

static void pack(struct bench *b)
{
    struct mpdu_pack_config config = {
        .format = format, .scid = 0xab, .vcid = 5, .idle = PACKET_ENCAP};
    struct mpdu_pack p;
    struct mpdu_frame out;
    uint8_t header[PACKET_HEADER_MAX];
    config.gather_min = b->gather_min;
    mpdu_pack_init(&p, &config);
    for (size_t i = 0; i < FRAMES; i++) {
        mpdu_pack_open(&p, b->frames + i * LENGTH, b->slices);
        while (!mpdu_pack_full(&p)) {
            struct slice s = slice_of(b->payload, b->packet_len);
            size_t n = packet_write_encap(PACKET_LTP, s.len, header);
            mpdu_pack_put(&p, header, n, &s, 1);
        }
        mpdu_pack_close(&p, NULL, &out);
        b->sum += out.slice_count;
    }
    b->packets = p.totals.packets;
}

static void extract(struct bench *b)
{
    struct frame_channel c = {.format = format, .scid = 0xab};
    struct mpdu_extract x;
    mpdu_extract_init(&x, PAYLOAD_MAX * 2);
    for (size_t i = 0; i < FRAMES; i++) {
        struct frame f;
        struct packet_piece piece;
        if (frame_input(&c, b->frames + i * LENGTH, LENGTH, &f) != FRAME_OK_VERDICT ||
            mpdu_extract_input(&x, &f) != FRAME_OK_VERDICT)
            abort();
        while (mpdu_extract_next(&x, &piece))
            b->sum += piece.data.len;
    }
    b->packets = x.counts.packets;
}

static void join(struct bench *b)
{
    static uint8_t buffer[PAYLOAD_MAX * 2];
    struct frame_channel c = {.format = format, .scid = 0xab};
    struct packet_join j = {.buffer = buffer, .room = sizeof buffer};
    struct mpdu_extract x;
    mpdu_extract_init(&x, PAYLOAD_MAX * 2);
    for (size_t i = 0; i < FRAMES; i++) {
        struct frame f;
        struct packet_piece piece;
        struct slice payload;
        if (frame_input(&c, b->frames + i * LENGTH, LENGTH, &f) != FRAME_OK_VERDICT ||
            mpdu_extract_input(&x, &f) != FRAME_OK_VERDICT)
            abort();
        while (mpdu_extract_next(&x, &piece))
            if (packet_join(&j, &piece, &payload))
                b->sum += payload.data[0];
    }
}

static void make_cltus(struct bench *b)
{
    static uint8_t out[2048];
    for (size_t i = 0; i < FRAMES; i++)
        b->sum += cltu_write(b->frames + i * LENGTH, 1024, true, out, sizeof out);
}

static void read_cltus(struct bench *b)
{
    static uint8_t in[2048], out[2048];
    size_t n = cltu_write(b->frames, 1024, true, in, sizeof in);
    struct cltu c;
    for (size_t i = 0; i < FRAMES; i++) {
        if (cltu_read(in, n, BCH_CORRECT, true, out, sizeof out, &c) != CLTU_OK)
            abort();
        b->sum += c.len;
    }
}

/* Packets of 1000 octets in TC frames of 1024, whole. */
static void pack_tc(struct bench *b)
{
    static uint8_t out[FRAME_TC_MAX];
    const struct tc_pack_config c = {
        .format = {.kind = FRAME_TC, .length = FRAME_TC_MAX, .fecf = 2}, .numbered = true};
    struct slice payload = slice_of(b->payload, 1000);
    uint8_t header[PACKET_HEADER_MAX];
    size_t n = packet_write_encap(PACKET_LTP, payload.len, header);
    struct tc_pack p;
    tc_pack_init(&p, &c);
    for (size_t i = 0; i < FRAMES; i++) {
        if (tc_pack_put(&p, header, n, &payload, 1) != TC_PACK_TAKEN)
            abort();
        b->sum += tc_pack_close(&p, out);
    }
}

/* What came by TCP, in pieces of 64 KiB, behind markers: a marker and as much as a frame has. */
static void read_stream(struct bench *b)
{
    enum { PIECE = 65536 };
    static uint8_t buffer[4 * PIECE];
    struct frame_stream s;
    struct slice frame;
    frame_stream_init(&s, FRAME_STREAM_MARKED, LENGTH - FRAME_ASM_LEN, buffer, sizeof buffer);
    for (size_t i = 0; i < FRAMES; i++)
        memcpy(b->frames + i * LENGTH, "\x1a\xcf\xfc\x1d", FRAME_ASM_LEN);
    for (size_t at = 0; at < BYTES;) {
        size_t room, n = BYTES - at < PIECE ? BYTES - at : PIECE;
        uint8_t *to = frame_stream_space(&s, &room);
        n = n < room ? n : room;
        memcpy(to, b->frames + at, n);
        frame_stream_fed(&s, n);
        at += n;
        while (frame_stream_next(&s, &frame))
            b->sum += frame.data[0];
    }
}

static double measure(void (*run)(struct bench *), struct bench *b, size_t bytes, int rounds)
{
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        double start = now_s();
        run(b);
        double took = now_s() - start;
        best = took < best ? took : best;
    }
    return 8e-9 * (double)bytes / best;
}

static void bench_packets(struct bench *b, size_t len, int rounds, bool last)
{
    b->packet_len = len;
    b->gather_min = 64;
    double gathered = measure(pack, b, BYTES, rounds);
    b->gather_min = 0;
    double copied = measure(pack, b, BYTES, rounds);
    double per = (double)b->packets / FRAMES;
    double read = measure(extract, b, BYTES, rounds), whole = measure(join, b, BYTES, rounds);
    printf("    {\"payload_bytes\": %zu, \"packets_a_frame\": %.2f, \"pack_copied\": %.1f, "
           "\"pack_gathered\": %.1f, \"extract\": %.1f, \"extract_joined\": %.1f}%s\n",
           len, per, copied, gathered, read, whole, last ? "" : ",");
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {20, 100, 500, 1100, 1400, PAYLOAD_MAX};
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 20 : 400;
    struct bench b = {.frames = malloc(BYTES),
                      .payload = malloc(PAYLOAD_MAX),
                      .slices = malloc(LENGTH * sizeof(struct slice))};
    if (b.frames == NULL || b.payload == NULL || b.slices == NULL)
        return 1;
    memset(b.payload, 0x5a, PAYLOAD_MAX);
    memset(b.frames, 0x5a, BYTES);
    printf("{\"frame_bytes\": %d, \"unit\": \"Gbit/s\",\n", LENGTH);
    printf("  \"fecf\": %.1f, \"fecf_sliced\": %.1f, \"fecf_bytewise\": %.1f,\n",
           measure(check_clmul, &b, BYTES, rounds), measure(check_sliced, &b, BYTES, rounds),
           measure(check_bytewise, &b, BYTES, rounds));
    printf("  \"randomise\": %.1f, \"cltu_write\": %.1f, \"cltu_read\": %.1f,\n",
           measure(randomise, &b, BYTES, rounds), measure(make_cltus, &b, 1024 * FRAMES, rounds),
           measure(read_cltus, &b, 1024 * FRAMES, rounds));
    printf("  \"tc_packed\": %.1f, \"stream\": %.1f,\n",
           measure(pack_tc, &b, 1000 * FRAMES, rounds), measure(read_stream, &b, BYTES, rounds));
    printf("  \"packets\": [\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        bench_packets(&b, sizes[i], rounds, i + 1 == sizeof sizes / sizeof sizes[0]);
    printf("  ]}\n");
    free(b.frames);
    free(b.payload);
    free(b.slices);
    return b.sum == 0;
}
