/* SPDX-License-Identifier: Apache-2.0 */
/*
 * USLP frames of a fixed length: 732.1-B 4.1, packets that span frames (construction rule 0) in the
 * data field. Truncated frames (4.1.2.8) and check values of four octets are not read. What
 * can go wrong: a version, a length, errors, fields that leave no room.
 */
#include <assert.h>

#include "frames/frame_impl.h"

enum { POINTER_NONE = 0xffff, RULE_SPAN = 0, RULE_STREAM_MAX = 2, RULE_WHOLE = 7 };
enum { UPID_PACKETS = 0, UPID_IDLE = 31 };
enum { FLAG_BYPASS = 0x80, FLAG_COMMAND = 0x40, FLAG_OCF = 0x08, COUNT_LEN = 7 };

static uint32_t read_header(const uint8_t *d, struct frame *out)
{
    out->scid = (uint16_t)(get_32(d) >> 12 & 0xffff);
    out->destination = (d[2] & 0x08) != 0;
    out->vcid = (uint8_t)(get_16(d + 2) >> 5 & 63);
    out->map = d[3] >> 1 & 15;
    out->bypass = (d[6] & FLAG_BYPASS) != 0;
    out->command = (d[6] & FLAG_COMMAND) != 0;
    out->has_ocf = (d[6] & FLAG_OCF) != 0;
    uint32_t n = d[6] & COUNT_LEN;
    out->count_bits = (uint8_t)(8 * n);
    return n;
}

/* The data field's own header. Returns its octets, or 0 when the construction rule is not that of
 * any zone that is read. */
static uint32_t read_field(const uint8_t *d, struct frame *out)
{
    unsigned rule = d[0] >> 5, upid = d[0] & 31;
    out->only_idle = out->vcid == FRAME_IDLE_VCID || upid == UPID_IDLE;
    out->packets = !out->only_idle && rule == RULE_SPAN && upid == UPID_PACKETS;
    if (rule > RULE_STREAM_MAX)
        return 1;
    if (out->packets && get_16(d + 1) != POINTER_NONE)
        out->pointer = get_16(d + 1);
    return 3;
}

enum frame_verdict uslp_parse(const struct frame_format *f, const uint8_t *d, struct frame *out)
{
    uint32_t at = USLP_HEADER;
    if (d[0] >> 4 != VERSION_USLP)
        return FRAME_VERSION_VERDICT;
    if (!frame_is_sound(f, d, f->length))
        return FRAME_FECF_VERDICT;
    if ((d[3] & 1) != 0) /* a truncated header */
        return FRAME_FIELD_VERDICT;
    if (get_16(d + 4) + UINT32_C(1) != f->length)
        return FRAME_LENGTH_VERDICT;
    uint32_t n = read_header(d, out);
    /* The field's header and one octet of zone must be there, whatever else the frame has. */
    if (at + n + f->insert_len + 3 >= f->length)
        return FRAME_FIELD_VERDICT;
    for (uint32_t i = 0; i < n; i++)
        out->count = out->count << 8 | d[at + i];
    at += n;
    out->insert = slice_of(d + at, f->insert_len);
    at += f->insert_len;
    at += read_field(d + at, out);
    assert(at < f->length);
    return frame_take_zone(f, d, at, out) ? FRAME_OK_VERDICT : FRAME_FIELD_VERDICT;
}

void uslp_write(const struct frame_format *f, const struct frame *frame, uint8_t *out)
{
    uint8_t vcid = frame->only_idle ? FRAME_IDLE_VCID : frame->vcid;
    uint8_t *field = out + USLP_HEADER + f->count_len + f->insert_len;
    assert(vcid < 64 && frame->map < 16 && f->count_len <= COUNT_LEN);
    put_32(out, (uint32_t)VERSION_USLP << 28 | (uint32_t)frame->scid << 12 |
                    (uint32_t)frame->destination << 11 | (uint32_t)vcid << 5 |
                    (uint32_t)frame->map << 1);
    put_16(out + 4, f->length - 1);
    out[6] = (uint8_t)((frame->bypass ? FLAG_BYPASS : 0) | (frame->command ? FLAG_COMMAND : 0) |
                       (f->ocf ? FLAG_OCF : 0) | f->count_len);
    for (uint32_t i = 0; i < f->count_len; i++)
        out[USLP_HEADER + i] = (uint8_t)(frame->count >> (8 * (f->count_len - 1U - i)) & 0xff);
    if (frame->only_idle) {
        field[0] = RULE_WHOLE << 5 | UPID_IDLE;
        return;
    }
    field[0] = RULE_SPAN << 5 | UPID_PACKETS;
    put_16(field + 1, frame->pointer == FRAME_NO_START ? (uint32_t)POINTER_NONE : frame->pointer);
}
