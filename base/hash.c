/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains in a power-of-two table that doubles when there are as many nodes as slots. That takes
 * 150 ms for two million nodes, so it is done in steps: each node that is added moves a few chains
 * of the old table, and all are moved before the table doubles again. A chain is in one of the two,
 * never in both. Only the first allocation can fail.
 */
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define SLOTS_FIRST 16

int hash_init(struct hash *h, uint64_t seed)
{
    *h = (struct hash){.slots = calloc(SLOTS_FIRST, sizeof(struct hash_node *)),
                       .mask = SLOTS_FIRST - 1,
                       .seed = seed};
    return h->slots == NULL ? HELIO_ENOMEM : 0;
}

void hash_fini(struct hash *h)
{
    free(h->old);
    free(h->slots);
    *h = (struct hash){0};
}

/* Is this chain in the old table? */
static bool is_old(const struct hash *h, uint64_t hash)
{
    return h->old != NULL && (hash & h->old_mask) >= h->moved;
}

static struct hash_node **chain_of(const struct hash *h, uint64_t hash)
{
    return is_old(h, hash) ? &h->old[hash & h->old_mask] : &h->slots[hash & h->mask];
}

static void begin_growth(struct hash *h)
{
    const size_t mask = h->mask * 2 + 1;
    struct hash_node **slots = calloc(mask + 1, sizeof(struct hash_node *));
    if (slots == NULL)
        return;
    h->old = h->slots;
    h->old_mask = h->mask;
    h->moved = 0;
    h->slots = slots;
    h->mask = mask;
}

static void move_chains(struct hash *h)
{
    for (size_t end = h->moved + HASH_STEP; h->moved < end && h->moved <= h->old_mask; h->moved++) {
        for (struct hash_node *n = h->old[h->moved], *next; n != NULL; n = next) {
            next = n->next;
            n->next = h->slots[n->hash & h->mask];
            h->slots[n->hash & h->mask] = n;
        }
    }
    if (h->moved <= h->old_mask)
        return;
    free(h->old);
    h->old = NULL;
}

void hash_add(struct hash *h, struct hash_node *n, uint64_t hash)
{
    if (h->old == NULL && h->len > h->mask)
        begin_growth(h);
    if (h->old != NULL)
        move_chains(h);
    struct hash_node **at = chain_of(h, hash);
    n->hash = hash;
    n->next = *at;
    *at = n;
    h->len++;
}

void hash_sub(struct hash *h, struct hash_node *n)
{
    struct hash_node **at = chain_of(h, n->hash);
    while (*at != n) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = n->next;
    n->next = NULL;
    h->len--;
}

struct hash_node *hash_find(const struct hash *h, uint64_t hash)
{
    struct hash_node *n = *chain_of(h, hash);
    while (n != NULL && n->hash != hash)
        n = n->next;
    return n;
}

struct hash_node *hash_next(const struct hash_node *n)
{
    uint64_t hash = n->hash;
    struct hash_node *next = n->next;
    while (next != NULL && next->hash != hash)
        next = next->next;
    return next;
}

static struct hash_node *first_of(struct hash_node *const *slots, size_t from, size_t last)
{
    for (size_t i = from; i <= last; i++) {
        if (slots[i] != NULL)
            return slots[i];
    }
    return NULL;
}

/* First the old table's chains, then the others. */
struct hash_node *hash_walk(const struct hash *h, const struct hash_node *n)
{
    if (n != NULL && n->next != NULL)
        return n->next;
    const bool old = n == NULL ? h->old != NULL : is_old(h, n->hash);
    size_t from = n == NULL ? 0 : (n->hash & h->mask) + 1;
    if (old) {
        struct hash_node *first =
            first_of(h->old, n == NULL ? h->moved : (n->hash & h->old_mask) + 1, h->old_mask);
        if (first != NULL)
            return first;
        from = 0;
    }
    return first_of(h->slots, from, h->mask);
}

static uint64_t reverse_bits(uint64_t x)
{
    uint64_t out = 0;
    for (int i = 0; i < 64; i++, x >>= 1)
        out = out << 1 | (x & 1);
    return out;
}

/* The cursor counts with its highest bit first: when the table doubles, a chain that was seen falls
 * apart into two that are behind the cursor, too. A chain of the old table is these two at once. */
uint64_t hash_scan(const struct hash *h, uint64_t cursor, struct hash_node **chain)
{
    const uint64_t mask = is_old(h, cursor) ? h->old_mask : h->mask;
    *chain = *chain_of(h, cursor);
    return reverse_bits(reverse_bits(cursor | ~mask) + 1);
}

static uint64_t turn_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = turn_left(v[1], 13) ^ v[0];
        v[3] = turn_left(v[3], 16) ^ v[2];
        v[0] = turn_left(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = turn_left(v[3], 21) ^ v[0];
        v[1] = turn_left(v[1], 17) ^ v[2];
        v[2] = turn_left(v[2], 32);
    }
}

static void sip_init(uint64_t v[4], const uint64_t key[2])
{
    v[0] = key[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = key[1] ^ UINT64_C(0x646f72616e646f6d);
    v[2] = key[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = key[1] ^ UINT64_C(0x7465646279746573);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

uint64_t hash_secret(const uint64_t key[2], uint64_t a, uint64_t b)
{
    uint64_t v[4];
    sip_init(v, key);
    sip_word(v, a);
    sip_word(v, b);
    sip_word(v, (uint64_t)16 << 56); /* the last one has the length */
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t little_endian(const uint8_t *p, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

void hash_digest(const uint64_t key[2], const void *data, size_t len, uint64_t out[2])
{
    const uint8_t *p = data;
    const uint64_t last = (uint64_t)len << 56;
    uint64_t v[4];
    sip_init(v, key);
    v[1] ^= 0xee;
    for (; len >= 8; p += 8, len -= 8)
        sip_word(v, little_endian(p, 8));
    sip_word(v, last | little_endian(p, len));
    v[2] ^= 0xee;
    sip_rounds(v, 4);
    out[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    sip_rounds(v, 4);
    out[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t x = hash_mix(seed, len, 0);
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        x = hash_mix(x, word, 1);
    }
    return hash_mix(x, little_endian(p, len), 2);
}
