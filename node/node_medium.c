/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store reports how many bytes its medium has room for: at the start, every few seconds, and as
 * it fills. If that is less than store.limit, it is the agent's limit, so that the shares of
 * neighbours, sources and applications are parts of the real room. What can go wrong: other
 * programs fill the medium. Then the limit may be below the held bytes; nothing more is accepted,
 * and nothing is lost.
 */
#include "node/node_medium.h"

#include <inttypes.h>

#define WORSE_PERCENT 75 /* of what was logged: it is logged again */

void node_medium_fits(struct node *n, uint64_t bytes)
{
    n->medium.fits = bytes;
    n->medium.known = bytes != UINT64_MAX;
    agent_fits(n->agent, bytes);
}

bool node_medium_short(const struct node *n)
{
    return n->medium.known && n->medium.fits < n->config->store.limit;
}

uint64_t node_medium_limit(const struct node *n)
{
    return node_medium_short(n) ? n->medium.fits : n->config->store.limit;
}

void node_medium_watch(struct node *n)
{
    struct node_medium *m = &n->medium;
    const uint64_t limit = n->config->store.limit, fits = node_medium_limit(n);
    const bool worse = !m->told || fits < m->told_fits / 100 * WORSE_PERCENT;
    if (fits < limit && worse && watch_may_tell(&m->pace, world_now(n->world))) {
        m->told = true;
        m->told_fits = fits;
        say(&n->say, LEVEL_WARNING,
            "store: %s: its medium has room for %" PRIu64 " bytes of bundles, less than "
            "store.limit, %" PRIu64 ": the node accepts no more than these (df shows the medium's "
            "room)",
            n->config->store.path, fits, limit);
    } else if (m->told && fits == limit && m->fits - limit >= limit / 16) {
        m->told = false; /* with some to spare, or it would be logged again and again */
        say(&n->say, LEVEL_INFO, "store: %s: its medium has room for store.limit again",
            n->config->store.path);
    }
}
