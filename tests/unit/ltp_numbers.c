/* SPDX-License-Identifier: Apache-2.0 */
/* Engine and session numbers are any of 64 bits: the largest ones, too. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

struct seen {
    uint64_t records, unnamed;
};

static void look(void *context, const struct event *e)
{
    struct seen *s = context;
    char line[EVENT_CSV_MAX + 1];
    line[event_csv(e, UINT64_MAX, 0, line)] = '\0';
    s->records++;
    s->unnamed += strstr(line, ",18446744073709551615,18446744073709551614,") == NULL;
}

/* A block from engine 2^64 - 1 to 2^64 - 2: it arrives, and each record names both. */
START_TEST(largest_engine)
{
    static const uint64_t engines[2] = {UINT64_MAX, UINT64_MAX - 1};
    struct seen seen = {0, 0};
    struct ltp *l[2];
    uint8_t wire[2048];
    struct ltp_out out = {.head = wire, .head_cap = 1024};
    struct ltp_notice n;
    struct ltp_session_id id;
    uint64_t done = 0, blocks = 0;
    for (int i = 0; i < 2; i++) {
        struct ltp_config config = {.engine = engines[i], .seed = 4};
        struct ltp_span span = pair_span(engines[1 - i]);
        config.sink = i == 0 ? look : NULL;
        config.sink_context = &seen;
        ck_assert_int_eq(ltp_new(&l[i], &config), 0);
        ck_assert_int_eq(ltp_span_set(l[i], &span, 0), 0);
        ck_assert_int_eq(ltp_link(l[i], engines[1 - i], true, 0), 0);
    }
    struct buf *data = pair_block(5000, 1);
    struct ltp_block block = {
        .peer = engines[1], .client_service = 1, .data = data, .red_len = 5000};
    ck_assert_int_eq(ltp_send(l[0], &block, 0, &id), 0);
    for (int turn = 0; turn < 20; turn++) {
        int i = turn % 2;
        while (ltp_output(l[i], engines[1 - i], (tick)turn, &out) != 0) {
            if (out.data.len > 0)
                memcpy(wire + out.head_len, out.data.data, out.data.len);
            ck_assert_int_eq(ltp_input(l[1 - i], wire, out.head_len + out.data.len, (tick)turn),
                             VERDICT_OK);
        }
        for (int k = 0; k < 2; k++) {
            while (ltp_poll(l[k], &n) != 0) {
                done += n.kind == LTP_EXPORT_DONE;
                blocks += n.kind == LTP_BLOCK && n.peer == engines[0];
                buf_drop(n.data);
            }
        }
    }
    ck_assert_uint_eq(done, 1);
    ck_assert_uint_eq(blocks, 1);
    ck_assert_uint_gt(seen.records, 8);
    ck_assert_uint_eq(seen.unnamed, 0);
    buf_drop(data);
    ltp_free(l[0]);
    ltp_free(l[1]);
}
END_TEST

SUITE(ltp_numbers, t)
{
    tcase_add_test(t, largest_engine);
}
