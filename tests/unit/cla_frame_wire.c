/* SPDX-License-Identifier: Apache-2.0 */
/* What frames leave and arrive by, in a virtual world: other kinds of frames each way, several
 * virtual channels of one physical one, TCP connections that end and come again, recordings. */
#include <stdio.h>
#include <unistd.h>

#include "frame_port_help.h"
#include "tests/unit/suite.h"

/* What each side of a spacecraft's link has: frames down, telecommand up. */
static struct frame_keys down_keys(void)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 200 * TICK_US);
    k.in.kind = FRAMES_CLTU;
    k.in.vcid = 9;
    k.segments = k.numbers = k.randomise = k.clcw = true;
    return k;
}

static struct frame_keys up_keys(void)
{
    struct frame_keys k = down_keys();
    k.out.kind = FRAMES_CLTU;
    k.in.kind = FRAMES_AOS;
    k.out.length = 300;
    k.in.length = 1115;
    k.out.vcid = 9;
    k.in.vcid = 5;
    return k;
}

static void begin_spacecraft(void)
{
    struct frame_keys up = up_keys(), down = down_keys();
    down.in.length = 300;
    begin_world();
    open_end(&w.a, &down, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &up, "127.0.0.1:2", "127.0.0.1:1");
}

START_TEST(telecommand_up)
{
    begin_spacecraft();
    send_drawn(&w.b, 300);
    struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
    ck_assert_uint_eq(w.a.got, 300);
    ck_assert(b.sent.packets == 300 && b.sent.idle_bytes == 0 && b.sent.frames == w.flying);
    ck_assert(a.received.frames == w.flying && a.received.lost == 0 && a.line.cltu_bad == 0);
    ck_assert_uint_gt(b.sent.frames, 300); /* packets of some 3000 octets in frames of 300 */
    send_drawn(&w.a, 200);
    b = count_of(&w.b);
    ck_assert(w.b.got == 200 && b.received.packets == 200 && b.clcw_told);
    /* COP-1, virtual channel 9, and the frames of type B so far modulo 4 */
    ck_assert_uint_eq(b.clcw, 1U << 24 | 9U << 18 | (uint32_t)(a.received.frames & 3) << 9);
    end_world();
}
END_TEST

START_TEST(telecommand_lost)
{
    begin_spacecraft();
    w.erase = 0.05;
    send_drawn(&w.b, 400);
    w.erase = 0;
    send_drawn(&w.b, 1); /* so that the last loss shows */
    struct frame_port_counters a = count_of(&w.a);
    ck_assert_uint_gt(w.lost, 15);
    ck_assert_uint_eq(a.received.lost, w.lost);
    ck_assert(w.a.got == a.received.packets && w.a.got < 400 && w.a.got > 100);
    end_world();
}
END_TEST

/* One wrong bit in a codeblock is corrected; two in one end the CLTU there. */
START_TEST(telecommand_damaged)
{
    begin_spacecraft();
    w.sent[w.sent_len++] = (struct datagram){.len = 9, .bytes = "123456789"};
    for (int errors = 1; errors <= 2; errors++) {
        send_bytes(&w.b, "123456789", 9);
        ck_assert(udp_flush(w.b.port->io));
        while (w.flying < (unsigned)errors) {
            virtual_advance(&w.v, virtual_due(&w.v));
            virtual_fire(&w.v);
        }
        w.flight[errors - 1].bytes[4] ^= errors == 1 ? 0x10 : 0x11;
        run_world();
    }
    struct frame_port_counters a = count_of(&w.a);
    ck_assert(w.a.got == 1 && a.line.corrected == 1 && a.line.cltu_bad == 1);
    end_world();
}
END_TEST

/* Without segment headers a datagram fits a frame, or is refused and counted. */
START_TEST(telecommand_unsegmented)
{
    struct frame_keys k = keys_of(FRAMES_TC, 0, 0);
    ck_assert_uint_eq(frame_keys_mtu(&k), 1024 - 7 - 4);
    begin(&k);
    w.sent[w.sent_len++] = (struct datagram){.len = 1013};
    send_bytes(&w.a, w.sent[0].bytes, 1013);
    send_bytes(&w.a, w.sent[0].bytes, 1014);
    ck_assert(udp_flush(w.a.port->io));
    run_world();
    ck_assert(w.b.got == 1 && count_of(&w.a).too_long == 1);
    k.segments = true;
    ck_assert_uint_eq(frame_keys_mtu(&k), UDP_DATAGRAM_MAX);
    end_world();
}
END_TEST

static struct frame_keys channel_keys(uint64_t vcid)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 0);
    k.out.vcid = vcid;
    return k;
}

/* Three virtual channels of one line: one at one end only, whose frames nobody reads. */
START_TEST(virtual_channels)
{
    static struct end more[3]; /* a's second and third, b's second */
    struct frame_keys one = channel_keys(5), two = channel_keys(6), three = channel_keys(7);
    memset(more, 0, sizeof more);
    begin(&one);
    open_end_at(&more[0], &two, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
    open_end_at(&more[1], &three, "127.0.0.1:1", "127.0.0.1:2", more[0].port);
    open_end_at(&more[2], &two, "127.0.0.1:2", "127.0.0.1:1", w.b.port);
    for (int i = 0; i < 60; i++) {
        send_drawn(&w.a, rng_below(&w.rng, 5));
        send_drawn(&more[0], rng_below(&w.rng, 5));
        if (i % 10 == 0)
            send_drawn(&more[1], 1);
    }
    struct frame_port_counters b = count_of(&w.b), b2 = count_of(&more[2]);
    ck_assert_uint_eq(w.b.got + more[2].got + 6, w.sent_len);
    ck_assert(w.b.got == count_of(&w.a).sent.packets);
    ck_assert(more[2].got == count_of(&more[0]).sent.packets && more[2].got > 50);
    ck_assert_uint_eq(b.verdicts[FRAME_CHANNEL_VERDICT], count_of(&more[1]).sent.frames);
    ck_assert(b.received.lost == 0 && b2.received.lost == 0 && b.line.unread == 0);
    /* and what cannot share it */
    struct frame_port_config c;
    struct port *none;
    frame_keys_config(&two, &c);
    ck_assert_int_eq(frame_port_open(&w.v.world, &none, &c, w.a.port, on_ready, NULL),
                     HELIO_EEXIST);
    two.out.length = 1000;
    frame_keys_config(&two, &c);
    ck_assert_int_eq(frame_port_open(&w.v.world, &none, &c, w.a.port, on_ready, NULL),
                     HELIO_EINVAL);
    /* the line outlives the port that opened it */
    port_close(w.a.port, on_closed, &w.a);
    virtual_fire_soon(&w.v);
    ck_assert(w.a.closed);
    size_t before = more[2].got;
    send_drawn(&more[0], 5);
    ck_assert_uint_eq(more[2].got, before + 5);
    for (int i = 0; i < 3; i++)
        port_close(more[i].port, on_closed, &more[i]);
    port_close(w.b.port, on_closed, &w.b);
    virtual_fire_soon(&w.v);
    virtual_settle(&w.v);
    ck_assert(more[0].closed && more[1].closed && more[2].closed && w.b.closed);
    virtual_fini(&w.v);
}
END_TEST

/* A port that does not read keeps what others read for it, up to a limit. */
START_TEST(a_port_that_does_not_read)
{
    static struct end second, other;
    struct frame_keys one = channel_keys(5), two = channel_keys(6);
    memset(&second, 0, sizeof second);
    memset(&other, 0, sizeof other);
    begin(&one);
    open_end_at(&second, &two, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
    open_end_at(&other, &two, "127.0.0.1:2", "127.0.0.1:1", w.b.port);
    port_watch(other.port, false, false);
    for (int i = 0; i < FRAME_QUEUE_MAX + 10; i++) {
        send_bytes(&second, (uint8_t[]){(uint8_t)i, 'x'}, 2);
        ck_assert(udp_flush(second.port->io));
    }
    run_world();
    ck_assert(other.got == 0 && count_of(&w.b).line.unread == 10);
    port_watch(other.port, true, false);
    struct slice got;
    size_t n = 0;
    while (udp_fill(other.port->io, 1 << 20))
        while (udp_next(other.port->io, &got))
            n++;
    ck_assert_uint_eq(n, FRAME_QUEUE_MAX);
    port_close(second.port, on_closed, &second);
    port_close(other.port, on_closed, &other);
    virtual_fire_soon(&w.v);
    end_world();
}
END_TEST

/* Frames of only idle data while nothing is sent; none while there is something. */
START_TEST(idle_frames)
{
    for (int kind = FRAMES_TM; kind <= FRAMES_AOS; kind++) {
        struct frame_keys k = keys_of(kind, 500, 0), deaf = k;
        begin_world();
        k.idle = 10 * TICK_MS;
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        open_end(&w.b, &deaf, "127.0.0.1:2", "127.0.0.1:1");
        for (int i = 0; i < 100; i++) { /* 500 ms: one each 5 ms, then none */
            w.sent[w.sent_len++] = (struct datagram){.len = 1, .bytes = {(uint8_t)i}};
            if (i < 50)
                send_bytes(&w.a, &i, 1);
            ck_assert(udp_flush(w.a.port->io));
            for (tick end = w.v.now + 5 * TICK_MS; virtual_due(&w.v) <= end;) {
                virtual_advance(&w.v, virtual_due(&w.v));
                virtual_fire(&w.v);
            }
            virtual_advance(&w.v, (tick)(i + 1) * 5 * TICK_MS);
        }
        struct frame_port_counters a = count_of(&w.a);
        ck_assert_uint_eq(a.sent.frames, 50);
        ck_assert(a.line.idle_sent >= 24 && a.line.idle_sent <= 25);
        ck_assert_uint_eq(w.flying, 50 + a.line.idle_sent);
        for (; w.arrived < w.flying; w.arrived++) {
            struct flight *f = &w.flight[w.arrived];
            virtual_arrive(virtual_port_at(&w.v, f->port), &f->from, slice_of(f->bytes, f->len));
        }
        struct frame_port_counters b = count_of(&w.b);
        ck_assert_uint_eq(b.verdicts[FRAME_IDLE_VERDICT], a.line.idle_sent);
        ck_assert(b.received.lost == 0 && w.b.got == 50);
        end_world();
    }
}
END_TEST

START_TEST(other_senders)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 0);
    struct address foreign, again;
    uint8_t bytes[1115] = {0};
    begin(&k);
    ck_assert_int_eq(address_parse("127.0.0.9:1", &foreign), 0);
    ck_assert_int_eq(address_parse("127.0.0.1:777", &again), 0);
    virtual_arrive(virtual_port_at(&w.v, 2), &foreign, slice_of(bytes, 1115));
    virtual_arrive(virtual_port_at(&w.v, 2), &again, slice_of(bytes, 1115));
    struct frame_port_counters n = count_of(&w.b);
    ck_assert(n.wire.foreign == 1 && n.wire.in == 1);
    ck_assert_uint_eq(n.verdicts[FRAME_FECF_VERDICT] + n.verdicts[FRAME_VERSION_VERDICT], 1);
    end_world();
}
END_TEST

/* ---- TCP ---- */

static void run_until(tick end)
{
    while (virtual_due(&w.v) <= end) {
        virtual_advance(&w.v, virtual_due(&w.v));
        virtual_fire(&w.v);
        (void)world_end_round(&w.v.world);
    }
    virtual_advance(&w.v, end);
}

static void close_end(struct end *e)
{
    port_close(e->port, on_closed, e);
    virtual_fire_soon(&w.v);
    ck_assert(e->closed);
}

static void send_some(struct end *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct datagram *d = &w.sent[w.sent_len++];
        d->len = 1 + rng_below(&w.rng, LONGEST);
        for (size_t k = 0; k < d->len; k++)
            d->bytes[k] = (uint8_t)rng_u64(&w.rng);
        send_bytes(from, d->bytes, d->len);
    }
    ck_assert(udp_flush(from->port->io));
    run_until(w.v.now + 20 * TICK_MS);
}

START_TEST(tcp_connections)
{
    for (int kind = FRAMES_TM; kind <= FRAMES_CLTU; kind++) {
        struct frame_keys k = keys_of(kind, kind == FRAMES_CLTU ? 200 : 1000, 0), listen;
        bool tc = kind >= FRAMES_TC;
        k.segments = k.numbers = tc;
        k.marker = kind == FRAMES_USLP;
        k.wire = FRAME_WIRE_CONNECT;
        listen = k;
        listen.wire = FRAME_WIRE_LISTEN;
        begin_world();
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        run_until(TICK_MS);
        ck_assert(!count_of(&w.a).wire.connected);
        send_bytes(&w.a, "x", 1); /* nobody is there: lost, and counted */
        ck_assert(udp_flush(w.a.port->io));
        ck_assert_uint_eq(count_of(&w.a).line.dropped, 1);
        open_end(&w.b, &listen, "127.0.0.1:2", "127.0.0.1:1");
        run_until(2 * TICK_S);
        ck_assert(count_of(&w.a).wire.connected && count_of(&w.b).wire.connected);
        send_some(&w.a, 50);
        send_some(&w.b, 50);
        ck_assert(w.a.got == 50 && w.b.got == 50);
        close_end(&w.b);
        run_until(4 * TICK_S);
        ck_assert(!count_of(&w.a).wire.connected);
        w.b = (struct end){0};
        open_end(&w.b, &listen, "127.0.0.1:2", "127.0.0.1:1");
        run_until(6 * TICK_S);
        send_some(&w.a, 50);
        struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
        ck_assert(w.b.got == 50 && a.wire.connects == 2 && b.wire.connects == 1);
        ck_assert_uint_eq(b.wire.in, b.received.frames);
        ck_assert(a.received.lost == 0 && b.received.lost == 0 && b.wire.skipped_bytes == 0);
        close_end(&w.a);
        close_end(&w.b);
        virtual_settle(&w.v);
        virtual_fini(&w.v);
    }
}
END_TEST

/* ---- recordings ---- */

START_TEST(recordings)
{
    char path[] = "/tmp/helio_frames_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
    for (int kind = FRAMES_TM; kind <= FRAMES_CLTU; kind++) {
        struct frame_keys k = keys_of(kind, 1000, 0);
        k.segments = k.numbers = kind >= FRAMES_TC;
        k.marker = kind == FRAMES_AOS;
        k.wire = FRAME_WIRE_FILE;
        ck_assert_int_eq(truncate(path, 0), 0);
        begin_world();
        k.record = path;
        open_end(&w.a, &k, "127.0.0.1:1", "127.0.0.1:2");
        send_some(&w.a, 100);
        run_until(TICK_S);
        struct frame_port_counters a = count_of(&w.a);
        ck_assert(a.wire.out == a.sent.frames && a.wire.record_lost == 0);
        close_end(&w.a);
        k.record = NULL;
        k.replay = path;
        k.replay_rate = 1000000;
        open_end(&w.b, &k, "127.0.0.1:2", "127.0.0.1:1");
        run_until(w.v.now + a.sent.frames * 500 * 8 * TICK_US); /* not over yet: TC are shorter */
        if (kind < FRAMES_TC)
            ck_assert(w.b.got > 40 && w.b.got < 60);
        run_until(20 * TICK_S);
        struct frame_port_counters b = count_of(&w.b);
        ck_assert_uint_eq(w.b.got, 100);
        ck_assert(b.wire.in == a.wire.out && b.wire.skipped_bytes == 0);
        close_end(&w.b);
        virtual_settle(&w.v);
        virtual_fini(&w.v);
    }
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(keys_of_wires)
{
    const char *key = "";
    char why[200] = "";
    struct frame_keys k = keys_of(FRAMES_OFF, 0, 0);
    k.in.kind = FRAMES_AOS;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.in");
    k = up_keys();
    k.in.length = 5;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.length_in");
    k = up_keys();
    k.marker = true;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.marker");
    k = up_keys();
    k.record = why;
    why[0] = 'x';
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.record");
    k = up_keys();
    k.wire = FRAME_WIRE_FILE;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.port");
    k = keys_of(FRAMES_TM, 500, 0);
    k.idle = 1;
    k.out.vcid = 7;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.vcid");
    struct frame_keys other = up_keys();
    k = up_keys();
    k.out.vcid = 3;
    k.in.vcid = 4;
    ck_assert(frame_keys_share(&k, &other));
    ck_assert_ptr_null(frame_keys_conflict(&k, &other, &key));
    k.in.vcid = other.in.vcid = 9;
    ck_assert_ptr_nonnull(frame_keys_conflict(&k, &other, &key));
    ck_assert_str_eq(key, "frames.vcid_in");
    k.in.vcid = FRAME_KEYS_SAME;
    k.out.vcid = other.out.vcid;
    ck_assert_ptr_nonnull(frame_keys_conflict(&k, &other, &key));
    ck_assert_str_eq(key, "frames.vcid");
    k.scid = 3;
    ck_assert(!frame_keys_share(&k, &other));
    ck_assert_ptr_nonnull(frame_keys_conflict(&k, &other, &key));
    ck_assert_str_eq(key, "frames");
}
END_TEST

SUITE(cla_frame_wire, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, telecommand_up);
    tcase_add_test(t, telecommand_lost);
    tcase_add_test(t, telecommand_damaged);
    tcase_add_test(t, telecommand_unsegmented);
    tcase_add_test(t, virtual_channels);
    tcase_add_test(t, a_port_that_does_not_read);
    tcase_add_test(t, idle_frames);
    tcase_add_test(t, other_senders);
    tcase_add_test(t, tcp_connections);
    tcase_add_test(t, recordings);
    tcase_add_test(t, keys_of_wires);
}
