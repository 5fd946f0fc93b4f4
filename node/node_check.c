/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a whole node, between two things that happen. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "node/node.h"

void node_check(const struct node *n)
{
    assert(!n->awake && alarm_due(&n->deadline) == agent_deadline(n->agent));
    agent_check(n->agent);
    for (size_t i = 0; i < n->links_len; i++) {
        const struct cla *c = n->links[i] == NULL ? NULL : n->links[i]->cla;
        if (c != NULL && c->ops->check_self != NULL)
            c->ops->check_self(c);
    }
}
