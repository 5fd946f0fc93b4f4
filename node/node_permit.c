/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of the file become those of the agent, one for each direction. Each direction has a
 * line in the operator's log when it refuses, less and less often while that lasts. What can go
 * wrong: memory; the rules from before stay in force then.
 */
#include "node/node_permit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/config/config.h"
#include "node/config/config_permit.h"
#include "os/process/users.h"

static int set_rules(struct node *n, const struct config *c, enum permit_way way)
{
    size_t len;
    struct permit *list = config_permits(c, way, &len);
    const int rc = list == NULL ? HELIO_ENOMEM : agent_permit(n->agent, way, list, len);
    free(list);
    return rc;
}

static int set_all(struct node *n, const struct config *c)
{
    int rc = 0;
    for (int w = 0; w < PERMIT_WAYS && rc == 0; w++)
        rc = set_rules(n, c, (enum permit_way)w);
    return rc;
}

int node_permit_open(struct node *n)
{
    if (n->config->rules_len + n->config->applications_len == 0)
        return 0;
    const int rc = set_all(n, n->config);
    if (rc < 0)
        say(&n->say, LEVEL_ERROR, "rules: %s", helio_strerror(rc));
    return rc;
}

int node_permit_reload(struct node *n, const struct config *c, bool *applied)
{
    const struct config *was = n->file != NULL ? n->file : n->config;
    *applied = false;
    if (config_lists_differ(config_permit_lists, was, c) == NULL)
        return 0;
    const int rc = set_all(n, c);
    *applied = rc == 0;
    return rc;
}

static void tell_refused(struct node *n, enum permit_way way, const struct permit_refusal *r,
                         uint64_t count)
{
    char who[EID_TEXT_MAX + USERS_TEXT_MAX], from[EID_TEXT_MAX], to[EID_TEXT_MAX];
    eid_text(&r->from, from);
    eid_text(&r->to, to);
    if (way == PERMIT_APP)
        users_text((unsigned)(r->id - 1), who);
    else
        eid_text(&r->party, who);
    if (r->verdict == PERMIT_ENDPOINT)
        say(&n->say, LEVEL_WARNING,
            "rules: %" PRIu64 " requests of applications were refused: endpoint; the latest of %s "
            "for %s",
            count, who, from);
    else
        say(&n->say, LEVEL_WARNING,
            "rules: %" PRIu64 " bundles %s were refused; the latest, from %s to %s, %s %s: %s",
            count,
            way == PERMIT_IN    ? "from neighbours"
            : way == PERMIT_OUT ? "to neighbours"
                                : "of applications",
            from, to,
            way == PERMIT_IN    ? "of neighbour"
            : way == PERMIT_OUT ? "to neighbour"
                                : "of",
            who, permit_verdict_word(r->verdict));
}

void node_permit_watch(struct node *n, tick now)
{
    for (int w = 0; w < PERMIT_WAYS; w++) {
        const struct permit_refusal *r =
            permits_refusal(agent_permits(n->agent, (enum permit_way)w));
        uint64_t *told = &n->watch.forbidden[w];
        if (r->count == *told || !watch_may_tell(&n->watch.forbidding[w], now))
            continue;
        tell_refused(n, (enum permit_way)w, r, r->count - *told);
        *told = r->count;
    }
}
