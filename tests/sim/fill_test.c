/* SPDX-License-Identifier: Apache-2.0 */
/* A world that transmits only the headers of segments gives the same result as one that transmits
 * all of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_world.h"

#define OCTET 0xc3
#define BLOCK 50000
#define BLOCKS 20

struct play {
    struct sim_world world;
    uint64_t told, entered, blocks;
    uint64_t sum; /* of what was reported, when, and of what entered */
};

static void mix(struct play *p, uint64_t value)
{
    p->sum = (p->sum ^ value) * UINT64_C(0x100000001b3);
}

static void on_notice(void *context, size_t node, const struct ltp_notice *n)
{
    struct play *p = context;
    p->told++;
    mix(p, p->world.now);
    mix(p, node * 100 + (uint64_t)n->kind);
    mix(p, n->id.number);
    if (node != 1 || n->data == NULL)
        return;
    const uint8_t *data = n->data->mem + n->data->off;
    for (size_t i = 0; i < n->data->len; i++)
        if (data[i] != OCTET)
            ck_abort_msg("octet %zu of a block is %u", i, data[i]);
    mix(p, n->data->len);
    p->blocks++;
}

static void on_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    struct play *p = context;
    p->entered++;
    mix(p, p->world.now);
    mix(p, len);
    mix(p, data[0]);
    sim_enter(&p->world, link, data, len);
}

static void add_node(struct play *p, uint64_t i)
{
    struct ltp_config config = {
        .engine = i, .seed = i, .import_sessions = 64, .held_bytes = 64u << 20};
    struct ltp_span span = {.peer = 3 - i,
                            .segment_max = 1400,
                            .export_sessions = BLOCKS,
                            .import_sessions = 64,
                            .block_max = BLOCK,
                            .ranges_max = 1000,
                            .claims_max = 20,
                            .rto = 40 * TICK_MS};
    size_t index;
    ck_assert_int_eq(sim_node_add(&p->world, &config, &index), 0);
    ck_assert_int_eq(ltp_span_set(p->world.nodes[index].ltp, &span, 0), 0);
}

static void play(struct play *p, bool filled)
{
    *p = (struct play){.sum = 1};
    ck_assert_int_eq(sim_init(&p->world, &(struct sim_hooks){p, on_notice, on_segment}), 0);
    if (filled)
        ck_assert_int_eq(sim_fill(&p->world, OCTET), 0);
    add_node(p, 1);
    add_node(p, 2);
    struct chan_config lossy = {.rate_bps = 100000000,
                                .delay = 5 * TICK_MS,
                                .jitter = TICK_MS,
                                .loss = 0.2,
                                .duplicate = 0.05,
                                .seed = 3};
    size_t index;
    ck_assert_int_eq(sim_link_add(&p->world, 0, 1, &lossy, &index), 0);
    ck_assert_int_eq(sim_link_add(&p->world, 1, 0, &lossy, &index), 0);
    ltp_link(p->world.nodes[0].ltp, 2, true, 0);
    ltp_link(p->world.nodes[1].ltp, 1, true, 0);
    struct buf *data = buf_new(0, BLOCK);
    ck_assert_ptr_nonnull(data);
    memset(buf_append(data, BLOCK), OCTET, BLOCK);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = data, .red_len = BLOCK};
    struct ltp_session_id id;
    for (int i = 0; i < BLOCKS; i++)
        ck_assert_int_eq(ltp_send(p->world.nodes[0].ltp, &block, 0, &id), 0);
    buf_drop(data);
    sim_touch(&p->world, 0);
    sim_run(&p->world, 60 * TICK_S);
    ck_assert(sim_idle(&p->world));
    sim_fini(&p->world);
}

START_TEST(heads_alone_are_enough)
{
    struct play whole, heads;
    play(&whole, false);
    play(&heads, true);
    ck_assert_uint_eq(whole.blocks, BLOCKS);
    ck_assert_uint_eq(heads.blocks, BLOCKS);
    ck_assert_uint_eq(whole.entered, heads.entered);
    ck_assert_uint_eq(whole.told, heads.told);
    ck_assert_uint_eq(whole.sum, heads.sum);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_fill");
    TCase *tc = tcase_create("fill");
    tcase_add_test(tc, heads_alone_are_enough);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
