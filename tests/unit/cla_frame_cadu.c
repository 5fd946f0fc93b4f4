/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams over frames in CADUs, in a virtual world: by datagrams that are joined and cut, over
 * TCP connections, by recordings that a demodulator shifted and inverted; damage up to what
 * Reed-Solomon corrects and beyond; several virtual channels; what the configuration refuses. */
#include <stdio.h>
#include <unistd.h>

#include "frame_port_help.h"
#include "tests/unit/suite.h"

enum { STREAM_MAX = 1 << 21 };

/* What was on the channel, in its order. */
static uint8_t stream[STREAM_MAX];
static size_t stream_len, unit_len;

static struct frame_keys cadu_keys(int kind, enum frame_code_kind code)
{
    struct frame_keys k = keys_of(kind, 1115, 0);
    k.cadu = (int)code;
    k.cadu_interleave = 5;
    k.cadu_randomise = FRAME_CODE_SHORT;
    k.cadu_marker_errors = 4;
    return k;
}

static void run_until(tick end)
{
    while (virtual_due(&w.v) <= end) {
        virtual_advance(&w.v, virtual_due(&w.v));
        virtual_fire(&w.v);
        (void)world_end_round(&w.v.world);
    }
    virtual_advance(&w.v, end);
}

static void draw_datagram(struct end *from, size_t most)
{
    struct datagram *d = &w.sent[w.sent_len++];
    d->len = 1 + rng_below(&w.rng, most);
    for (size_t k = 0; k < d->len; k++)
        d->bytes[k] = (uint8_t)rng_u64(&w.rng);
    send_bytes(from, d->bytes, d->len);
    ck_assert(udp_flush(from->port->io));
}

/* Takes what is on the way off it, as one stream. */
static void gather_stream(void)
{
    stream_len = 0;
    for (; w.arrived < w.flying; w.arrived++) {
        const struct flight *f = &w.flight[w.arrived];
        ck_assert_uint_le(stream_len + f->len, sizeof stream);
        memcpy(stream + stream_len, f->bytes, f->len);
        stream_len += f->len;
    }
}

/* In datagrams of up to `most` octets. */
static void arrive_stream(size_t most)
{
    for (size_t at = 0, n; at < stream_len; at += n) {
        n = rng_below(&w.rng, most + 1);
        n = n < stream_len - at ? n : stream_len - at;
        virtual_arrive(virtual_port_at(&w.v, 2), &w.a.self, slice_of(stream + at, n));
    }
}

static void begin_gathered(const struct frame_keys *k, size_t datagrams, size_t most)
{
    begin(k);
    for (size_t i = 0; i < datagrams; i++)
        draw_datagram(&w.a, most);
    unit_len = w.flight[0].len;
    gather_stream();
    ck_assert_uint_eq(stream_len, w.flying * unit_len);
}

START_TEST(each_kind)
{
    static const size_t lengths[] = {
        0,        4 + 1115, 4 + 1275, 4 + 1115 + 5 * 16, 8 + 1024,
        8 + 768,  8 + 640,  4 + 1020, 8 + 447,           0 /* soft symbols only: cla_frame_soft */,
        16 + 894, 24 + 1341};
    for (int kind = FRAMES_TM; kind <= FRAMES_AOS; kind++) {
        for (int code = FRAME_CODE_UNCODED; code <= FRAME_CODE_TURBO_1_6; code++) {
            struct frame_keys k = cadu_keys(kind, (enum frame_code_kind)code);
            if (lengths[code] == 0)
                continue;
            if (code >= FRAME_CODE_LDPC_1_2)
                k.out.length = code >= FRAME_CODE_TURBO_1_2  ? 223
                               : code == FRAME_CODE_LDPC_7_8 ? 892
                                                             : 512;
            k.cadu_randomise = code % 3;
            k.cadu_basis = code % 2;
            /* as many CADUs of each code: short frames carry fewer datagrams */
            const size_t datagrams = 300 * (size_t)k.out.length / 1115;
            begin(&k);
            send_drawn(&w.a, datagrams);
            struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
            ck_assert_uint_eq(w.flight[0].len, lengths[code]);
            ck_assert(w.b.got == datagrams && a.sent.frames == w.flying && a.wire.out == w.flying);
            ck_assert(b.cadus && b.wire.in == w.flying && b.wire.skipped_bytes == 0);
            ck_assert(b.received.lost == 0 && b.line.cadu_erred == 0 &&
                      b.line.cadu_sync_losses == 0);
            ck_assert_uint_eq(b.line.cadu_good, code == FRAME_CODE_UNCODED ? 0 : w.flying);
            ck_assert_uint_eq(b.line.cadu_iterations,
                              code < FRAME_CODE_LDPC_1_2 ? 0 : w.flying); /* one round each */
            ck_assert_uint_eq(frame_port_air(w.a.port).octets, w.flying * lengths[code]);
            end_world();
        }
    }
}
END_TEST

/* A bit is an octet on the way; the link's rate counts bits as before. */
START_TEST(soft_symbols)
{
    struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    k.cadu_symbols = 1;
    k.cadu_interleave = 1;
    k.out.length = 120;
    begin(&k);
    send_drawn(&w.a, 300);
    ck_assert_uint_eq(w.flight[0].len, 8 * (4 + 152));
    ck_assert(w.b.got == 300 && count_of(&w.b).line.cadu_good == w.flying);
    ck_assert_uint_eq(frame_port_air(w.a.port).octets, w.flying * (4 + 152));
    end_world();
}
END_TEST

/* With wrong bits that Reed-Solomon alone would not correct. The idle frames behind the last one
 * are what it is decided with. */
START_TEST(convolutional)
{
    static const struct {
        int rate;
        double wrong;
    } cases[] = {{FRAME_CODE_CONV_1_2, 0.03}, {FRAME_CODE_CONV_3_4, 0.01}};
    for (size_t i = 0; i < 2; i++) {
        struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
        k.cadu_interleave = 1;
        k.out.length = 223;
        k.cadu_convolutional = cases[i].rate;
        k.idle = 10 * TICK_MS;
        begin_world();
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        k.idle = 3600 * TICK_S;
        open_end(&w.b, &k, "127.0.0.1:2", "127.0.0.1:1");
        for (int n = 0; n < 100; n++)
            draw_datagram(&w.a, 1000);
        run_until(100 * TICK_MS);
        gather_stream();
        size_t wrong = 0;
        for (size_t bit = 0; bit < 8 * stream_len; bit++)
            if (rng_chance(&w.rng, cases[i].wrong)) {
                stream[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
                wrong++;
            }
        arrive_stream(3000);
        run_until(w.v.now + TICK_S);
        const struct frame_port_counters b = count_of(&w.b);
        ck_assert_uint_eq(w.b.got, 100);
        ck_assert(b.received.lost == 0 && b.line.cadu_erred == 0);
        ck_assert(b.line.cadu_symbols_wrong > wrong / 2 && b.line.cadu_symbols_wrong <= wrong);
        ck_assert(frame_port_air(w.a.port).octets < stream_len && b.line.misfits == 0);
        end_world();
    }
}
END_TEST

/* A datagram is no unit: they are cut and joined, and a bit of each fifth codeword is wrong. */
START_TEST(joined_and_cut)
{
    static const size_t most[] = {100, 3000, 60000};
    for (size_t i = 0; i < 3; i++) {
        struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
        begin_gathered(&k, 200, LONGEST);
        for (size_t at = 4; at < stream_len; at += unit_len)
            stream[at + rng_below(&w.rng, unit_len - 4)] ^= 0x10;
        arrive_stream(most[i]);
        struct frame_port_counters b = count_of(&w.b);
        ck_assert_uint_eq(w.b.got, 200);
        ck_assert_uint_eq(b.line.cadu_corrected, w.flying);
        ck_assert_uint_eq(b.line.misfits, 0);
        ck_assert(b.received.lost == 0 && b.line.cadu_sync_losses == 0 && b.line.cadu_erred == 0);
        end_world();
    }
}
END_TEST

/* A unit with one wrong symbol more than can be corrected is a frame that is lost, as its
 * neighbours know by their counts; nothing of it is read. */
START_TEST(beyond_capacity)
{
    struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    size_t bad = 0, corrected = 0;
    begin_gathered(&k, 300, LONGEST);
    for (size_t n = 1; n < w.flying - 1; n++) { /* its neighbours show a loss */
        uint8_t *block = stream + n * unit_len + 4;
        size_t errors = rng_below(&w.rng, 19), word = rng_below(&w.rng, 5);
        for (size_t e = 0; e < errors; e++)
            block[word + 5 * (3 + 13 * e)] ^= (uint8_t)(1 + rng_below(&w.rng, 255));
        bad += errors > 16;
        corrected += errors > 16 ? 0 : errors;
    }
    arrive_stream(2000);
    struct frame_port_counters b = count_of(&w.b);
    ck_assert_uint_gt(bad, 10);
    ck_assert_uint_eq(b.line.cadu_erred, bad);
    ck_assert_uint_eq(b.line.cadu_codewords_failed, bad);
    ck_assert_uint_eq(b.line.cadu_good, w.flying - bad);
    ck_assert_uint_eq(b.line.cadu_corrected, corrected);
    ck_assert(b.received.lost == bad && b.received.frames == w.flying - bad);
    ck_assert(b.verdicts[FRAME_OK_VERDICT] == w.flying - bad && b.wire.in == w.flying);
    ck_assert(w.b.got == b.received.packets && w.b.got < 300 && w.b.got > 100);
    end_world();
}
END_TEST

/* Without a code the frames' own check values tell. */
START_TEST(uncoded_damage)
{
    struct frame_keys k = cadu_keys(FRAMES_TM, FRAME_CODE_UNCODED);
    size_t bad = 0;
    begin_gathered(&k, 200, LONGEST);
    for (size_t n = 1; n < w.flying - 1; n += 7, bad++)
        stream[n * unit_len + 4 + rng_below(&w.rng, unit_len - 4)] ^= 0x01;
    arrive_stream(2000);
    struct frame_port_counters b = count_of(&w.b);
    ck_assert(b.verdicts[FRAME_FECF_VERDICT] == bad && b.line.cadu_erred == 0);
    ck_assert(b.received.lost == bad && w.b.got < 200 && w.b.got > 50);
    end_world();
}
END_TEST

/* Octets are lost on the way: the place of the next marker is lost and found. */
START_TEST(sync_losses)
{
    struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    size_t cuts = 0, len = 0;
    begin_gathered(&k, 300, LONGEST);
    for (size_t n = 0; n < w.flying; n++) {
        bool cut = n % 12 == 6 && n + 12 < w.flying;
        size_t left = unit_len - (cut ? 300 : 0);
        memmove(stream + len, stream + n * unit_len, left);
        len += left;
        cuts += cut;
    }
    stream_len = len;
    arrive_stream(2000);
    struct frame_port_counters b = count_of(&w.b);
    ck_assert_uint_gt(cuts, 5);
    ck_assert_uint_eq(b.line.cadu_sync_losses, cuts);
    ck_assert_uint_eq(b.received.lost, 2 * cuts); /* the one that was cut, and the one behind it */
    ck_assert(b.wire.skipped_bytes > 0 && w.b.got == b.received.packets);
    end_world();
}
END_TEST

/* More is in one datagram than is read at once: it waits, in order. */
START_TEST(many_at_once)
{
    struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    for (int once = 0; once < 2; once++) {
        k.fill = TICK_S;
        begin_gathered(&k, 0, 0);
        w.b.once = once == 1;
        for (; w.sent_len < 590; w.sent_len++) { /* two octets each: 276 to a frame */
            w.sent[w.sent_len] = (struct datagram){
                .len = 2, .bytes = {(uint8_t)w.sent_len, (uint8_t)(w.sent_len >> 8)}};
            send_bytes(&w.a, w.sent[w.sent_len].bytes, 2);
        }
        ck_assert(udp_flush(w.a.port->io));
        run_until(2 * TICK_S);
        gather_stream();
        ck_assert_uint_eq(w.flying, 3);
        arrive_stream(60000);
        run_world();
        ck_assert_uint_eq(w.b.got, 590);
        end_world();
    }
}
END_TEST

/* Two of one line at each end: a frame goes to whom it belongs, who reads or not. */
START_TEST(virtual_channels)
{
    static struct end more[2];
    struct frame_keys one = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_239), two = one, other = one;
    memset(more, 0, sizeof more);
    two.out.vcid = 6;
    begin(&one);
    open_end_at(&more[0], &two, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
    open_end_at(&more[1], &two, "127.0.0.1:2", "127.0.0.1:1", w.b.port);
    for (int i = 0; i < 100; i++)
        draw_datagram(rng_chance(&w.rng, 0.5) ? &w.a : &more[0], LONGEST);
    gather_stream();
    arrive_stream(60000);
    run_world();
    ck_assert_uint_eq(w.b.got + more[1].got, 100);
    ck_assert(w.b.got == count_of(&w.a).sent.packets && more[1].got > 20 && w.b.got > 20);
    ck_assert(count_of(&w.b).received.lost == 0 && count_of(&more[1]).received.lost == 0);
    /* other codes cannot share it */
    struct frame_port_config c;
    struct port *none;
    other.out.vcid = 7;
    other.cadu_interleave = 1;
    other.cadu = FRAME_CODE_UNCODED;
    ck_assert(!frame_keys_share(&one, &other) && frame_keys_share(&one, &two));
    frame_keys_config(&other, &c);
    ck_assert_int_eq(frame_port_open(&w.v.world, &none, &c, w.a.port, on_ready, NULL),
                     HELIO_EINVAL);
    for (int i = 0; i < 2; i++)
        port_close(more[i].port, on_closed, &more[i]);
    virtual_fire_soon(&w.v);
    end_world();
}
END_TEST

/* Telemetry in CADUs down, telecommand in CLTUs up: the keys concern what there are CADUs of. */
START_TEST(telecommand_up)
{
    struct frame_keys down = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223), up = down;
    down.in.kind = up.out.kind = FRAMES_CLTU;
    up.in.kind = FRAMES_AOS;
    down.segments = up.segments = down.numbers = up.numbers = true;
    up.out.length = up.in.length = 0;
    begin_world();
    open_end(&w.a, &down, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &up, "127.0.0.1:2", "127.0.0.1:1");
    send_drawn(&w.a, 100);
    send_drawn(&w.b, 100);
    struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
    ck_assert(w.a.got == 100 && w.b.got == 100);
    ck_assert(!a.cadus && b.cadus && a.line.cltu_bad == 0 && b.line.cadu_sync_losses == 0);
    end_world();
}
END_TEST

static void close_end(struct end *e)
{
    port_close(e->port, on_closed, e);
    virtual_fire_soon(&w.v);
    ck_assert(e->closed);
}

static void end_both(void)
{
    close_end(&w.a);
    close_end(&w.b);
    virtual_settle(&w.v);
    virtual_fini(&w.v);
}

/* A connection that ends, and comes again. */
START_TEST(tcp_connections)
{
    for (int kind = FRAMES_TM; kind <= FRAMES_AOS; kind++) {
        struct frame_keys k = cadu_keys(kind, FRAME_CODE_RS_223), listen;
        k.wire = FRAME_WIRE_CONNECT;
        listen = k;
        listen.wire = FRAME_WIRE_LISTEN;
        begin_world();
        open_end(&w.b, &listen, "127.0.0.1:2", "127.0.0.1:1");
        for (unsigned round = 0; round < 3; round++) {
            w.a = (struct end){0};
            open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
            run_until(w.v.now + 2 * TICK_S);
            for (int i = 0; i < 50; i++)
                draw_datagram(&w.a, LONGEST);
            run_until(w.v.now + 20 * TICK_MS);
            ck_assert_uint_eq(w.b.got, 50 * (round + 1));
            draw_datagram(&w.b, LONGEST);
            run_until(w.v.now + 20 * TICK_MS);
            ck_assert_uint_eq(w.a.got, 1);
            if (round < 2)
                close_end(&w.a);
        }
        struct frame_port_counters b = count_of(&w.b);
        ck_assert(b.wire.connects == 3 && b.line.cadu_sync_losses == 0);
        ck_assert(b.line.cadu_erred == 0 && b.wire.skipped_bytes == 0);
        end_both();
    }
}
END_TEST

static uint8_t *no_space(void *context, size_t *len)
{
    *len = 1;
    return context;
}

static void no_octets(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void no_word(void *context)
{
    (void)context;
}

static void no_end(void *context, int error)
{
    (void)context;
    (void)error;
}

/* A modem that connects, gives octets, and goes. */
static void give_octets(const struct end *to, size_t from, size_t until)
{
    static const struct stream_user user = {no_space, no_octets, no_word, no_end};
    static uint8_t nothing[1];
    struct stream_place at = {.address = &to->self};
    struct stream *s;
    ck_assert_int_eq(stream_connect(&w.v.world, &s, &at, &user, nothing), 0);
    run_until(w.v.now + TICK_S);
    struct slice part = slice_of(stream + from, until - from);
    ck_assert_uint_eq(stream_write(s, &part, 1), part.len);
    run_until(w.v.now + TICK_S);
    stream_close(s);
    run_until(w.v.now + TICK_S);
}

/* A connection ends within a unit: the next one begins with a unit, which is not lost with it. */
START_TEST(tcp_half_unit)
{
    static struct end ground;
    struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    memset(&ground, 0, sizeof ground);
    begin_gathered(&k, 40, 1000);
    k.wire = FRAME_WIRE_LISTEN;
    open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
    give_octets(&ground, 0, 10 * unit_len + 500);
    give_octets(&ground, 11 * unit_len, 20 * unit_len);
    give_octets(&ground, 20 * unit_len, stream_len);
    struct frame_port_counters n = count_of(&ground);
    ck_assert_uint_eq(n.wire.connects, 3);
    ck_assert_uint_eq(n.received.frames, w.flying - 1);
    ck_assert(n.received.lost == 1 && n.line.cadu_erred == 0 && n.line.cadu_sync_losses == 0);
    ck_assert_uint_eq(n.wire.skipped_bytes, 500);
    ck_assert(ground.got > w.sent_len - 10 && ground.got < w.sent_len);
    close_end(&ground);
    end_world();
}
END_TEST

/* Without a frame of idle data behind the last frame: the end of the connection tells, also behind
 * a connection that had half a CADU. */
START_TEST(tcp_convolutional)
{
    static struct end ground;
    for (int rate = FRAME_CODE_CONV_1_2; rate <= FRAME_CODE_CONV_7_8; rate++) {
        struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
        k.cadu_interleave = 1;
        k.out.length = 223;
        k.cadu_convolutional = rate;
        k.idle = 3600 * TICK_S;
        begin(&k);
        memset(&ground, 0, sizeof ground);
        for (int i = 0; i < 20; i++)
            draw_datagram(&w.a, 1000);
        gather_stream();
        const uint64_t frames = w.flying;
        k.wire = FRAME_WIRE_LISTEN;
        open_end(&ground, &k, "127.0.0.1:3", "127.0.0.1:1");
        give_octets(&ground, 0, stream_len);
        const struct frame_port_counters n = count_of(&ground);
        ck_assert(ground.got == w.sent_len && n.received.frames == frames);
        ck_assert(n.received.lost == 0 && n.line.cadu_erred == 0 && n.line.cadu_sync_losses == 0);
        ground.next = 0;
        give_octets(&ground, 0, stream_len / 2);
        give_octets(&ground, stream_len / 2, stream_len);
        ck_assert_uint_ge(count_of(&ground).received.frames, 2 * frames - 2);
        close_end(&ground);
        end_world();
    }
}
END_TEST

/* What a demodulator may make of a recording: shifted by some bits, inverted, noise before it. */
static void disturb_file(const char *path, unsigned shift, bool inverted)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    stream_len = fread(stream, 1, sizeof stream - 1, f);
    ck_assert_int_eq(fclose(f), 0);
    f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 333; i++)
        ck_assert_int_ne(fputc((int)rng_below(&w.rng, 256), f), EOF);
    unsigned before = 0;
    stream[stream_len] = 0; /* the last bits */
    for (size_t i = 0; i <= stream_len; i++) {
        unsigned two = before << 8 | stream[i];
        before = stream[i];
        ck_assert_int_ne(fputc((int)((two >> shift & 0xff) ^ (inverted ? 0xff : 0)), f), EOF);
    }
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(recordings)
{
    char path[] = "/tmp/helio_cadus_XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && close(fd) == 0);
    for (unsigned shift = 0; shift < 8; shift++) {
        struct frame_keys k = cadu_keys(FRAMES_USLP, FRAME_CODE_RS_223);
        k.wire = FRAME_WIRE_FILE;
        ck_assert_int_eq(truncate(path, 0), 0);
        begin_world();
        k.record = path;
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        for (int i = 0; i < 100; i++)
            draw_datagram(&w.a, LONGEST);
        run_until(TICK_S);
        struct frame_port_counters a = count_of(&w.a);
        close_end(&w.a);
        disturb_file(path, shift, shift % 2 == 1);
        k.record = NULL;
        k.replay = path;
        k.replay_rate = 1000000;
        open_end(&w.b, &k, "127.0.0.1:2", "127.0.0.1:1");
        run_until(w.v.now + a.sent.frames * 1279 * 4 * TICK_US); /* half of it */
        ck_assert(w.b.got > 40 && w.b.got < 60);
        run_until(20 * TICK_S);
        struct frame_port_counters b = count_of(&w.b);
        ck_assert_uint_eq(w.b.got, 100);
        ck_assert(b.wire.in == a.wire.out && b.line.cadu_sync_losses == 0);
        ck_assert_uint_eq(b.wire.skipped_bytes, 334); /* noise, and the bits before and behind */
        close_end(&w.b);
        virtual_settle(&w.v);
        virtual_fini(&w.v);
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* The last frame of a recording is not followed by another one. */
START_TEST(convolutional_recording)
{
    char path[] = "/tmp/helio_cadus_XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && close(fd) == 0);
    for (unsigned replay = 0; replay < 2; replay++) {
        struct frame_keys k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
        k.wire = FRAME_WIRE_FILE;
        k.cadu_interleave = 1;
        k.out.length = 223;
        k.cadu_convolutional = FRAME_CODE_CONV_3_4;
        k.idle = 3600 * TICK_S;
        ck_assert_int_eq(truncate(path, 0), 0);
        begin_world();
        k.record = path;
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        for (int i = 0; i < 20; i++)
            draw_datagram(&w.a, 1000);
        run_until(TICK_S);
        const uint64_t frames = count_of(&w.a).sent.frames;
        close_end(&w.a);
        k.record = NULL;
        k.replay = path;
        k.replay_rate = replay * 1000000;
        open_end(&w.b, &k, "127.0.0.1:2", "127.0.0.1:1");
        run_until(20 * TICK_S);
        const struct frame_port_counters b = count_of(&w.b);
        ck_assert(w.b.got == 20 && b.received.frames == frames && b.line.cadu_erred == 0);
        close_end(&w.b);
        virtual_settle(&w.v);
        virtual_fini(&w.v);
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static void assert_refused(const struct frame_keys *k, const char *expected, const char *hint)
{
    const char *key = "";
    char why[200] = "";
    ck_assert_int_eq(frame_keys_check(k, &key, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(key, expected);
    ck_assert_msg(strstr(why, hint) != NULL, "%s", why);
}

START_TEST(keys)
{
    const char *key;
    char why[200], raf[] = "sagr=1.spack=1.rsl-fg=1.raf=onlc1";
    const struct frame_keys good = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    struct frame_keys k = good;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.marker = true;
    k.wire = FRAME_WIRE_CONNECT;
    assert_refused(&k, "frames.marker", "remove this key");
    k = good, k.wire = FRAME_WIRE_SLE, k.sle_raf = raf;
    assert_refused(&k, "cadu", "remove this key");
    k = good, k.out.kind = FRAMES_TC, k.out.length = 0;
    assert_refused(&k, "cadu", "TM, USLP and AOS");
    k.out.kind = FRAMES_CLTU;
    assert_refused(&k, "cadu", "TM, USLP and AOS");
    k.in.kind = FRAMES_AOS;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.in.length = 1116;
    assert_refused(&k, "frames.length_in", "write 1115B");
    k = good, k.out.kind = FRAMES_OFF;
    assert_refused(&k, "cadu", "frames");
    k = good, k.cadu_interleave = 4;
    assert_refused(&k, "frames.length", "write 892B");
    k = good, k.out.length = 1001;
    assert_refused(&k, "frames.length", "write 1000B");
    k = cadu_keys(FRAMES_AOS, FRAME_CODE_LDPC_1_2);
    assert_refused(&k, "frames.length", "1115: write 512B");
    k.out.length = 512;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.cadu_marker = FRAME_MARKER_64;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.cadu_marker = FRAME_MARKER_32;
    assert_refused(&k, "cadu.marker", "write 64");
    k = cadu_keys(FRAMES_TM, FRAME_CODE_LDPC_7_8);
    assert_refused(&k, "frames.length", "1115: write 892B");
    k.out.length = 892;
    for (int marker = FRAME_MARKER_AUTO; marker <= FRAME_MARKER_64; marker++) {
        k.cadu_marker = marker;
        ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    }
    k = cadu_keys(FRAMES_AOS, FRAME_CODE_TURBO_1_6);
    k.out.length = 1000;
    assert_refused(&k, "frames.length", "1000: write 892B");
    k.out.length = 1115;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.cadu_marker = FRAME_MARKER_64;
    assert_refused(&k, "cadu.marker", "192 bits; remove this key");
    k = cadu_keys(FRAMES_AOS, FRAME_CODE_TURBO_1_3); /* 1115 octets */
    assert_refused(&k, "cadu.symbols", "no whole octets; write soft");
    k.cadu_symbols = 1;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.cadu_marker = FRAME_MARKER_64;
    assert_refused(&k, "cadu.marker", "96 bits; remove this key");
    k = cadu_keys(FRAMES_AOS, FRAME_CODE_RS_223);
    k.cadu_convolutional = FRAME_CODE_CONV_1_2;
    assert_refused(&k, "cadu.convolutional", "needs frames.idle");
    k.idle = TICK_MS;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.cadu = FRAME_CODE_TURBO_1_2;
    assert_refused(&k, "cadu.convolutional", "uncoded CADUs and Reed-Solomon");
    k = good, k.cadu_convolutional = FRAME_CODE_CONV_7_8;
    k.out.kind = FRAMES_CLTU, k.out.length = 0, k.in.kind = FRAMES_AOS;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k = cadu_keys(FRAMES_USLP, FRAME_CODE_UNCODED);
    k.cadu_symbols = 1;
    k.out.length = 8186;
    assert_refused(&k, "frames.length", "65520 octets, a datagram has at most 65507; write 8184B");
    k = cadu_keys(FRAMES_AOS, FRAME_CODE_TURBO_1_2); /* 1115 octets */
    k.cadu_marker = FRAME_MARKER_64;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k = cadu_keys(FRAMES_USLP, FRAME_CODE_UNCODED);
    k.out.length = 65504;
    assert_refused(&k, "frames.length", "write 65503B");
    k.cadu_marker = FRAME_MARKER_64;
    assert_refused(&k, "frames.length", "write 65499B");
    k.cadu_marker = FRAME_MARKER_32;
    k.out.length = 65503;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k.out.length = 65507;
    k.wire = FRAME_WIRE_LISTEN;
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
}
END_TEST

SUITE(cla_frame_cadu, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_kind);
    tcase_add_test(t, soft_symbols);
    tcase_add_test(t, convolutional);
    tcase_add_test(t, joined_and_cut);
    tcase_add_test(t, beyond_capacity);
    tcase_add_test(t, uncoded_damage);
    tcase_add_test(t, sync_losses);
    tcase_add_test(t, many_at_once);
    tcase_add_test(t, virtual_channels);
    tcase_add_test(t, telecommand_up);
    tcase_add_test(t, tcp_connections);
    tcase_add_test(t, tcp_half_unit);
    tcase_add_test(t, tcp_convolutional);
    tcase_add_test(t, recordings);
    tcase_add_test(t, convolutional_recording);
    tcase_add_test(t, keys);
}
