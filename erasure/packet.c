/* SPDX-License-Identifier: Apache-2.0 */
/* Headers are written and read octet by octet. A wrong CRC makes a packet a lost one. */
#include "erasure/packet.h"

#include <assert.h>

#include "base/crc.h"

bool erasure_shape(const struct erasure_config *c, unsigned segments, unsigned rows,
                   struct rs16_shape *out)
{
    struct rs16_shape full;
    unsigned more = c->requests ? c->rows : 0;
    if (!rs16_shape_set(&full, c->span, c->rows + more))
        return false;
    more = c->requests ? rows : 0;
    bool fits = rs16_shape_set(out, segments, rows + more);
    assert(fits && out->log_m <= full.log_m);
    (void)fits;
    if (segments >= 1u << full.log_m)
        out->log_m = full.log_m;
    out->repairs = c->requests ? 1u << out->log_m : rows;
    return true;
}

static unsigned kind_of(const struct packet_head *h)
{
    unsigned kind = (h->repair ? PACKET_REPAIR : PACKET_SEGMENT) | (h->wide ? PACKET_WIDE : 0);
    if (h->need)
        return PACKET_NEED;
    return h->request ? PACKET_REQUEST : kind | (h->asked ? PACKET_ASKED : 0);
}

/* Octets of the header that begins with this octet; 0: no packet of this code. */
static size_t head_of(unsigned kind)
{
    switch (kind) {
    case PACKET_SEGMENT:
    case PACKET_SEGMENT | PACKET_WIDE:
    case PACKET_SEGMENT | PACKET_WIDE | PACKET_ASKED:
    case PACKET_REQUEST:
    case PACKET_NEED:
        return ERASURE_HEAD;
    case PACKET_REPAIR:
        return ERASURE_REPAIR_HEAD;
    case PACKET_REPAIR | PACKET_WIDE:
    case PACKET_REPAIR | PACKET_WIDE | PACKET_ASKED:
        return ERASURE_WIDE_HEAD;
    default:
        return 0;
    }
}

size_t erasure_packet_write(const struct packet_head *h, uint8_t *out)
{
    assert(h->matrix < PACKET_MATRICES);
    put_u32(out, kind_of(h) << 24 | h->matrix);
    put_u16(out + 4, h->index);
    put_u32(out + 6, h->crc);
    if (!h->repair)
        return ERASURE_HEAD;
    put_u16(out + 10, h->segments);
    put_u16(out + 12, h->wide ? h->rows : (unsigned)h->depth << 8 | h->rows);
    if (!h->wide)
        return ERASURE_REPAIR_HEAD;
    put_u16(out + 14, h->full_segments);
    put_u16(out + 16, h->full_rows);
    return ERASURE_WIDE_HEAD;
}

uint32_t erasure_packet_crc(const struct packet_head *h, struct slice first, struct slice rest)
{
    uint8_t head[ERASURE_WIDE_HEAD];
    struct packet_head plain = *h;
    plain.crc = 0;
    uint32_t crc = crc32c(0, head, erasure_packet_write(&plain, head));
    crc = first.len > 0 ? crc32c(crc, first.data, first.len) : crc;
    return rest.len > 0 ? crc32c(crc, rest.data, rest.len) : crc;
}

bool erasure_is_packet(struct slice packet)
{
    struct packet_head h;
    struct slice body;
    const enum erasure_verdict v = erasure_packet_parse(packet, &h, &body);
    return v == ERASURE_SEGMENT || v == ERASURE_REPAIR || v == ERASURE_REQUEST;
}

enum erasure_verdict erasure_packet_parse(struct slice packet, struct packet_head *h,
                                          struct slice *body)
{
    const uint8_t *p = packet.data;
    size_t n = packet.len > 0 ? head_of(p[0]) : 0;
    if (n == 0)
        return ERASURE_UNCODED;
    *h = (struct packet_head){.request = p[0] == PACKET_REQUEST,
                              .need = p[0] == PACKET_NEED,
                              .repair = p[0] != PACKET_NEED && (p[0] & 1) != 0,
                              .wide = (p[0] & PACKET_WIDE) != 0};
    h->asked = h->wide && (p[0] & PACKET_ASKED) != 0;
    bool alone = h->request || h->need;
    if (alone ? packet.len != n : packet.len <= n)
        return ERASURE_MALFORMED;
    h->matrix = get_u32(p) & (PACKET_MATRICES - 1);
    h->index = get_u16(p + 4);
    h->crc = get_u32(p + 6);
    if (h->repair) {
        h->segments = get_u16(p + 10);
        h->depth = h->wide ? 1 : p[12];
        h->rows = h->wide ? get_u16(p + 12) : p[13];
        h->full_segments = h->wide ? get_u16(p + 14) : 0;
        h->full_rows = h->wide ? get_u16(p + 16) : 0;
    }
    *body = slice_of(p + n, packet.len - n);
    if (erasure_packet_crc(h, *body, slice_of(NULL, 0)) != h->crc)
        return ERASURE_BAD_CRC;
    return alone ? ERASURE_REQUEST : h->repair ? ERASURE_REPAIR : ERASURE_SEGMENT;
}
