/* SPDX-License-Identifier: Apache-2.0 */
/* Packet headers: vectors, every form and its bounds, what is refused; streams in pieces of every
 * size; whole packets of pieces. */
#include "base/rng.h"
#include "frames/packet_reader.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

START_TEST(encap_vectors)
{
    static const struct {
        uint8_t protocol;
        uint64_t payload;
        const char *header;
    } v[] = {
        {PACKET_LTP, 10, "e50c"},        {PACKET_LTP, 253, "e5ff"},
        {PACKET_LTP, 254, "e6000102"},   {PACKET_LTP, 1400, "e600057c"},
        {PACKET_LTP, 65531, "e600ffff"}, {PACKET_LTP, 65532, "e700000000010004"},
        {PACKET_BP, 1400, "f200057c"},   {PACKET_LTP, 4294967287, "e7000000ffffffff"},
    };
    uint8_t out[PACKET_HEADER_MAX];
    struct packet p;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        size_t n = packet_write_encap(v[i].protocol, v[i].payload, out);
        assert_hex(out, n, v[i].header);
        ck_assert_int_eq(packet_read(&p, out, n), PACKET_OK);
        ck_assert_uint_eq(p.protocol, v[i].protocol);
        ck_assert_uint_eq(p.length - p.header_len, v[i].payload);
        struct packet again = {.kind = PACKET_ENCAP, .protocol = v[i].protocol, .length = p.length};
        ck_assert_uint_eq(packet_write(&again, out), n);
        assert_hex(out, n, v[i].header);
    }
    struct packet idle = {.kind = PACKET_ENCAP, .length = 1};
    ck_assert_uint_eq(packet_write(&idle, out), 1);
    ck_assert_uint_eq(out[0], 0xe0);
    idle.length = 48;
    assert_hex(out, packet_write(&idle, out), "e130");
    ck_assert_uint_eq(packet_write_encap(PACKET_LTP, 4294967288, out), 0);
    ck_assert_uint_eq(packet_write_encap(PACKET_EXTENDED, 1, out), 0);
}
END_TEST

START_TEST(encap_fields)
{
    uint8_t out[PACKET_HEADER_MAX];
    struct packet p = {.kind = PACKET_ENCAP,
                       .protocol = PACKET_EXTENDED,
                       .extension = 0xa,
                       .user_defined = 0x5,
                       .length = 100};
    assert_hex(out, packet_write(&p, out), "fa5a0064");
    p.ccsds = 0xbeef;
    assert_hex(out, packet_write(&p, out), "fb5abeef00000064");
    struct packet back;
    ck_assert_int_eq(packet_read(&back, out, 8), PACKET_OK);
    ck_assert(back.extension == 0xa && back.user_defined == 0x5 && back.ccsds == 0xbeef);
    p.header_len = 4; /* has no room for them */
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p = (struct packet){.kind = PACKET_ENCAP, .protocol = PACKET_LTP, .header_len = 8, .length = 9};
    assert_hex(out, packet_write(&p, out), "e700000000000009");
    p.length = 7; /* shorter than its header */
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p.header_len = 3;
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p = (struct packet){.kind = PACKET_ENCAP, .protocol = 8, .length = 7};
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p = (struct packet){.kind = (enum packet_kind)3, .length = 7};
    ck_assert_uint_eq(packet_write(&p, out), 0);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        const char *bytes;
        enum packet_verdict v;
    } v[] = {
        {"", PACKET_MORE},
        {"e4", PACKET_BAD_LENGTH},
        {"e5", PACKET_MORE},
        {"e501", PACKET_BAD_LENGTH},
        {"e500", PACKET_BAD_LENGTH},
        {"e60000", PACKET_MORE},
        {"e6000003", PACKET_BAD_LENGTH},
        {"e700000000000007", PACKET_BAD_LENGTH},
        {"20", PACKET_BAD_VERSION},
        {"c0", PACKET_BAD_VERSION},
        {"0000000000", PACKET_MORE},
        {"000000000000", PACKET_OK},
    };
    uint8_t data[8];
    struct packet p;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        ck_assert_int_eq(packet_read(&p, data, read_hex(v[i].bytes, data)), v[i].v);
    ck_assert_str_eq(packet_verdict_name(PACKET_LONG), "long");
}
END_TEST

START_TEST(space_packets)
{
    uint8_t out[PACKET_HEADER_MAX];
    struct packet p = {.kind = PACKET_SPACE,
                       .command = true,
                       .apid = 0x123,
                       .sequence_flags = 3,
                       .sequence_count = 0x155,
                       .length = 6 + 256};
    struct packet back;
    assert_hex(out, packet_write(&p, out), "1123c15500ff");
    ck_assert_int_eq(packet_read(&back, out, 6), PACKET_OK);
    ck_assert(back.command && !back.secondary && back.apid == 0x123 && !back.idle);
    ck_assert(back.sequence_flags == 3 && back.sequence_count == 0x155 && back.length == 262);
    p.length = 6 + 65536;
    p.apid = PACKET_IDLE_APID;
    assert_hex(out, packet_write(&p, out), "17ffc155ffff");
    ck_assert_int_eq(packet_read(&back, out, 6), PACKET_OK);
    ck_assert(back.idle && back.length == p.length);
    p.length++;
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p.length = 6; /* no data field */
    ck_assert_uint_eq(packet_write(&p, out), 0);
    p.length = 7;
    p.apid = 2048;
    ck_assert_uint_eq(packet_write(&p, out), 0);
}
END_TEST

enum { PACKETS = 60, STREAM = 200000 };
struct drawn {
    size_t payload_at, payload_len;
    struct packet packet;
};

/* A stream of all kinds and forms. */
static size_t draw_stream(struct rng *r, uint8_t *stream, struct drawn *d)
{
    size_t at = 0;
    for (int i = 0; i < PACKETS; i++) {
        size_t len = rng_below(r, rng_chance(r, 0.5) ? 8 : 600);
        struct packet p = {.kind = PACKET_ENCAP, .protocol = (uint8_t)rng_below(r, 8)};
        if (rng_chance(r, 0.3)) {
            p = (struct packet){.kind = PACKET_SPACE, .apid = (uint16_t)rng_below(r, 2048)};
            p.length = PACKET_SPACE_HEADER + ++len;
        } else if (p.protocol == PACKET_IDLE && len == 0) {
            p.length = p.header_len = 1;
        } else {
            p.header_len = rng_chance(r, 0.3) ? 8 : len > 200 || p.protocol == 6 ? 4 : 2;
            p.length = p.header_len + len;
        }
        size_t n = packet_write(&p, stream + at);
        ck_assert_uint_gt(n, 0);
        ck_assert_int_eq(packet_read(&d[i].packet, stream + at, n), PACKET_OK);
        ck_assert_uint_eq(d[i].packet.length, n + len);
        at += n;
        d[i].payload_at = at;
        d[i].payload_len = len;
        for (size_t k = 0; k < len; k++)
            stream[at++] = (uint8_t)rng_u64(r);
        ck_assert_uint_lt(at, STREAM - 4000);
    }
    return at;
}

START_TEST(streams_in_pieces)
{
    static uint8_t stream[STREAM], buffer[3000];
    static struct drawn d[PACKETS];
    struct rng r;
    rng_init(&r, 6);
    for (int round = 0; round < 36; round++) {
        size_t len = draw_stream(&r, stream, d), at = 0, most = 1 + rng_below(&r, 1 << round % 12);
        struct packet_reader reader;
        struct packet_join join = {.buffer = buffer, .room = sizeof buffer};
        int packets = 0, whole = 0;
        packet_reader_init(&reader, 4000);
        while (at < len) {
            size_t n = 1 + rng_below(&r, most);
            n = n < len - at ? n : len - at;
            struct slice in = slice_of(stream + at, n), payload;
            struct packet_piece piece;
            while (packet_reader_next(&reader, &in, &piece) == PACKET_OK) {
                const struct drawn *want = &d[packets];
                ck_assert_int_eq(piece.packet->kind, want->packet.kind);
                ck_assert_uint_eq(piece.packet->length, want->packet.length);
                ck_assert_uint_eq(piece.packet->protocol, want->packet.protocol);
                ck_assert_uint_eq(piece.packet->apid, want->packet.apid);
                if (piece.data.len > 0) /* where it is */
                    ck_assert_ptr_eq(piece.data.data, stream + want->payload_at + piece.offset);
                ck_assert_int_eq(piece.last, piece.offset + piece.data.len == want->payload_len);
                if (packet_join(&join, &piece, &payload)) {
                    ck_assert_uint_eq(payload.len, want->payload_len);
                    ck_assert_mem_eq(payload.data, stream + want->payload_at, payload.len);
                    whole++;
                }
                packets += piece.last;
            }
            ck_assert_uint_eq(in.len, 0);
            at += n;
        }
        ck_assert_int_eq(packets, PACKETS);
        ck_assert_int_eq(whole, PACKETS);
        ck_assert(packet_reader_idle(&reader));
    }
}
END_TEST

START_TEST(reader_refuses)
{
    struct packet_reader reader;
    struct packet_piece piece;
    uint8_t data[] = {0xe5, 0x04, 1, 2, 0xe5, 0x05, 3, 4, 5, 0x40};
    struct slice in = slice_of(data, sizeof data);
    packet_reader_init(&reader, 4);
    ck_assert_int_eq(packet_reader_next(&reader, &in, &piece), PACKET_OK);
    ck_assert(piece.last && piece.data.len == 2);
    ck_assert_int_eq(packet_reader_next(&reader, &in, &piece), PACKET_LONG);
    ck_assert(packet_reader_idle(&reader) && !packet_reader_reset(&reader));
    in = slice_of(data + 9, 1);
    ck_assert_int_eq(packet_reader_next(&reader, &in, &piece), PACKET_BAD_VERSION);
    in = slice_of(data, 1); /* half a header is something that was begun */
    ck_assert_int_eq(packet_reader_next(&reader, &in, &piece), PACKET_MORE);
    ck_assert(!packet_reader_idle(&reader) && packet_reader_reset(&reader));
    in = slice_of(data, 3);
    ck_assert_int_eq(packet_reader_next(&reader, &in, &piece), PACKET_OK);
    ck_assert(!piece.last && packet_reader_reset(&reader) && packet_reader_idle(&reader));
}
END_TEST

START_TEST(join_refuses)
{
    uint8_t buffer[4], data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct packet_join j = {.buffer = buffer, .room = sizeof buffer};
    struct slice out;
    struct packet_piece a = {.data = slice_of(data, 3)};
    struct packet_piece b = {.data = slice_of(data + 3, 1), .offset = 3, .last = true};
    struct packet_piece none = {.abandoned = true};
    ck_assert(!packet_join(&j, &b, &out)); /* its beginning was missed */
    ck_assert(!packet_join(&j, &a, &out) && packet_join(&j, &b, &out));
    ck_assert(out.len == 4 && memcmp(out.data, data, 4) == 0);
    ck_assert(!packet_join(&j, &a, &out) && !packet_join(&j, &none, &out));
    ck_assert(!packet_join(&j, &b, &out)); /* was abandoned */
    b.data.len = 2;                        /* too long */
    ck_assert(!packet_join(&j, &a, &out) && !packet_join(&j, &b, &out));
    ck_assert(!packet_join(&j, &b, &out));
}
END_TEST

SUITE(frames_packet, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, encap_vectors);
    tcase_add_test(t, encap_fields);
    tcase_add_test(t, refused);
    tcase_add_test(t, space_packets);
    tcase_add_test(t, streams_in_pieces);
    tcase_add_test(t, reader_refuses);
    tcase_add_test(t, join_refuses);
}
