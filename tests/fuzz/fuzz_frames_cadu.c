/* SPDX-License-Identifier: Apache-2.0 */
/* CADUs in any octets, in pieces: reading stays in bounds and ends, each bit belongs to a unit or
 * is skipped, and what has no errors is written to what reads the same. The first octet chooses the
 * format, and whether octets are soft symbols; the second the limits, the third the size of the
 * pieces. */
#include <assert.h>
#include <string.h>

#include "frames/cadu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 2048, UNIT_MAX = 1100 };

static struct rs codes[2];
static struct cadu_turbo turbo;

static const struct cadu_format formats[] = {
    {.frame_len = 1},
    {.frame_len = 20, .randomised = true, .sequence = PN_TM},
    {.frame_len = 20, .rs = &codes[0], .depth = 1, .randomised = true, .sequence = PN_TM_LONG},
    {.frame_len = 60, .rs = &codes[1], .depth = 4},
    {.frame_len = 20, .marker = CADU_MARKER_64},
    {.frame_len = 223, .turbo = &turbo, .marker = CADU_MARKER_96},
};

static void check_unit(const struct cadu_format *f, const struct cadu *unit, const uint8_t *block)
{
    uint8_t written[UNIT_MAX], again[UNIT_MAX];
    assert(unit->frame.data == block && unit->frame.len == f->frame_len);
    assert((unit->quality == CADU_UNKNOWN) == (f->rs == NULL && f->turbo == NULL));
    assert(unit->rs.failed == 0 || unit->quality == CADU_ERRED);
    if (unit->quality == CADU_ERRED)
        return;
    struct cadu_reader r;
    struct cadu other;
    uint8_t buffer[ROOM];
    size_t room;
    cadu_write(f, block, written);
    cadu_reader_init(&r, f, 0, 0, buffer, sizeof buffer, again);
    memcpy(cadu_reader_space(&r, &room), written, cadu_len(f));
    cadu_reader_fed(&r, cadu_len(f));
    assert(cadu_reader_next(&r, &other) && memcmp(again, block, f->frame_len) == 0);
    assert(other.rs.corrected == 0 && other.turbo.corrected == 0 && !other.inverted &&
           r.counts.skipped_bits == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool ready;
    struct cadu_reader r;
    struct cadu unit;
    uint8_t buffer[ROOM], block[UNIT_MAX];
    static uint8_t kept[8 * ROOM];
    if (!ready) {
        rs_init(&codes[0], RS_255_223, RS_DUAL);
        rs_init(&codes[1], RS_255_239, RS_CONVENTIONAL);
        turbo_init(&turbo.code, TURBO_1_3, 1784);
        ready = true;
    }
    if (len < 3)
        return 0;
    const struct cadu_format *f = &formats[data[0] % (sizeof formats / sizeof formats[0])];
    size_t room = data[0] & 0x80 ? sizeof buffer : cadu_reader_room(f);
    size_t piece = 1 + data[2], at = 3;
    cadu_reader_init(&r, f, data[1] % (CADU_MARKER_ERRORS_MAX + 1),
                     (data[1] >> 4) % (CADU_SLIP_MAX + 1), buffer, room, block);
    const bool soft = (data[0] & 0x40) != 0;
    if (soft)
        cadu_reader_soften(&r, kept);
    while (at + (soft ? 7 : 0) < len) {
        size_t space, n = len - at < piece ? len - at : piece;
        if (soft) {
            at += cadu_reader_symbols(&r, data + at, n < 8 ? 8 : n);
        } else {
            uint8_t *to = cadu_reader_space(&r, &space);
            n = n < space ? n : space;
            memcpy(to, data + at, n);
            cadu_reader_fed(&r, n);
            at += n;
        }
        while (cadu_reader_next(&r, &unit))
            check_unit(f, &unit, block);
    }
    cadu_reader_end(&r);
    assert(!cadu_reader_next(&r, &unit));
    assert(r.counts.skipped_bits <= 8 * len && r.counts.erred <= r.counts.frames);
    return 0;
}
