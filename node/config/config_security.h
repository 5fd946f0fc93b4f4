/* SPDX-License-Identifier: Apache-2.0 */
/* The list `security:` of a node's configuration: rules of bundle security (RFC 9172). */
#ifndef NODE_CONFIG_SECURITY_H
#define NODE_CONFIG_SECURITY_H

#include "node/config/config.h"

/* An item of the list. */
struct config_security {
    char *from, *to, *target, *scope, *key;
    int role, context, reaction;
    bool dry_run;
    struct security_rule rule; /* made of these by the check */
};

extern const struct conf_option config_security_options[]; /* offsets in config_security */
extern const struct cla_list config_security_lists[];      /* in struct config */

/* After the lists were read without an error: lines of the rules, and what they need of other keys.
 */
void config_security_check(struct config *c, const struct conf_tree *root,
                           struct conf_errors *errors);

#endif
