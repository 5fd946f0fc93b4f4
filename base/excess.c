/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A treap: a search tree by amount that is a heap by rank. A new amount is the same as a node that
 * is taken out and put in again. Recursion is as deep as the tree.
 */
#include "base/excess.h"

#include <assert.h>
#include <stdbool.h>

static bool is_before(const struct excess_node *x, const struct excess_node *y)
{
    return x->amount != y->amount ? x->amount < y->amount : (uintptr_t)x < (uintptr_t)y;
}

static uint64_t sum_of(const struct excess_node *n)
{
    return n == NULL ? 0 : n->sum;
}

static uint64_t len_of(const struct excess_node *n)
{
    return n == NULL ? 0 : n->len;
}

static void add_up(struct excess_node *n)
{
    n->sum = sum_of(n->below) + n->amount + sum_of(n->above);
    n->len = len_of(n->below) + 1 + len_of(n->above);
}

/* The nodes of this subtree that are before n, and the others. */
static void split_tree(struct excess_node *tree, const struct excess_node *n,
                       struct excess_node **before, struct excess_node **after)
{
    if (tree == NULL) {
        *before = *after = NULL;
        return;
    }
    if (is_before(tree, n)) {
        *before = tree;
        split_tree(tree->above, n, &tree->above, after);
    } else {
        *after = tree;
        split_tree(tree->below, n, before, &tree->below);
    }
    add_up(tree);
}

/* All nodes of the first subtree are before those of the other. */
static struct excess_node *join_trees(struct excess_node *before, struct excess_node *after)
{
    if (before == NULL || after == NULL)
        return before == NULL ? after : before;
    struct excess_node *top = before->rank >= after->rank ? before : after;
    if (top == before)
        before->above = join_trees(before->above, after);
    else
        after->below = join_trees(before, after->below);
    add_up(top);
    return top;
}

static void put_in(struct excess *e, struct excess_node *n)
{
    struct excess_node **at = &e->root;
    while (*at != NULL && (*at)->rank >= n->rank) {
        (*at)->sum += n->amount;
        (*at)->len++;
        at = is_before(n, *at) ? &(*at)->below : &(*at)->above;
    }
    split_tree(*at, n, &n->below, &n->above);
    add_up(n);
    *at = n;
}

static void take_out(struct excess *e, struct excess_node *n)
{
    struct excess_node **at = &e->root;
    while (*at != n) {
        assert(*at != NULL);
        (*at)->sum -= n->amount;
        (*at)->len--;
        at = is_before(n, *at) ? &(*at)->below : &(*at)->above;
    }
    *at = join_trees(n->below, n->above);
    n->below = n->above = NULL;
}

void excess_set(struct excess *e, struct excess_node *n, uint64_t amount)
{
    if (n->amount > 0)
        take_out(e, n);
    n->amount = amount;
    if (n->amount > 0)
        put_in(e, n);
}

uint64_t excess_over(const struct excess *e, uint64_t limit)
{
    uint64_t sum = 0, len = 0;
    for (const struct excess_node *n = e->root; n != NULL;) {
        if (n->amount <= limit) {
            n = n->above;
            continue;
        }
        sum += n->amount + sum_of(n->above);
        len += 1 + len_of(n->above);
        n = n->below;
    }
    return sum - len * limit;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static size_t check_tree(const struct excess_node *n)
{
    if (n == NULL)
        return 0;
    assert(n->amount > 0);
    assert(n->sum == sum_of(n->below) + n->amount + sum_of(n->above));
    assert(n->len == len_of(n->below) + 1 + len_of(n->above));
    assert(n->below == NULL || (is_before(n->below, n) && n->below->rank <= n->rank));
    assert(n->above == NULL || (is_before(n, n->above) && n->above->rank <= n->rank));
    const size_t below = check_tree(n->below), above = check_tree(n->above);
    return 1 + (below > above ? below : above);
}

size_t excess_check(const struct excess *e)
{
    return check_tree(e->root);
}
