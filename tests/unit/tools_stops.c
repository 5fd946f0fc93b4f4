/* SPDX-License-Identifier: Apache-2.0 */
/* Links that read nothing, in the operator's log. */
#include "tests/unit/tools_links.h"

#include <unistd.h>

#include "node/node_medium.h"
#include "node/node_shortage.h"
#include "tests/unit/suite.h"

/* At this time, once more a second later: what the node's log compares. */
static void watch_until(struct bench *b, tick to)
{
    while (b->v.now < to) {
        virtual_advance(&b->v, b->v.now + TICK_S);
        virtual_fire(&b->v);
        turn(b);
        node_watch_tick(&b->n);
    }
}

/* The lines of the log since the last call. */
static const char *logged(FILE *f, char out[1024])
{
    clearerr(f); /* it ended there */
    const size_t n = fread(out, 1, 1023, f);
    out[n] = '\0';
    return out;
}

/* A node with a link, whose log the test reads. */
static struct bench *start_logged(FILE **log, FILE **seen)
{
    *log = tmpfile();
    ck_assert_ptr_nonnull(*log);
    ck_assert_int_ge(dup2(fileno(*log), STDERR_FILENO), 0);
    *seen = fopen("/proc/self/fd/2", "r"); /* with a place of its own */
    ck_assert_ptr_nonnull(*seen);
    struct bench *b = start("  - {name: a, adapter: patient, peer: ipn:2.0}\n");
    b->n.say.level = LEVEL_INFO;
    return b;
}

static void stop_logged(struct bench *b, FILE *log, FILE *seen)
{
    fclose(seen);
    fclose(log);
    stop(b);
}

/* The store is slower than the peer: once, with the limit, and that it is over. */
START_TEST(a_slow_store_is_told)
{
    char lines[1024];
    FILE *log, *seen;
    struct bench *b = start_logged(&log, &seen);
    struct memory *from = link_of(b, "a");
    const tick began = b->v.now;
    from->gauges.unstored = 70;
    from->gauges.unstored_max = 64;
    from->gauges.unstored_full = true;
    watch_until(b, began + 5 * TICK_S);
    ck_assert_str_eq(logged(seen, lines), "");
    watch_until(b, began + 30 * TICK_S);
    ck_assert_ptr_nonnull(
        strstr(logged(seen, lines),
               "link a has stopped reading for 5 of 5 s: limits.held_bytes: 70 of 64 "
               "bytes of its bundles wait for the store, and bundles of ipn:2.0 wait there"));
    ck_assert_ptr_null(strstr(strstr(lines, "link a"), "\nlink a")); /* once */
    from->gauges.unstored_full = false;
    watch_until(b, began + 40 * TICK_S);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "link a reads again after 30 s"));
    stop_logged(b, log, seen);
}
END_TEST

/* So is a peer that sends, and does not read what it is answered. */
START_TEST(unread_answers_are_told)
{
    char lines[1024];
    FILE *log, *seen;
    struct bench *b = start_logged(&log, &seen);
    struct memory *from = link_of(b, "a");
    const tick began = b->v.now;
    from->gauges.answers = from->gauges.answers_max = 64;
    from->gauges.answers_unread = true;
    watch_until(b, began + 5 * TICK_S);
    ck_assert_str_eq(logged(seen, lines), "");
    watch_until(b, began + 30 * TICK_S);
    ck_assert_ptr_nonnull(
        strstr(logged(seen, lines),
               "link a has stopped reading for 5 of 5 s: 64 of 64 "
               "acknowledgements and refusals wait for ipn:2.0, and its bundles wait there"));
    ck_assert_ptr_null(strstr(strstr(lines, "link a"), "\nlink a")); /* once */
    from->gauges.answers = 63;
    watch_until(b, began + 40 * TICK_S);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "link a reads again after 30 s"));
    from->gauges.answers = 64;
    from->gauges.answers_unread = false;
    watch_until(b, began + 100 * TICK_S);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "refusals wait for the store, and its"));
    stop_logged(b, log, seen);
}
END_TEST

/* The medium of a store has room for less than its limit: when that begins, when it has become much
 * worse, and when it is over. */
START_TEST(a_small_medium_is_told)
{
    char lines[1024], text[SHORTAGE_TEXT_MAX];
    FILE *log, *seen;
    struct bench *b = start_logged(&log, &seen);
    struct node_medium *m = &b->n.medium;
    const struct agent_shortage part = {
        .limit = AGENT_LIMIT_BYTES, .unit = AGENT_UNIT_BYTES, .used = 7, .most = 8, .bytes = 2};
    b->config.store.limit = 1000000;
    m->fits = UINT64_MAX;
    node_medium_watch(&b->n);
    m->known = true;
    m->fits = 1000000;
    node_medium_watch(&b->n);
    ck_assert_str_eq(logged(seen, lines), "");
    ck_assert_str_eq(node_shortage_text(&b->n, &part, text),
                     "store.limit: 7 of 8 bytes, and this bundle has 2");
    m->fits = 500000;
    ck_assert(node_medium_short(&b->n) && node_medium_limit(&b->n) == 500000);
    node_medium_watch(&b->n);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines),
                                 "its medium has room for 500000 bytes of bundles, less than "
                                 "store.limit, 1000000: the node accepts no more"));
    ck_assert_str_eq(node_shortage_text(&b->n, &part, text),
                     "store.limit: 7 of 8 bytes, and this bundle has 2; the medium of the store "
                     "has less room than store.limit");
    watch_until(b, b->v.now + 20 * TICK_S);
    m->fits = 400000;
    node_medium_watch(&b->n);
    ck_assert_str_eq(logged(seen, lines), "");
    m->fits = 300000;
    node_medium_watch(&b->n);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "has room for 300000 bytes"));
    m->fits = 1010000;
    node_medium_watch(&b->n);
    ck_assert_str_eq(logged(seen, lines), "");
    m->fits = 1100000;
    node_medium_watch(&b->n);
    node_medium_watch(&b->n);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "its medium has room for store.limit again"));
    ck_assert_uint_eq(node_medium_limit(&b->n), 1000000);
    stop_logged(b, log, seen);
}
END_TEST

/* Nothing in memory gives way: once, and that it is over. */
START_TEST(a_full_memory_is_told)
{
    char lines[1024];
    FILE *log, *seen;
    struct bench *b = start_logged(&log, &seen);
    tell_link(b, link_of(b, "a"), true);
    ck_assert_int_eq(submit(b, "ipn:2.1", 1000), REFUSE_NONE);
    turn(b);
    (void)logged(seen, lines);
    const uint64_t used = agent_counters(b->n.agent)->memory_bytes;
    ck_assert(used > 1000 && agent_counters(b->n.agent)->resting_bytes == 0);
    b->config.store.durability = STORE_SYNC;
    b->config.bundles.total = 0;
    b->config.bundles.memory = 2 * used;
    watch_until(b, b->v.now + 2 * TICK_S);
    ck_assert_str_eq(logged(seen, lines), "");
    b->config.bundles.memory = used;
    watch_until(b, b->v.now + 20 * TICK_S);
    ck_assert_ptr_nonnull(
        strstr(logged(seen, lines), "bytes are of bundles that are being stored"));
    ck_assert_ptr_null(strstr(strstr(lines, "bundles.memory") + 1, "bundles.memory")); /* once */
    b->config.bundles.memory = 2 * used;
    watch_until(b, b->v.now + 2 * TICK_S);
    ck_assert_ptr_nonnull(strstr(logged(seen, lines), "bundles.memory has room again"));
    b->config.bundles.memory = UINT64_MAX;
    b->config.bundles.total = 4 * used; /* a quarter of it is the most */
    watch_until(b, b->v.now + 60 * TICK_S);
    ck_assert_ptr_nonnull(
        strstr(logged(seen, lines), "bytes are of bundles that are being stored"));
    stop_logged(b, log, seen);
}
END_TEST

SUITE(tools_stops, t)
{
    tcase_add_test(t, a_full_memory_is_told);
    tcase_add_test(t, a_small_medium_is_told);
    tcase_add_test(t, a_slow_store_is_told);
    tcase_add_test(t, unread_answers_are_told);
}
