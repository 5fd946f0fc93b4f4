/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the bundle store's backends: puts one by one and in batches, gets, removes, with 1 kB
 * and 500 kB bundles, durability sync and async; and how far the file grows beyond its content when
 * bundles come and go for long. Prints JSON.
 *
 *   bench_store DIR [SECONDS]     each figure is measured for at most SECONDS [1]
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "store/store_lmdb.h"
#ifdef BENCH_SQLITE
#include "store_sqlite.h"
#endif

#define KEYS_MAX 40000
#define MOST_BYTES 2e9
#define CHURN_ROUNDS 40

struct bench {
    const struct store_ops *ops;
    struct store *s;
    struct store_options o;
    uint64_t first, next; /* keys in the store: [first, next) */
    uint8_t *data;
    double seconds;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench_store: %s: %s\n", what, helio_strerror(rc));
    exit(1);
}

/* Removes the files in dir; with `dir` itself. Returns the bytes that they took. */
static uint64_t files(const char *dir, int remove_them)
{
    DIR *d = opendir(dir);
    if (d == NULL)
        return 0;
    uint64_t bytes = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[4400];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        bytes += (uint64_t)st.st_blocks * 512;
        if (remove_them)
            unlink(path);
    }
    closedir(d);
    if (remove_them)
        rmdir(dir);
    return bytes;
}

static void start(struct bench *b)
{
    char why[256];
    files(b->o.path, 1);
    int rc = b->ops->open(&b->s, &b->o, why, sizeof why);
    if (rc < 0) {
        fprintf(stderr, "bench_store: %s\n", why);
        exit(1);
    }
    b->first = b->next = 1;
}

static void stop(struct bench *b)
{
    b->ops->close(b->s);
    files(b->o.path, 1);
}

/* Until the time is over, or `share` of the store is full. */
static double put_some(struct bench *b, size_t size, uint64_t batch, double share)
{
    double t0 = now_s(), t = t0;
    uint64_t n = 0;
    while (t - t0 < b->seconds && (double)(b->next - b->first) < share * KEYS_MAX &&
           (double)b->ops->bytes(b->s) < share * MOST_BYTES) {
        must(b->ops->begin(b->s), "begin");
        for (uint64_t i = 0; i < batch; i++, n++) {
            uint8_t head[64] = {1};
            must(b->ops->put(b->s, b->next++, slice_of(head, sizeof head), slice_of(b->data, size)),
                 "put");
        }
        must(b->ops->commit(b->s), "commit");
        t = now_s();
    }
    return (double)n / (t - t0);
}

static double get_some(struct bench *b)
{
    double t0 = now_s(), t = t0;
    uint64_t n = 0;
    while (t - t0 < b->seconds) {
        struct buf *out;
        must(b->ops->get(b->s, b->first + n++ % (b->next - b->first), 2048, &out), "get");
        buf_drop(out);
        t = now_s();
    }
    return (double)n / (t - t0);
}

static double remove_all(struct bench *b, uint64_t batch)
{
    double t0 = now_s();
    uint64_t n = 0;
    while (b->first < b->next) {
        must(b->ops->begin(b->s), "begin");
        for (uint64_t i = 0; i < batch && b->first < b->next; i++, n++)
            must(b->ops->remove(b->s, b->first++), "remove");
        must(b->ops->commit(b->s), "commit");
    }
    return (double)n / (now_s() - t0);
}

static void speed(struct bench *b, size_t size, const char *comma)
{
    start(b);
    double one = put_some(b, size, 1, 0.5);
    double many = put_some(b, size, 32, 1);
    double get = get_some(b);
    double removed = remove_all(b, 32);
    stop(b);
    printf("  {\"backend\": \"%s\", \"durability\": \"%s\", \"bytes\": %zu, \"put_per_s\": %.0f, "
           "\"put32_per_s\": %.0f, \"put32_MB_per_s\": %.0f, \"get_per_s\": %.0f, "
           "\"remove32_per_s\": %.0f}%s\n",
           b->ops->name, b->o.durability == STORE_SYNC ? "sync" : "async", size, one, many,
           many * (double)size / 1e6, get, removed, comma);
    fflush(stdout);
}

/* One transaction of churn: 16 come, the oldest go so that `held` bytes stay. */
static void churn_step(struct bench *b, struct rng *r, size_t max, uint64_t held)
{
    must(b->ops->begin(b->s), "begin");
    for (int i = 0; i < 16; i++) {
        size_t size = rng_chance(r, 0.5) ? 1 + (size_t)rng_below(r, max) : max;
        must(b->ops->put(b->s, b->next++, slice_of("head", 4), slice_of(b->data, size)), "put");
    }
    while (b->ops->bytes(b->s) > held)
        must(b->ops->remove(b->s, b->first++), "remove");
    must(b->ops->commit(b->s), "commit");
}

/* File size over content after rounds of 4 times the content, mixed sizes up to 500 kB. */
static void churn(struct bench *b, const char *comma)
{
    const uint64_t held = 100000000;
    struct rng r;
    rng_init(&r, 1);
    start(b);
    printf("  {\"backend\": \"%s\", \"held_bytes\": %llu, \"file_over_held\": [", b->ops->name,
           (unsigned long long)held);
    double t0 = now_s();
    uint64_t steps = 0;
    for (int i = 0; i < CHURN_ROUNDS; i++) {
        for (int k = 0; k < 60; k++, steps++)
            churn_step(b, &r, 500000, held);
        if (i % 4 == 3)
            printf("%s%.2f", i == 3 ? "" : ", ", (double)files(b->o.path, 0) / (double)held);
        fflush(stdout);
    }
    printf("], \"put_and_remove_per_s\": %.0f}%s\n", (double)steps * 16 / (now_s() - t0), comma);
    stop(b);
}

int main(int argc, char **argv)
{
    static const struct store_ops *backends[] = {
        &store_lmdb,
#ifdef BENCH_SQLITE
        &store_sqlite,
#endif
    };
    const size_t count = sizeof backends / sizeof *backends;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: bench_store DIR [SECONDS]\n");
        return 2;
    }
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/bench_store.%d", argv[1], (int)getpid());
    uint8_t *data = malloc(500000);
    if (data == NULL)
        return 1;
    struct rng r;
    rng_init(&r, 7);
    for (size_t i = 0; i < 500000; i++)
        data[i] = (uint8_t)rng_u64(&r);
    struct bench b = {.o = {.path = dir, .limit_bytes = 4000000000},
                      .data = data,
                      .seconds = argc > 2 ? atof(argv[2]) : 1};
    printf("{\"speed\": [\n");
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 4; k++) {
            b.ops = backends[i];
            b.o.durability = k & 1 ? STORE_ASYNC : STORE_SYNC;
            speed(&b, k & 2 ? 500000 : 1000, i + 1 < count || k < 3 ? "," : "");
        }
    }
    printf("],\n\"churn\": [\n");
    b.o.durability = STORE_ASYNC;
    for (size_t i = 0; i < count; i++) {
        b.ops = backends[i];
        churn(&b, i + 1 < count ? "," : "");
    }
    printf("]}\n");
    free(data);
    return 0;
}
