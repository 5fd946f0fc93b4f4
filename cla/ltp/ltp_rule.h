/* SPDX-License-Identifier: Apache-2.0 */
/* The colour of a bundle by rules: the items of the key `colours`, of which the first that fits
 * decides. */
#ifndef CLA_LTP_RULE_H
#define CLA_LTP_RULE_H

#include "cla/cla.h"
#include "cla/ltp/ltp_config.h"

enum ltp_link_flag {
    LTP_LINK_FLAG_ANY,
    LTP_LINK_FLAG_ADMIN,
    LTP_LINK_FLAG_FRAGMENT,
    LTP_LINK_FLAG_NO_FRAGMENT,
    LTP_LINK_FLAG_ACK,
    LTP_LINK_FLAG_REPORT
};

/* Explained by the table's help texts. */
struct ltp_link_rule {
    char *to, *from;
    struct eid_pattern to_pattern, from_pattern; /* made by the check */
    uint64_t service, size_min, size_max, block, red;
    int flag, colour;
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
