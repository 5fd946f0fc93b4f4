/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is 64 bytes: magic 4, version 1, kind 1, flags 2, session 8, seq 8, time 8, total 8,
 * offset 8, file check value 4, length of the name 2, zero 2, length of the payload 4, check value
 * 4. The check value of a bundle is computed from those of the header and the filling, so the
 * filling is read once, not once per bundle. What can go wrong in a received payload is a verdict.
 */
#include "tools/perf/perf_wire.h"

#include "base/crc.h"
#include "base/cursor.h"

#define VERSION 1
#define CRC_AT 60

static const uint8_t magic[4] = {'H', 'P', 'R', 'F'};

/* Bytes that head and name (or report) take. */
static size_t measure_head(const struct perf_head *h)
{
    return PERF_HEAD + h->name.len;
}

/* The header with a check value of 0. */
static void write_head(struct writer *w, const struct perf_head *h, uint64_t payload)
{
    writer_bytes(w, magic, sizeof magic);
    writer_number(w, VERSION, 1);
    writer_number(w, h->kind, 1);
    writer_number(w, h->flags, 2);
    writer_number(w, h->session, 8);
    writer_number(w, h->seq, 8);
    writer_number(w, h->time, 8);
    writer_number(w, h->total, 8);
    writer_number(w, h->offset, 8);
    writer_number(w, h->file_crc, 4);
    writer_number(w, h->name.len, 2);
    writer_number(w, 0, 2);
    writer_number(w, payload, 4);
    writer_number(w, 0, 4);
}

static void write_crc(uint8_t *out, uint32_t crc)
{
    struct writer w = writer_of(out + CRC_AT, 4);
    writer_number(&w, crc, 4);
}

struct perf_body perf_body_of(struct slice bytes)
{
    return (struct perf_body){.len = bytes.len,
                              .crc = crc32c(0, bytes.data, bytes.len),
                              .shift = crc32c_shift(bytes.len)};
}

size_t perf_write(const struct perf_head *h, const struct perf_body *body, uint8_t *out)
{
    size_t len = measure_head(h);
    struct writer w = writer_of(out, len);
    write_head(&w, h, len + body->len);
    writer_bytes(&w, h->name.data, h->name.len);
    write_crc(out, crc32c_join(crc32c(0, out, len), body->crc, body->shift));
    return len;
}

static void write_details(struct writer *w, const struct perf_report *r)
{
    writer_number(w, r->early, 8);
    writer_number(w, r->delay_min, 8);
    writer_number(w, r->delay_p50, 8);
    writer_number(w, r->delay_p90, 8);
    writer_number(w, r->delay_p99, 8);
    writer_number(w, r->delay_max, 8);
    writer_number(w, r->now, 8);
}

size_t perf_write_ack(const struct perf_head *h, const struct perf_report *r, uint8_t *out)
{
    size_t len = PERF_HEAD + PERF_REPORT + (r->detailed ? PERF_DETAILS : 0);
    struct writer w = writer_of(out, len);
    write_head(&w, h, len);
    writer_number(&w, r->bundles, 8);
    writer_number(&w, r->bytes, 8);
    writer_number(&w, r->duplicates, 8);
    writer_number(&w, r->wrong_crc, 8);
    writer_number(&w, r->first, 8);
    writer_number(&w, r->last, 8);
    writer_number(&w, r->delay_mean_ns, 8);
    writer_number(&w, r->file_done, 8);
    if (r->detailed)
        write_details(&w, r);
    write_crc(out, crc32c(0, out, writer_len(&w)));
    return writer_len(&w);
}

static bool right_crc(struct slice p)
{
    static const uint8_t zero[4] = {0};
    struct reader r = reader_of(p.data + CRC_AT, 4);
    uint32_t crc = crc32c(0, p.data, CRC_AT);
    crc = crc32c(crc, zero, 4);
    return crc32c(crc, p.data + PERF_HEAD, p.len - PERF_HEAD) == (uint32_t)reader_number(&r, 4);
}

enum perf_verdict perf_parse(struct slice payload, struct perf_head *out, struct slice *body)
{
    struct reader r = reader_of(payload.data, payload.len);
    struct slice m = reader_take(&r, sizeof magic);
    uint64_t version = reader_number(&r, 1), kind = reader_number(&r, 1);
    out->flags = (uint32_t)reader_number(&r, 2);
    out->session = reader_number(&r, 8);
    out->seq = reader_number(&r, 8);
    out->time = reader_number(&r, 8);
    out->total = reader_number(&r, 8);
    out->offset = reader_number(&r, 8);
    out->file_crc = (uint32_t)reader_number(&r, 4);
    uint64_t name = reader_number(&r, 2);
    (void)reader_number(&r, 2);
    uint64_t len = reader_number(&r, 4);
    (void)reader_number(&r, 4);
    out->name = reader_take(&r, name);
    if (r.bad || !slice_equal(m, slice_of(magic, sizeof magic)) || version != VERSION)
        return PERF_FOREIGN;
    if (kind < PERF_DATA || kind > PERF_ANSWER || name > PERF_NAME_MAX)
        return PERF_FOREIGN;
    out->kind = (enum perf_kind)kind;
    *body = slice_of(r.p, reader_left(&r));
    return len == (uint32_t)payload.len && right_crc(payload) ? PERF_OK : PERF_WRONG_CRC;
}

bool perf_parse_report(struct slice body, struct perf_report *out)
{
    struct reader r = reader_of(body.data, body.len);
    out->bundles = reader_number(&r, 8);
    out->bytes = reader_number(&r, 8);
    out->duplicates = reader_number(&r, 8);
    out->wrong_crc = reader_number(&r, 8);
    out->first = reader_number(&r, 8);
    out->last = reader_number(&r, 8);
    out->delay_mean_ns = reader_number(&r, 8);
    out->file_done = reader_number(&r, 8);
    bool good = !r.bad;
    out->early = reader_number(&r, 8);
    out->delay_min = reader_number(&r, 8);
    out->delay_p50 = reader_number(&r, 8);
    out->delay_p90 = reader_number(&r, 8);
    out->delay_p99 = reader_number(&r, 8);
    out->delay_max = reader_number(&r, 8);
    out->now = reader_number(&r, 8);
    out->detailed = !r.bad;
    return good;
}

static bool safe(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

void perf_safe_name(struct slice name, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < name.len && n < PERF_NAME_MAX; i++) {
        uint8_t c = name.data[i];
        c = safe(c) ? c : '_';
        out[n] = (char)(n == 0 && c == '.' ? '_' : c);
        n++;
    }
    if (n == 0)
        out[n++] = '_';
    out[n] = '\0';
}
