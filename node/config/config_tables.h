/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the configuration outside of adapters, for config*.c. */
#ifndef NODE_CONFIG_TABLES_H
#define NODE_CONFIG_TABLES_H

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

#endif
