/* SPDX-License-Identifier: Apache-2.0 */
/* The lists `rules:` and `applications:` of a node's configuration: what neighbours may bring and
 * get, and what users may send (bp/agent/permit.h). */
#ifndef NODE_CONFIG_PERMIT_H
#define NODE_CONFIG_PERMIT_H

#include "node/config/config.h"

/* An item of `rules`. */
struct config_rule {
    char *peer, *from, *to;
    int way;              /* enum permit_way: IN or OUT */
    int priority;         /* enum bundle_priority */
    struct permit permit; /* made of these by the check */
};

/* An item of `applications`. */
struct config_user {
    char *user, *at, *to;
    int priority;
    struct permit permit; /* likewise */
};

extern const struct conf_option config_rule_options[]; /* offsets in config_rule */
extern const struct conf_option config_user_options[]; /* offsets in config_user */
extern const struct cla_list config_permit_lists[];    /* in struct config */

/* After the lists were read without an error: lines of the rules. */
void config_permit_lines(struct config *c, const struct conf_tree *root);

/* The rules of one direction, the caller's to free; NULL: no memory. */
struct permit *config_permits(const struct config *c, enum permit_way way, size_t *len);

#endif
