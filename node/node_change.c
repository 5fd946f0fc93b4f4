/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first change of the list is in process. The world reports when its files are read, also at
 * the node's end (work_pool_free). Without threads they are read at once. Nothing can go wrong.
 */
#include "node/node_change.h"

static void make_changes(struct node *n);

static void run_read(struct work *w)
{
    struct node_change *c = container_of(w, struct node_change, work);
    c->read(c);
}

static void end_change(struct node_change *c)
{
    struct node *n = c->node;
    list_sub(&c->order);
    n->changes_len--;
    c->apply(c);
}

static void on_read(struct work *w)
{
    struct node_change *c = container_of(w, struct node_change, work);
    struct node *n = c->node;
    end_change(c);
    n->changing = false;
    make_changes(n);
}

/* True: another thread reads its files now, and on_read follows. */
static bool begin_change(struct node_change *c)
{
    struct node *n = c->node;
    if (n->stopping || (c->begin != NULL && !c->begin(c)))
        return false;
    c->work = (struct work){.run = run_read, .done = on_read};
    if (world_work(n->world, &c->work))
        return true;
    c->read(c);
    return false;
}

static void make_changes(struct node *n)
{
    struct list *first;
    while (!n->changing && (first = list_first(&n->changes)) != NULL) {
        struct node_change *c = container_of(first, struct node_change, order);
        n->changing = true;
        if (begin_change(c))
            return;
        end_change(c);
        n->changing = false;
    }
}

bool node_change_make(struct node *n, struct node_change *c)
{
    if (n->changes_len == NODE_CHANGES_MAX)
        return false;
    if (n->changes_len == 0)
        list_init(&n->changes);
    c->node = n;
    list_init(&c->order);
    list_add_tail(&n->changes, &c->order);
    n->changes_len++;
    make_changes(n);
    return true;
}
