/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of ranges is one of memory: a long block with even losses, sent without an early
 * checkpoint to a receiver that reports when it is asked, is not sent twice for it. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define SIZE ((size_t)20 << 20)

struct lossy {
    struct ltp *l[2];
    struct rng rng;
    tick now;
    uint64_t data_bytes, blocks, done;
    double loss;
};

static uint64_t carry(struct lossy *x, int from)
{
    uint8_t wire[65536];
    struct ltp_out out = {.head = wire, .head_cap = LTP_HEAD_MAX + 1400};
    uint64_t n = 0;
    for (; ltp_output(x->l[from], (uint64_t)(2 - from), x->now, &out) != 0; n++) {
        if (out.data.len > 0)
            memcpy(wire + out.head_len, out.data.data, out.data.len);
        x->data_bytes += out.data.len;
        if (!rng_chance(&x->rng, x->loss))
            ltp_input(x->l[1 - from], wire, out.head_len + out.data.len, x->now);
    }
    struct ltp_notice notice;
    for (int i = 0; i < 2; i++) {
        while (ltp_poll(x->l[i], &notice) != 0) {
            x->blocks += notice.kind == LTP_BLOCK && notice.data->len == SIZE;
            x->done += notice.kind == LTP_EXPORT_DONE;
            buf_drop(notice.data);
        }
    }
    return n;
}

/* 20,000 segments of which each 20th or fifth is lost: up to 4,000 gaps, where 300 ranges are
 * free of charge. */
START_TEST(even_losses)
{
    struct lossy x = {.loss = _i == 0 ? 0.05 : 0.2};
    rng_init(&x.rng, 17);
    struct ltp_session_id id;
    for (int i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = (uint64_t)i + 1, .seed = 3};
        struct ltp_span span = pair_span((uint64_t)(2 - i));
        span.ranges_max = 300;
        ck_assert_int_eq(ltp_new(&x.l[i], &config), 0);
        ck_assert_int_eq(ltp_span_set(x.l[i], &span, 0), 0);
        ck_assert_int_eq(ltp_link(x.l[i], span.peer, true, 0), 0);
    }
    struct buf *data = pair_block(SIZE, 1);
    struct ltp_block block = {.peer = 2, .client_service = 1, .data = data, .red_len = SIZE};
    ck_assert_int_eq(ltp_send(x.l[0], &block, 0, &id), 0);
    for (int i = 0; i < 10000 && x.done == 0; i++) {
        if (carry(&x, 0) + carry(&x, 1) > 0)
            continue;
        x.now = tick_min(ltp_deadline(x.l[0]), ltp_deadline(x.l[1]));
        ltp_expire(x.l[0], x.now);
        ltp_expire(x.l[1], x.now);
    }
    ck_assert_uint_eq(x.blocks, 1);
    ck_assert_uint_eq(x.done, 1);
    double times = (double)x.data_bytes / (double)SIZE;
    ck_assert_msg(times < 1.02 / (1 - x.loss), "sent %.3f times", times);
    for (int i = 0; i < 2; i++) {
        ltp_check(x.l[i]);
        ltp_free(x.l[i]);
    }
    buf_drop(data);
}
END_TEST

SUITE(ltp_ranges, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, even_losses, 0, 2);
}
