/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of nodes: the list `names` of a configuration. A person may write "relay" for the node
 * ipn:2.0, and "relay/7" for its endpoint ipn:2.7; of a node dtn://mars/, "mars/echo" is
 * dtn://mars/echo.
 */
#ifndef NODE_CONFIG_NAMES_H
#define NODE_CONFIG_NAMES_H

#include "node/config/config_tables.h"

#define CONFIG_NAMES_MAX 1024
#define CONFIG_NAME_BYTES 32 /* of one name */

/* An item of the list. */
struct config_name {
    char *name;
    struct eid node;
};

extern const struct conf_option config_name_options[]; /* offsets in config_name */
extern const struct cla_list config_name_lists[];      /* in struct config */

/* What a name without a service stands for. */
enum config_name_form {
    CONFIG_NAME_NODE,    /* the node's id: ipn:2.0 */
    CONFIG_NAME_PATTERN, /* all of its endpoints: ipn:2.* */
};

/* The same text with ids in place of names; alternatives are separated by '|'. False: it has no
 * name, or the result is longer than cap; then *out is not set. */
bool config_name_expand(const struct config *c, enum config_name_form form, const char *text,
                        char *out, size_t cap);

/* "did you mean relay?" for a text that may be a wrong name; NULL: it is none, or no name is near.
 * The text of the name belongs to c. */
const char *config_name_closest(const struct config *c, const char *text);

/* The endpoint as "relay" or "relay/7". False: its node has no name. */
#define CONFIG_NAME_SHOWN (CONFIG_NAME_BYTES + EID_TEXT_MAX)
bool config_name_show(const struct config *c, const struct eid *e, char out[CONFIG_NAME_SHOWN]);
/* The same for a pattern that is one node's: "relay/7", "relay/\*". */
bool config_name_show_pattern(const struct config *c, const struct eid_pattern *p,
                              char out[CONFIG_NAME_SHOWN]);

/* Puts ids in place of names into the values of a tree: those of the keys peer, to, from and at,
 * however deep they are. `where` precedes keys in messages. A name that is nearly right is an
 * error. */
void config_names_apply(const struct config *c, struct conf_tree *t, const char *where,
                        struct conf_errors *errors);
/* The whole file: reads its list of names, and applies it. False: the list is wrong, so that other
 * keys' values are not known. */
bool config_names_read(struct config *c, struct conf_tree *root, struct conf_errors *errors);

#endif
