/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application takes a bundle back. What names it is its connection's endpoint, and the time and
 * sequence number that the answer to its request told: so nobody can take back another's. What can
 * go wrong: it has left, or an LTP block that it shares with others carries it right now; then it
 * is deleted when that is over, unless it was sent.
 */
#include "node/app/app.h"

Aap2__ResponseStatus app_cancel(struct app *c, const Aap2__CancelADU *m, const char **why)
{
    struct node *n = c->apps->node;
    uint64_t key;
    if (c->endpoint == NULL) {
        *why = "the connection is not configured";
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST;
    }
    struct bundle_id id = {.source = c->endpoint->eid,
                           .time_ms = m->creation_timestamp_ms,
                           .sequence = m->sequence_number};
    if (agent_find(n->agent, &id, &key) != 0 || node_delete(n, key) != 0) {
        *why = "no such bundle of this endpoint is here";
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_NOT_FOUND;
    }
    return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
}
