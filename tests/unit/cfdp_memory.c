/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of two entities fails once: nothing crashes or leaks, the engines' own checks
 * hold, and the transactions come to an end at both. */
#include "tests/unit/cfdp_pair.h"
#include "tests/unit/failing_memory.h"

static struct pair pair;

static void play(long countdown)
{
    struct cfdp_id id;
    const struct cfdp_put put = {
        .destination = 2, .source_name = "source", .destination_name = "a"};
    uint8_t room[128];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_message m = {.kind = CFDP_PROXY_PUT,
                                   .entity = 1,
                                   .first = slice_of("theirs", 6),
                                   .second = slice_of("mine", 4)};
    pair_init(&pair, 3);
    pair.loss = 0.2;
    pair.resize = __real_realloc;
    pair_start(&pair);
    cfdp_message_write(&w, &m);
    const struct cfdp_put ask = {.destination = 2, .options = slice_of(room, writer_len(&w))};
    memory.countdown = countdown;
    (void)cfdp_put(pair.host[0].e, &put, 0, &id);
    (void)cfdp_put(pair.host[0].e, &ask, 0, &id);
    (void)run_to_end(&pair, 4000 * TICK_S);
    memory.countdown = -1;
}

START_TEST(each_allocation)
{
    uint64_t before;
    long n = 0;
    do {
        before = memory.failed;
        play(n++);
        ck_assert_msg(is_idle(&pair), "allocation %ld", n - 1);
        pair_fini(&pair);
    } while (memory.failed > before && n < 5000);
    ck_assert_int_gt(n, 20);
}
END_TEST

START_TEST(entity)
{
    for (long n = 0; n < 8; n++) {
        struct cfdp_remote r = {.id = 2};
        const struct cfdp_config c = {.id = 1, .files = &host_files, .context = &pair.host[0]};
        memory.countdown = n;
        struct cfdp *e = cfdp_new(&c);
        const int rc = e == NULL ? HELIO_ENOMEM : cfdp_remote_set(e, &r);
        memory.countdown = -1;
        ck_assert(rc == 0 || rc == HELIO_ENOMEM);
        cfdp_free(e);
    }
}
END_TEST

SUITE(cfdp_memory, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_allocation);
    tcase_add_test(t, entity);
}
