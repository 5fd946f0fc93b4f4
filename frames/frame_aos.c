/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AOS frames: 732.0-B 4.1, with an M_PDU (4.1.4.2) in the data field. A header with an error
 * control field is corrected in a copy, over which the frame's check value is computed, too. What
 * can go wrong: a version, errors.
 */
#include <assert.h>

#include "frames/fecf.h"
#include "frames/fhec.h"
#include "frames/frame_impl.h"

enum { POINTER_NONE = 2047, POINTER_IDLE = 2046, POINTER_MASK = 2047 };
enum { SIGNAL_REPLAY = 0x80, SIGNAL_CYCLE = 0x40, CYCLE_MASK = 15, COUNT_BITS = 24 };

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
