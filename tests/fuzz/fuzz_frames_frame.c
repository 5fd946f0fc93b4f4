/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of many formats, their check value made right: what parses is written to something that
 * parses to the same. The first octet chooses the format. */
#include <assert.h>

#include "frames/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct frame_format formats[] = {
    {.kind = FRAME_TM, .length = 32, .fecf = 2},
    {.kind = FRAME_TM, .length = 40, .ocf = true, .secondary_len = 4},
    {.kind = FRAME_AOS, .length = 32, .fecf = 2},
    {.kind = FRAME_AOS, .length = 40, .ocf = true, .insert_len = 5, .fhec = true},
    {.kind = FRAME_AOS,
     .length = 24,
     .fecf = 2,
     .fhec = true,
     .wide_scid = true,
     .count_cycle = true},
    {.kind = FRAME_USLP, .length = 32, .fecf = 2, .count_len = 3},
    {.kind = FRAME_USLP, .length = 48, .ocf = true, .insert_len = 6},
    {.kind = FRAME_TC, .length = 64, .fecf = 2},
    {.kind = FRAME_TC, .length = 64, .segments = true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static void check_slices(const struct frame *f, const uint8_t *d, size_t len)
{
    const struct slice all[] = {f->zone, f->insert, f->secondary};
    for (size_t i = 0; i < 3; i++)
        assert(all[i].len == 0 || (all[i].data >= d && all[i].data + all[i].len <= d + len));
    assert(f->count_bits >= 64 || f->count >> f->count_bits == 0);
}

static void check_same(const struct frame *a, const struct frame *b)
{
    assert(a->scid == b->scid && a->vcid == b->vcid && a->count == b->count && a->map == b->map);
    assert(a->pointer == b->pointer && a->only_idle == b->only_idle && a->replay == b->replay);
    assert(a->bypass == b->bypass && a->command == b->command && a->sequence == b->sequence);
    assert(a->destination == b->destination && a->master_count == b->master_count);
    assert(slice_equal(a->insert, b->insert) && a->zone.len == b->zone.len);
    assert(!a->has_ocf || a->ocf == b->ocf);
}

static void write_tc(const struct frame_format *f, const struct frame *got)
{
    uint8_t out[64];
    struct frame again;
    size_t n = frame_write_tc(f, got, got->zone, out, sizeof out);
    assert(n == got->length);
    assert(frame_parse(f, out, n, &again) == FRAME_OK_VERDICT);
    check_same(got, &again);
}

static void write_fixed(const struct frame_format *f, const struct frame *got)
{
    uint8_t out[64] = {0};
    struct frame again;
    struct frame_layout l = frame_layout(f);
    bool pointer = got->pointer == FRAME_NO_START || got->pointer < l.zone_len;
    bool secondary = got->secondary.len == (f->secondary_len > 0 ? f->secondary_len - 1U : 0);
    /* What this format would not write. */
    if (got->has_ocf != f->ocf || !pointer || !secondary ||
        got->count_bits != frame_count_bits(f) || !(got->packets || got->only_idle) ||
        (got->only_idle && (f->kind == FRAME_TM || got->vcid != FRAME_IDLE_VCID)) ||
        (f->kind == FRAME_AOS && got->only_idle != (got->vcid == FRAME_IDLE_VCID)))
        return;
    frame_write(f, got, out);
    struct slice all = slice_of(out, l.fecf_at);
    frame_seal(f, &all, 1, out);
    enum frame_verdict v = frame_parse(f, out, f->length, &again);
    assert(v == (got->only_idle ? FRAME_IDLE_VERDICT : FRAME_OK_VERDICT));
    if (!got->only_idle)
        check_same(got, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t bytes[64] = {0};
    struct frame got;
    if (len < 1)
        return 0;
    const struct frame_format *f = &formats[data[0] % FORMATS];
    size_t n = len - 1 < sizeof bytes ? len - 1 : sizeof bytes;
    memcpy(bytes, data + 1, n);
    if (f->kind != FRAME_TC) {
        struct slice all = slice_of(bytes, f->length - f->fecf);
        frame_seal(f, &all, 1, bytes);
        n = f->length;
    }
    struct frame_channel c = {.format = *f, .scid = 3};
    enum frame_verdict v = frame_parse(f, bytes, n, &got);
    assert(frame_verdict_name(v)[0] != '\0');
    if (v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT) {
        check_slices(&got, bytes, n);
        if (f->kind == FRAME_TC)
            write_tc(f, &got);
        else
            write_fixed(f, &got);
        v = got.scid == 3 ? v : FRAME_SPACECRAFT_VERDICT;
    }
    assert(frame_input(&c, bytes, n, &got) == v && c.verdicts[v] == 1);
    return 0;
}
