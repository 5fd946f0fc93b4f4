/* SPDX-License-Identifier: Apache-2.0 */
/* The store takes its room from the medium before it writes. fallocate is wrapped, so that its
 * answers can be played. */
#include <errno.h>
#include <fcntl.h>

#include "store_help.h"
#include "tests/unit/suite.h"

static int plays[8], played, calls; /* errno of the next calls; the last one stays */

int __real_fallocate(int fd, int mode, off_t from, off_t len);
int __wrap_fallocate(int fd, int mode, off_t from, off_t len);

int __wrap_fallocate(int fd, int mode, off_t from, off_t len)
{
    int what = played == 0 ? 0 : plays[calls < played ? calls : played - 1];
    calls++;
    if (what == 0)
        return __real_fallocate(fd, mode, from, len);
    errno = what;
    return -1;
}

static int put_one(struct store *s, uint64_t key, uint64_t bytes)
{
    uint8_t *data = calloc(1, bytes);
    ck_assert_int_eq(s->ops->begin(s), 0);
    int rc = s->ops->put(s, key, slice_of(&key, 8), slice_of(data, bytes));
    if (rc == 0)
        rc = s->ops->commit(s);
    else
        s->ops->abort(s);
    free(data);
    return rc;
}

static void play(int first, int then)
{
    plays[0] = plays[1] = first;
    plays[2] = then;
    played = 3;
    calls = 0;
}

/* A signal in between says nothing of the medium: it is asked again, and its answer counts. */
START_TEST(interrupted)
{
    struct place p;
    play(0, 0);
    struct store *s = place_open(&p, &store_lmdb, UINT64_C(1) << 40, STORE_ASYNC);
    play(EINTR, 0);
    ck_assert_int_eq(put_one(s, 1, 100 << 20), 0);
    ck_assert_int_ge(calls, 3);
    play(EINTR, ENOSPC);
    for (uint64_t key = 2; key < 40 && calls == 0; key++)
        (void)put_one(s, key, 10 << 20);
    ck_assert_int_ge(calls, 4); /* twice interrupted, then with and without a step ahead */
    place_done(&p, s);
}
END_TEST

/* A medium that cannot reserve is used as it is. */
START_TEST(not_supported)
{
    struct place p;
    play(EOPNOTSUPP, EOPNOTSUPP);
    struct store *s = place_open(&p, &store_lmdb, UINT64_C(1) << 40, STORE_ASYNC);
    for (uint64_t key = 1; key < 4; key++)
        ck_assert_int_eq(put_one(s, key, 10 << 20), 0);
    ck_assert_int_eq(calls, 1);
    place_done(&p, s);
}
END_TEST

SUITE(store_reserve, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, interrupted);
    tcase_add_test(t, not_supported);
}
