/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the configuration outside of adapters, as tables, and how they are read. */
#ifndef NODE_CONFIG_TABLES_H
#define NODE_CONFIG_TABLES_H

#include "cla/cla.h"
#include "conf/conf_groups.h"
#include "node/config/config.h"

/* Tables that end with a NULL key; offsets are in struct config. */
extern const struct conf_option config_top[], config_store[], config_bundles[], config_log[],
    config_routing[], config_http[];
/* Offsets in struct config_link, struct config_route. */
extern const struct conf_option config_link_options[], config_route_options[];
/* In struct config_queue, and the lists that every link may have (cla/cla.h). */
extern const struct conf_option config_queue_options[];
extern const struct conf_option config_endpoint_options[];
extern const struct cla_list config_lists[]; /* in struct config */
extern const struct cla_list config_link_lists[];

/* ---- One value of a node's configuration, by the description in its struct conf_option ---- */

/* The setter that also knows endpoint ids and addresses. */
conf_setter config_set;

/* The patterns of the key `which` of a rule: 0, or HELIO_EINVAL with *key and the reason. */
int config_patterns(const char **key, const char *which, const char *text, struct eid_patterns *out,
                    char *why, size_t cap);

/* ---- Keys of a link, or of its adapter, that are lists of maps ---- */

/* Appends the keys of the lists to `words`, ended by NULL, for conf_section_read. */
#define CONFIG_LISTS_MAX 8
void config_lists_words(const struct cla_list *lists, const char *words[CONFIG_LISTS_MAX + 1]);

/* Reads them into `base`, which their offsets mean. */
void config_lists_read(const struct cla_list *lists, void *base, const struct conf_tree *map,
                       const char *where, struct conf_errors *errors);
/* `base` was copied as bytes from `was`: makes its items a copy of its own. False: no memory; items
 * that are not copied yet are removed. */
bool config_lists_copy(const struct cla_list *lists, const void *was, void *base);
void config_lists_free(const struct cla_list *lists, void *base);

/* The texts of a struct that was copied as bytes become the copy's own. False: no memory; those
 * that are not copied yet are NULL. */
bool config_texts_own(const struct conf_option *options, void *base);

/* Adapters and keys that people confuse: an adapter's name that is nearly right, and keys that
 * another adapter has. */

/* The adapter of a link's map. NULL after an error, or if the key `adapter` is missing or no text,
 * which conf_section_read reports. A name that is nearly right is an error, too, and returns the
 * adapter that was meant: the other keys can be checked by it. `where` names the link
 * ("links[a]."). */
const struct cla_ops *config_adapter_find(const struct conf_tree *map, const char *where,
                                          config_adapters *adapters, struct conf_errors *errors);

/* Keys of the view that `ops` does not have and another adapter has: errors that name these
 * adapters; with ops NULL (the adapter is not known) they may be right, and are no errors. They are
 * taken out of the view, so that they are neither unknown keys nor among those that could be meant.
 */
void config_foreign_report(struct conf_flat *flat, const char *where, const struct cla_ops *ops,
                           config_adapters *adapters, struct conf_errors *errors);
/* As place_of of struct conf_errors: keys of the top, of its sections and of links. context: a
 * config_adapters *. */
bool config_place_of(const void *context, const char *where, const struct conf_tree *t, char *out,
                     size_t cap);

/* The list `security:` of a node's configuration: rules of bundle security (RFC 9172). */

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
