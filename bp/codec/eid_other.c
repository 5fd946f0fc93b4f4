/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint identifiers of schemes without endpoints at this node. Their encoded form is kept, so
 * that a bundle can be forwarded unchanged. imc (interplanetary multicast, scheme 3: [group,
 * service]) has a text form; other schemes are shown as bytes. What can go wrong: text that is no
 * such EID, items that are too long or nested too deeply.
 */
#include <string.h>

#include "bp/codec/check.h"

enum { SCHEME_IMC = 3 };

static struct slice raw_of(const struct eid *e)
{
    return slice_of(e->ssp, e->raw_len);
}

bool eid_imc(const struct eid *e, uint64_t *group, uint64_t *service)
{
    if (e->scheme != EID_OTHER || e->number != SCHEME_IMC)
        return false;
    struct item_reader r = item_reader_of((const uint8_t *)e->ssp, raw_of(e));
    uint64_t n = item_array(&r);
    *group = item_uint(&r);
    *service = item_uint(&r);
    return !r.in.bad && n == 2 && reader_left(&r.in) == 0 && !r.wide;
}

struct eid eid_imc_of(uint64_t group, uint64_t service)
{
    struct eid e = {.scheme = EID_OTHER, .number = SCHEME_IMC};
    struct writer w = writer_of((uint8_t *)e.ssp, EID_RAW_MAX);
    item_put_array(&w, 2);
    item_put_uint(&w, group);
    item_put_uint(&w, service);
    e.raw_len = writer_len(&w);
    return e;
}

bool eid_other_legal(const struct eid *e)
{
    if (e->number <= EID_IPN || e->raw_len == 0 || e->raw_len > EID_RAW_MAX)
        return false;
    struct item_reader r = item_reader_of((const uint8_t *)e->ssp, raw_of(e));
    item_skip(&r, EID_RAW_LEVELS);
    return !r.in.bad && reader_left(&r.in) == 0;
}

void eid_other_read(struct item_reader *r, uint64_t number, struct eid *e)
{
    size_t at = item_at(r);
    const uint8_t *start = r->in.p;
    item_skip(r, EID_RAW_LEVELS);
    if (r->in.bad)
        return;
    size_t len = (size_t)(r->in.p - start);
    if (number == 0) {
        item_fail(r, "the EID's scheme 0 is reserved", at);
    } else if (len > EID_RAW_MAX) {
        item_fail(r, "an EID of another scheme than dtn and ipn has at most 116 bytes", at);
    } else {
        *e = (struct eid){.scheme = EID_OTHER, .number = number, .raw_len = len};
        memcpy(e->ssp, start, len);
    }
}

size_t eid_other_text(const struct eid *e, char out[EID_TEXT_MAX])
{
    static const char hex[] = "0123456789abcdef";
    uint64_t group, service;
    char *p = out;
    if (eid_imc(e, &group, &service)) {
        memcpy(p, "imc:", 4);
        p = eid_put_number(p + 4, group);
        *p++ = '.';
        p = eid_put_number(p, service);
    } else {
        memcpy(p, "scheme-", 7);
        p = eid_put_number(p + 7, e->number);
        *p++ = ':';
        for (size_t i = 0; i < e->raw_len && i < EID_RAW_MAX; i++) {
            *p++ = hex[(uint8_t)e->ssp[i] >> 4];
            *p++ = hex[e->ssp[i] & 0xf];
        }
    }
    *p = '\0';
    return (size_t)(p - out);
}
