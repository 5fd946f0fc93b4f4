/* SPDX-License-Identifier: Apache-2.0 */
/* The LTP colour (red, green, orange) of a bundle by rules: the items of the key `colours`; the
 * first match decides. */
#ifndef CLA_LTP_RULE_H
#define CLA_LTP_RULE_H

#include "bp/agent/rule.h"
#include "cla/cla.h"
#include "cla/ltp/ltp_config.h"

/* Explained by the table's help texts. */
struct ltp_link_rule {
    char *to, *from;
    struct rule rule; /* with the patterns that the check makes of these */
    uint64_t block, red;
    int colour;
};

#define LTP_LINK_RULES_MAX 64

/* The lists of the adapter, for cla_ops.lists. */
extern const struct cla_list ltp_link_lists[];

/* What an encoded bundle is sent as. */
struct ltp_link_choice {
    int colour;   /* enum ltp_link_colour */
    uint64_t red; /* of a red one: only so many bytes are, the rest is green; 0: all */
};
struct ltp_link_choice ltp_link_choose(const struct ltp_link_config *k, struct slice bundle);

#endif
