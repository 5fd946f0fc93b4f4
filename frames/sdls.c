/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applying: the data field moves behind the security header, is encrypted where it is, and the MAC
 * follows it. Processing: the frame is copied, and all is verified in the copy before the data
 * field moves back. The MAC is verified before the number is compared (355.0-B 4.2.4.4), so that a
 * forged frame cannot move the window. What can go wrong is a verdict.
 */
#include "frames/sdls.h"

#include <assert.h>

#include "base/secret.h"
#include "frames/fhec.h"
#include "frames/frame_impl.h"
#include "frames/sdls_impl.h"

enum { SPI_LEN = 2, SENDER_LEN = 4 };

const char *sdls_verdict_name(enum sdls_verdict v)
{
#define VERDICT_NAME(name, text) text,
    static const char *const names[] = {SDLS_VERDICTS(VERDICT_NAME)};
#undef VERDICT_NAME
    assert((unsigned)v < SDLS_VERDICT_COUNT);
    return names[v];
}

/* ---- associations ---- */

static const char *judge_key(const struct sdls_association *a)
{
    if (a->algorithm == SDLS_HMAC)
        return a->key_len < 16 || a->key_len > SDLS_KEY_MAX
                   ? "the key of hmac-sha-256 has 16 to 64 octets"
                   : NULL;
    return a->key_len != 16 && a->key_len != 32 ? "the key of AES has 16 or 32 octets" : NULL;
}

static const char *judge_lengths(const struct sdls_association *a)
{
    bool gcm = a->algorithm == SDLS_GCM;
    if (a->iv_len != (gcm ? SDLS_IV : 0))
        return gcm ? "the IV of aes-gcm has 12 octets" : "aes-cmac and hmac-sha-256 have no IV";
    if (a->sequence_len > 8 || (!gcm && a->sequence_len == 0))
        return "the sequence number has 1 to 8 octets, or none with the IV of aes-gcm";
    if (a->pad_len > 2 || (a->pad_len > 0 && a->service == SDLS_AUTHENTICATION))
        return "the pad length has 0 to 2 octets, and none without encryption";
    if (gcm && a->mac_len != CRYPTO_TAG)
        return "the MAC of aes-gcm has 16 octets";
    if (a->mac_len < 8 || a->mac_len > (a->algorithm == SDLS_CMAC ? CRYPTO_CMAC : SDLS_MAC_MAX))
        return "the MAC has 8 to 16 octets, of hmac-sha-256 to 32";
    return NULL;
}

const char *sdls_association_problem(const struct sdls_association *a)
{
    if (a->spi == 0 || a->spi > SDLS_SPI_MAX)
        return "the SPI is 1 to 65534";
    if (a->vcids == 0)
        return "it has no virtual channel";
    if (a->service == SDLS_AUTHENTICATED_ENCRYPTION && a->algorithm != SDLS_GCM)
        return "aes-gcm alone encrypts";
    if (a->window == 0)
        return "the window is 1 or more";
    if (judge_lengths(a) != NULL)
        return judge_lengths(a);
    return judge_key(a);
}

static uint32_t measure_security(const struct sdls_association *a)
{
    return sdls_header_len(a) + a->mac_len;
}

/* An IV is used once with a key: no two associations of AES-GCM count with the same one. */
static const char *judge_pair(const struct sdls_association *a, const struct sdls_association *b)
{
    if (a->spi == b->spi)
        return "another association has this SPI";
    if (a->algorithm == SDLS_GCM && b->algorithm == SDLS_GCM && a->key_len == b->key_len &&
        secret_same(a->key, b->key, a->key_len))
        return "another association of aes-gcm has this key";
    return NULL;
}

static const char *judge_format(const struct sdls *s, const struct sdls_association *a)
{
    struct frame_format inner = s->format;
    uint64_t all = s->format.kind == FRAME_TM   ? 0xff
                   : s->format.kind == FRAME_TC ? UINT64_MAX
                                                : UINT64_MAX >> 1;
    if ((a->vcids & ~all) != 0)
        return "virtual channels are 0 to 62, of TM 0 to 7, of TC 0 to 63";
    if (measure_security(a) >= inner.length)
        return "the frame is too short for security";
    inner.length -= measure_security(a);
    return frame_format_problem(&inner) != NULL ? "the frame is too short for security" : NULL;
}

const char *sdls_problem(const struct sdls *s, size_t *which)
{
    for (*which = 0; *which < s->len; ++*which) {
        const struct sdls_association *a = &s->at[*which];
        const char *wrong = sdls_association_problem(a);
        if (wrong == NULL)
            wrong = judge_format(s, a);
        for (size_t i = 0; wrong == NULL && i < *which; i++)
            wrong = judge_pair(a, &s->at[i]);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static struct sdls_association *find_sending(const struct sdls *s, uint8_t vcid)
{
    assert(vcid < 64);
    for (size_t i = 0; i < s->len; i++)
        if ((s->at[i].vcids >> vcid & 1) != 0)
            return &s->at[i];
    return NULL;
}

static struct sdls_association *find_spi(const struct sdls *s, uint16_t spi)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->at[i].spi == spi)
            return &s->at[i];
    return NULL;
}

uint32_t sdls_overhead(const struct sdls *s, uint8_t vcid)
{
    const struct sdls_association *a = find_sending(s, vcid);
    return a == NULL ? 0 : measure_security(a);
}

/* ---- numbers ---- */

static void put_number(uint8_t *out, size_t len, uint64_t n)
{
    for (size_t i = len; i > 0; i--, n >>= 8)
        out[i - 1] = (uint8_t)(n & 0xff);
}

static uint64_t get_number(const uint8_t *d, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++)
        n = n << 8 | d[i];
    return n;
}

static bool take_number(struct sdls *s, struct sdls_association *a, uint64_t *n)
{
    uint64_t most = a->sequence_len == 0 || a->sequence_len == 8
                        ? UINT64_MAX - 1
                        : (UINT64_C(1) << 8 * a->sequence_len) - 1;
    assert(a->next > 0 && a->next <= a->end);
    if (a->next > most)
        return false;
    if (a->next == a->end && (s->reserve == NULL || !s->reserve(s->self, a)))
        return false;
    assert(a->next < a->end);
    *n = a->next++;
    return true;
}

static enum sdls_verdict check_number(const struct sdls_association *a, const uint8_t *header,
                                      uint64_t *n)
{
    const uint8_t *iv = header + SPI_LEN, *sequence = iv + a->iv_len;
    *n = a->sequence_len > 0 ? get_number(sequence, a->sequence_len)
                             : get_number(iv + SENDER_LEN, SDLS_IV - SENDER_LEN);
    if (a->sequence_len == 0 && get_32(iv) != a->sender)
        return SDLS_SENDER_VERDICT;
    if (a->begun && *n <= a->last)
        return SDLS_REPLAYED_VERDICT;
    if (a->begun && *n - a->last > a->window)
        return SDLS_AHEAD_VERDICT;
    return SDLS_OK_VERDICT;
}

/* ---- cryptography ---- */

static bool compute_mac(struct sdls *s, const struct sdls_association *a,
                        const struct sdls_place *p, const uint8_t *frame,
                        uint8_t out[CRYPTO_MAC_MAX])
{
    const struct crypto *c = s->crypto;
    const struct slice key = slice_of(a->key, a->key_len);
    const struct slice parts[] = {slice_of(s->payload, p->data),
                                  slice_of(frame + p->data, p->mac - p->data)};
    return a->algorithm == SDLS_CMAC ? c->cmac(c->self, key, parts, 2, out)
                                     : c->mac(c->self, 256, key, parts, 2, out);
}

/* Encrypts, or only authenticates, by AES-GCM; `tag` is made, or verified with `open`. */
static bool run_gcm(struct sdls *s, const struct sdls_association *a, const struct sdls_place *p,
                    uint8_t *frame, bool open)
{
    const struct crypto *c = s->crypto;
    const struct slice key = slice_of(a->key, a->key_len);
    const struct slice iv = slice_of(frame + p->header + SPI_LEN, a->iv_len);
    struct slice aad = slice_of(s->payload, p->data);
    uint8_t *data = frame + p->data, *tag = frame + p->mac;
    size_t len = p->mac - p->data;
    if (a->service == SDLS_AUTHENTICATION) {
        memcpy(s->payload + p->data, data, len);
        aad.len += len;
        len = 0;
    }
    return open ? c->open(c->self, key, iv, aad, data, len, tag)
                : c->seal(c->self, key, iv, aad, data, len, tag);
}

static bool protect_frame(struct sdls *s, const struct sdls_association *a,
                          const struct sdls_place *p, uint8_t *frame)
{
    uint8_t mac[CRYPTO_MAC_MAX];
    sdls_write_covered(&s->format, a, p, frame, s->payload);
    if (a->algorithm == SDLS_GCM)
        return run_gcm(s, a, p, frame, false);
    if (!compute_mac(s, a, p, frame, mac))
        return false;
    memcpy(frame + p->mac, mac, a->mac_len);
    return true;
}

static enum sdls_verdict verify_frame(struct sdls *s, const struct sdls_association *a,
                                      const struct sdls_place *p, uint8_t *frame)
{
    uint8_t mac[CRYPTO_MAC_MAX];
    sdls_write_covered(&s->format, a, p, frame, s->payload);
    if (a->algorithm == SDLS_GCM)
        return run_gcm(s, a, p, frame, true) ? SDLS_OK_VERDICT : SDLS_MAC_VERDICT;
    if (!compute_mac(s, a, p, frame, mac))
        return SDLS_CRYPTO_VERDICT;
    return secret_same(mac, frame + p->mac, a->mac_len) ? SDLS_OK_VERDICT : SDLS_MAC_VERDICT;
}

/* ---- applying ---- */

static bool is_good(enum frame_verdict v)
{
    return v == FRAME_OK_VERDICT || v == FRAME_IDLE_VERDICT;
}

static enum sdls_verdict pass_clear(struct slice frame, uint32_t length, uint8_t *out, size_t room,
                                    size_t *len)
{
    if (length > room)
        return SDLS_LENGTH_VERDICT;
    memcpy(out, frame.data, length);
    *len = length;
    return SDLS_CLEAR_VERDICT;
}

/* The frame with an empty security header and trailer; where these are in *p, which was the
 * frame's. */
static void widen_frame(const struct sdls_association *a, const uint8_t *frame,
                        struct sdls_place *p, uint8_t *out)
{
    uint32_t field = p->mac - p->data, behind = p->length - p->after, from = p->data;
    p->data += sdls_header_len(a);
    p->mac = p->data + field;
    p->after = p->mac + a->mac_len;
    p->length = p->after + behind;
    memcpy(out, frame, from);
    memset(out + p->header, 0, p->data - p->header);
    memcpy(out + p->data, frame + from, field);
    memset(out + p->mac, 0, a->mac_len);
    if (behind > 0)
        memcpy(out + p->after, frame + from + field, behind);
}

static void write_header(const struct sdls_association *a, uint64_t n, uint8_t *header)
{
    put_16(header, a->spi);
    if (a->iv_len > 0) {
        put_32(header + SPI_LEN, a->sender);
        put_number(header + SPI_LEN + SENDER_LEN, a->iv_len - SENDER_LEN, n);
    }
    put_number(header + SPI_LEN + a->iv_len, a->sequence_len, n);
}

static enum sdls_verdict apply_to(struct sdls *s, struct sdls_association *a, struct slice frame,
                                  struct sdls_place p, uint8_t *out)
{
    uint64_t n;
    if (!take_number(s, a, &n))
        return SDLS_NUMBERS_VERDICT;
    widen_frame(a, frame.data, &p, out);
    write_header(a, n, out + p.header);
    sdls_write_length(&s->format, out, p.length); /* which a mask may cover */
    if (!protect_frame(s, a, &p, out))
        return SDLS_CRYPTO_VERDICT;
    sdls_finish(&s->format, out, p.length);
    return SDLS_OK_VERDICT;
}

static enum sdls_verdict apply_any(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                                   size_t *len)
{
    struct frame_format inner = s->format;
    struct frame f;
    uint8_t vcid;
    if (!sdls_read_vcid(&inner, frame, &vcid))
        return SDLS_FRAME_VERDICT;
    struct sdls_association *a = find_sending(s, vcid);
    const uint32_t more = a == NULL ? 0 : measure_security(a);
    if (inner.kind != FRAME_TC)
        inner.length -= more;
    if (!is_good(frame_parse(&inner, frame.data, frame.len, &f)) || f.corrected > 0)
        return SDLS_FRAME_VERDICT;
    assert(f.vcid == vcid);
    const struct sdls_place p = sdls_find_field(&inner, &f);
    if (a == NULL || p.command)
        return pass_clear(frame, p.length, out, room, len);
    if (p.length + more > s->format.length || p.length + more > room)
        return SDLS_LENGTH_VERDICT;
    const enum sdls_verdict v = apply_to(s, a, frame, p, out);
    *len = v == SDLS_OK_VERDICT ? p.length + more : 0;
    return v;
}

enum sdls_verdict sdls_apply(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                             size_t *len)
{
    *len = 0;
    const enum sdls_verdict v = apply_any(s, frame, out, room, len);
    s->applied[v]++;
    return v;
}

/* ---- processing ---- */

static void correct_header(const struct frame_format *f, uint8_t *frame)
{
    if (f->kind != FRAME_AOS || !f->fhec)
        return;
    uint16_t gvcid = get_16(frame), field = get_16(frame + AOS_HEADER);
    if (fhec_correct(&gvcid, &frame[5], &field) < 0)
        return;
    put_16(frame, gvcid);
    put_16(frame + AOS_HEADER, field);
}

/* The octets of fill that the pad length says, checked against the data field. */
static bool read_padding(const struct sdls_association *a, const struct sdls_place *p,
                         const uint8_t *frame, uint32_t *fill)
{
    *fill = (uint32_t)get_number(frame + p->data - a->pad_len, a->pad_len);
    return *fill < p->mac - p->data;
}

/* Takes header, trailer and fill out of a frame whose MAC is right. Returns its octets. */
static uint32_t narrow_frame(const struct sdls_place *p, uint32_t fill, uint8_t *frame)
{
    uint32_t field = p->mac - p->data - fill, behind = p->length - p->after;
    memmove(frame + p->header, frame + p->data, field);
    memmove(frame + p->header + field, frame + p->after, behind);
    return p->header + field + behind;
}

static enum sdls_verdict process_in_place(struct sdls *s, struct sdls_association *a,
                                          const struct sdls_place *p, uint8_t *frame, size_t *len)
{
    uint64_t n;
    uint32_t fill;
    enum sdls_verdict v = verify_frame(s, a, p, frame);
    if (v == SDLS_OK_VERDICT)
        v = check_number(a, frame + p->header, &n);
    if (v != SDLS_OK_VERDICT)
        return v;
    if (s->note != NULL && n >= a->end && !s->note(s->self, a, n))
        return SDLS_NUMBERS_VERDICT;
    assert(s->note == NULL || n < a->end);
    a->begun = true;
    a->last = n;
    if (!read_padding(a, p, frame, &fill))
        return SDLS_PADDING_VERDICT;
    const uint32_t length = narrow_frame(p, fill, frame);
    sdls_finish(&s->format, frame, length);
    *len = length;
    return SDLS_OK_VERDICT;
}

static enum sdls_verdict process_any(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                                     size_t *len)
{
    struct frame f;
    if (!is_good(frame_parse(&s->format, frame.data, frame.len, &f)))
        return SDLS_FRAME_VERDICT;
    struct sdls_place p = sdls_find_field(&s->format, &f);
    if (find_sending(s, p.vcid) == NULL || p.command)
        return pass_clear(frame, p.length, out, room, len);
    if (p.mac - p.header < SPI_LEN || p.length > room)
        return SDLS_LENGTH_VERDICT;
    struct sdls_association *a = find_spi(s, get_16((const uint8_t *)frame.data + p.header));
    if (a == NULL)
        return SDLS_SPI_VERDICT;
    if ((a->vcids >> p.vcid & 1) == 0)
        return SDLS_CHANNEL_VERDICT;
    if (p.mac - p.header <= measure_security(a))
        return SDLS_LENGTH_VERDICT;
    p.data += sdls_header_len(a);
    p.mac -= a->mac_len;
    memcpy(out, frame.data, p.length);
    correct_header(&s->format, out);
    return process_in_place(s, a, &p, out, len);
}

enum sdls_verdict sdls_process(struct sdls *s, struct slice frame, uint8_t *out, size_t room,
                               size_t *len)
{
    *len = 0;
    const enum sdls_verdict v = process_any(s, frame, out, room, len);
    s->processed[v]++;
    return v;
}
