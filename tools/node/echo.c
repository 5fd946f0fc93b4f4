/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The echo endpoint: a bundle's payload goes back to its source as a new bundle. Bundles of another
 * node's echo endpoint are dropped, since two echoes would answer each other for ever; so are
 * administrative records and bundles without a source.
 */
#include "tools/node/node.h"

static bool answers(const struct node *n, const struct agent_action *a)
{
    const struct eid *from = &a->id.source;
    if (eid_is_none(from) || (a->flags & BUNDLE_IS_ADMIN) || eid_equal(from, &n->echo))
        return false;
    if (from->scheme != n->echo.scheme)
        return true;
    if (from->scheme == EID_IPN)
        return from->service != n->echo.service;
    const char *mine = strrchr(n->echo.ssp, '/'), *theirs = strrchr(from->ssp, '/');
    return mine == NULL || theirs == NULL || strcmp(mine, theirs) != 0;
}

static bool send_back(struct node *n, const struct agent_action *a)
{
    struct buf *b = buf_new(BUNDLE_HEAD_MAX, a->payload.len + BUNDLE_TAIL_MAX);
    if (b == NULL)
        return false;
    if (a->payload.len > 0)
        memcpy(buf_append(b, a->payload.len), a->payload.data, a->payload.len);
    struct agent_request r = {.source = n->echo,
                              .destination = a->id.source,
                              .report_to = eid_none(),
                              .lifetime_ms = a->lifetime_ms,
                              .crc = -1,
                              .payload = b,
                              .token = NODE_TOKEN_ECHO};
    if (agent_send(n->agent, &r, node_now(n), NULL) == REFUSE_NONE)
        return true;
    buf_drop(b);
    return false;
}

void echo_deliver(struct node *n, const struct agent_action *a)
{
    if (answers(n, a) && send_back(n, a))
        n->echoed++;
    else
        n->echo_refused++;
    agent_delivered(n->agent, a->key, true, node_now(n));
}
