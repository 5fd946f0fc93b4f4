/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are freed between others go back to the kernel above the bound, and only there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/process/memory_guard.h"
#include "os/process/process.h"
#include "tests/unit/suite.h"

#define BLOCKS 96u
#define BLOCK (UINT64_C(1) << 20)
#define FAR (UINT64_C(1) << 40)
#ifdef __SANITIZE_ADDRESS__ /* its allocator gives nothing back, and has freed blocks for a while  \
                             */
#define GIVES_BACK false
#else
#define GIVES_BACK true
#endif

static void *blocks[BLOCKS], *between[BLOCKS];
static void *volatile more; /* volatile: compilers leave out what nobody reads */

/* Of each block that is freed, the next small one is kept. */
static void leave_holes(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        between[i] = malloc(64);
        ck_assert(blocks[i] != NULL && between[i] != NULL);
        memset(blocks[i], 1, BLOCK);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void end_holes(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        free(between[i]);
}

START_TEST(freed_blocks_go_back)
{
    struct memory_guard g;
    memory_retain();
    leave_holes();
    ck_assert_int_eq(memory_guard_open(&g, BLOCKS * BLOCK / 2), 0);
    ck_assert(memory_guard_look(&g, TICK_S));
    ck_assert_int_eq(g.next == g.bound, GIVES_BACK); /* then less than the bound is left */
    ck_assert(!memory_guard_look(&g, TICK_S + MEMORY_GUARD_EVERY - 1));
    ck_assert(!memory_guard_look(&g, 2 * TICK_S));
    ck_assert_uint_eq(g.times, 1);
    memory_guard_close(&g);
    end_holes();
}
END_TEST

START_TEST(not_below_the_bound)
{
    struct memory_guard g;
    memory_retain();
    leave_holes();
    ck_assert_int_eq(memory_guard_open(&g, FAR), 0);
    ck_assert(!memory_guard_look(&g, TICK_S));
    ck_assert_uint_eq(g.times, 0);
    memory_guard_close(&g);
    end_holes();
}
END_TEST

/* What is in use stays: the next time is not before it has grown. */
START_TEST(memory_in_use)
{
    struct memory_guard g;
    ck_assert_int_eq(memory_guard_open(&g, 1), 0);
    ck_assert(memory_guard_look(&g, TICK_S));
    ck_assert_uint_gt(g.next, MEMORY_GUARD_STEP);
    ck_assert(!memory_guard_look(&g, 2 * TICK_S));
    more = malloc(4 * MEMORY_GUARD_STEP);
    ck_assert_ptr_nonnull(more);
    memset(more, 1, 4 * MEMORY_GUARD_STEP);
    ck_assert(memory_guard_look(&g, 3 * TICK_S));
    free(more);
    memory_guard_close(&g);
}
END_TEST

static uint64_t anonymous(void)
{
    char line[100];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            break;
    fclose(f);
    return kib << 10;
}

/* What a block of 8 MiB leaves after it was freed. */
static uint64_t leave_block(void)
{
    const uint64_t before = anonymous();
    more = malloc(8 << 20);
    ck_assert_ptr_nonnull(more);
    memset(more, 1, 8 << 20);
    free(more);
    const uint64_t after = anonymous();
    return after > before ? after - before : 0;
}

/* Above the bound a long block goes back when it is freed, and not at the next look. */
START_TEST(long_blocks_go_back_at_once)
{
    struct memory_guard g;
    memory_retain();
    ck_assert_int_eq(memory_guard_open(&g, 1), 0);
    const uint64_t below = leave_block();
    void *last = malloc(64); /* the next block is not where the first one was */
    ck_assert(memory_guard_look(&g, TICK_S));
    const uint64_t above = leave_block();
    free(last);
    memory_guard_close(&g);
    if (GIVES_BACK) {
        ck_assert_uint_ge(below, 7 << 20);
        ck_assert_uint_le(above, 1 << 20);
    }
}
END_TEST

SUITE(os_memory_guard, t)
{
    tcase_add_test(t, freed_blocks_go_back);
    tcase_add_test(t, not_below_the_bound);
    tcase_add_test(t, memory_in_use);
    tcase_add_test(t, long_blocks_go_back_at_once);
}
