/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security header follows what a frame has before its data field: TM the secondary header
 * (132.0-B 6.3), AOS the insert zone (732.0-B 6.3), USLP the insert zone (732.1-B 6.3), TC the
 * segment header (232.0-B 6.3). The trailer follows the data field. The MAC covers the virtual
 * channel, TC's segment header, USLP's MAP, the security header without IV, and the data field.
 * Nothing can go wrong: frames were parsed before.
 */
#include <assert.h>

#include "frames/fecf.h"
#include "frames/frame_impl.h"
#include "frames/sdls_impl.h"

static_assert(SDLS_PRIMARY_MAX == USLP_HEADER + 7, "with the longest frame count");

/* Bits that are always covered; the first octets of a primary header. */
static const uint8_t covered[][SDLS_PRIMARY_MAX] = {
    [FRAME_TM] = {0x00, 0x0e},
    [FRAME_AOS] = {0x00, 0x3f},
    [FRAME_USLP] = {0x00, 0x00, 0x07, 0xfe},
    [FRAME_TC] = {0x00, 0x00, 0xfc},
};
/* Bits that a mask may not add: the master channel frame count of TM, which is written later. */
static const uint8_t excluded[][SDLS_PRIMARY_MAX] = {
    [FRAME_TM] = {0x00, 0x00, 0xff},
    [FRAME_TC] = {0x00},
};

bool sdls_read_vcid(const struct frame_format *f, struct slice frame, uint8_t *vcid)
{
    const uint8_t *d = frame.data;
    if (frame.len < TC_HEADER)
        return false;
    switch (f->kind) {
    case FRAME_TM:
        *vcid = d[1] >> 1 & 7;
        return true;
    case FRAME_AOS:
        *vcid = d[1] & 63;
        return true;
    case FRAME_USLP:
        *vcid = (uint8_t)(get_16(d + 2) >> 5 & 63);
        return true;
    case FRAME_TC:
    default:
        *vcid = d[2] >> 2;
        return true;
    }
}

static uint32_t measure_front(const struct frame_format *f, const struct frame *frame)
{
    switch (f->kind) {
    case FRAME_TM:
        return TM_HEADER + (frame->secondary.len > 0 ? (uint32_t)frame->secondary.len + 1 : 0);
    case FRAME_AOS:
        return AOS_HEADER + (f->fhec ? FHEC_LEN : 0U) + f->insert_len;
    case FRAME_USLP:
        return USLP_HEADER + frame->count_bits / 8U + f->insert_len;
    case FRAME_TC:
    default:
        return TC_HEADER + (f->segments && !frame->command ? 1U : 0U);
    }
}

struct sdls_place sdls_find_field(const struct frame_format *f, const struct frame *frame)
{
    struct sdls_place p = {.vcid = frame->vcid,
                           .command = f->kind == FRAME_TC && frame->command,
                           .length = frame->length};
    p.header = p.data = measure_front(f, frame);
    p.mac = p.after = frame->length - f->fecf - (frame->has_ocf ? OCF_LEN : 0U);
    assert(p.data < p.mac && p.mac <= frame->length);
    return p;
}

uint32_t sdls_header_len(const struct sdls_association *a)
{
    return 2U + a->iv_len + a->sequence_len + a->pad_len;
}

static uint32_t measure_primary(const struct frame_format *f, const uint8_t *frame)
{
    switch (f->kind) {
    case FRAME_USLP:
        return USLP_HEADER + (frame[6] & 7U);
    case FRAME_TC:
        return TC_HEADER;
    case FRAME_TM:
    case FRAME_AOS:
    default:
        return TM_HEADER;
    }
}
static_assert((int)TM_HEADER == (int)AOS_HEADER, "both are six octets");

void sdls_write_covered(const struct frame_format *f, const struct sdls_association *a,
                        const struct sdls_place *p, const uint8_t *frame, uint8_t *out)
{
    uint32_t primary = measure_primary(f, frame);
    assert(primary <= SDLS_PRIMARY_MAX && primary <= p->header && p->header < p->data);
    for (uint32_t i = 0; i < primary; i++)
        out[i] = frame[i] & (covered[f->kind][i] | (a->mask[i] & (uint8_t)~excluded[f->kind][i]));
    memset(out + primary, 0, p->header - primary);
    if (f->kind == FRAME_TC && p->header > primary) /* the segment header */
        out[primary] = frame[primary];
    memcpy(out + p->header, frame + p->header, p->data - p->header);
    memset(out + p->header + 2, 0, a->iv_len);
}

void sdls_write_length(const struct frame_format *f, uint8_t *frame, uint32_t length)
{
    if (f->kind == FRAME_TC)
        put_16(frame + 2, (uint32_t)frame[2] >> 2 << 10 | (length - 1));
    if (f->kind == FRAME_USLP)
        put_16(frame + 4, length - 1);
}

void sdls_finish(const struct frame_format *f, uint8_t *frame, uint32_t length)
{
    sdls_write_length(f, frame, length);
    if (f->fecf > 0)
        put_16(frame + length - FECF_LEN, fecf_crc(FECF_INIT, frame, length - FECF_LEN));
}
