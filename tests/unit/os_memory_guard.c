/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are freed between others go back to the kernel above the bound, and only there. */
#include <stdlib.h>
#include <string.h>

#include "os/memory_guard.h"
#include "os/process.h"
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

SUITE(os_memory_guard, t)
{
    tcase_add_test(t, freed_blocks_go_back);
    tcase_add_test(t, not_below_the_bound);
    tcase_add_test(t, memory_in_use);
}
