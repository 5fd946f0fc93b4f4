/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is 84 bytes: magic 4, version 1, kind 1, flags 2, id 16, size 8, offset 8, SHA-256 32,
 * number 4, length of the name 2, zero 2, CRC-32C 4, which covers the whole payload with its own
 * bytes as zero. A receipt's body: state 1, reason 1, gaps 2, zero 4, held 8, then first byte and
 * end of each gap, 8 each. What can go wrong in a received payload is a verdict.
 */
#include "tools/files/files_wire.h"

#include <assert.h>

#include "base/crc.h"
#include "base/cursor.h"

#define VERSION 1
#define CRC_AT 80
#define RECEIPT_HEAD 16

static const uint8_t magic[4] = {'H', 'F', 'I', 'L'};

/* ---- header ---- */

static void write_crc(uint8_t *out, uint32_t crc)
{
    struct writer w = writer_of(out + CRC_AT, 4);
    writer_number(&w, crc, 4);
}

size_t files_write(const struct files_head *h, struct slice body, uint8_t *out)
{
    size_t len = FILES_HEAD + h->name.len;
    struct writer w = writer_of(out, len);
    assert(h->name.len <= FILES_NAME_MAX);
    writer_bytes(&w, magic, sizeof magic);
    writer_number(&w, VERSION, 1);
    writer_number(&w, h->kind, 1);
    writer_number(&w, h->flags, 2);
    writer_bytes(&w, h->id, FILES_ID);
    writer_number(&w, h->size, 8);
    writer_number(&w, h->offset, 8);
    writer_bytes(&w, h->sha, FILES_SHA);
    writer_number(&w, h->number, 4);
    writer_number(&w, h->name.len, 2);
    writer_number(&w, 0, 2);
    writer_number(&w, 0, 4);
    writer_bytes(&w, h->name.data, h->name.len);
    assert(!w.bad && writer_len(&w) == len);
    write_crc(out, crc32c(crc32c(0, out, len), body.data, body.len));
    return len;
}

static bool right_crc(struct slice p)
{
    static const uint8_t zero[4] = {0};
    struct reader r = reader_of(p.data + CRC_AT, 4);
    uint32_t crc = crc32c(crc32c(0, p.data, CRC_AT), zero, 4);
    crc = crc32c(crc, p.data + FILES_HEAD, p.len - FILES_HEAD);
    return crc == (uint32_t)reader_number(&r, 4);
}

static void take_bytes(struct reader *r, uint8_t *out, size_t len)
{
    struct slice s = reader_take(r, len);
    if (s.len == len)
        memcpy(out, s.data, len);
}

static bool within_size(const struct files_head *h, size_t body)
{
    if (h->kind != FILES_PIECE)
        return h->offset == 0;
    return h->offset <= h->size && body <= h->size - h->offset && (body > 0 || h->size == 0);
}

enum files_verdict files_parse(struct slice payload, struct files_head *out, struct slice *body)
{
    struct reader r = reader_of(payload.data, payload.len);
    struct slice m = reader_take(&r, sizeof magic);
    uint64_t version = reader_number(&r, 1), kind = reader_number(&r, 1);
    out->flags = (uint32_t)reader_number(&r, 2);
    take_bytes(&r, out->id, FILES_ID);
    out->size = reader_number(&r, 8);
    out->offset = reader_number(&r, 8);
    take_bytes(&r, out->sha, FILES_SHA);
    out->number = (uint32_t)reader_number(&r, 4);
    uint64_t name = reader_number(&r, 2);
    (void)reader_number(&r, 6);
    out->name = reader_take(&r, name);
    if (r.bad || !slice_equal(m, slice_of(magic, sizeof magic)) || version != VERSION ||
        kind < FILES_PIECE || kind > FILES_RECEIPT || name > FILES_NAME_MAX)
        return FILES_FOREIGN;
    out->kind = (enum files_kind)kind;
    *body = slice_of(r.p, reader_left(&r));
    if (!right_crc(payload))
        return FILES_DAMAGED;
    return within_size(out, body->len) && out->size <= INT64_MAX ? FILES_OK : FILES_FOREIGN;
}

/* ---- receipts ---- */

size_t files_write_receipt(const struct files_head *about, const struct files_receipt *r,
                           uint8_t *out)
{
    uint8_t *body = out + FILES_HEAD;
    struct writer w = writer_of(body, FILES_RECEIPT_MAX - FILES_HEAD);
    struct files_head h = *about;
    assert(r->gaps_len <= FILES_GAPS_MAX);
    writer_number(&w, r->state, 1);
    writer_number(&w, r->reason, 1);
    writer_number(&w, r->gaps_len, 2);
    writer_number(&w, 0, 4);
    writer_number(&w, r->held, 8);
    for (size_t i = 0; i < r->gaps_len; i++) {
        writer_number(&w, r->gaps[i].lo, 8);
        writer_number(&w, r->gaps[i].hi, 8);
    }
    assert(!w.bad);
    h.kind = FILES_RECEIPT;
    h.flags = 0;
    h.offset = 0;
    h.name = slice_of(NULL, 0);
    return files_write(&h, slice_of(body, writer_len(&w)), out) + writer_len(&w);
}

static bool gaps_right(const struct files_receipt *r, uint64_t size)
{
    uint64_t at = 0;
    for (size_t i = 0; i < r->gaps_len; i++) {
        const struct range *g = &r->gaps[i];
        if (g->lo < at || g->lo >= g->hi || g->hi > size)
            return false;
        at = g->hi;
    }
    return true;
}

bool files_parse_receipt(struct slice body, uint64_t size, struct files_receipt *out)
{
    struct reader r = reader_of(body.data, body.len);
    uint64_t state = reader_number(&r, 1);
    out->reason = (uint32_t)reader_number(&r, 1);
    out->gaps_len = (size_t)reader_number(&r, 2);
    (void)reader_number(&r, 4);
    out->held = reader_number(&r, 8);
    if (r.bad || state < FILES_STATE_PARTLY || state > FILES_STATE_REFUSED ||
        out->gaps_len > FILES_GAPS_MAX || out->held > size)
        return false;
    out->state = (enum files_state)state;
    for (size_t i = 0; i < out->gaps_len; i++) {
        out->gaps[i].lo = reader_number(&r, 8);
        out->gaps[i].hi = reader_number(&r, 8);
    }
    const bool all = out->held == size && out->gaps_len == 0;
    return !r.bad && gaps_right(out, size) && (out->state != FILES_STATE_DONE || all);
}

const char *files_reason_text(uint32_t reason)
{
    static const char *const texts[FILES_REASONS] = {
        [FILES_REASON_NONE] = "no reason given",
        [FILES_REASON_NAME] = "its name is not taken there",
        [FILES_REASON_SIZE] = "it is longer than what is taken there",
        [FILES_REASON_ROOM] = "too much is under way to there; try again later",
        [FILES_REASON_CONFLICT] = "another file of this id is under way to there",
        [FILES_REASON_GAPS] = "too many gaps; use larger pieces",
        [FILES_REASON_PLACE] = "its place in the folder there cannot be had",
        [FILES_REASON_SHARE] = "too much of ours is under way to there; try again later",
        [FILES_REASON_ID] = "its id is not that of its name and content",
    };
    return reason < FILES_REASONS ? texts[reason] : "unknown";
}

/* ---- names ---- */

/* The length of the UTF-8 character at the front, 0: there is none, or a control character. */
static size_t measure_character(struct slice s)
{
    uint8_t c = s.data[0];
    if (c < 0x80)
        return c >= 0x20 && c != 0x7f ? 1 : 0;
    size_t len = c >= 0xc2 && c <= 0xdf   ? 2
                 : c >= 0xe0 && c <= 0xef ? 3
                 : c >= 0xf0 && c <= 0xf4 ? 4
                                          : 0;
    if (len == 0 || len > s.len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s.data[i] & 0xc0) != 0x80)
            return 0;
    uint8_t next = s.data[1];
    bool overlong = (c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90);
    bool beyond = (c == 0xed && next >= 0xa0) || (c == 0xf4 && next >= 0x90);
    bool control = c == 0xc2 && next < 0xa0; /* C1 */
    return overlong || beyond || control ? 0 : len;
}

static bool part_good(struct slice part, bool hidden)
{
    if (part.len == 0 || part.len > FILES_PART_MAX)
        return false;
    bool dots = part.data[0] == '.' && (part.len == 1 || (part.len == 2 && part.data[1] == '.'));
    if (dots || (part.data[0] == '.' && !hidden))
        return false;
    for (size_t at = 0; at < part.len;) {
        size_t len = measure_character(slice_of(part.data + at, part.len - at));
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

bool files_name_own(struct slice name)
{
    static const char own[] = ".helio-";
    return name.len >= sizeof own - 1 && memcmp(name.data, own, sizeof own - 1) == 0;
}

bool files_name_good(struct slice name, bool hidden)
{
    size_t at = 0;
    if (name.len > FILES_NAME_MAX)
        return false;
    for (;;) {
        const uint8_t *slash = at < name.len ? memchr(name.data + at, '/', name.len - at) : NULL;
        size_t end = slash != NULL ? (size_t)(slash - name.data) : name.len;
        if (!part_good(slice_of(name.data + at, end - at), hidden))
            return false;
        if (slash == NULL)
            return true;
        at = end + 1;
    }
}
