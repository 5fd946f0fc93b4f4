/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intrusive hash table: chained nodes that lie inside their elements. The caller gives the
 * 64-bit hash and compares keys itself; hash_mix makes one from integers. The seed keeps a peer
 * from choosing keys that all meet in one chain.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_node {
    struct hash_node *next;
    uint64_t hash;
};

/* Chains of the old table that an insertion moves while the table grows. */
#define HASH_STEP 4

struct hash {
    struct hash_node **slots;
    struct hash_node **old; /* the table of half the size that it grows from; NULL: it does not */
    size_t mask;            /* slots - 1, a power of two less one */
    size_t old_mask, moved; /* of old: its first chains are in slots now */
    size_t len;
    uint64_t seed;
};

/* Returns 0 or HELIO_ENOMEM. */
int hash_init(struct hash *h, uint64_t seed);
void hash_fini(struct hash *h);

/* Puts a node in; duplicates are the caller's affair. Never fails: when there is no memory to grow
 * the table, its chains get longer. No call takes long, however many nodes there are: while the
 * table grows each insertion moves HASH_STEP chains. */
void hash_add(struct hash *h, struct hash_node *n, uint64_t hash);
void hash_sub(struct hash *h, struct hash_node *n);

/* The first node with this hash, and the next one after n; NULL when there is none. */
struct hash_node *hash_find(const struct hash *h, uint64_t hash);
struct hash_node *hash_next(const struct hash_node *n);

/* Visits all nodes: start with NULL. The table must not change in between. */
struct hash_node *hash_walk(const struct hash *h, const struct hash_node *n);

/* Visits all nodes, one chain per call. The table may change between calls: a node that stays in
 * the table is visited once, one that is added or removed meanwhile at most once. Begin with cursor
 * 0. *chain is the first node of the chain (hash_node.next is the next), NULL for an empty one.
 * Returns the next cursor; 0: that was the last chain. */
uint64_t hash_scan(const struct hash *h, uint64_t cursor, struct hash_node **chain);

static inline uint64_t hash_mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t x = seed ^ (a * UINT64_C(0x9e3779b97f4a7c15)) ^ (b + UINT64_C(0x7f4a7c159e3779b9));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A keyed hash of two integers (SipHash-2-4 of their 16 bytes, little-endian). It cannot be
 * predicted without the key, even from other results. */
uint64_t hash_secret(const uint64_t key[2], uint64_t a, uint64_t b);

/* A keyed hash of any bytes with 128 bits (SipHash-2-4-128). Texts with equal results can be taken
 * as equal. */
void hash_digest(const uint64_t key[2], const void *data, size_t len, uint64_t out[2]);

/* As hash_mix for bytes. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
