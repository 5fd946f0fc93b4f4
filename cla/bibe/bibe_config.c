/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: endpoints of another node, or that no application could register. */
#include <stdio.h>

#include "cla/bibe/bibe_link.h"

#define AT(field) offsetof(struct bibe_config, field)

/* clang-format off */
const struct conf_option bibe_options[] = {
    {"local", OPTION_EID, AT(local), NULL, 0, 0, NULL,
     "endpoint of this node to which the peer sends its encapsulating bundles, such as ipn:1.12"},
    {"remote", OPTION_EID, AT(remote), NULL, 0, 0, NULL,
     "the peer's such endpoint; its own route must not lead through this link"},
    {"lifetime", OPTION_DURATION, AT(lifetime), "1d", TICK_MS, 0, NULL,
     "of encapsulating bundles; at most what is left of the bundle in them"},
    {"segment", OPTION_SIZE, AT(segment), "whole", 1000, 0, "whole",
     "a longer bundle is sent in segments of this length, if the peer can reassemble them; whole: it never is"},
    {"window", OPTION_COUNT, AT(window), "16", 1, 65536, NULL,
     "bundles that wait for the node's store, in each direction; others wait at the node"},
    {"transfers", OPTION_COUNT, AT(transfers), "64", 1, 65536, NULL,
     "bundles of which segments are here; segments of more wait in the store"},
    {"memory", OPTION_SIZE, AT(memory), "64MiB", 1000, 0, NULL,
     "of these bundles, their whole lengths together; never less than bundles.max"},
    {"hold", OPTION_DURATION, AT(hold), "10min", TICK_MS, 0, NULL,
     "how long one may wait for its other segments, whatever their lifetime"},
    {"nesting", OPTION_COUNT, AT(nesting), "2", 1, 16, NULL,
     "bundles within one another, at most: deeper ones are neither sent nor taken"},
    {"any_source", OPTION_BOOL, AT(any_source), "no", 0, 0, NULL,
     "encapsulating bundles may have other sources than remote"},
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",
     "state of the link at the start"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* clang-format on */

static int check_endpoint(const struct eid *e, const char *name, const char **key, char *why,
                          size_t why_cap)
{
    *key = name;
    if (e->scheme == EID_OTHER || eid_is_none(e) || eid_is_local(e) || eid_is_node(e) ||
        eid_is_group(e)) {
        snprintf(why, why_cap,
                 "no endpoint of one node, or its administrative one; write one "
                 "such as ipn:1.12 that no application uses");
        return HELIO_EINVAL;
    }
    return 0;
}

int bibe_check(const void *config, const char **key, char *why, size_t why_cap)
{
    const struct bibe_config *k = config;
    int rc = check_endpoint(&k->local, "local", key, why, why_cap);
    return rc < 0 ? rc : check_endpoint(&k->remote, "remote", key, why, why_cap);
}

void bibe_tunnel(const void *config, struct cla_tunnel *out)
{
    const struct bibe_config *k = config;
    *out = (struct cla_tunnel){
        .near_key = "local", .far_key = "remote", .near_end = k->local, .far_end = k->remote};
}

int bibe_check_names(const void *config, const struct eid *node, const struct eid *peer,
                     const char **key, char *why, size_t why_cap)
{
    const struct bibe_config *k = config;
    *key = "local";
    if (!eid_same_node(&k->local, node)) {
        snprintf(why, why_cap, "an endpoint of another node; write one of this node");
        return HELIO_EINVAL;
    }
    *key = "remote";
    if (eid_same_node(&k->remote, node) ||
        (!eid_is_none(peer) && !eid_same_node(&k->remote, peer))) {
        snprintf(why, why_cap, "no endpoint of the peer; write one of the node that peer names");
        return HELIO_EINVAL;
    }
    return 0;
}

int bibe_conflict(const struct cla_named *config, const struct cla_named *other, const char **key,
                  char *why, size_t why_cap)
{
    const struct bibe_config *k = config->config, *o = other->config;
    if (!eid_equal(&k->local, &o->local))
        return 0;
    *key = "local";
    snprintf(why, why_cap, "it has the same endpoint; write another");
    return HELIO_EINVAL;
}
