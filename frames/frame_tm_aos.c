/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TM frames (132.0-B 4.1) and AOS frames (732.0-B 4.1): both have packets, or an M_PDU of them,
 * with a pointer of 11 bits to the first one that begins in the frame. An AOS header with an error
 * control field is corrected in a copy, over which the frame's check value is computed, too. What
 * can go wrong: a version, a check value, errors in the header, fields that leave no room.
 */
#include <assert.h>

#include "frames/fecf.h"
#include "frames/fhec.h"
#include "frames/frame_impl.h"

enum { POINTER_NONE = 2047, POINTER_IDLE = 2046, POINTER_MASK = 2047 };
enum { FLAG_SECONDARY = 0x8000, FLAG_SYNC = 0x4000, SEGMENT_LENGTH = 0x1800 };
static_assert(SEGMENT_LENGTH == 3 << 11, "above the pointer; 3 when packets are not cut by hand");
enum { SIGNAL_REPLAY = 0x80, SIGNAL_CYCLE = 0x40, CYCLE_MASK = 15, COUNT_BITS = 24 };

/* ---- TM ---- */

enum frame_verdict tm_parse(const struct frame_format *f, const uint8_t *d, struct frame *out)
{
    uint32_t at = TM_HEADER;
    uint16_t id = get_16(d), status = get_16(d + 4);
    if (id >> 14 != VERSION_TM)
        return FRAME_VERSION_VERDICT;
    if (!frame_is_sound(f, d, f->length))
        return FRAME_FECF_VERDICT;
    out->scid = id >> 4 & 0x3ff;
    out->vcid = id >> 1 & 7;
    out->has_ocf = (id & 1) != 0;
    out->master_count = d[2];
    out->count = d[3];
    out->count_bits = 8;
    if ((status & FLAG_SECONDARY) != 0) {
        uint32_t len = (d[at] & 63U) + 1; /* its first octet is there: length > overhead */
        if (d[at] >> 6 != 0 || len < 2 || at + len >= f->length)
            return FRAME_FIELD_VERDICT;
        out->secondary = slice_of(d + at + 1, len - 1);
        at += len;
    }
    if (!frame_take_zone(f, d, at, out))
        return FRAME_FIELD_VERDICT;
    uint16_t pointer = status & POINTER_MASK;
    out->packets = (status & FLAG_SYNC) == 0;
    out->only_idle = out->packets && pointer == POINTER_IDLE;
    out->pointer = pointer >= POINTER_IDLE ? FRAME_NO_START : pointer;
    return FRAME_OK_VERDICT;
}

void tm_write(const struct frame_format *f, const struct frame *frame, uint8_t *out)
{
    uint32_t pointer = frame->only_idle                   ? POINTER_IDLE
                       : frame->pointer == FRAME_NO_START ? POINTER_NONE
                                                          : frame->pointer;
    assert(frame->scid < 1024 && frame->vcid < 8 && pointer <= POINTER_NONE);
    put_16(out, (uint32_t)VERSION_TM << 14 | (uint32_t)frame->scid << 4 |
                    (uint32_t)frame->vcid << 1 | f->ocf);
    out[2] = frame->master_count;
    out[3] = (uint8_t)(frame->count & 0xff);
    put_16(out + 4,
           (f->secondary_len > 0 ? (uint32_t)FLAG_SECONDARY : 0U) | SEGMENT_LENGTH | pointer);
}

/* ---- AOS ---- */

static bool correct_header(uint8_t head[AOS_HEADER + FHEC_LEN], struct frame *out)
{
    uint16_t gvcid = get_16(head), field = get_16(head + AOS_HEADER);
    int n = fhec_correct(&gvcid, &head[5], &field);
    if (n < 0)
        return false;
    put_16(head, gvcid);
    put_16(head + AOS_HEADER, field);
    out->corrected = (uint8_t)n;
    return true;
}

static enum frame_verdict check_errors(const struct frame_format *f, const uint8_t *d,
                                       uint8_t head[AOS_HEADER + FHEC_LEN], struct frame *out)
{
    uint32_t len = AOS_HEADER + FHEC_LEN;
    assert(f->length > len);
    memcpy(head, d, len);
    if (f->fhec && !correct_header(head, out))
        return FRAME_FHEC_VERDICT;
    if (head[0] >> 6 != VERSION_AOS)
        return FRAME_VERSION_VERDICT;
    if (out->corrected == 0)
        return frame_is_sound(f, d, f->length) ? FRAME_OK_VERDICT : FRAME_FECF_VERDICT;
    uint16_t crc = fecf_crc(fecf_crc(FECF_INIT, head, len), d + len, f->length - len);
    return f->fecf == 0 || crc == 0 ? FRAME_OK_VERDICT : FRAME_FECF_VERDICT;
}

static void read_header(const struct frame_format *f, const uint8_t *head, struct frame *out)
{
    uint8_t signalling = head[5];
    out->scid = get_16(head) >> 6 & 0xff;
    if (f->wide_scid)
        out->scid |= (uint16_t)((signalling & 0x30) << 4);
    out->vcid = head[1] & 63;
    out->count = (uint64_t)get_16(head + 2) << 8 | head[4];
    out->count_bits = COUNT_BITS;
    out->replay = (signalling & SIGNAL_REPLAY) != 0;
    if (f->count_cycle && (signalling & SIGNAL_CYCLE) != 0) {
        out->count |= (uint64_t)(signalling & CYCLE_MASK) << COUNT_BITS;
        out->count_bits = COUNT_BITS + 4;
    }
    out->only_idle = out->vcid == FRAME_IDLE_VCID;
}

enum frame_verdict aos_parse(const struct frame_format *f, const uint8_t *d, struct frame *out)
{
    uint8_t head[AOS_HEADER + FHEC_LEN];
    uint32_t at = AOS_HEADER + (f->fhec ? FHEC_LEN : 0U);
    enum frame_verdict v = check_errors(f, d, head, out);
    if (v != FRAME_OK_VERDICT)
        return v;
    read_header(f, head, out);
    out->insert = slice_of(d + at, f->insert_len);
    at += f->insert_len;
    out->has_ocf = f->ocf;
    if (!out->only_idle) {
        uint16_t pointer = get_16(d + at) & POINTER_MASK;
        at += MPDU_HEADER;
        out->packets = true;
        out->only_idle = pointer == POINTER_IDLE;
        out->pointer = pointer >= POINTER_IDLE ? FRAME_NO_START : pointer;
    }
    bool fits = frame_take_zone(f, d, at, out);
    assert(fits); /* the format has no problem */
    return fits ? FRAME_OK_VERDICT : FRAME_FIELD_VERDICT;
}

void aos_write(const struct frame_format *f, const struct frame *frame, uint8_t *out)
{
    uint8_t vcid = frame->only_idle ? FRAME_IDLE_VCID : frame->vcid, signalling = 0;
    assert(frame->scid < (f->wide_scid ? 1024 : 256) && vcid < 64);
    put_16(out, (uint32_t)VERSION_AOS << 14 | (frame->scid & 0xffU) << 6 | vcid);
    put_16(out + 2, (uint32_t)(frame->count >> 8 & 0xffff));
    out[4] = (uint8_t)(frame->count & 0xff);
    if (frame->replay)
        signalling |= SIGNAL_REPLAY;
    if (f->count_cycle)
        signalling |= (uint8_t)(SIGNAL_CYCLE | (frame->count >> COUNT_BITS & CYCLE_MASK));
    if (f->wide_scid)
        signalling |= (uint8_t)(frame->scid >> 4 & 0x30);
    out[5] = signalling;
    if (f->fhec)
        put_16(out + AOS_HEADER, fhec_encode(get_16(out), signalling));
    if (!frame->only_idle) /* else all of the data field is idle data */
        put_16(out + frame_layout(f).zone_at - MPDU_HEADER,
               frame->pointer == FRAME_NO_START ? (uint32_t)POINTER_NONE : frame->pointer);
}
