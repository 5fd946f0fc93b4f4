/* SPDX-License-Identifier: Apache-2.0 */
/* The table against an array of what is in it; its chains, its growth, its walk. */
#include <check.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"

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

int main(void)
{
    Suite *s = suite_create("base_hash");
    TCase *t = tcase_create("hash");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, add_find_sub);
    tcase_add_test(t, bytes_and_seeds);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
