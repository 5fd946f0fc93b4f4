/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment is its control byte, session id, extension counts, header extensions, content, trailer
 * extensions. Parsing is a straight line of reads with one sticky verdict. What can go wrong is in
 * the list of verdicts in the header; nothing is allocated.
 */
#include "ltp/segment.h"

#include <assert.h>

#include "base/cursor.h"
#include "ltp/sdnv.h"

struct parse {
    const uint8_t *p, *end;
    enum verdict verdict;
};

static uint64_t take_number(struct parse *s)
{
    uint64_t v = 0;
    if (s->verdict == VERDICT_OK)
        s->verdict = sdnv_get(&s->p, s->end, &v);
    return v;
}

static uint8_t take_byte(struct parse *s)
{
    if (s->verdict == VERDICT_OK && s->p == s->end)
        s->verdict = VERDICT_TRUNCATED;
    return s->verdict == VERDICT_OK ? *s->p++ : 0;
}

static struct slice take_bytes(struct parse *s, uint64_t n)
{
    if (s->verdict == VERDICT_OK && n > (size_t)(s->end - s->p))
        s->verdict = VERDICT_TRUNCATED;
    if (s->verdict != VERDICT_OK)
        return slice_of(NULL, 0);
    struct slice all = slice_of(s->p, (size_t)n);
    s->p += n;
    return all;
}

static void refuse_if(struct parse *s, bool wrong, enum verdict why)
{
    if (wrong && s->verdict == VERDICT_OK)
        s->verdict = why;
}

/* §3.1.4: a tag byte, a length, a value. Unknown tags are skipped, and all are unknown. */
static struct slice take_extensions(struct parse *s, uint8_t count)
{
    const uint8_t *start = s->p;
    for (; count > 0; count--) {
        take_byte(s);
        take_bytes(s, take_number(s));
    }
    return slice_of(start, (size_t)(s->p - start));
}

bool segment_extension(struct slice *at, struct extension *out)
{
    if (at->len == 0)
        return false;
    const uint8_t *p = at->data + 1, *end = at->data + at->len;
    uint64_t len = 0;
    enum verdict v = sdnv_get(&p, end, &len);
    assert(v == VERDICT_OK && len <= (size_t)(end - p));
    (void)v;
    *out = (struct extension){.tag = at->data[0], .value = slice_of(p, (size_t)len)};
    *at = slice_of(p + len, (size_t)(end - p) - (size_t)len);
    return true;
}

/* §3.2.1 */
static void parse_data(struct parse *s, struct ltp_segment *out)
{
    out->client_service = take_number(s);
    out->offset = take_number(s);
    uint64_t length = take_number(s);
    if (segment_is_checkpoint(out)) {
        out->cp_serial = take_number(s);
        out->rpt_serial = take_number(s);
        refuse_if(s, out->cp_serial == 0, VERDICT_BAD_FIELD);
    }
    refuse_if(s, length == 0 || length > UINT64_MAX - out->offset, VERDICT_BAD_FIELD);
    out->data = take_bytes(s, length);
}

/* §3.2.2 */
static void parse_report(struct parse *s, struct ltp_segment *out)
{
    out->rpt_serial = take_number(s);
    out->cp_serial = take_number(s);
    out->upper = take_number(s);
    out->lower = take_number(s);
    out->claim_count = take_number(s);
    refuse_if(s, out->rpt_serial == 0, VERDICT_BAD_FIELD);
    refuse_if(s, out->lower >= out->upper, VERDICT_BAD_REPORT);
    const uint8_t *start = s->p;
    uint64_t scope = out->upper - out->lower;
    for (uint64_t i = 0; i < out->claim_count && s->verdict == VERDICT_OK; i++) {
        uint64_t offset = take_number(s), length = take_number(s);
        refuse_if(s, length == 0 || offset > scope || length > scope - offset, VERDICT_BAD_REPORT);
    }
    out->claims = slice_of(start, (size_t)(s->p - start));
}

static void parse_content(struct parse *s, struct ltp_segment *out)
{
    if (segment_is_data(out)) {
        parse_data(s, out);
    } else if (out->type == LTP_RS) {
        parse_report(s, out);
    } else if (out->type == LTP_RA) {
        out->rpt_serial = take_number(s);
        refuse_if(s, out->rpt_serial == 0, VERDICT_BAD_FIELD);
    } else if (out->type == LTP_CS || out->type == LTP_CR) {
        out->reason = take_byte(s);
    }
}

enum verdict segment_parse_first(struct ltp_segment *out, const uint8_t *data, size_t len,
                                 size_t *used)
{
    struct parse s = {.p = data, .end = len == 0 ? data : data + len, .verdict = VERDICT_OK};
    uint8_t control = take_byte(&s);
    refuse_if(&s, control >> 4 != 0, VERDICT_BAD_VERSION);
    out->type = control & 0x0f;
    out->cp_serial = out->rpt_serial = 0;
    const uint32_t undefined = 1U << 5 | 1U << 6 | 1U << 10 | 1U << 11;
    refuse_if(&s, (undefined >> out->type & 1) != 0, VERDICT_BAD_TYPE);
    out->id.originator = take_number(&s);
    out->id.number = take_number(&s);
    uint8_t counts = take_byte(&s);
    out->header_count = counts >> 4;
    out->trailer_count = counts & 0x0f;
    if (s.verdict != VERDICT_OK)
        return s.verdict;
    out->headers = take_extensions(&s, out->header_count);
    parse_content(&s, out);
    out->trailers = take_extensions(&s, out->trailer_count);
    if (s.verdict == VERDICT_OK)
        *used = (size_t)(s.p - data);
    return s.verdict;
}

enum verdict segment_parse(struct ltp_segment *out, const uint8_t *data, size_t len)
{
    size_t used = 0;
    enum verdict v = segment_parse_first(out, data, len, &used);
    out->padded = v == VERDICT_OK && used != len && out->type == LTP_RS && out->trailer_count == 0;
    return v == VERDICT_OK && used != len && !out->padded ? VERDICT_TRAILING : v;
}

static void put_number(struct writer *w, uint64_t v)
{
    uint8_t bytes[SDNV_MAX];
    writer_bytes(w, bytes, (size_t)(sdnv_put(bytes, v) - bytes));
}

static void write_content(const struct ltp_segment *s, struct writer *w)
{
    if (segment_is_data(s)) {
        put_number(w, s->client_service);
        put_number(w, s->offset);
        put_number(w, s->data.len);
        if (segment_is_checkpoint(s)) {
            put_number(w, s->cp_serial);
            put_number(w, s->rpt_serial);
        }
        writer_bytes(w, s->data.data, s->data.len);
    } else if (s->type == LTP_RS) {
        put_number(w, s->rpt_serial);
        put_number(w, s->cp_serial);
        put_number(w, s->upper);
        put_number(w, s->lower);
        put_number(w, s->claim_count);
        writer_bytes(w, s->claims.data, s->claims.len);
    } else if (s->type == LTP_RA) {
        put_number(w, s->rpt_serial);
    } else if (s->type == LTP_CS || s->type == LTP_CR) {
        writer_byte(w, s->reason);
    }
}

size_t segment_write(const struct ltp_segment *s, uint8_t *out, size_t cap)
{
    struct writer w = writer_of(out, cap);
    writer_byte(&w, s->type);
    put_number(&w, s->id.originator);
    put_number(&w, s->id.number);
    writer_byte(&w, (uint8_t)(s->header_count << 4 | s->trailer_count));
    writer_bytes(&w, s->headers.data, s->headers.len);
    write_content(s, &w);
    writer_bytes(&w, s->trailers.data, s->trailers.len);
    return w.bad ? 0 : writer_len(&w);
}

bool segment_claim(const struct ltp_segment *s, struct slice *at, struct range *out)
{
    const uint8_t *p = at->data, *end = at->data + at->len;
    uint64_t offset, length;
    if (at->len == 0 || sdnv_get(&p, end, &offset) != VERDICT_OK ||
        sdnv_get(&p, end, &length) != VERDICT_OK)
        return false;
    *at = slice_of(p, (size_t)(end - p));
    out->lo = s->lower + offset;
    out->hi = out->lo + length;
    return true;
}

size_t segment_write_report(struct ltp_segment *s, const struct range *claims, uint8_t *out,
                            size_t cap)
{
    s->claims = slice_of(NULL, 0);
    size_t front = segment_write(s, out, cap);
    if (front == 0)
        return 0;
    struct writer w = writer_of(out + front, cap - front);
    for (uint64_t i = 0; i < s->claim_count; i++) {
        put_number(&w, claims[i].lo - s->lower);
        put_number(&w, claims[i].hi - claims[i].lo);
    }
    s->claims = slice_of(out + front, writer_len(&w));
    return w.bad ? 0 : front + writer_len(&w);
}
