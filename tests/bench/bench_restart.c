/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a node needs until it knows its bundles again: fills a store with COUNT bundles of
 * applications for another node, as the agent gives them, and of half as many marks; then opens it
 * anew, gives all to a new agent and takes them to the queue of a link that is up. Prints JSON;
 * memory is that of the process.
 *
 *   bench_restart DIR [COUNT [BYTES [cold]]]     [1000000 bundles of 1000 bytes]; cold: the medium
 * is read again
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bp/agent/agent.h"
#include "store/store_lmdb.h"

#define BATCH 10000
#define DTN_MS UINT64_C(800000000000)

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
    fprintf(stderr, "bench_restart: %s: %s\n", what, helio_strerror(rc));
    exit(1);
}

/* Of this process and of the child that looks at the database first. */
static double cpu_s(void)
{
    double sum = 0;
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (size_t i = 0; i < 2; i++) {
        struct rusage u;
        getrusage(whose[i], &u);
        sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return sum;
}

static uint64_t resident_bytes(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident * 4096;
}

static struct agent *agent_with_link(uint64_t count)
{
    struct agent *a;
    struct eid peer = eid_ipn(0, 2, 0);
    struct eid_pattern all;
    const struct agent_config c = {.node = eid_ipn(0, 1, 0),
                                   .seed = 1,
                                   .held_bundles = count + 1,
                                   .held_bytes = UINT64_C(1) << 40};
    must(agent_new(&a, &c), "agent_new");
    must(eid_pattern_parse("*", &all), "pattern");
    must(agent_link_add(a, 0, &peer, 64), "link");
    must(agent_route_add(a, &all, 0), "route");
    return a;
}

static struct store *open_store(const char *dir)
{
    struct store *s;
    char why[256];
    const struct store_options o = {
        .path = dir, .limit_bytes = UINT64_C(1) << 36, .durability = STORE_ASYNC};
    int rc = store_lmdb.open(&s, &o, why, sizeof why);
    if (rc < 0)
        fprintf(stderr, "bench_restart: %s\n", why);
    must(rc, "open");
    return s;
}

/* What the agent asks for; half of the bundles leave a mark of their id, too. */
static void store_actions(struct agent *a, struct store *s, struct agent_now now)
{
    struct agent_action x;
    while (agent_poll(a, &x) == 1) {
        if (x.kind == AGENT_STORE) {
            must(s->ops->put(s, x.key, x.head, buf_slice(x.bundle)), "put");
            if (x.key % 2 == 0)
                must(s->ops->mark(s, slice_of(x.head.data + x.head.len - 12, 12), now.dtn_ms),
                     "mark");
            agent_stored(a, x.key, true, now);
        }
        buf_drop(x.bundle);
    }
}

static void fill_store(const char *dir, uint64_t count, size_t bytes)
{
    struct store *s = open_store(dir);
    struct agent *a = agent_with_link(count);
    const struct agent_now now = {.now = TICK_S, .dtn_ms = DTN_MS};
    for (uint64_t i = 0; i < count; i++) {
        struct agent_request q = {.source = eid_ipn(0, 1, 7),
                                  .destination = eid_ipn(0, 2, 9),
                                  .report_to = eid_none(),
                                  .crc = -1};
        if (i % BATCH == 0)
            must(s->ops->begin(s), "begin");
        q.payload = buf_new(BUNDLE_HEAD_MAX, bytes + BUNDLE_TAIL_MAX);
        must(q.payload == NULL ? HELIO_ENOMEM : 0, "payload");
        memset(buf_append(q.payload, bytes), (int)i, bytes);
        must(agent_send(a, &q, now, NULL) == REFUSE_NONE ? 0 : HELIO_EINVAL, "send");
        store_actions(a, s, now);
        if (i % BATCH == BATCH - 1 || i + 1 == count)
            must(s->ops->commit(s), "commit");
    }
    s->ops->close(s);
    agent_free(a);
}

static int restore_one(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    return agent_restore(ctx, key, head, bytes);
}

static int restore_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    return agent_restore_mark(ctx, id, until_ms);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 5) {
        fprintf(stderr, "usage: bench_restart DIR [COUNT [BYTES [cold]]]\n");
        return 2;
    }
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    const size_t bytes = argc > 3 ? (size_t)strtoull(argv[3], NULL, 10) : 1000;
    char dir[4096], path[4200];
    snprintf(dir, sizeof dir, "%s/bench_restart.%d", argv[1], (int)getpid());
    fill_store(dir, count, bytes);
    snprintf(path, sizeof path, "%s/data.mdb", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (argc > 4 && (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
        must(HELIO_EIO, "cold");
    close(fd);
    const uint64_t before = resident_bytes();
    const double cpu = cpu_s(), t0 = now_s();
    struct store *s = open_store(dir);
    const double t1 = now_s();
    struct agent *a = agent_with_link(count);
    must(s->ops->each(s, restore_one, a), "each");
    const double t2 = now_s();
    must(s->ops->marks(s, restore_mark, a), "marks");
    const double t3 = now_s();
    agent_link(a, 0, true, (struct agent_now){.now = TICK_S, .dtn_ms = DTN_MS});
    const double t4 = now_s();
    if (agent_counters(a)->bundles != count)
        must(HELIO_EIO, "not all bundles came back");
    const double cpu_used = cpu_s() - cpu;
    const struct eid other = eid_ipn(0, 3, 0);
    must(agent_link_add(a, 1, &other, 64), "link");
    const double t5 = now_s();
    must(agent_link_remove(a, 1, (struct agent_now){.now = TICK_S, .dtn_ms = DTN_MS}), "remove");
    const double t6 = now_s();
    const uint64_t after = resident_bytes();
    printf("{\"bundles\": %llu, \"bytes\": %zu, \"open_s\": %.3f, \"bundles_s\": %.3f, "
           "\"marks_s\": %.3f, \"place_s\": %.3f, \"all_s\": %.3f, \"cpu_s\": %.3f, "
           "\"link_remove_s\": %.6f, "
           "\"record_bytes_each\": %llu, "
           "\"resident_more_each\": %lld}\n",
           (unsigned long long)count, bytes, t1 - t0, t2 - t1, t3 - t2, t4 - t3, t4 - t0, cpu_used,
           t6 - t5, (unsigned long long)(agent_counters(a)->record_bytes / count),
           (long long)(after - before) / (long long)count);
    s->ops->close(s);
    agent_free(a);
    static const char *const files[] = {"data.mdb", "lock.mdb", "format"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    return 0;
}
