/* SPDX-License-Identifier: Apache-2.0 */
/* TC frames: 232.0-B 4.1, of any type; what follows them in a CLTU is fill. What can go wrong: a
 * version, a length, errors. */
#include <assert.h>

#include "frames/fecf.h"
#include "frames/frame_impl.h"

enum { FLAG_BYPASS = 0x2000, FLAG_COMMAND = 0x1000, SPARE = 0x0c00 };

enum frame_verdict tc_parse(const struct frame_format *f, const uint8_t *d, size_t len,
                            struct frame *out)
{
    uint32_t at = TC_HEADER;
    if (len < TC_HEADER)
        return FRAME_LENGTH_VERDICT;
    uint16_t id = get_16(d);
    if (id >> 14 != VERSION_TC)
        return FRAME_VERSION_VERDICT;
    out->length = (get_16(d + 2) & 0x3ffU) + 1;
    out->bypass = (id & FLAG_BYPASS) != 0;
    out->command = (id & FLAG_COMMAND) != 0;
    bool segments = f->segments && !out->command;
    if (out->length > len || out->length > f->length ||
        out->length <= TC_HEADER + f->fecf + (segments ? 1U : 0U))
        return FRAME_LENGTH_VERDICT;
    if (!frame_is_sound(f, d, out->length))
        return FRAME_FECF_VERDICT;
    if ((id & SPARE) != 0 || (out->command && !out->bypass))
        return FRAME_FIELD_VERDICT;
    out->scid = id & 0x3ff;
    out->vcid = d[2] >> 2;
    out->count = d[4];
    out->count_bits = 8;
    if (segments) {
        out->sequence = d[at] >> 6;
        out->map = d[at++] & 63;
    }
    out->zone = slice_of(d + at, out->length - f->fecf - at);
    out->packets = !out->command && (!segments || out->sequence == 3);
    out->pointer = 0; /* whole packets, from the front */
    assert(out->zone.len > 0);
    return FRAME_OK_VERDICT;
}

size_t frame_write_tc(const struct frame_format *f, const struct frame *frame, struct slice payload,
                      uint8_t *out, size_t room)
{
    bool segments = f->segments && !frame->command;
    size_t at = TC_HEADER + (segments ? 1U : 0U), length = at + payload.len + f->fecf;
    assert(f->kind == FRAME_TC && frame->scid < 1024 && frame->vcid < 64);
    assert(!frame->command || frame->bypass);
    if (payload.len == 0 || payload.len > f->length || length > f->length || length > room)
        return 0;
    put_16(out, (uint32_t)VERSION_TC << 14 | (frame->bypass ? (uint32_t)FLAG_BYPASS : 0U) |
                    (frame->command ? (uint32_t)FLAG_COMMAND : 0U) | frame->scid);
    put_16(out + 2, (uint32_t)frame->vcid << 10 | (uint32_t)(length - 1));
    out[4] = (uint8_t)(frame->count & 0xff);
    if (segments)
        out[TC_HEADER] = (uint8_t)(frame->sequence << 6 | (frame->map & 63));
    memcpy(out + at, payload.data, payload.len);
    if (f->fecf > 0)
        put_16(out + length - f->fecf, fecf_crc(FECF_INIT, out, length - f->fecf));
    return length;
}
