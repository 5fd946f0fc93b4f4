/* SPDX-License-Identifier: Apache-2.0 */
/* Journals of a sender (first octet even) and of a receiver: each is continued or refused, and the
 * transaction comes to an end without the peer. The engine's own checks hold. */
#include <assert.h>

#include "tests/fuzz/cfdp_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What is left has a time, or waits for the user. */
static void assert_waits(const struct cfdp *e)
{
    struct cfdp_status s;
    if (cfdp_deadline(e) != TICK_NEVER)
        return;
    for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(e, t)) != NULL;) {
        cfdp_status_of(t, &s);
        assert(s.suspended);
    }
}

static void play(struct cfdp *e)
{
    static uint8_t out[4096];
    struct cfdp_notice n;
    tick now = 0;
    for (int i = 0; i < 1000 && cfdp_walk(e, NULL) != NULL; i++) {
        while (cfdp_output(e, 1, out, sizeof out, now) > 0)
            ;
        cfdp_check(e);
        if (cfdp_deadline(e) == TICK_NEVER)
            break;
        now = tick_max(now, cfdp_deadline(e));
        (void)cfdp_expire(e, now);
        while (cfdp_poll(e, &n))
            ;
    }
    assert_waits(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct cfdp_config c = {.id = 2, .seed = 1, .files = &files};
    const struct cfdp_remote r = {.id = 1, .permissions = 15, .file_max = 1 << 20};
    if (len == 0)
        return 0;
    const struct cfdp_id id = {data[0] % 2 == 0 ? 2 : 1, 7};
    struct cfdp *e = cfdp_new(&c);
    assert(e != NULL);
    const int rc = cfdp_remote_set(e, &r);
    assert(rc == 0);
    (void)rc;
    cfdp_remembered(e, slice_of(data + 1, len - 1));
    cfdp_check(e);
    (void)cfdp_restore(e, id, slice_of(data + 1, len - 1), 0);
    cfdp_check(e);
    play(e);
    cfdp_free(e);
    return 0;
}
