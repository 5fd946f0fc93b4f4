/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver of the erasure code between an honest sender and an attacker with valid CRCs. Each
 * instruction of the input is an octet: the next packet of the sender (taken, lost, doubled), or a
 * packet of the input's own octets. The receiver stays consistent; without the attacker, whatever
 * comes out is a segment that was sent.
 */
#include <assert.h>
#include <string.h>

#include "erasure/packet.h"

enum { LEN = 24, SENT_MAX = 512, SPAN = 24, ROWS = 4 };

struct run {
    struct erasure_encoder *e;
    struct erasure_decoder *d;
    tick now;
    unsigned sent;
    bool attacked, wide, requests;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_segment(const struct run *r, struct slice s)
{
    if (r->attacked)
        return;
    assert(s.len >= 4 && s.len <= LEN);
    uint32_t n = get_u32(s.data);
    assert(n < r->sent && s.len == 4 + n % (LEN - 3));
    for (size_t i = 4; i < s.len; i++)
        assert(s.data[i] == (uint8_t)(n * 31 + i));
}

/* Requests go to the sender, which has more packets then. */
static void pass_requests(struct run *r)
{
    uint8_t request[ERASURE_HEAD];
    size_t len;
    while ((len = erasure_decoder_request(r->d, r->now, request)) > 0) {
        assert(r->requests && len == sizeof request);
        erasure_encoder_request(r->e, slice_of(request, len), r->now);
    }
}

static void take(struct run *r, const uint8_t *packet, size_t len)
{
    struct slice s;
    erasure_decoder_input(r->d, slice_of(packet, len), r->now, &s);
    if (s.len > 0)
        check_segment(r, s);
    while (erasure_decoder_next(r->d, &s))
        check_segment(r, s);
    erasure_decoder_check(r->d);
    for (unsigned i = 0; r->wide && erasure_decoder_deadline(r->d) <= r->now; i++) {
        assert(i < 1000);
        erasure_decoder_expire(r->d, r->now);
        while (erasure_decoder_next(r->d, &s))
            check_segment(r, s);
        erasure_decoder_check(r->d);
    }
    pass_requests(r);
}

static size_t send(struct run *r, uint8_t *packet)
{
    uint8_t segment[LEN];
    while (r->wide && erasure_encoder_deadline(r->e) <= r->now)
        erasure_encoder_expire(r->e, r->now);
    size_t n = erasure_encoder_output(r->e, packet), len = 4 + r->sent % (LEN - 3);
    if (n > 0)
        return n;
    put_u32(segment, r->sent); /* its first octet ends no block */
    for (size_t i = 4; i < len; i++)
        segment[i] = (uint8_t)(r->sent * 31 + i);
    r->sent++;
    erasure_encoder_add(r->e, slice_of(segment, 2), slice_of(segment + 2, len - 2), r->now, packet);
    memcpy(packet + ERASURE_HEAD, segment, len);
    return ERASURE_HEAD + len;
}

/* The input's octets with the right CRC. */
static void attack(struct run *r, const uint8_t *data, size_t len)
{
    uint8_t packet[ERASURE_BEYOND + LEN + 8];
    size_t repair_head = r->wide ? ERASURE_WIDE_HEAD : ERASURE_REPAIR_HEAD;
    size_t head = len > 0 && (data[0] & 1) ? repair_head : ERASURE_HEAD;
    if (len < head || len > sizeof packet)
        return;
    memcpy(packet, data, len);
    bool request = r->requests && len == ERASURE_HEAD;
    struct packet_head h = {.request = request && !(data[0] & 1),
                            .need = request && (data[0] & 1),
                            .repair = data[0] & 1 && !request,
                            .wide = r->wide && !request,
                            .asked = r->requests && !request,
                            .matrix = get_u32(data) & (PACKET_MATRICES - 1),
                            .index = get_u16(data + 4)};
    if (h.repair) {
        h.segments = get_u16(data + 10);
        h.depth = r->wide ? 1 : data[12];
        h.rows = r->wide ? get_u16(data + 12) : data[13];
        h.full_segments = SPAN;
        h.full_rows = ROWS;
    }
    h.crc = erasure_packet_crc(&h, slice_of(packet + head, len - head), slice_of(NULL, 0));
    erasure_packet_write(&h, packet);
    if (request) {
        erasure_encoder_request(r->e, slice_of(packet, len), r->now);
        return;
    }
    r->attacked = true;
    take(r, packet, len);
}

static size_t step(struct run *r, const uint8_t *data, size_t len)
{
    uint8_t packet[ERASURE_BEYOND + LEN];
    size_t n = data[0] >> 2 < len - 1 ? data[0] >> 2 : len - 1, sent;
    switch (data[0] & 3) {
    case 0:
        for (size_t i = 0; i <= n && r->sent < SENT_MAX; i++) {
            sent = send(r, packet);
            take(r, packet, sent);
        }
        return 1;
    case 1:
        sent = send(r, packet); /* lost, and time goes on */
        r->now += n * TICK_MS;
        erasure_encoder_expire(r->e, r->now);
        erasure_decoder_expire(r->d, r->now);
        return 1;
    case 2:
        sent = send(r, packet);
        take(r, packet, sent);
        take(r, packet, sent);
        return 1;
    default:
        attack(r, data + 1, n);
        return 1 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct gf16 field; /* for all inputs: it takes longer than they */
    struct run r = {.wide = len > 0 && (data[len - 1] & 1)};
    r.requests = r.wide && (data[len - 1] & 2) != 0;
    if (field.exp[0] == 0)
        gf16_init(&field);
    struct erasure_config c = {.codec = r.wide ? ERASURE_RS : ERASURE_RS8,
                               .span = SPAN,
                               .depth = r.wide ? 1 : 3,
                               .rows = ROWS,
                               .segment_max = LEN,
                               .wait = 20 * TICK_MS,
                               .hold = 40 * TICK_MS,
                               .matrices = 2,
                               .requests = r.requests,
                               .adaptive = r.requests && (data[len - 1] & 4) != 0,
                               .answer = 30 * TICK_MS,
                               .each = TICK_MS / 10,
                               .pause = 5 * TICK_MS,
                               .kept = 2,
                               .math = &gf_portable,
                               .field = &field,
                               .math16 = gf16_fastest()};
    if (erasure_encoder_new(&r.e, &c) != 0)
        return 0;
    if (erasure_decoder_new(&r.d, &c) == 0)
        while (len > 0) {
            size_t n = step(&r, data, len);
            data += n;
            len -= n;
        }
    erasure_encoder_free(r.e);
    erasure_decoder_free(r.d);
    return 0;
}
