/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all kinds of frames share: the format and where things are by it, the check value, the
 * dispatch. A frame is read from its front and its back; what is between is the zone. What can go
 * wrong with a frame is a verdict.
 */
#include <assert.h>

#include "frames/fecf.h"
#include "frames/frame_impl.h"
#include "frames/pn.h"

static_assert(FRAME_VERDICT_COUNT < 32, "a verdict fits a set of bits");

const char *frame_verdict_name(enum frame_verdict v)
{
#define VERDICT_NAME(name, text) text,
    static const char *const names[] = {FRAME_VERDICTS(VERDICT_NAME)};
#undef VERDICT_NAME
    assert((unsigned)v < FRAME_VERDICT_COUNT);
    return names[v];
}

static uint32_t find_overhead(const struct frame_format *f)
{
    uint32_t ends = f->fecf + (f->ocf ? OCF_LEN : 0U);
    switch (f->kind) {
    case FRAME_TM:
        return ends + TM_HEADER + f->secondary_len;
    case FRAME_AOS:
        return ends + AOS_HEADER + (f->fhec ? FHEC_LEN : 0U) + f->insert_len + MPDU_HEADER;
    case FRAME_USLP:
        return ends + USLP_HEADER + f->count_len + f->insert_len + 3;
    case FRAME_TC:
    default:
        return ends + TC_HEADER + (f->segments ? 1U : 0U);
    }
}

static const char *find_foreign(const struct frame_format *f)
{
    if (f->kind != FRAME_AOS && (f->fhec || f->count_cycle || f->wide_scid))
        return "header error control, count cycle and a wide spacecraft are of AOS frames";
    if (f->kind != FRAME_TC && f->segments)
        return "segment headers are of TC frames";
    if (f->kind != FRAME_TM && f->secondary_len != 0)
        return "secondary headers are of TM frames";
    if (f->kind != FRAME_USLP && f->count_len != 0)
        return "the length of the frame count is chosen in USLP frames alone";
    if (f->kind != FRAME_AOS && f->kind != FRAME_USLP && f->insert_len != 0)
        return "insert zones are of AOS and USLP frames";
    if (f->kind == FRAME_TC && f->ocf)
        return "TC frames have no operational control field";
    return NULL;
}

const char *frame_format_problem(const struct frame_format *f)
{
    /* 11 bits of pointer reach 2045; the two values above are taken. */
    static const uint32_t length_max[] = {2048, 65535, FRAME_LENGTH_MAX, FRAME_TC_MAX};
    if ((unsigned)f->kind > FRAME_TC)
        return "the kind is TM, AOS, USLP or TC";
    if (f->fecf != 0 && f->fecf != FECF_LEN)
        return "the frame error control field has 0 or 2 octets";
    if (f->secondary_len == 1 || f->secondary_len > 64)
        return "a secondary header has 2 to 64 octets";
    if (f->count_len > 7)
        return "the frame count has at most 7 octets";
    if (find_foreign(f) != NULL)
        return find_foreign(f);
    if (f->length > length_max[f->kind])
        return "the frame is longer than its kind allows";
    if (f->length <= find_overhead(f))
        return "the frame is too short for its fields";
    if (f->kind == FRAME_AOS && f->length - find_overhead(f) > 2046)
        return "the packet zone of an AOS frame has at most 2046 octets, which its pointer reaches";
    return NULL;
}

struct frame_layout frame_layout(const struct frame_format *f)
{
    struct frame_layout l = {0};
    assert(frame_format_problem(f) == NULL);
    uint32_t ends = f->fecf + (f->ocf ? OCF_LEN : 0U), overhead = find_overhead(f);
    l.fecf_at = f->length - f->fecf;
    l.ocf_at = f->length - ends;
    l.zone_len = f->length - overhead;
    l.zone_at = l.ocf_at - l.zone_len;
    if (f->kind == FRAME_AOS)
        l.insert_at = AOS_HEADER + (f->fhec ? FHEC_LEN : 0U);
    if (f->kind == FRAME_USLP)
        l.insert_at = USLP_HEADER + f->count_len;
    if (f->kind == FRAME_TM)
        l.secondary_at = TM_HEADER;
    assert(l.zone_at + l.zone_len == l.ocf_at && l.zone_len > 0);
    return l;
}

unsigned frame_count_bits(const struct frame_format *f)
{
    if (f->kind == FRAME_AOS)
        return f->count_cycle ? 28 : 24;
    return f->kind == FRAME_USLP ? 8U * f->count_len : 8;
}

bool frame_is_sound(const struct frame_format *f, const uint8_t *d, size_t len)
{
    return f->fecf == 0 || fecf_crc(FECF_INIT, d, len) == 0;
}

bool frame_take_zone(const struct frame_format *f, const uint8_t *d, uint32_t at, struct frame *out)
{
    uint32_t ends = f->fecf + (out->has_ocf ? OCF_LEN : 0U);
    if (at + ends >= f->length)
        return false;
    if (out->has_ocf)
        out->ocf = get_32(d + f->length - ends);
    out->zone = slice_of(d + at, f->length - ends - at);
    assert(out->zone.len > 0);
    return true;
}

enum frame_verdict frame_parse(const struct frame_format *f, const void *data, size_t len,
                               struct frame *out)
{
    struct frame got = {.kind = f->kind, .length = f->length, .pointer = FRAME_NO_START};
    enum frame_verdict v;
    assert(frame_format_problem(f) == NULL);
    if (f->kind == FRAME_TC) {
        v = tc_parse(f, data, len, &got);
    } else if (len != f->length) {
        return FRAME_LENGTH_VERDICT;
    } else {
        v = f->kind == FRAME_TM    ? tm_parse(f, data, &got)
            : f->kind == FRAME_AOS ? aos_parse(f, data, &got)
                                   : uslp_parse(f, data, &got);
    }
    if (v != FRAME_OK_VERDICT)
        return v;
    assert(got.length <= len && got.zone.len > 0 && got.zone.len < got.length);
    *out = got;
    return got.only_idle ? FRAME_IDLE_VERDICT : FRAME_OK_VERDICT;
}

enum frame_verdict frame_input(struct frame_channel *c, const void *data, size_t len,
                               struct frame *out)
{
    struct frame got = {.kind = c->format.kind};
    enum frame_verdict v = frame_parse(&c->format, data, len, &got);
    if (v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT) {
        c->corrected += got.corrected;
        *out = got;
        if (c->scid >= 0 && got.scid != c->scid)
            v = FRAME_SPACECRAFT_VERDICT;
    }
    c->verdicts[v]++;
    return v;
}

/* Data of the caller's, or zeros. */
static void copy_field(uint8_t *out, struct slice from, size_t len)
{
    assert(from.len == 0 || from.len == len);
    if (from.len == len && len > 0)
        memcpy(out, from.data, len);
    else
        memset(out, 0, len);
}

void frame_write(const struct frame_format *f, const struct frame *frame, uint8_t *out)
{
    struct frame_layout l = frame_layout(f);
    assert(f->kind != FRAME_TC && f->kind == frame->kind);
    assert(frame->only_idle || frame->pointer == FRAME_NO_START || frame->pointer < l.zone_len);
    if (f->kind == FRAME_TM)
        tm_write(f, frame, out);
    else if (f->kind == FRAME_AOS)
        aos_write(f, frame, out);
    else
        uslp_write(f, frame, out);
    if (f->insert_len > 0)
        copy_field(out + l.insert_at, frame->insert, f->insert_len);
    if (f->secondary_len > 0) {
        out[l.secondary_at] = (uint8_t)(f->secondary_len - 1); /* version 0 */
        copy_field(out + l.secondary_at + 1, frame->secondary, f->secondary_len - 1U);
    }
    if (f->ocf)
        put_32(out + l.ocf_at, frame->ocf);
}

void frame_seal(const struct frame_format *f, const struct slice *slices, size_t n, uint8_t *out)
{
    uint16_t crc = FECF_INIT;
    size_t len = 0;
    if (f->fecf == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        crc = fecf_crc(crc, slices[i].data, slices[i].len);
        len += slices[i].len;
    }
    assert(len == f->length - f->fecf);
    put_16(out + f->length - f->fecf, crc);
}

void frame_write_idle(const struct frame_format *f, const struct frame *frame, uint8_t *out)
{
    struct frame_layout l = frame_layout(f);
    struct frame idle = *frame;
    idle.only_idle = true;
    frame_write(f, &idle, out);
    /* The whole data field of an idle channel's AOS frame is idle data: no M_PDU header. */
    uint32_t at = f->kind == FRAME_AOS ? l.zone_at - MPDU_HEADER : l.zone_at;
    if (f->kind == FRAME_USLP) /* and its pointer is none: the construction rule has none */
        at -= 2;
    pn_fill(PN_TM, out + at, l.ocf_at - at);
    struct slice all = slice_of(out, l.fecf_at);
    frame_seal(f, &all, 1, out);
}
