/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule is a conjunction of what it names; one that names nothing fits every bundle. The bundle is
 * decoded only when there are rules that ask for more than its size. What can go wrong: a bundle
 * that cannot be decoded (none that comes from an agent) has the link's own colour.
 */
#include "cla/ltp/ltp_rule.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bp/bundle.h"

#define AT(field) offsetof(struct ltp_link_rule, field)

/* clang-format off */
static const struct conf_option options[] = {
    {"to", OPTION_TEXT, AT(to), "*", 0, 0, NULL,
     "destination: an endpoint id, ipn:2.*, ipn:*.*, dtn://name/*, or *"},
    {"from", OPTION_TEXT, AT(from), "*", 0, 0, NULL,
     "source, likewise"},
    {"service", OPTION_COUNT, AT(service), "any", 1, 0, "any",
     "ipn service number of the destination"},
    {"size_min", OPTION_SIZE, AT(size_min), "0", 0, 0, NULL,
     "bundles of at least so many bytes"},
    {"size_max", OPTION_SIZE, AT(size_max), "0", 0, 0, NULL,
     "bundles of at most so many bytes; 0: of any length"},
    {"flag", OPTION_CHOICE, AT(flag), "any", 0, 0, "any|admin|fragment|no_fragment|ack|report",
     "administrative records, fragments, bundles that must not be fragmented, that want an application's answer, or any status report"},
    {"block", OPTION_COUNT, AT(block), "any", 1, 0, "any",
     "bundles with an extension block of this type: BPv7 has no priority, other stacks put theirs into a block"},
    {"colour", OPTION_CHOICE, AT(colour), NULL, 0, 0, "red|green|orange",
     "of the bundles that fit"},
    {"red", OPTION_SIZE, AT(red), "0", 0, UINT32_MAX, NULL,
     "with colour: red, only so many bytes at the beginning are; 0: all"},
    {.key = NULL},
};
/* clang-format on */

static int wrong(const char **key, const char *which, char *why, size_t cap, const char *text)
{
    *key = which;
    snprintf(why, cap, "%s", text);
    return HELIO_EINVAL;
}

static int check_rule(void *item, const char **key, char *why, size_t cap)
{
    static const char pattern[] =
        "is not a pattern; write one such as ipn:2.*, ipn:2.1, dtn://name/* or *";
    struct ltp_link_rule *r = item;
    if (eid_pattern_parse(r->to, &r->to_pattern) != 0)
        return wrong(key, "to", why, cap, pattern);
    if (eid_pattern_parse(r->from, &r->from_pattern) != 0)
        return wrong(key, "from", why, cap, pattern);
    if (r->size_max != 0 && r->size_max < r->size_min)
        return wrong(key, "size_max", why, cap, "is below size_min; raise it or lower that");
    if (r->red != 0 && r->colour != LTP_LINK_RED)
        return wrong(key, "red", why, cap, "counts only with colour: red; leave it away");
    return 0;
}

const struct cla_list ltp_link_lists[] = {
    {.key = "colours",
     .options = options,
     .item_size = sizeof(struct ltp_link_rule),
     .max = LTP_LINK_RULES_MAX,
     .items = offsetof(struct ltp_link_config, colours),
     .count = offsetof(struct ltp_link_config, colours_len),
     .check = check_rule},
    {.key = NULL},
};

static bool has_flag(const struct bundle *b, int flag)
{
    static const uint64_t bits[] = {
        [LTP_LINK_FLAG_ADMIN] = BUNDLE_IS_ADMIN,
        [LTP_LINK_FLAG_FRAGMENT] = BUNDLE_IS_FRAGMENT,
        [LTP_LINK_FLAG_NO_FRAGMENT] = BUNDLE_NO_FRAGMENT,
        [LTP_LINK_FLAG_ACK] = BUNDLE_APP_ACK,
        [LTP_LINK_FLAG_REPORT] = BUNDLE_REPORT_RECEPTION | BUNDLE_REPORT_FORWARDING |
                                 BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_DELETION,
    };
    return flag == LTP_LINK_FLAG_ANY || (b->flags & bits[flag]) != 0;
}

static bool has_block(const struct bundle *b, uint64_t type)
{
    bool has = type == 0 || (type == BLOCK_PREVIOUS_NODE && b->has_previous) ||
               (type == BLOCK_AGE && b->has_age) || (type == BLOCK_HOP_COUNT && b->has_hops) ||
               type == BLOCK_PAYLOAD;
    for (size_t i = 0; i < b->others_len && !has; i++)
        has = b->others[i].type == type;
    return has;
}

static bool fits(const struct ltp_link_rule *r, const struct bundle *b, size_t size)
{
    bool service = r->service == 0 ||
                   (b->destination.scheme == EID_IPN && b->destination.service == r->service);
    return size >= r->size_min && (r->size_max == 0 || size <= r->size_max) && service &&
           has_flag(b, r->flag) && has_block(b, r->block) &&
           eid_pattern_match(&r->to_pattern, &b->destination) &&
           eid_pattern_match(&r->from_pattern, &b->id.source);
}

struct ltp_link_choice ltp_link_choose(const struct ltp_link_config *k, struct slice bundle)
{
    struct ltp_link_choice own = {.colour = k->colour};
    struct bundle b;
    if (k->colours_len == 0 ||
        bundle_decode(bundle.data, bundle.len, BUNDLE_LENIENT, &b, NULL) != 0)
        return own;
    for (size_t i = 0; i < k->colours_len; i++) {
        const struct ltp_link_rule *r = &k->colours[i];
        if (fits(r, &b, bundle.len))
            return (struct ltp_link_choice){.colour = r->colour,
                                            .red = r->red < bundle.len ? r->red : 0};
    }
    return own;
}
