/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about several fields of a bundle, as a list with one line each. Offset 1 is the primary
 * block; byte 0 opens the bundle's array.
 */
#include "bp/codec/block_kind.h"

#define KNOWN_FLAGS                                                                                \
    (BUNDLE_IS_FRAGMENT | BUNDLE_IS_ADMIN | BUNDLE_NO_FRAGMENT | BUNDLE_APP_ACK |                  \
     BUNDLE_TIMED_REPORTS)

enum { AT_PRIMARY = 1 };

static void hold_rule(struct check *c, bool broken, enum check_weight weight, const char *section,
                      const char *text)
{
    if (broken)
        check_note(c, weight, section, text, AT_PRIMARY);
}

static void flag_rules(const struct bundle *b, struct check *c)
{
    bool none = eid_is_none(&b->id.source);
    hold_rule(c, (b->flags & ~(uint64_t)KNOWN_FLAGS) != 0, CHECK_NOTE, "RFC 9171 §4.2.3",
              "reserved bundle processing flags are set");
    hold_rule(c, (b->flags & BUNDLE_IS_ADMIN) && (b->flags & BUNDLE_REPORTS), CHECK_RULE,
              "RFC 9171 §4.2.3", "an administrative record requests no status reports");
    hold_rule(c, none && (b->flags & BUNDLE_REPORTS), CHECK_RULE, "RFC 9171 §4.2.3",
              "a bundle without source requests no status reports");
    hold_rule(c, none && !(b->flags & BUNDLE_NO_FRAGMENT), CHECK_RULE, "RFC 9171 §4.2.3",
              "a bundle without source must not be fragmented");
    hold_rule(c, b->id.fragment && (b->flags & BUNDLE_NO_FRAGMENT), CHECK_NOTE, "RFC 9171 §4.2.3",
              "a fragment of a bundle that must not be fragmented");
}

static void name_rules(const struct bundle *b, struct check *c)
{
    hold_rule(c, eid_is_local(&b->id.source) || eid_is_local(&b->destination), CHECK_REFUSE,
              "RFC 9758 §5.4", "ipn:! is neither source nor destination of a bundle on a link");
    hold_rule(c, eid_is_local(&b->report_to), CHECK_RULE, "RFC 9758 §5.4",
              "ipn:! does not get reports about a bundle on a link");
    hold_rule(c, eid_is_group(&b->id.source), CHECK_RULE, "RFC 9171 §4.2.5.2",
              "the source of a bundle is none, or an endpoint of one node");
    hold_rule(c, b->has_previous && (eid_is_none(&b->previous) || eid_is_group(&b->previous)),
              CHECK_RULE, "RFC 9171 §4.4.1", "a previous node is named by an endpoint of one node");
}

static bool reports_unknown(const struct bundle *b)
{
    uint64_t flags = b->payload_flags | b->rest.flags;
    for (size_t i = 0; i < b->others_len; i++)
        flags |= b->others[i].flags;
    for (size_t i = 0; i < BLOCK_KIND_COUNT; i++) {
        const struct bundle_frame *frame = block_kind_of(block_kinds[i], b);
        flags |= frame != NULL ? frame->flags : 0;
    }
    return (flags & BLOCK_REPORT_IF_UNKNOWN) != 0;
}

static void fragment_rules(const struct bundle *b, struct check *c)
{
    /* A ciphertext may be longer than its plain text by the authentication tag. */
    if (!b->id.fragment || bundle_targeted(b, BLOCK_BCB, 1))
        return;
    hold_rule(c,
              b->id.offset > b->id.total || b->payload.len > b->id.total - b->id.offset ||
                  b->id.total == 0,
              CHECK_REFUSE, "RFC 9171 §5.8", "the fragment's end is beyond the total length");
}

/* An encrypted integrity block may have the primary block as target: this is unknown here. Blocks
 * in `rest` are not searched. */
bool bundle_primary_protected(const struct bundle *b)
{
    if (b->crc != CRC_NONE || b->rest.secures || bundle_targeted(b, BLOCK_BIB, 0))
        return true;
    for (size_t i = 0; i < b->others_len; i++) {
        if (b->others[i].type == BLOCK_BIB && bundle_is_encrypted(b, i))
            return true;
    }
    return false;
}

void bundle_rules(const struct bundle *b, struct check *c)
{
    flag_rules(b, c);
    fragment_rules(b, c);
    hold_rule(c, !bundle_primary_protected(b), CHECK_RULE, "RFC 9171 §4.3.1",
              "the primary block has neither a CRC nor an integrity block");
    hold_rule(
        c, ((b->flags & BUNDLE_IS_ADMIN) || eid_is_none(&b->id.source)) && reports_unknown(b),
        CHECK_RULE, "RFC 9171 §4.2.4",
        "no block of an administrative record or of a bundle without source requests reports");
    for (size_t i = BLOCK_KIND_COUNT; i > 0; i--) {
        if (block_kinds[i - 1]->rule != NULL)
            block_kinds[i - 1]->rule(b, c);
    }
    name_rules(b, c);
}
