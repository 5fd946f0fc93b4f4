/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle is decoded only if a rule needs more than its size. What can go wrong: a bundle that
 * cannot be decoded (never from the agent) gets the link's own colour.
 */
#include "cla/ltp/ltp_rule.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bp/codec/bundle.h"

#define AT(field) offsetof(struct ltp_link_rule, field)

/* clang-format off */
static const struct conf_option options[] = {
    {"to", OPTION_TEXT, AT(to), "*", 0, 0, NULL,
     "destination: an endpoint id, ipn:2.*, ipn:[1-5,7].*, ipn:*.*, dtn://name/*, or *"},
    {"from", OPTION_TEXT, AT(from), "*", 0, 0, NULL,
     "source, likewise"},
    {"service", OPTION_COUNT, AT(rule.service), "any", 1, 0, "any",
     "ipn service number of the destination"},
    {"size_min", OPTION_SIZE, AT(rule.size_min), "0", 0, 0, NULL,
     "bundles of at least so many bytes"},
    {"size_max", OPTION_SIZE, AT(rule.size_max), "0", 0, 0, NULL,
     "bundles of at most so many bytes; 0: of any length"},
    {"flag", OPTION_CHOICE, AT(rule.flag), "any", 0, 0, RULE_FLAG_WORDS,
     "administrative records, fragments, bundles that must not be fragmented, that want an application's answer, or any status report"},
    {"block", OPTION_COUNT, AT(block), "any", 1, 0, "any",
     "bundles with an extension block of this type"},
    {"priority", OPTION_CHOICE, AT(rule.priority), "any", 0, 0, RULE_PRIORITY_WORDS,
     "bundles of this priority, as their block says; without one they are normal"},
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
    struct ltp_link_rule *r = item;
    const char *pattern;
    if (eid_patterns_read(r->to, &r->rule.to, &pattern) != 0)
        return wrong(key, "to", why, cap, pattern);
    if (eid_patterns_read(r->from, &r->rule.from, &pattern) != 0)
        return wrong(key, "from", why, cap, pattern);
    if (r->rule.size_max != 0 && r->rule.size_max < r->rule.size_min)
        return wrong(key, "size_max", why, cap, "is below size_min; raise it or lower that");
    if (r->red != 0 && r->colour != LTP_LINK_RED)
        return wrong(key, "red", why, cap, "counts only with colour: red; remove it");
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

struct ltp_link_choice ltp_link_choose(const struct ltp_link_config *k, struct slice bundle)
{
    assert(k->colours_len <= LTP_LINK_RULES_MAX);
    struct ltp_link_choice own = {.colour = k->colour};
    struct bundle b;
    if (k->colours_len == 0 ||
        bundle_decode(bundle.data, bundle.len, BUNDLE_LENIENT, &b, NULL) != 0)
        return own;
    struct bundle_qos qos;
    bundle_qos(&b, &qos);
    const struct rule_subject subject = {.to = &b.destination,
                                         .from = &b.id.source,
                                         .bytes = bundle.len,
                                         .flags = b.flags,
                                         .priority = qos.priority};
    for (size_t i = 0; i < k->colours_len; i++) {
        const struct ltp_link_rule *r = &k->colours[i];
        if (rule_fits(&r->rule, &subject) && (r->block == 0 || bundle_has(&b, r->block)))
            return (struct ltp_link_choice){.colour = r->colour,
                                            .red = r->red < bundle.len ? r->red : 0};
    }
    return own;
}
