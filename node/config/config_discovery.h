/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `discovery`: neighbours on local networks. Its list `links` has templates: maps of a
 * link's keys without name, peer and remote, which each neighbour has of its own.
 */
#ifndef NODE_CONFIG_DISCOVERY_H
#define NODE_CONFIG_DISCOVERY_H

#include "discovery/discovery_beacon.h"
#include "node/config/config.h"

#define CONFIG_FOUND_MAX 8            /* templates */
#define CONFIG_DISCOVERY_ADDRESSES 16 /* discovery.addresses */
#define CONFIG_DISCOVERY_PORT 3003    /* of IPND */

struct config_found {
    struct conf_tree *map; /* the template */
    const struct cla_ops *ops;
    enum cla_socket socket; /* where a link of it listens; CLA_SOCKET_NONE: nowhere */
    struct address local;
};

extern const struct conf_option config_discovery[]; /* offsets in struct config */
extern const char *const config_discovery_words[];

/* After the section's values were read: its templates, and relations between its keys. */
void config_discovery_read(struct config *c, const struct conf_tree *root,
                           config_adapters *adapters, struct conf_errors *errors);
void config_discovery_free(struct config *c);

/* Is discovery on? */
bool config_discovery_on(const struct config *c);
/* Is this format among discovery.formats? */
bool config_discovery_has(const struct config *c, enum discovery_format format);
/* The addresses of discovery.addresses, at most CONFIG_DISCOVERY_ADDRESSES; returns their
 * number. */
size_t config_discovery_addresses(const struct config *c, struct address *out);
/* Have both the same templates? */
bool config_discovery_same_links(const struct config *a, const struct config *b);

/* A link of the i-th template, with its files read: in any thread. NULL with errors; else the
 * caller's to config_link_free. */
struct config_link *config_discovery_link(const struct config *c, size_t i, const char *name,
                                          const struct eid *peer, const char *remote,
                                          config_adapters *adapters, struct conf_errors *errors);

#endif
