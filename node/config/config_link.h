/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of one link: those of a file, those of a link that is added to a running node, and
 * others for one that is there. */
#ifndef NODE_CONFIG_LINK_H
#define NODE_CONFIG_LINK_H

#include "node/config/config.h"

/* Reads a map into *l, which is zeroed, and the files that it names; errors are added to *errors,
 * and *l must be freed in any case. node: this node, dtn:none when unknown. */
void config_link_read(struct config_link *l, const struct eid *node, const struct conf_tree *map,
                      config_adapters *adapters, struct conf_errors *errors);
void config_link_fini(struct config_link *l);

/* A link by itself, from a text that is a map of keys (YAML, so JSON too); keys of groups may be
 * written as conf_option_named knows them. names: the configuration whose names of nodes the values
 * may have; NULL: none. NULL with what is wrong in *errors; else the caller's to config_link_free.
 */
struct config_link *config_link_parse(const char *name, const char *text, size_t len,
                                      const struct eid *node, const struct config *names,
                                      config_adapters *adapters, struct conf_errors *errors);
void config_link_free(struct config_link *l); /* NULL is allowed */
/* A deep copy; NULL: no memory. A link of an unconfigured peer has no keys, and no copy. */
struct config_link *config_link_copy(const struct config_link *was);

/* Reads the files of its settings (cla_ops.read), which can take seconds, for node_link_set: for a
 * result of config_link_change, in any thread. Errors are added to *errors. */
void config_link_files(struct config_link *l, struct conf_errors *errors);

/* The kind of socket that it binds, the address with a port that is not 0, and its key.
 * CLA_SOCKET_NONE: it binds none, or a port of the kernel's choice. */
enum cla_socket config_link_socket(const struct config_link *l, const char **key,
                                   struct address *out);

/* Can this key of all links (not of the adapter) change while the link is there? */
bool config_link_live(const char *key);
/* Can this key of the adapter? */
bool config_adapter_live(const struct cla_ops *ops, const char *key);

/* Makes the same link with other values for the keys of the text (same format); the node, or its
 * adapter, must be able to change each of them while the link exists. NULL and other results as
 * above, but no files are read; `was` is unchanged. */
struct config_link *config_link_change(const struct config_link *was, const char *text, size_t len,
                                       const struct eid *node, struct conf_errors *errors);

/* The keys of a text for a log: the values of secrets (OPTION_SECRET) and of lists, and unknown
 * keys with their values, are "***". ops: of the link that is there; NULL: the text names its
 * adapter. The caller's to free; NULL: the text is no map, or no memory. */
char *config_link_shown(const char *text, size_t len, const struct cla_ops *ops,
                        config_adapters *adapters);
/* The key of the first secret (OPTION_SECRET of any adapter) that has a value in the text, for
 * commands that must not have one. NULL: none, the text is no map, or no memory. */
const char *config_link_secret(const char *text, size_t len, config_adapters *adapters);

/* A link to an unconfigured peer that connected over `host`: it has no keys of its own. NULL: no
 * memory. */
struct config_link *config_link_unconfigured(const struct config_link *host,
                                             const struct eid *peer);

#endif
