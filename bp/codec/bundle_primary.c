/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primary block (RFC 9171 §4.3.1). It must not change in transit, so a block in the shortest
 * form is encoded exactly as it was decoded. What can go wrong: another version, a number of
 * elements that contradicts its flags and CRC type.
 */
#include "bp/codec/block.h"

#define SECTION "RFC 9171 §4.3.1"

static void read_timestamp(struct item_reader *r, struct bundle_id *id)
{
    size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "a creation timestamp is an array of time and sequence number", at);
    id->time_ms = item_uint(r);
    id->sequence = item_uint(r);
}

static size_t elements(const struct bundle *b)
{
    return 8 + (b->id.fragment ? 2U : 0U) + (b->crc == CRC_NONE ? 0U : 1U);
}

void primary_read(struct item_reader *r, struct check *c, struct bundle *b)
{
    const uint8_t *start = r->in.p;
    size_t at = item_at(r);
    uint64_t n = item_array(r);
    if (item_uint(r) != 7)
        item_fail(r, "the version is 7", at + 1);
    b->flags = item_uint(r);
    b->id.fragment = (b->flags & BUNDLE_IS_FRAGMENT) != 0;
    b->crc = block_read_crc_type(r);
    if (n != elements(b))
        item_fail(r, "8 elements, 2 more for a fragment, 1 more for a CRC, are expected", at);
    b->destination = eid_read(r, c);
    b->id.source = eid_read(r, c);
    b->report_to = eid_read(r, c);
    read_timestamp(r, &b->id);
    b->lifetime_ms = item_uint(r);
    if (b->id.fragment) {
        b->id.offset = item_uint(r);
        b->id.total = item_uint(r);
    }
    block_read_crc(r, c, start, b->crc);
    check_reader(c, r, SECTION);
}

size_t primary_size(const struct bundle *b)
{
    size_t n = 2 + item_size(b->flags) + item_size(b->crc) + eid_size(&b->destination) +
               eid_size(&b->id.source) + eid_size(&b->report_to) + 1 + item_size(b->id.time_ms) +
               item_size(b->id.sequence) + item_size(b->lifetime_ms) + block_tail_size(b->crc);
    return b->id.fragment ? n + item_size(b->id.offset) + item_size(b->id.total) : n;
}

void primary_write(struct writer *w, const struct bundle *b)
{
    const uint8_t *start = w->p;
    item_put_array(w, elements(b));
    item_put_uint(w, 7);
    item_put_uint(w, b->flags);
    item_put_uint(w, b->crc);
    eid_write(w, &b->destination);
    eid_write(w, &b->id.source);
    eid_write(w, &b->report_to);
    item_put_array(w, 2);
    item_put_uint(w, b->id.time_ms);
    item_put_uint(w, b->id.sequence);
    item_put_uint(w, b->lifetime_ms);
    if (b->id.fragment) {
        item_put_uint(w, b->id.offset);
        item_put_uint(w, b->id.total);
    }
    block_write_crc(w, start, b->crc);
}

/* ---- how old a bundle is, by all that is known (§4.2.6, §5.5) ---- */

/* The age of a bundle: at least that of its age block; and, where both clocks exist, the time since
 * its creation. So a bundle that was created in the future of this clock stays for its lifetime and
 * not longer. */
static uint64_t age_at(const struct bundle *b, uint64_t dtn_ms)
{
    const uint64_t age = b->has_age ? b->age_ms : 0;
    const bool older = b->id.time_ms != 0 && dtn_ms > b->id.time_ms && dtn_ms - b->id.time_ms > age;
    return older ? dtn_ms - b->id.time_ms : age;
}

uint64_t bundle_life_left(const struct bundle *b, uint64_t dtn_ms)
{
    if (b->lifetime_ms == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t age = age_at(b, dtn_ms);
    return age < b->lifetime_ms ? b->lifetime_ms - age : 0;
}

uint64_t bundle_life_over(const struct bundle *b, uint64_t dtn_ms)
{
    const uint64_t age = age_at(b, dtn_ms);
    return age > b->lifetime_ms ? age - b->lifetime_ms : 0;
}
