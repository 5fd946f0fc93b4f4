/* SPDX-License-Identifier: Apache-2.0 */
/* The links of local endpoints. Links that leave are reported from the loop. Nothing can go
 * wrong. */
#include <assert.h>

#include "cla/local_endpoint.h"

void local_endpoint_begin(struct local_endpoint *e, void **shared)
{
    list_init(&e->links);
    list_init(&e->leaving);
    e->anchor = shared;
    if (shared == NULL)
        return;
    e->next = *shared;
    *shared = e;
}

struct local_endpoint *local_endpoint_first(void **shared)
{
    return shared == NULL ? NULL : *shared;
}

void local_endpoint_enter(struct local_endpoint *e, struct cla *c)
{
    assert(!e->ending && c->closed == NULL);
    list_add_tail(&e->links, &c->node);
}

bool local_endpoint_leave(struct local_endpoint *e, struct cla *c)
{
    assert(!e->ending && c->closed != NULL && !list_empty(&c->node));
    list_sub(&c->node);
    list_add_tail(&e->leaving, &c->node);
    if (!list_empty(&e->links))
        return false;
    local_endpoint_end(e);
    return true;
}

void local_endpoint_end(struct local_endpoint *e)
{
    struct local_endpoint *before = local_endpoint_first(e->anchor);
    assert(!e->ending && list_empty(&e->links));
    e->ending = true;
    if (before == e)
        *e->anchor = e->next;
    while (before != NULL && before != e && before->next != e)
        before = before->next;
    if (before != NULL && before != e)
        before->next = e->next;
}

void local_endpoint_tell_left(struct local_endpoint *e)
{
    while (!list_empty(&e->leaving)) {
        struct cla *c = container_of(list_first(&e->leaving), struct cla, node);
        list_sub(&c->node);
        cla_end(c);
    }
}
