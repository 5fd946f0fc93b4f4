/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The longest block, 4 GiB - 1, through two engines with losses near both ends. Large allocations
 * are windows of 8 GiB of addresses onto 64 MiB of memory, over and over, so the block's bytes
 * repeat with that period and the machine needs no 8 GiB. The linker puts the functions below
 * before the library's.
 */
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ltp/ltp.h"
#include "ltp/segment.h"
#include "tests/unit/suite.h"

#define BLOCK UINT64_C(0xffffffff)
#define HUGE_MIN ((size_t)16 << 20)
#define PERIOD ((size_t)64 << 20)
#define PAGE ((size_t)4096)
#define WINDOWS 2

/* The test's own state. A window: its first page is its own, since it has the buffer's head. */
static struct {
    uint8_t *at;
    bool used;
} windows[WINDOWS];

static void windows_make(void)
{
    size_t all = PAGE + (BLOCK / PERIOD + 2) * PERIOD;
    for (int i = 0; i < WINDOWS; i++) {
        FILE *file = tmpfile();
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(ftruncate(fileno(file), (off_t)PERIOD), 0);
        uint8_t *at = mmap(NULL, all, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ck_assert_ptr_ne(at, MAP_FAILED);
        for (size_t off = PAGE; off < all; off += PERIOD)
            ck_assert_ptr_ne(mmap(at + off, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                  fileno(file), 0),
                             MAP_FAILED);
        windows[i].at = at;
        fclose(file);
    }
}

static void *take(void)
{
    for (int i = 0; i < WINDOWS; i++) {
        if (!windows[i].used) {
            windows[i].used = true;
            return windows[i].at;
        }
    }
    return NULL;
}

static int find(const void *p)
{
    for (int i = 0; i < WINDOWS; i++) {
        if (p != NULL && p == windows[i].at)
            return i;
    }
    return -1;
}

void *__wrap_malloc(size_t n)
{
    return n < HUGE_MIN || windows[0].at == NULL ? __real_malloc(n) : take();
}

void *__wrap_calloc(size_t n, size_t size)
{
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    if (find(p) >= 0)
        return p;
    if (n < HUGE_MIN || windows[0].at == NULL)
        return __real_realloc(p, n);
    uint8_t *window = take();
    if (window != NULL) {
        memcpy(window, p, malloc_usable_size(p));
        __real_free(p);
    }
    return window;
}

void __wrap_free(void *p)
{
    int i = find(p);
    if (i < 0)
        __real_free(p);
    else
        windows[i].used = false;
}

struct line {
    struct ltp *l[2];
    tick now;
    uint64_t data; /* data segments so far */
    uint64_t blocks, done;
    struct buf *got;
};

static bool lost(struct line *w, const uint8_t *head)
{
    if ((head[0] & 15) >= LTP_GREEN_DATA)
        return false;
    uint64_t n = w->data++;
    return n == 1 || n == 30000 || n == 66000 || n == 66001;
}

/* Everything that is to be sent arrives at once, in order. */
static bool pump(struct line *w)
{
    static uint8_t head[65536], frame[65536];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_notice n;
    bool moved = false;
    for (int i = 0; i < 2; i++) {
        while (ltp_output(w->l[i], (uint64_t)(2 - i), w->now, &out) != 0) {
            moved = true;
            memcpy(frame, out.head, out.head_len);
            if (out.data.len > 0)
                memcpy(frame + out.head_len, out.data.data, out.data.len);
            if (!lost(w, frame))
                ltp_input(w->l[1 - i], frame, out.head_len + out.data.len, w->now);
        }
        while (ltp_poll(w->l[i], &n) != 0) {
            w->done += n.kind == LTP_EXPORT_DONE;
            if (n.kind == LTP_BLOCK) {
                w->blocks++;
                w->got = n.data;
            }
        }
        ltp_check(w->l[i]);
    }
    return moved;
}

static void engines(struct line *w)
{
    for (uint64_t i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = i + 1, .seed = i, .held_bytes = BLOCK + (1 << 20)};
        struct ltp_span span = {
            .peer = 2 - i, .segment_max = 65000, .block_max = BLOCK, .rto = 30 * TICK_MS};
        ck_assert_int_eq(ltp_new(&w->l[i], &config), 0);
        ck_assert_int_eq(ltp_span_set(w->l[i], &span, 0), 0);
        ck_assert_int_eq(ltp_link(w->l[i], 2 - i, true, 0), 0);
    }
}

START_TEST(four_gigabytes)
{
    struct line w = {.now = TICK_MS};
    windows_make();
    engines(&w);
    struct buf *b = buf_new(0, BLOCK);
    ck_assert_ptr_nonnull(b);
    uint8_t *bytes = buf_append(b, BLOCK);
    for (size_t i = 0; i < PAGE + PERIOD - sizeof *b; i++)
        bytes[i] = (uint8_t)(i * 37 + (i >> 12));
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b, .red_len = BLOCK};
    struct ltp_session_id id;
    ck_assert_int_eq(ltp_send(w.l[0], &block, w.now, &id), 0);
    while (pump(&w))
        w.now += TICK_MS;
    ck_assert_uint_eq(w.done, 1);
    ck_assert_uint_eq(w.blocks, 1);
    ck_assert_uint_eq(w.got->len, BLOCK);
    ck_assert_int_eq(memcmp(buf_data(w.got), bytes, PAGE + PERIOD - sizeof *b), 0);
    ck_assert_uint_eq(ltp_counters(w.l[1])->verdicts[VERDICT_OK] +
                          ltp_counters(w.l[1])->verdicts[VERDICT_DUPLICATE],
                      w.data - 4 + ltp_counters(w.l[1])->rx[LTP_RA]);
    ck_assert_uint_gt(ltp_counters(w.l[0])->retransmitted_bytes, 3 * 64000);
    ck_assert_uint_lt(ltp_counters(w.l[0])->retransmitted_bytes, 5 * 65000);
    ck_assert(ltp_idle(w.l[0]) && ltp_idle(w.l[1]));
    buf_drop(w.got);
    buf_drop(b);
    ltp_free(w.l[0]);
    ltp_free(w.l[1]);
}
END_TEST

/* One byte more has no place in a block of CCSDS 734.1-B-1. */
START_TEST(longer_is_refused)
{
    struct line w = {.now = 0};
    engines(&w);
    struct buf *b = buf_new(0, 1);
    b->len = BLOCK + 1; /* nothing may look at the bytes */
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = b, .red_len = 1};
    struct ltp_session_id id;
    ck_assert_int_eq(ltp_send(w.l[0], &block, 0, &id), HELIO_EINVAL);
    buf_drop(b);
    ltp_free(w.l[0]);
    ltp_free(w.l[1]);
}
END_TEST

SUITE(ltp_huge_memory, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, four_gigabytes);
    tcase_add_test(t, longer_is_refused);
}
