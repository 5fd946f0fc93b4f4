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
    {"custody", OPTION_CHOICE, AT(custody), "off", 0, CONF_MODE_NEEDED, "off|on",
     "on: a bundle stays in this node's store until a custody signal of the peer confirms it"},
    {"custody.records", OPTION_CHOICE, AT(records), "draft", 0, 0, "draft|ion",
     "types of the administrative records: 3 and 4, or 7 and 8 as ION has them; ion: with transmission IDs of 32 bits"},
    {"custody.window", OPTION_COUNT, AT(custody_window), "256", 1, 65536, NULL,
     "bundles that wait for the peer's custody signals; others wait at the node"},
    {"custody.timer", OPTION_DURATION, AT(timer), "10s", 10 * TICK_MS, 0, NULL,
     "a bundle without a custody signal is sent again after this; with a contact plan after the light time of both directions, and this"},
    {"custody.signal_after", OPTION_DURATION, AT(signal_after), "1s", 0, 0, NULL,
     "how long confirmations of received bundles are collected for a custody signal"},
    {"custody.signal_count", OPTION_COUNT, AT(signal_count), "64", 1, 1000000, NULL,
     "a custody signal that confirms so many bundles is sent at once"},
    {"any_source", OPTION_BOOL, AT(any_source), "no", 0, 0, NULL,
     "encapsulating bundles may have other sources than remote"},
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",
     "state of the link at the start"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* clang-format on */

static int check_endpoint(const struct eid *e, bool may_be_node, const char *name, const char **key,
                          char *why, size_t why_cap)
{
    *key = name;
    if (e->scheme == EID_OTHER || eid_is_none(e) || eid_is_local(e) || eid_is_group(e) ||
        (eid_is_node(e) && !may_be_node)) {
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
    const bool custody = k->custody == BIBE_CUSTODY_ON; /* other implementations have it at 0 */
    int rc = check_endpoint(&k->local, false, "local", key, why, why_cap);
    if (rc == 0)
        rc = check_endpoint(&k->remote, custody, "remote", key, why, why_cap);
    if (rc == 0 && custody && k->timer <= k->signal_after) {
        *key = "custody.timer";
        snprintf(why, why_cap,
                 "the peer, too, may collect confirmations for custody.signal_after; write more");
        rc = HELIO_EINVAL;
    }
    if (rc == 0 && custody && k->segment > 0) {
        *key = "segment";
        snprintf(why, why_cap, "with custody a bundle is not segmented; leave segment away");
        rc = HELIO_EINVAL;
    }
    return rc;
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
