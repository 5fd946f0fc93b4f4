/* SPDX-License-Identifier: Apache-2.0 */
/* Initialization vectors over restarts of a node, and uses of its keys: the note in the store's
 * folder. Keys in memory that core dumps leave out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rng.h"
#include "bp/codec/security/security_key.h"
#include "node/node_ivs.h"
#include "os/crypto/crypto.h"
#include "os/secret.h"
#include "tests/unit/suite.h"

static struct crypto crypto;
static struct security_ring ring;
static struct node_ivs *ivs;
static char folder[64], why[512];

static void set_up(void)
{
    static const char text[] = "id: a\nalgorithm: aes-128-gcm\n"
                               "key: 000102030405060708090a0b0c0d0e0f\n";
    ck_assert(crypto_open(&crypto));
    ring = (struct security_ring){.len = 1};
    ck_assert_int_eq(security_key_parse(text, sizeof text - 1, &ring.at[0], why, sizeof why), 0);
    strcpy(folder, "/tmp/unit-ivs-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
    char command[128];
    node_ivs_free(ivs);
    ivs = NULL;
    crypto_close(&crypto);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static int begin(uint64_t dtn_ms)
{
    node_ivs_free(ivs);
    ring.at[0].uses = 0; /* another process */
    ring.iv_next = ring.iv_end = 0;
    ring.reserve = NULL;
    return node_ivs_open(&ivs, folder, &crypto, &ring, dtn_ms, why, sizeof why);
}

/* The counter of the next IV. */
static uint64_t take(void)
{
    uint8_t iv[SECURITY_IV];
    uint64_t n = 0;
    ck_assert(security_ring_iv(&ring, &ring.at[0], iv));
    for (size_t i = 4; i < SECURITY_IV; i++)
        n = n << 8 | iv[i];
    return n;
}

START_TEST(later_of_clock_and_note)
{
    ck_assert_int_eq(begin(1000), 0);
    ck_assert_uint_eq(take(), UINT64_C(1000) << 20);
    ck_assert_int_eq(begin(0), 0); /* the clock is not known any more */
    ck_assert_uint_eq(take(), (UINT64_C(1000) << 20) + NODE_IVS_STEP);
    ck_assert_uint_eq(ring.at[0].uses, NODE_IVS_STEP + 1);
    ck_assert_int_eq(begin(999), 0);
    ck_assert_uint_eq(take(), (UINT64_C(1000) << 20) + 2 * NODE_IVS_STEP);
    ck_assert_int_eq(begin(2000), 0);
    ck_assert_uint_eq(take(), UINT64_C(2000) << 20);
    ck_assert_uint_eq(ring.at[0].uses, 3 * NODE_IVS_STEP + 1);
}
END_TEST

START_TEST(steps)
{
    ck_assert_int_eq(begin(1), 0);
    for (uint64_t i = 0; i < 3 * NODE_IVS_STEP; i++)
        ck_assert_uint_eq(take(), (UINT64_C(1) << 20) + i);
}
END_TEST

/* Nothing can be noted: no IV is given out, and the key has no use more. */
START_TEST(no_medium)
{
    uint8_t iv[SECURITY_IV];
    char moved[96];
    int error;
    ck_assert_int_eq(begin(1), 0);
    snprintf(moved, sizeof moved, "%s/" NODE_IVS_FILE ".new", folder);
    ck_assert_int_eq(mkdir(moved, 0700), 0); /* also root cannot write a file of this name */
    ck_assert(!security_ring_iv(&ring, &ring.at[0], iv));
    ck_assert(node_ivs_trouble(ivs, &error));
    ck_assert(!node_ivs_trouble(ivs, &error));
    ck_assert_uint_eq(ring.at[0].uses, 0);
    ck_assert_int_eq(rmdir(moved), 0);
    ck_assert_uint_eq(take(), UINT64_C(1) << 20);
}
END_TEST

static void write_note(const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/" NODE_IVS_FILE, folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

START_TEST(damaged_notes)
{
    static const char *const texts[] = {"",
                                        "next",
                                        "next 5",
                                        "next 5x\n",
                                        "key 1 2\n",
                                        "next 5\nkey 1\n",
                                        "next 5\n\n",
                                        "next 5\nkey 1 2 3\n",
                                        "next  5\n",
                                        "next -5\n",
                                        "next +5\n",
                                        "next 05\n",
                                        "Next 5\n",
                                        "next 18446744073709551616\n",
                                        "next 5\r\n",
                                        "next 5\nkey 1 2\n",
                                        "next 5\nkey 0x00000000000001 2\n",
                                        "next 5\nkey 000000000000000A 2\n",
                                        "next 5\nkey 0000000000000001 2\nkey 0000000000000001 3\n",
                                        "next 5\nkey 0000000000000001 2",
                                        "next 5\nnext 6\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_note(texts[i]);
        ck_assert_int_eq(begin(1), HELIO_EFORMAT);
        ck_assert_ptr_nonnull(strstr(why, "replace all keys that encrypt"));
    }
    write_note("next 18446744073709551615\n"); /* no IV is left */
    ck_assert_int_eq(begin(1), 0);
    uint8_t iv[SECURITY_IV];
    ck_assert(!security_ring_iv(&ring, &ring.at[0], iv));
}
END_TEST

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What a node that was killed while it noted a step leaves beside the note. */
static void leave_half_a_note(struct rng *r)
{
    char path[96];
    snprintf(path, sizeof path, "%s/" NODE_IVS_FILE ".new", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "next 9999999999%s", rng_below(r, 2) == 0 ? "" : "\n");
    fclose(f);
}

/* A node is killed again and again: before its first step, between two steps, while it notes one;
 * its clock jumps back and forth, or is not known. HELIO_IVS: another number of IVs. */
START_TEST(no_iv_twice)
{
    const char *text = getenv("HELIO_IVS");
    const size_t count = text != NULL ? strtoul(text, NULL, 10) : 10000;
    uint64_t *seen = calloc(count, sizeof *seen), kills = 0;
    struct rng r;
    ck_assert(count > 0 && seen != NULL);
    rng_init(&r, 27);
    for (size_t n = 0; n < count; kills++) {
        if (rng_below(&r, 4) == 0)
            leave_half_a_note(&r);
        ck_assert_int_eq(begin(rng_below(&r, 4) == 0 ? 0 : 1 + rng_below(&r, 1000)), 0);
        const bool long_run = rng_below(&r, 500) == 0; /* over the end of a step */
        const size_t run = rng_below(&r, long_run ? 2 * NODE_IVS_STEP : 40);
        for (size_t i = 0; i < run && n < count; i++)
            seen[n++] = take();
    }
    qsort(seen, count, sizeof *seen, compare);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_lt(seen[i - 1], seen[i]);
    ck_assert_uint_ge(kills, 20);
    if (text != NULL)
        printf("%zu IVs, %llu kills: all differ\n", count, (unsigned long long)kills);
    free(seen);
}
END_TEST

/* "VmFlags: …" of the mapping that begins at p has the flag. */
static bool has_flag(const void *p, const char *flag)
{
    char line[512], begin_text[32];
    bool here = false, found = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    ck_assert_ptr_nonnull(f);
    snprintf(begin_text, sizeof begin_text, "%lx-", (unsigned long)(uintptr_t)p);
    while (fgets(line, sizeof line, f) != NULL) {
        here = here || strncmp(line, begin_text, strlen(begin_text)) == 0;
        if (!here || strncmp(line, "VmFlags:", 8) != 0)
            continue;
        found = strstr(line, flag) != NULL;
        break;
    }
    fclose(f);
    return found;
}

/* AddressSanitizer has an mlock of its own, which does nothing. */
static bool kernel_locks(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(page != MAP_FAILED);
    const bool locks = mlock(page, 4096) == 0 && has_flag(page, " lo");
    munmap(page, 4096);
    return locks;
}

START_TEST(secret_memory)
{
    bool locked = false;
    const bool locks = kernel_locks();
    char *p = secret_memory_new(100000, &locked);
    ck_assert_ptr_nonnull(p);
    ck_assert(p[0] == 0 && p[99999] == 0);
    ck_assert(has_flag(p, " dd"));                      /* not in core dumps */
    ck_assert(has_flag(p, " lo") == (locked && locks)); /* locked in memory */
    p[5] = 1;
    secret_memory_free(p, 100000);
    secret_memory_free(NULL, 100000);
}
END_TEST

SUITE(tools_security, t)
{
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, later_of_clock_and_note);
    tcase_add_test(t, steps);
    tcase_add_test(t, no_medium);
    tcase_add_test(t, damaged_notes);
    tcase_add_test(t, no_iv_twice);
    tcase_add_test(t, secret_memory);
}
