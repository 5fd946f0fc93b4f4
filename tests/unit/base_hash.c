/* SPDX-License-Identifier: Apache-2.0 */
/* The table against an array of what is in it; its chains, its growth, its walk. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define N 500

struct item {
    struct hash_node node;
    uint64_t key;
    int in, seen;
};

static struct item *find(const struct hash *h, uint64_t key)
{
    /* few hashes for many keys, so that chains hold equal hashes */
    for (struct hash_node *n = hash_find(h, hash_mix(h->seed, key / 3, 0)); n != NULL;
         n = hash_next(n)) {
        struct item *i = container_of(n, struct item, node);
        if (i->key == key)
            return i;
    }
    return NULL;
}

static size_t walked(const struct hash *h)
{
    size_t n = 0;
    for (struct hash_node *at = hash_walk(h, NULL); at != NULL; at = hash_walk(h, at))
        n++;
    return n;
}

START_TEST(add_find_sub)
{
    struct hash h;
    static struct item items[N];
    struct rng r;
    size_t in = 0;
    rng_init(&r, 5);
    ck_assert_int_eq(hash_init(&h, 99), 0);
    for (size_t k = 0; k < N; k++)
        items[k].key = k;
    for (int step = 0; step < 20000; step++) {
        struct item *i = &items[rng_below(&r, N)];
        if (i->in) {
            hash_sub(&h, &i->node);
            in--;
        } else {
            hash_add(&h, &i->node, hash_mix(h.seed, i->key / 3, 0));
            in++;
        }
        i->in = !i->in;
        uint64_t key = rng_below(&r, N);
        ck_assert_ptr_eq(find(&h, key), items[key].in ? &items[key] : NULL);
        ck_assert_uint_eq(h.len, in);
        ck_assert_uint_eq(walked(&h), in);
    }
    ck_assert_uint_gt(h.mask, 15); /* it has grown */
    for (struct hash_node *n = hash_walk(&h, NULL); n != NULL; n = hash_walk(&h, n))
        container_of(n, struct item, node)->seen++;
    for (size_t k = 0; k < N; k++)
        ck_assert_int_eq(items[k].seen, items[k].in);
    hash_fini(&h);
}
END_TEST

START_TEST(bytes_and_seeds)
{
    const char *text = "abcdefghijklmnopq";
    uint64_t seen[18];
    for (size_t len = 0; len <= 17; len++) {
        seen[len] = hash_bytes(1, text, len);
        ck_assert_uint_eq(seen[len], hash_bytes(1, text, len));
        ck_assert_uint_ne(seen[len], hash_bytes(2, text, len));
        for (size_t i = 0; i < len; i++)
            ck_assert_uint_ne(seen[i], seen[len]);
    }
    ck_assert_uint_ne(hash_mix(1, 2, 3), hash_mix(1, 3, 2));
}
END_TEST

/* The vectors of its authors: bytes 0, 1, 2 … as key and as message. */
START_TEST(secret)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    ck_assert_uint_eq(hash_secret(key, key[0], key[1]), UINT64_C(0x3f2acc7f57c29bdb));
    ck_assert_uint_ne(hash_secret(key, 1, 2), hash_secret(key, 2, 1));
}
END_TEST

/* Also its authors'. */
START_TEST(digest)
{
    static const uint64_t right[][2] = {
        {UINT64_C(0xe6a825ba047f81a3), UINT64_C(0x930255c71472f66d)},
        {UINT64_C(0x44af996bd8c187da), UINT64_C(0x45fc229b11597634)},
    };
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint64_t out[2], other[2];
    for (size_t len = 0; len < 2; len++) {
        hash_digest(key, "", len, out);
        ck_assert_mem_eq(out, right[len], sizeof out);
    }
    hash_digest(key, "abcdefgh", 8, out);
    hash_digest(key, "abcdefgh", 9, other);
    ck_assert(out[0] != other[0] && out[1] != other[1]);
}
END_TEST

/* The table grows from 16 slots to 4,096 while it is scanned, and half of what comes goes again. */
START_TEST(scan_while_it_changes)
{
    enum { FIRST = 100, MOST = 4000 };
    static struct hash_node nodes[MOST];
    unsigned char seen[MOST] = {0};
    struct hash h;
    struct hash_node *chain;
    size_t len = 0;
    uint64_t cursor = 0;
    ck_assert_int_eq(hash_init(&h, 1), 0);
    for (; len < FIRST; len++)
        hash_add(&h, &nodes[len], hash_mix(1, len, 0));
    do {
        cursor = hash_scan(&h, cursor, &chain);
        for (; chain != NULL; chain = chain->next)
            seen[chain - nodes]++;
        for (size_t end = len + 40 < MOST ? len + 40 : MOST; len < end; len++) {
            hash_add(&h, &nodes[len], hash_mix(1, len, 0));
            if (len % 2 == 1)
                hash_sub(&h, &nodes[len - 1]);
        }
    } while (cursor != 0);
    ck_assert_uint_gt(len, FIRST);
    for (size_t i = 0; i < MOST; i++)
        ck_assert(i < FIRST ? seen[i] == 1 : seen[i] <= 1);
    hash_fini(&h);
}
END_TEST

/* A table that doubles moves a few chains with each insertion, and nothing is lost meanwhile. */
START_TEST(grows_in_steps)
{
    enum { MOST = 1 << 17, TOUCHED_MAX = 16 * HASH_STEP };
    struct hash_node *nodes = calloc(MOST, sizeof *nodes);
    const struct hash_node **next = calloc(MOST, sizeof *next);
    struct hash h;
    size_t checks = 0;
    ck_assert(nodes != NULL && next != NULL);
    ck_assert_int_eq(hash_init(&h, 1), 0);
    for (size_t len = 0; len < MOST; len++) {
        const bool full = len == h.mask + 1;
        for (size_t i = 0; full && i < len; i++)
            next[i] = nodes[i].next;
        hash_add(&h, &nodes[len], hash_mix(1, len, 0));
        size_t touched = 0;
        for (size_t i = 0; full && i < len; i++)
            touched += nodes[i].next != next[i];
        ck_assert_uint_le(touched, TOUCHED_MAX);
        for (size_t i = full ? 0 : len; i <= len; i++)
            ck_assert_ptr_eq(hash_find(&h, nodes[i].hash), &nodes[i]);
        checks += full;
    }
    ck_assert_uint_ge(checks, 12);
    ck_assert_uint_eq(walked(&h), MOST);
    hash_fini(&h);
    free(next);
    free(nodes);
}
END_TEST

SUITE(base_hash, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, add_find_sub);
    tcase_add_test(t, scan_while_it_changes);
    tcase_add_test(t, grows_in_steps);
    tcase_add_test(t, bytes_and_seeds);
    tcase_add_test(t, secret);
    tcase_add_test(t, digest);
}
