/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a TRANSFER-BUFFER: frames and notifications. This is where the octets are: a frame's
 * header is some 40 of them, made from a template in which a few are patched, and read by a
 * straight walk when it has the shape that all senders give it; anything else that is legal goes
 * the long way.
 */
#include <assert.h>

#include "base/port.h"
#include "sle/frame_head.h"
#include "sle/pdu_private.h"

static void code_antenna(struct ber *b, struct slice *antenna, bool *global)
{
    *global = ber_choice(b, *global ? 0x80 : 0x81) == 0x80;
    ber_octets(b, *global ? 0x80 : 0x81, antenna, 1, SLE_ANTENNA_MAX);
}

static void code_annotation(struct ber *b, struct slice *annotation)
{
    if (ber_choice(b, annotation->len > 0 ? 0x81 : 0x80) == 0x81) {
        ber_octets(b, 0x81, annotation, 1, SLE_ANNOTATION_MAX);
    } else {
        *annotation = slice_of(NULL, 0);
        ber_null(b, 0x80);
    }
}

/* All of a frame's item but its data. */
static void code_frame(struct ber *b, const struct sle_dialect *d, struct sle_item *it)
{
    int64_t continuity = it->continuity;
    pdu_code_credentials(b, &it->credentials);
    pdu_code_time(b, d, &it->time);
    code_antenna(b, &it->antenna, &it->antenna_global);
    ber_int(b, BER_INTEGER, &continuity, -1, 16777215);
    it->continuity = (int32_t)continuity;
    if (d->service == SLE_RAF)
        CODE_ENUM(b, it->quality, SLE_UNDETERMINED);
    code_annotation(b, &it->annotation);
}

/* ---- reading ---- */

static bool read_slowly(const struct sle_dialect *d, struct slice *rest, struct sle_item *out)
{
    struct ber b = ber_reader(*rest);
    uint32_t tag = ber_choice(&b, 0);
    memset(out, 0, sizeof *out);
    out->is_sync = tag == 0xa1;
    struct ber_mark mark = ber_open(&b, out->is_sync ? 0xa1 : 0xa0);
    if (out->is_sync) {
        pdu_code_credentials(&b, &out->credentials);
        pdu_code_sync(&b, d, &out->sync);
    } else {
        code_frame(&b, d, out);
        ber_octets(&b, BER_OCTETS, &out->data, 1, SLE_FRAME_MAX);
    }
    ber_close(&b, mark);
    *rest = slice_of(b.r.p, reader_left(&b.r));
    return !b.bad;
}

static uint32_t get_be(const uint8_t *p, unsigned octets)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < octets; i++)
        v = v << 8 | p[i];
    return v;
}

/* A0 82 LLLL, credentials, 80 08 time, 81 n antenna, 02 01 continuity, 02 01 quality, 80 00, 04 82
 * LLLL data: if it is that, all of it is there and nothing is out of its range. */
static bool read_fast(const struct sle_dialect *d, struct slice *rest, struct sle_item *out)
{
    const uint8_t *p = rest->data, *end;
    if (rest->len < 64 || p[0] != 0xa0 || p[1] != 0x82 || get_be(p + 2, 2) < 60 ||
        rest->len - 4 < get_be(p + 2, 2))
        return false;
    end = p + 4 + get_be(p + 2, 2);
    p += 4;
    out->credentials = slice_of(NULL, 0);
    if (p[0] == 0x81 && p[1] < 0x80 && p[1] >= 8 && (size_t)(end - p) > p[1] + 60u)
        out->credentials = slice_of(p + 2, p[1]);
    else if (p[0] != 0x80 || p[1] != 0)
        return false;
    p += 2 +
         out->credentials
             .len; /* 52 octets at least are left: no more than that is looked at before `data` */
    if (p[0] != 0x80 || p[1] != 8 || !sle_time_get(slice_of(p + 2, 8), &out->time) ||
        p[10] != 0x81 || p[11] < 1 || p[11] > SLE_ANTENNA_MAX)
        return false;
    out->antenna = slice_of(p + 12, p[11]);
    out->antenna_global = false;
    p += 12 + p[11];
    if (p[0] != BER_INTEGER || p[1] != 1 || (p[2] > 127 && p[2] != 255))
        return false;
    out->continuity = p[2] == 255 ? -1 : p[2];
    p += 3;
    out->quality = SLE_GOOD;
    if (d->service == SLE_RAF) {
        if (p[0] != BER_INTEGER || p[1] != 1 || p[2] > SLE_UNDETERMINED)
            return false;
        out->quality = (enum sle_quality)p[2];
        p += 3;
    }
    if (p[0] != 0x80 || p[1] != 0 || p[2] != BER_OCTETS || p[3] != 0x82 ||
        get_be(p + 4, 2) != (size_t)(end - p - 6) || end - p == 6)
        return false;
    out->annotation = slice_of(NULL, 0);
    out->data = slice_of(p + 6, (size_t)(end - p - 6));
    out->is_sync = false;
    *rest = slice_of(end, rest->len - (size_t)(end - rest->data));
    return true;
}

enum sle_pdu_verdict sle_buffer_next(const struct sle_dialect *d, struct slice *rest,
                                     struct sle_item *out)
{
    if (rest->len == 0)
        return SLE_PDU_UNKNOWN;
    if (PORT_LIKELY(read_fast(d, rest, out)))
        return SLE_PDU_OK;
    return read_slowly(d, rest, out) ? SLE_PDU_OK : SLE_PDU_BAD;
}

/* ---- writing ---- */

static size_t put_length(uint8_t *p, uint32_t length)
{
    unsigned octets = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
    p[0] = (uint8_t)(octets == 0 ? length : 0x80 | octets);
    for (unsigned i = 0; i < octets; i++)
        p[1 + i] = (uint8_t)(length >> 8 * (octets - 1 - i));
    return 1 + octets;
}

static size_t length_octets(size_t length)
{
    return length < 0x80 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 4;
}

static size_t write_slowly(const struct sle_dialect *d, const struct sle_item *it, uint8_t *out,
                           size_t *credentials_at)
{
    uint8_t inner[FRAME_HEAD_MAX];
    struct sle_item copy = *it;
    struct ber b = ber_writer(inner, sizeof inner);
    code_frame(&b, d, &copy);
    assert(ber_done(&b));
    size_t n = writer_len(&b.w), at = 0;
    size_t content = n + 1 + length_octets(it->data.len) + it->data.len;
    out[at++] = 0xa0;
    at += put_length(out + at, (uint32_t)content);
    *credentials_at = it->credentials.len == 0 ? 0 : at + 2;
    assert(it->credentials.len < 0x80);
    memcpy(out + at, inner, n);
    at += n;
    out[at++] = BER_OCTETS;
    at += put_length(out + at, (uint32_t)it->data.len);
    assert(at <= FRAME_HEAD_MAX);
    return at;
}

void frame_template_init(struct frame_template *t, const struct sle_dialect *d,
                         struct slice antenna, bool global, size_t credentials_len)
{
    static const uint8_t zeros[SLE_CREDENTIALS_MAX];
    struct sle_item it = {.antenna = antenna, .antenna_global = global, .time = {.day = 1}};
    assert(credentials_len < 0x80);
    it.credentials = slice_of(zeros, credentials_len);
    it.data = slice_of(zeros, sizeof zeros); /* 256: each length has two octets */
    t->len = (uint8_t)write_slowly(d, &it, t->octets, &t->credentials_at);
    t->time_at = (uint8_t)(8 + credentials_len);
    t->continuity_at = (uint8_t)(t->time_at + antenna.len + 12);
    t->raf = d->service == SLE_RAF;
    t->antenna = antenna;
    t->dialect = *d;
}

static void put_u16(uint8_t *p, size_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

size_t frame_template_write(const struct frame_template *t, const struct sle_item *it, uint8_t *out,
                            size_t *credentials_at)
{
    size_t content = t->len - (size_t)4 + it->data.len;
    if (PORT_UNLIKELY(it->antenna.len > 0 || it->annotation.len > 0 || it->time.pico ||
                      it->continuity > 127 || it->data.len < 0x100 || content > 0xffff)) {
        struct sle_item full = *it;
        static const uint8_t zeros[SLE_CREDENTIALS_MAX];
        if (it->antenna.len == 0) {
            full.antenna = t->antenna;
            full.antenna_global = t->octets[t->time_at + 8] == 0x80;
        }
        full.credentials =
            slice_of(zeros, t->credentials_at == 0 ? 0 : t->octets[t->credentials_at - 1]);
        return write_slowly(&t->dialect, &full, out, credentials_at);
    }
    memcpy(out, t->octets, t->len);
    put_u16(out + 2, content);
    sle_time_put(it->time, out + t->time_at);
    out[t->continuity_at] = (uint8_t)it->continuity;
    if (t->raf)
        out[t->continuity_at + 3] = (uint8_t)it->quality;
    put_u16(out + t->len - 2, it->data.len);
    *credentials_at = t->credentials_at;
    return t->len;
}

size_t sync_write(const struct sle_dialect *d, const struct sle_sync *sync, size_t credentials_len,
                  uint8_t *out, size_t *credentials_at)
{
    static const uint8_t zeros[SLE_CREDENTIALS_MAX];
    struct ber b = ber_writer(out, FRAME_HEAD_MAX);
    struct slice credentials = slice_of(zeros, credentials_len);
    struct sle_sync copy = *sync;
    struct ber_mark mark = ber_open(&b, 0xa1);
    pdu_code_credentials(&b, &credentials);
    pdu_code_sync(&b, d, &copy);
    ber_close(&b, mark);
    assert(ber_done(&b) && writer_len(&b.w) < 0x82);
    *credentials_at = credentials_len == 0 ? 0 : 4;
    return writer_len(&b.w);
}

size_t buffer_head_write(size_t content, uint8_t *end)
{
    uint8_t head[BUFFER_HEAD_MAX];
    size_t n = 1 + length_octets(content);
    head[SLE_TML_HEADER] = 0xa8;
    put_length(head + SLE_TML_HEADER + 1, (uint32_t)content);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)(n + content), head);
    memcpy(end - SLE_TML_HEADER - n, head, SLE_TML_HEADER + n);
    return SLE_TML_HEADER + n;
}
