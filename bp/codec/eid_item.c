/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint identifiers in CBOR: [scheme, scheme-specific part]. An ipn EID is encoded in the form
 * in which it was received (RFC 9758 §6.4: another form would break integrity blocks). What can go
 * wrong: numbers out of range, text that is no name.
 */
#include <string.h>

#include "bp/codec/check.h"
#include "bp/codec/eid_item.h"

#define SECTION_DTN "RFC 9171 §4.2.5.1.1"

static void read_ipn(struct item_reader *r, struct check *c, struct eid *e)
{
    size_t at = item_at(r);
    uint64_t n = item_array(r);
    if (!r->in.bad && n != 2 && n != 3) {
        item_fail(r, "an ipn EID has two or three elements", at);
        return;
    }
    uint64_t first = item_uint(r);
    e->three = n == 3;
    e->allocator = e->three ? first : first >> 32;
    e->node = e->three ? item_uint(r) : first & UINT32_MAX;
    e->service = item_uint(r);
    if (r->in.bad)
        return;
    if (e->allocator > UINT32_MAX || e->node > UINT32_MAX)
        item_fail(r, "the allocator and the node number of an ipn EID are below 2^32", at);
    else if (e->allocator == 0 && e->node == 0 && e->service != 0)
        check_note(c, CHECK_NOTE, "RFC 9758 §3.4.1",
                   "a null ipn EID has service number 0; it counts as null", at);
}

static void read_dtn(struct item_reader *r, struct check *c, struct eid *e)
{
    size_t at = item_at(r);
    if (item_peek(r) == ITEM_UINT) {
        if (item_uint(r) != 0)
            item_fail(r, "the only number that is a dtn EID is 0 (dtn:none)", at);
        memcpy(e->ssp, "none", 5);
        return;
    }
    struct slice ssp = item_text(r);
    if (r->in.bad)
        return;
    enum eid_dtn_form form = eid_dtn_form((const char *)ssp.data, ssp.len);
    if (form == EID_DTN_BAD) {
        item_fail(r, "the name of a dtn EID is 1 to 255 printable ASCII characters", at);
        return;
    }
    memcpy(e->ssp, ssp.data, ssp.len);
    if (form == EID_DTN_NONE)
        check_note(c, CHECK_RULE, SECTION_DTN, "dtn:none is encoded as the number 0, not as text",
                   at);
    if (form == EID_DTN_LOOSE)
        check_note(c, CHECK_RULE, SECTION_DTN " with erratum 7272",
                   "a dtn EID is \"//node-name/demux\" without query or fragment", at);
}

struct eid eid_read(struct item_reader *r, struct check *c)
{
    struct eid e = {.scheme = EID_DTN};
    size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "an EID is an array of scheme and scheme-specific part", at);
    uint64_t scheme = item_uint(r);
    if (r->in.bad)
        return e;
    if (scheme == EID_IPN) {
        e.scheme = EID_IPN;
        read_ipn(r, c, &e);
    } else if (scheme == EID_DTN) {
        read_dtn(r, c, &e);
    } else {
        eid_other_read(r, scheme, &e);
    }
    return e;
}

static uint64_t packed_node(const struct eid *e)
{
    return e->allocator << 32 | e->node;
}

size_t eid_size(const struct eid *e)
{
    if (e->scheme == EID_OTHER)
        return 1 + item_size(e->number) + e->raw_len;
    if (e->scheme == EID_DTN) {
        size_t len = strlen(e->ssp);
        return 2 + (eid_is_none(e) ? 1 : item_size(len) + len);
    }
    size_t node =
        e->three ? item_size(e->allocator) + item_size(e->node) : item_size(packed_node(e));
    return 3 + node + item_size(e->service);
}

void eid_write(struct writer *w, const struct eid *e)
{
    item_put_array(w, 2);
    item_put_uint(w, e->scheme == EID_OTHER ? e->number : e->scheme);
    if (e->scheme == EID_OTHER) {
        writer_bytes(w, e->ssp, e->raw_len);
    } else if (e->scheme == EID_DTN && eid_is_none(e)) {
        item_put_uint(w, 0);
    } else if (e->scheme == EID_DTN) {
        item_put_text(w, slice_of(e->ssp, strlen(e->ssp)));
    } else if (e->three) {
        item_put_array(w, 3);
        item_put_uint(w, e->allocator);
        item_put_uint(w, e->node);
        item_put_uint(w, e->service);
    } else {
        item_put_array(w, 2);
        item_put_uint(w, packed_node(e));
        item_put_uint(w, e->service);
    }
}

bool eid_legal(const struct eid *e)
{
    if (e->scheme == EID_IPN)
        return e->allocator <= UINT32_MAX && e->node <= UINT32_MAX;
    if (e->scheme == EID_OTHER)
        return eid_other_legal(e);
    return e->scheme == EID_DTN &&
           eid_dtn_form(e->ssp, strnlen(e->ssp, sizeof e->ssp)) != EID_DTN_BAD;
}

void eid_item_read(struct item_reader *r, struct eid *out)
{
    struct check c = {.mode = BUNDLE_STRICT};
    const size_t at = item_at(r);
    *out = eid_read(r, &c);
    if (c.bad || c.stop)
        item_fail(r, "an endpoint id that is not legal", at);
    if (r->in.bad)
        *out = eid_none();
}

void eid_item_write(struct writer *w, const struct eid *e)
{
    eid_write(w, e);
}
