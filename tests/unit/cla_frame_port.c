/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams over CCSDS frames, in a virtual world: two ports, frames that are lost on the way,
 * frames that are others', and how long a frame waits. */
#include <string.h>

#include "cla/framed/frame_guess.h"
#include "frame_port_help.h"
#include "tests/unit/suite.h"

START_TEST(all_arrives)
{
    static const uint64_t lengths[] = {0, 256, 2040, 1115};
    for (int kind = FRAMES_TM; kind <= FRAMES_AOS; kind++) {
        struct frame_keys k = keys_of(kind, lengths[kind], kind == FRAMES_TM ? 0 : 200 * TICK_US);
        begin(&k);
        send_drawn(&w.a, SENT_MAX);
        struct frame_port_counters a = count_of(&w.a), b = count_of(&w.b);
        ck_assert_uint_eq(w.b.got, SENT_MAX);
        ck_assert_uint_eq(b.received.packets, SENT_MAX);
        ck_assert(a.sent.packets == SENT_MAX && a.sent.frames == w.flying);
        ck_assert_uint_eq(b.verdicts[FRAME_OK_VERDICT], w.flying);
        ck_assert(b.received.gaps == 0 && b.received.cut == 0 && a.line.dropped == 0);
        end_world();
    }
}
END_TEST

START_TEST(erased_frames)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 200 * TICK_US);
    begin(&k);
    w.erase = 0.1;
    send_drawn(&w.a, SENT_MAX - 1);
    w.erase = 0; /* so that the last loss shows */
    send_drawn(&w.a, 1);
    struct frame_port_counters b = count_of(&w.b);
    ck_assert_uint_gt(w.lost, 15);
    ck_assert_uint_eq(b.received.lost, w.lost);
    ck_assert_uint_eq(b.received.frames, w.flying);
    ck_assert_uint_eq(w.b.got, b.received.packets);
    ck_assert(w.b.got < SENT_MAX - w.lost / 2 && w.b.got > SENT_MAX / 2);
    /* and the other way, on a counter of its own */
    send_drawn(&w.b, 0);
    ck_assert_uint_eq(count_of(&w.a).received.frames, 0);
    end_world();
}
END_TEST

START_TEST(a_frame_waits)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 700 * TICK_US);
    begin(&k);
    w.sent[w.sent_len++] = (struct datagram){.len = 10, .bytes = "0123456789"};
    send_bytes(&w.a, "0123456789", 10);
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(w.flying, 0);
    virtual_advance(&w.v, 300 * TICK_US);
    w.sent[w.sent_len++] = (struct datagram){.len = 10, .bytes = "abcdefghij"};
    send_bytes(&w.a, "abcdefghij", 10); /* in the same frame, which does not wait longer */
    ck_assert(udp_flush(w.a.port->io));
    run_world();
    ck_assert(w.flying == 1 && w.last == 700 * TICK_US && w.b.got == 2);
    end_world();
    k.fill = 0;
    begin(&k);
    w.sent[w.sent_len++] = (struct datagram){.len = 10, .bytes = "0123456789"};
    send_bytes(&w.a, "0123456789", 10);
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(w.flying, 1);
    send_bytes(&w.a, "0123456789", 10); /* what is begun when it closes leaves, too */
    end_world();
}
END_TEST

/* While datagrams come no frame is filled up with idle data but the last. */
START_TEST(a_stream_does_not_wait)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 200 * TICK_US);
    begin(&k);
    for (tick at = 0; at < 20 * TICK_MS; at += 100 * TICK_US) {
        struct datagram *d = &w.sent[w.sent_len++];
        *d = (struct datagram){.len = 700};
        memset(d->bytes, (int)(w.sent_len & 0xff), d->len);
        send_bytes(&w.a, d->bytes, d->len);
        ck_assert(udp_flush(w.a.port->io));
        while (virtual_due(&w.v) < at + 100 * TICK_US) {
            virtual_advance(&w.v, virtual_due(&w.v));
            virtual_fire(&w.v);
        }
        virtual_advance(&w.v, at + 100 * TICK_US);
    }
    run_world();
    struct frame_port_counters n = count_of(&w.a);
    ck_assert_uint_eq(w.b.got, w.sent_len);
    ck_assert_uint_le(n.sent.idle_packets, 1);
    ck_assert_uint_eq(n.sent.frames, (w.sent_len * 704 + 1104) / 1105);
    end_world();
}
END_TEST

/* What a paced user has to send is waited for, longer than `fill`; then the line knows what left.
 */
START_TEST(more_is_expected)
{
    for (tick fill = 0; fill <= 200 * TICK_US; fill += 200 * TICK_US) {
        struct frame_keys k = keys_of(FRAMES_AOS, 1115, fill);
        begin(&k);
        for (unsigned i = 0; i < 40; i++) { /* of 24 octets: 46 to a frame */
            frame_port_expect(w.a.port, true);
            w.sent[w.sent_len++] = (struct datagram){.len = 20, .bytes = "01234567890123456789"};
            send_bytes(&w.a, "01234567890123456789", 20);
            ck_assert(udp_flush(w.a.port->io));
            frame_port_expect(w.a.port, i < 39);
            ck_assert_uint_eq(w.flying, fill == 0 && i == 39);
            ck_assert_uint_eq(frame_port_air(w.a.port).frames, w.flying);
            if (i < 39) {
                ck_assert(virtual_due(&w.v) == TICK_NEVER);
                virtual_advance(&w.v, w.v.now + TICK_MS);
            }
        }
        run_world();
        ck_assert_uint_eq(w.b.got, 40);
        ck_assert(w.last == 39 * TICK_MS + fill);
        ck_assert_uint_eq(frame_port_air(w.a.port).frames, 1);
        ck_assert_uint_eq(frame_port_air(w.a.port).octets, 1115);
        end_world();
    }
}
END_TEST

START_TEST(close_sends_the_rest)
{
    struct frame_keys k = keys_of(FRAMES_TM, 500, TICK_S);
    begin(&k);
    send_bytes(&w.a, "0123456789", 10);
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(w.flying, 0);
    end_world();
    ck_assert_uint_eq(w.flying, 1);
}
END_TEST

static void arrive(const void *bytes, size_t len)
{
    struct virtual_port *p = virtual_port_at(&w.v, 2);
    virtual_arrive(p, &w.a.self, slice_of(bytes, len));
}

static void send_frame(const struct frame_keys *k, uint8_t protocol, uint64_t count)
{
    struct frame_port_config c;
    struct mpdu_pack p;
    struct mpdu_frame out;
    uint8_t frame[2048], header[PACKET_HEADER_MAX];
    struct slice one, payload = slice_of("payload", 7);
    frame_keys_config(k, &c);
    struct mpdu_pack_config pack = {.format = c.send.format,
                                    .scid = c.send.scid,
                                    .vcid = c.send.vcid,
                                    .idle = PACKET_ENCAP,
                                    .count = count};
    mpdu_pack_init(&p, &pack);
    mpdu_pack_open(&p, frame, &one);
    mpdu_pack_put(&p, header, packet_write_encap(protocol, 7, header), &payload, 1);
    mpdu_pack_fill(&p);
    mpdu_pack_close(&p, NULL, &out);
    arrive(out.slices[0].data, out.slices[0].len);
}

START_TEST(what_is_refused)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 0), other = k;
    uint8_t bytes[1115] = {0x40};
    begin(&k);
    w.sent[w.sent_len++] = (struct datagram){.len = 7, .bytes = "payload"};
    arrive(bytes, 1115);
    arrive(bytes, 1114);
    arrive(bytes, 0);
    bytes[0] = 0xc0;
    arrive(bytes, 1115);
    other.out.vcid = 6;
    send_frame(&other, PACKET_LTP, 0);
    other = k, other.scid = 0xac;
    send_frame(&other, PACKET_LTP, 0);
    send_frame(&k, PACKET_BP, 0);
    ck_assert_uint_eq(w.b.got, 0);
    send_frame(&k, PACKET_LTP, 1);
    send_frame(&k, PACKET_LTP, 1);
    struct frame idle = {.kind = FRAME_AOS, .scid = 0xab, .count = 9};
    struct frame_port_config c;
    frame_keys_config(&k, &c);
    frame_write_idle(&c.send.format, &idle, bytes);
    arrive(bytes, 1115);
    struct frame_port_counters n = count_of(&w.b);
    ck_assert_uint_eq(w.b.got, 1);
    ck_assert(n.verdicts[FRAME_FECF_VERDICT] == 1 && n.verdicts[FRAME_LENGTH_VERDICT] == 2 &&
              n.verdicts[FRAME_VERSION_VERDICT] == 1 && n.verdicts[FRAME_CHANNEL_VERDICT] == 1 &&
              n.verdicts[FRAME_SPACECRAFT_VERDICT] == 1 && n.verdicts[FRAME_OK_VERDICT] == 2 &&
              n.verdicts[FRAME_REPEATED_VERDICT] == 1 && n.verdicts[FRAME_IDLE_VERDICT] == 1);
    ck_assert_uint_eq(n.other_protocol, 1);
    struct udp_peer nobody = {0}; /* a port has one peer */
    ck_assert_int_eq(address_parse("127.0.0.1:9", &nobody.address), 0);
    udp_add(w.a.port->io, &nobody, 0, slice_of(bytes, 10));
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(udp_counters(w.a.port->io)->tx_refused, 1);
    end_world();
}
END_TEST

/* A frame full of the shortest datagrams is more than one reading. */
START_TEST(many_in_one_frame)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 2040, 0);
    begin(&k);
    for (; w.sent_len < 500; w.sent_len++) {
        w.sent[w.sent_len] = (struct datagram){.len = 1, .bytes = {(uint8_t)w.sent_len}};
        send_bytes(&w.a, w.sent[w.sent_len].bytes, 1);
    }
    ck_assert(udp_flush(w.a.port->io));
    ck_assert_uint_eq(w.flying, 1);
    port_watch(w.b.port, false, false);
    port_watch(w.b.port, true, false);
    run_world();
    ck_assert_uint_eq(w.b.got, 500);
    end_world();
}
END_TEST

/* Peers with other keys: what arrives is counted, and told once a minute. */
struct other {
    struct frame_keys here, there;
    const char *why;
};

static void begin_others(const struct other *o)
{
    begin_world();
    open_end(&w.a, &o->there, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, &o->here, "127.0.0.1:2", "127.0.0.1:1");
}

static unsigned count_lines(const char *text)
{
    unsigned n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

START_TEST(keys_of_one_end)
{
    struct frame_keys usual = keys_of(FRAMES_AOS, 1115, 0);
    struct other o[] = {
        {usual, keys_of(FRAMES_AOS, 1000, 0), "1000 octets, and a frame has 1115"},
        {usual, keys_of(FRAMES_USLP, 1115, 0), "a frame of another kind"},
        {usual, usual, "a frame of spacecraft 7, and frames.scid is 171"},
        {usual, usual, "a frame of virtual channel 6, which no link reads"},
        {keys_of(FRAMES_CLTU, 0, 0), usual, "a datagram in which no CLTU begins"},
        {usual, usual, "5575 octets without a CADU"},
    };
    o[2].there.scid = 7;
    o[3].there.out.vcid = 6;
    o[5].here.cadu = FRAME_CODE_UNCODED;
    const struct other *one = &o[_i];
    begin_others(one);
    send_drawn(&w.a, 50);
    ck_assert_uint_eq(w.b.got, 0);
    ck_assert_uint_gt(count_of(&w.b).line.misfits, 3);
    ck_assert_msg(strstr(w.b.said, one->why) != NULL, "%s", w.b.said);
    ck_assert_ptr_nonnull(strstr(w.b.said, "Both ends need frames, and the same keys of frames"));
    ck_assert_uint_eq(count_lines(w.b.said), 1);
    virtual_advance(&w.v, w.v.now + 61 * TICK_S);
    send_drawn(&w.a, 50);
    ck_assert_uint_eq(count_lines(w.b.said), 2);
    end_world();
}
END_TEST

/* What bit errors can explain, and another's channel beside ours, is not. */
START_TEST(errors_are_no_other_keys)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 1115, 0);
    begin(&k);
    for (unsigned byte = 0; byte < 6; byte++) {
        w.sent[w.sent_len++] = (struct datagram){.len = 9, .bytes = "123456789"};
        send_bytes(&w.a, "123456789", 9);
        ck_assert(udp_flush(w.a.port->io));
        ck_assert_uint_eq(w.flying, byte + 1);
        w.flight[byte].bytes[byte] ^= 0xff;
        run_world();
    }
    ck_assert_uint_eq(w.b.got + count_of(&w.b).line.misfits, 0);
    send_drawn(&w.a, 10);
    struct end other;
    struct frame_keys sixth = k;
    memset(&other, 0, sizeof other);
    sixth.out.vcid = sixth.in.vcid = 6;
    open_end_at(&other, &sixth, "127.0.0.1:1", "127.0.0.1:2", w.a.port);
    other.peer = w.a.peer;
    send_drawn(&other, 10);
    ck_assert_uint_ge(count_of(&w.b).verdicts[FRAME_CHANNEL_VERDICT], 5);
    ck_assert_uint_eq(count_of(&w.b).line.misfits, 0);
    ck_assert_str_eq(w.b.said, "");
    port_close(other.port, on_closed, &other);
    run_world();
    ck_assert(other.closed);
    end_world();
}
END_TEST

START_TEST(guesses)
{
    static const char start[] = "\xeb\x90 and more", marker[] = "\x1a\xcf\xfc\x1d and more",
                      segment[] = "\x03\x01\x05\x01\x00\x64 a segment";
    struct frame_keys k = keys_of(FRAMES_TM, 300, 0);
    k.out.vcid = k.in.vcid = 0;
    begin(&k);
    send_drawn(&w.a, 3);
    ck_assert_uint_gt(w.flying, 0);
    struct slice frame = slice_of(w.flight[0].bytes, w.flight[0].len);
    ck_assert_str_eq(frame_guess(frame), "CCSDS frames");
    w.flight[0].bytes[20] ^= 1;
    ck_assert_ptr_null(frame_guess(frame));
    ck_assert_str_eq(frame_guess(slice_of(start, sizeof start)), "CLTUs");
    ck_assert_str_eq(frame_guess(slice_of(marker, sizeof marker)), "CADUs");
    ck_assert_ptr_null(frame_guess(slice_of(segment, sizeof segment)));
    ck_assert_ptr_null(frame_guess(slice_of(marker, 3)));
    ck_assert_ptr_null(frame_guess(slice_of(marker, 0)));
    end_world();
}
END_TEST

START_TEST(keys)
{
    struct frame_keys k = keys_of(FRAMES_AOS, 3000, 0);
    const char *key = "";
    char why[200] = "";
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames.length");
    k = keys_of(FRAMES_USLP, 3000, 0);
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
    k = keys_of(FRAMES_AOS, 1115, 0);
    k.scid = 256;
    ck_assert_int_ne(frame_keys_check(&k, &key, why, sizeof why), 0);
    ck_assert_str_eq(key, "frames");
    ck_assert_ptr_nonnull(strstr(why, "spacecraft"));
    k.out.kind = FRAMES_OFF; /* then nothing else counts */
    ck_assert_int_eq(frame_keys_check(&k, &key, why, sizeof why), 0);
}
END_TEST

SUITE(cla_frame_port, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_arrives);
    tcase_add_test(t, erased_frames);
    tcase_add_test(t, a_frame_waits);
    tcase_add_test(t, a_stream_does_not_wait);
    tcase_add_test(t, more_is_expected);
    tcase_add_test(t, close_sends_the_rest);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, many_in_one_frame);
    tcase_add_loop_test(t, keys_of_one_end, 0, 6);
    tcase_add_test(t, errors_are_no_other_keys);
    tcase_add_test(t, guesses);
    tcase_add_test(t, keys);
}
