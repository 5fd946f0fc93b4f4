/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extension blocks of RFC 9171 §4.4: previous node, hop count, bundle age. Each describes the
 * copy at hand, so each node that forwards the bundle writes them anew. A bundle has at most one of
 * each: beside an encrypted one goes no second, which would end the bundle at the next node; and to
 * take it out would leave its confidentiality block without the target (RFC 9172 §3.6). What can go
 * wrong is their content, which the reader's error has; and values that are not allowed.
 */
#include "bp/codec/block_kind.h"

enum { AT_PRIMARY = 1 }; /* offset of findings about the bundle as a whole */

/* ---- §4.4.1: previous node ---- */

static void read_previous(struct item_reader *r, struct check *c, struct bundle *b)
{
    b->previous = eid_read(r, c);
}

static void write_previous(struct writer *w, const struct bundle *b)
{
    eid_write(w, &b->previous);
}

static bool is_previous_legal(const struct bundle *b)
{
    return eid_legal(&b->previous);
}

static void pass_previous(struct bundle *b, const struct bundle_hop *hop)
{
    b->has_previous = !bundle_has_other(b, BLOCK_PREVIOUS_NODE);
    b->previous = *hop->node;
}

const struct block_kind block_previous_node = {
    .type = BLOCK_PREVIOUS_NODE,
    .section = "RFC 9171 §4.4.1",
    .single = true,
    .has = offsetof(struct bundle, has_previous),
    .frame = offsetof(struct bundle, previous_frame),
    .read = read_previous,
    .write = write_previous,
    .legal = is_previous_legal,
    .hop = pass_previous,
    .each_fragment = true,
};

/* ---- §4.4.2: bundle age ---- */

static void read_age(struct item_reader *r, struct check *c, struct bundle *b)
{
    (void)c;
    b->age_ms = item_uint(r);
}

static void write_age(struct writer *w, const struct bundle *b)
{
    item_put_uint(w, b->age_ms);
}

static void check_age(const struct bundle *b, struct check *c)
{
    if (b->id.time_ms == 0 && !bundle_has(b, BLOCK_AGE))
        check_note(c, CHECK_RULE, "RFC 9171 §4.4.2",
                   "a bundle whose creation time is 0 has a bundle age block", AT_PRIMARY);
}

static void pass_age(struct bundle *b, const struct bundle_hop *hop)
{
    if (!b->has_age && (b->id.time_ms != 0 || bundle_has_other(b, BLOCK_AGE)))
        return;
    b->has_age = true;
    b->age_ms = hop->age_ms;
}

const struct block_kind block_age = {
    .type = BLOCK_AGE,
    .section = "RFC 9171 §4.4.2",
    .single = true,
    .has = offsetof(struct bundle, has_age),
    .frame = offsetof(struct bundle, age_frame),
    .read = read_age,
    .write = write_age,
    .flags = BLOCK_REPLICATE,
    .rule = check_age,
    .hop = pass_age,
    .each_fragment = true,
};

/* ---- §4.4.3: hop count ---- */

static void read_hops(struct item_reader *r, struct check *c, struct bundle *b)
{
    (void)c;
    size_t at = item_at(r);
    if (item_array(r) != 2)
        item_fail(r, "a hop count is an array of limit and count", at);
    b->hop_limit = item_uint(r);
    b->hop_count = item_uint(r);
}

static void write_hops(struct writer *w, const struct bundle *b)
{
    item_put_array(w, 2);
    item_put_uint(w, b->hop_limit);
    item_put_uint(w, b->hop_count);
}

static void check_hops(const struct bundle *b, struct check *c)
{
    if (b->has_hops && (b->hop_limit < 1 || b->hop_limit > 255))
        check_note(c, CHECK_RULE, "RFC 9171 §4.4.3", "a hop limit is 1 to 255", AT_PRIMARY);
}

static void pass_hops(struct bundle *b, const struct bundle_hop *hop)
{
    if (b->has_hops)
        b->hop_count = hop->hop_count;
}

const struct block_kind block_hop_count = {
    .type = BLOCK_HOP_COUNT,
    .section = "RFC 9171 §4.4.3",
    .single = true,
    .has = offsetof(struct bundle, has_hops),
    .frame = offsetof(struct bundle, hops_frame),
    .read = read_hops,
    .write = write_hops,
    .flags = BLOCK_REPLICATE,
    .rule = check_hops,
    .hop = pass_hops,
    .each_fragment = true,
};
