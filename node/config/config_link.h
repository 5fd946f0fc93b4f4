/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of one link: those of a file, those of a link that is added to a running node, and
 * others for one that is there. */
#ifndef NODE_CONFIG_LINK_H
#define NODE_CONFIG_LINK_H

#include "node/config/config.h"

/* Reads a map into *l, which is zeroed, and the files that it names; what is wrong goes into
 * *errors, and *l is to be ended in any case. node: this one, dtn:none when not known. */
void config_link_read(struct config_link *l, const struct eid *node, const struct conf_tree *map,
                      config_adapters *adapters, struct conf_errors *errors);
void config_link_fini(struct config_link *l);

/* A link by itself, from a text that is a map of keys (YAML, so JSON too); keys of groups may be
 * written as conf_option_named knows them. NULL with what is wrong
 * in *errors; else the caller's to config_link_free. */
struct config_link *config_link_parse(const char *name, const char *text, size_t len,
                                      const struct eid *node, config_adapters *adapters,
                                      struct conf_errors *errors);
void config_link_free(struct config_link *l); /* NULL is allowed */
/* Its own in every part; NULL: no memory. One that came in by itself has no keys, and no copy. */
struct config_link *config_link_copy(const struct config_link *was);

/* Reads the files that its settings name (cla_ops.read), which can take seconds, for node_link_set:
 * of one that config_link_change made, in any thread. What is wrong goes into *errors. */
void config_link_files(struct config_link *l, struct conf_errors *errors);

/* The socket that it binds and to which address, whose port is not 0, with the key that names it.
 * CLA_SOCKET_NONE: it binds none, or a port of the kernel's choice. */
enum cla_socket config_link_socket(const struct config_link *l, const char **key,
                                   struct address *out);

/* Can this key of all links (not of the adapter) change while the link is there? */
bool config_link_live(const char *key);
/* Can this key of the adapter? */
bool config_adapter_live(const struct cla_ops *ops, const char *key);

/* The same link with other values for the keys of the text (written likewise), each of which the
 * node, or its adapter, can change while the link is there. NULL and the rest as above, but that no
 * files are read; `was` is as before. */
struct config_link *config_link_change(const struct config_link *was, const char *text, size_t len,
                                       const struct eid *node, struct conf_errors *errors);

/* The keys of a text for a log: the values of secrets (OPTION_SECRET) and of lists, and unknown
 * keys with their values, are "***". ops: of the link that is there; NULL: the text names its
 * adapter. The caller's to free; NULL: the text is no map, or no memory. */
char *config_link_shown(const char *text, size_t len, const struct cla_ops *ops,
                        config_adapters *adapters);

/* A link to somebody who came in over `host`: it has no keys of its own. NULL: no memory. */
struct config_link *config_link_unconfigured(const struct config_link *host,
                                             const struct eid *peer);

#endif
