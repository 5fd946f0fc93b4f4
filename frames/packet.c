/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encapsulation packet's first octet says how long its header is, and its length counts all of
 * it (133.1-B 4.1.2). A space packet's length field is that of its data field less one (133.0-B
 * 4.1.3). What can go wrong is a verdict when reading, and 0 when the caller's fields do not fit.
 */
#include "frames/packet.h"

#include <assert.h>

enum { LENGTHS = 4 };
static const uint8_t encap_header_len[LENGTHS] = {1, 2, 4, 8};
static const uint64_t encap_length_max[LENGTHS] = {1, UINT8_MAX, UINT16_MAX, UINT32_MAX};
static_assert(PACKET_HEADER_MAX == 8, "the longest of them");

#define SPACE_DATA_MAX 65536

const char *packet_verdict_name(enum packet_verdict v)
{
    static const char *const names[] = {"ok", "more", "bad_version", "bad_length", "long"};
    static_assert(sizeof names / sizeof names[0] == PACKET_VERDICT_COUNT, "each has a name");
    assert((unsigned)v < PACKET_VERDICT_COUNT);
    return names[v];
}

static uint16_t read_16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void put_16(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)(v >> 8 & 0xff);
    p[1] = (uint8_t)(v & 0xff);
}

static enum packet_verdict parse_encap(struct packet *p, const uint8_t *d, size_t len)
{
    unsigned form = d[0] & 3;
    struct packet out = {.kind = PACKET_ENCAP,
                         .protocol = d[0] >> 2 & 7,
                         .header_len = encap_header_len[form],
                         .length = 1};
    out.idle = out.protocol == PACKET_IDLE;
    if (form == 0 && !out.idle)
        return PACKET_BAD_LENGTH;
    if (len < out.header_len)
        return PACKET_MORE;
    if (form == 1)
        out.length = d[1];
    if (form >= 2) {
        out.user_defined = d[1] >> 4;
        out.extension = d[1] & 15;
        out.length = read_16(d + 2);
    }
    if (form == 3) {
        out.ccsds = read_16(d + 2);
        out.length = (uint64_t)read_16(d + 4) << 16 | read_16(d + 6);
    }
    if (out.length < out.header_len)
        return PACKET_BAD_LENGTH;
    *p = out;
    return PACKET_OK;
}

static enum packet_verdict parse_space(struct packet *p, const uint8_t *d, size_t len)
{
    if (len < PACKET_SPACE_HEADER)
        return PACKET_MORE;
    *p = (struct packet){.kind = PACKET_SPACE,
                         .header_len = PACKET_SPACE_HEADER,
                         .length = UINT64_C(1) + read_16(d + 4) + PACKET_SPACE_HEADER,
                         .command = (d[0] & 0x10) != 0,
                         .secondary = (d[0] & 0x08) != 0,
                         .apid = read_16(d) & 0x7ff,
                         .sequence_flags = d[2] >> 6,
                         .sequence_count = read_16(d + 2) & 0x3fff};
    p->idle = p->apid == PACKET_IDLE_APID;
    return PACKET_OK;
}

enum packet_verdict packet_read(struct packet *p, const void *data, size_t len)
{
    const uint8_t *d = data;
    enum packet_verdict v = PACKET_MORE;
    if (len == 0)
        return v;
    if (d[0] >> 5 == PACKET_ENCAP)
        v = parse_encap(p, d, len);
    else if (d[0] >> 5 == PACKET_SPACE)
        v = parse_space(p, d, len);
    else
        return PACKET_BAD_VERSION;
    assert(v != PACKET_OK || (p->length >= p->header_len && p->header_len <= len));
    return v;
}

/* The shortest form; LENGTHS when there is none. */
static unsigned choose_form(const struct packet *p)
{
    unsigned form = p->ccsds != 0 ? 3 : 1;
    if (p->ccsds == 0 && (p->extension | p->user_defined) != 0)
        form = 2;
    if (p->protocol == PACKET_EXTENDED && form < 2)
        form = 2;
    if (p->protocol == PACKET_IDLE && p->length == 1)
        return form == 1 ? 0 : LENGTHS;
    while (form < LENGTHS && p->length > encap_length_max[form])
        form++;
    return form;
}

static unsigned find_form(const struct packet *p)
{
    unsigned form = 0, least = choose_form(p);
    if (p->header_len == 0)
        return least;
    while (form < LENGTHS && encap_header_len[form] != p->header_len)
        form++;
    return form >= least ? form : LENGTHS;
}

static size_t write_encap(const struct packet *p, uint8_t *out)
{
    unsigned form = find_form(p);
    if (p->protocol > 7 || p->extension > 15 || p->user_defined > 15 || form == LENGTHS ||
        p->length < encap_header_len[form])
        return 0;
    out[0] = (uint8_t)((unsigned)PACKET_ENCAP << 5 | (unsigned)p->protocol << 2 | form);
    if (form == 1)
        out[1] = (uint8_t)p->length;
    if (form >= 2) {
        out[1] = (uint8_t)(p->user_defined << 4 | p->extension);
        put_16(out + 2, form == 2 ? p->length : p->ccsds);
    }
    if (form == 3) {
        put_16(out + 4, p->length >> 16);
        put_16(out + 6, p->length);
    }
    return encap_header_len[form];
}

static size_t write_space(const struct packet *p, uint8_t *out)
{
    uint64_t data = p->length - PACKET_SPACE_HEADER;
    if (p->length <= PACKET_SPACE_HEADER || data > SPACE_DATA_MAX || p->apid > PACKET_IDLE_APID ||
        p->sequence_flags > 3 || p->sequence_count > 0x3fff ||
        (p->header_len != 0 && p->header_len != PACKET_SPACE_HEADER))
        return 0;
    put_16(out, (uint64_t)p->command << 12 | (uint64_t)p->secondary << 11 | p->apid);
    put_16(out + 2, (uint64_t)p->sequence_flags << 14 | p->sequence_count);
    put_16(out + 4, data - 1);
    return PACKET_SPACE_HEADER;
}

size_t packet_write(const struct packet *p, uint8_t out[PACKET_HEADER_MAX])
{
    size_t n = 0;
    if (p->kind == PACKET_ENCAP)
        n = write_encap(p, out);
    else if (p->kind == PACKET_SPACE)
        n = write_space(p, out);
    assert(n <= PACKET_HEADER_MAX && n <= p->length);
    return n;
}

size_t packet_write_encap(uint8_t protocol, uint64_t payload_len, uint8_t out[PACKET_HEADER_MAX])
{
    struct packet p = {.kind = PACKET_ENCAP, .protocol = protocol};
    if (protocol == PACKET_EXTENDED || payload_len > UINT32_MAX - PACKET_HEADER_MAX)
        return 0;
    unsigned form = 1;
    while (payload_len + encap_header_len[form] > encap_length_max[form])
        form++;
    assert(form < LENGTHS);
    p.header_len = encap_header_len[form];
    p.length = payload_len + p.header_len;
    return write_encap(&p, out);
}
