/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts of many holders, and by how much those above a limit exceed it. A holder changes its
 * amount, and a question is answered, in a number of steps that grows with the logarithm of the
 * number of holders. An intrusive tree: a node is a member of its holder. No call needs memory.
 */
#ifndef BASE_EXCESS_H
#define BASE_EXCESS_H

#include <stddef.h>
#include <stdint.h>

/* In order of amount, then of address; no node has a higher rank than its parent. With random ranks
 * such a tree is shallow, whatever the amounts are. */
struct excess_node {
    struct excess_node *below, *above; /* subtrees */
    uint64_t amount;                   /* 0: it is not in the tree */
    uint64_t rank;
    uint64_t sum, len; /* of the amounts in its subtree with itself; and their number */
};

struct excess {
    struct excess_node *root;
};

static inline void excess_init(struct excess *e)
{
    e->root = NULL;
}

/* rank: a random number, or a hash that holders cannot foresee. */
static inline void excess_node_init(struct excess_node *n, uint64_t rank)
{
    *n = (struct excess_node){.rank = rank};
}

/* The sum of all amounts is below 2^64. */
void excess_set(struct excess *e, struct excess_node *n, uint64_t amount);
/* The sum of `amount - limit` over all amounts above this limit. */
uint64_t excess_over(const struct excess *e, uint64_t limit);
/* Asserts that the tree is in order. Returns its depth: the most nodes that a call visits. */
size_t excess_check(const struct excess *e);

#endif
