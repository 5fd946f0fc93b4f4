/* SPDX-License-Identifier: Apache-2.0 */
/* TM frames: 132.0-B 4.1. What can go wrong: a version, a check value, fields that leave no room.
 */
#include <assert.h>

#include "frames/frame_impl.h"

enum { POINTER_NONE = 2047, POINTER_IDLE = 2046, POINTER_MASK = 2047 };
enum { FLAG_SECONDARY = 0x8000, FLAG_SYNC = 0x4000, SEGMENT_LENGTH = 0x1800 };
static_assert(SEGMENT_LENGTH == 3 << 11, "above the pointer; 3 when packets are not cut by hand");

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
