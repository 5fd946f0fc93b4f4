/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BER by a cursor. Written lengths are put in when a value is closed: its content was written
 * behind one octet of room, and moves when the length needs more; SLE's own PDUs are short, and
 * frames do not come this way.
 */
#include "sle/ber.h"

#include <assert.h>

struct ber ber_reader(struct slice in)
{
    return (struct ber){.writing = false, .r = reader_of(in.data, in.len)};
}

struct ber ber_writer(void *out, size_t room)
{
    return (struct ber){.writing = true, .w = writer_of(out, room)};
}

void ber_fail(struct ber *b)
{
    b->bad = b->r.bad = b->w.bad = true;
}

bool ber_done(const struct ber *b)
{
    return !b->bad && (b->writing ? !b->w.bad : !b->r.bad && b->r.p == b->r.end);
}

/* One octet, or two for numbers from 31 to 127. */
static uint32_t read_tag(struct reader *r)
{
    uint32_t tag = reader_byte(r);
    if ((tag & 0x1f) == 0x1f) {
        uint8_t low = reader_byte(r);
        if (low < 0x1f || low > 0x7f)
            r->bad = true;
        tag = tag << 8 | low;
    }
    return r->bad ? 0 : tag;
}

static uint32_t read_length(struct reader *r)
{
    uint8_t first = reader_byte(r);
    if (first < 0x80)
        return first;
    unsigned octets = first & 0x7f;
    uint32_t length = 0;
    if (octets == 0) /* indefinite */
        r->bad = true;
    for (; octets > 0 && !r->bad; octets--) {
        if (length >> 24 != 0)
            r->bad = true;
        length = length << 8 | reader_byte(r);
    }
    return length;
}

uint32_t ber_choice(struct ber *b, uint32_t tag)
{
    if (b->writing)
        return tag;
    struct reader peek = b->r;
    return b->bad || peek.p == peek.end ? 0 : read_tag(&peek);
}

struct ber_mark ber_open(struct ber *b, uint32_t tag)
{
    assert(tag != 0 && tag <= 0xffff);
    struct ber_mark mark = {.end = b->r.end, .at = 0};
    if (b->writing) {
        if (tag > 0xff)
            writer_byte(&b->w, (uint8_t)(tag >> 8));
        writer_byte(&b->w, (uint8_t)tag);
        writer_byte(&b->w, 0);
        mark.at = writer_len(&b->w);
        return mark;
    }
    uint32_t length = 0;
    if (b->bad || read_tag(&b->r) != tag)
        ber_fail(b);
    else
        length = read_length(&b->r);
    if (b->r.bad || length > reader_left(&b->r))
        ber_fail(b);
    else
        b->r.end = b->r.p + length;
    return mark;
}

static void close_written(struct ber *b, size_t at)
{
    if (b->w.bad)
        return;
    uint8_t *content = b->w.start + at;
    size_t length = writer_len(&b->w) - at;
    unsigned more = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
    if (length >= 0x1000000 || more > (size_t)(b->w.end - b->w.p)) {
        ber_fail(b);
        return;
    }
    memmove(content + more, content, length);
    b->w.p += more;
    content[-1] = (uint8_t)(more == 0 ? length : 0x80 | more);
    for (unsigned i = 0; i < more; i++)
        content[i] = (uint8_t)(length >> 8 * (more - 1 - i));
}

void ber_close(struct ber *b, struct ber_mark mark)
{
    if (b->writing) {
        close_written(b, mark.at);
        return;
    }
    if (b->r.p != b->r.end)
        ber_fail(b);
    b->r.end = mark.end;
}

static void write_int(struct ber *b, uint32_t tag, int64_t value)
{
    struct ber_mark mark = ber_open(b, tag);
    unsigned octets = 1;
    while (octets < 8 &&
           (value < -(INT64_C(1) << (8 * octets - 1)) || value >= INT64_C(1) << (8 * octets - 1)))
        octets++;
    for (unsigned i = octets; i-- > 0;)
        writer_byte(&b->w, (uint8_t)((uint64_t)value >> 8 * i));
    ber_close(b, mark);
}

void ber_int(struct ber *b, uint32_t tag, int64_t *value, int64_t min, int64_t max)
{
    if (b->writing) {
        assert(*value >= min && *value <= max);
        write_int(b, tag, *value);
        return;
    }
    struct slice s = slice_of(NULL, 0);
    ber_octets(b, tag, &s, 1, 8);
    if (b->bad)
        return;
    assert(s.data != NULL && s.len >= 1);
    uint64_t v = (s.data[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < s.len; i++)
        v = v << 8 | s.data[i];
    if ((int64_t)v < min || (int64_t)v > max)
        ber_fail(b);
    else
        *value = (int64_t)v;
}

void ber_u32(struct ber *b, uint32_t tag, uint32_t *value, uint32_t min, uint32_t max)
{
    int64_t v = *value;
    ber_int(b, tag, &v, min, max);
    if (!b->writing && !b->bad)
        *value = (uint32_t)v;
}

void ber_null(struct ber *b, uint32_t tag)
{
    ber_close(b, ber_open(b, tag));
}

void ber_octets(struct ber *b, uint32_t tag, struct slice *value, size_t min, size_t max)
{
    const bool writing = b->writing; /* the one or the other from beginning to end */
    struct ber_mark mark = ber_open(b, tag);
    if (writing) {
        assert(value->len >= min && value->len <= max);
        writer_bytes(&b->w, value->data, value->len);
    } else {
        *value = b->bad ? slice_of(NULL, 0) : reader_take(&b->r, reader_left(&b->r));
        if (value->len < min || value->len > max)
            ber_fail(b);
    }
    ber_close(b, mark);
}

void ber_text(struct ber *b, uint32_t tag, char *text, size_t min, size_t room, bool blanks)
{
    struct slice s = slice_of(text, b->writing ? strlen(text) : 0);
    ber_octets(b, tag, &s, min, room - 1);
    if (b->writing || b->bad)
        return;
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < (blanks ? 0x20 : 0x21) || s.data[i] > 0x7e)
            ber_fail(b);
    if (s.len > 0)
        memcpy(text, s.data, s.len);
    text[s.len] = '\0';
}
