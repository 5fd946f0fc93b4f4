/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two LTP engines, 10 ms apart, and a link that loses a tenth of all segments; in virtual time.
 *
 *   cc lossy_link.c $(pkg-config --cflags --libs helio-ltp helio-chan) && ./a.out
 *
 * It is C++, too.
 */
#include <heliograph/chan/chan.h>
#include <heliograph/ltp/ltp.h>

#include <stdio.h>
#include <string.h>

enum { BLOCK = 500000 };

int main(void)
{
    struct ltp *engine[2]; /* numbers 1 and 2; way[i] leads away from engine[i] */
    struct chan *way[2];
    for (unsigned i = 0; i < 2; i++) {
        struct ltp_config config;
        struct ltp_span span;
        struct chan_config link;
        memset(&config, 0, sizeof config); /* 0 is the default of most things */
        memset(&span, 0, sizeof span);
        memset(&link, 0, sizeof link);
        config.engine = i + 1;
        config.seed = link.seed = 7 + i;
        span.peer = 2 - i;
        span.rto = 30 * TICK_MS;
        link.rate_bps = 1000000000;
        link.delay = 10 * TICK_MS;
        link.loss = 0.1;
        if (ltp_new(&engine[i], &config) != 0 || ltp_span_set(engine[i], &span, 0) != 0 ||
            ltp_link(engine[i], span.peer, true, 0) != 0 || chan_new(&way[i], &link) != 0)
            return 1;
    }
    struct ltp_block block;
    struct ltp_session_id id;
    memset(&block, 0, sizeof block);
    block.peer = 2;
    block.client_service = 1;
    block.red_len = BLOCK;
    block.data = buf_new(0, BLOCK);
    if (block.data == NULL)
        return 1;
    memset(buf_append(block.data, BLOCK), 'h', BLOCK);
    if (ltp_send(engine[0], &block, 0, &id) != 0)
        return 1;

    int arrived = 0, done = 0;
    tick now = 0, next = 0, finished = 0;
    for (; next != TICK_NEVER; now = next) { /* to the next thing that happens, until none does */
        for (unsigned i = 0; i < 2; i++) {
            uint8_t segment[1500];
            struct chan_out frame;
            struct ltp_out out;
            struct ltp_notice notice;
            while (chan_output(way[1 - i], now, &frame) > 0)
                ltp_input(engine[i], frame.data, frame.len, now);
            ltp_expire(engine[i], now);
            while (ltp_poll(engine[i], &notice) > 0) {
                arrived += notice.kind == LTP_BLOCK && notice.data->len == BLOCK &&
                           memcmp(buf_data(notice.data), buf_data(block.data), BLOCK) == 0;
                if (notice.kind == LTP_EXPORT_DONE) {
                    done++;
                    finished = now;
                }
                buf_drop(notice.data);
            }
            memset(&out, 0, sizeof out);
            out.head = segment;
            out.head_cap = sizeof segment;
            while (ltp_output(engine[i], 2 - i, now, &out) > 0) {
                memcpy(segment + out.head_len, out.data.data, out.data.len);
                chan_input(way[i], segment, out.head_len + out.data.len, 0, now);
            }
        }
        next = TICK_NEVER;
        for (unsigned i = 0; i < 2; i++)
            next = tick_min(next, tick_min(ltp_deadline(engine[i]), chan_deadline(way[i])));
    }
    printf("%d block arrived, %d confirmed after %.3f ms; %llu of %llu segments lost\n", arrived,
           done, (double)finished / 1e6, (unsigned long long)chan_lost(chan_counters(way[0])),
           (unsigned long long)chan_counters(way[0])->in);
    for (unsigned i = 0; i < 2; i++) {
        ltp_free(engine[i]);
        chan_free(way[i]);
    }
    buf_drop(block.data);
    return arrived == 1 && done == 1 ? 0 : 1;
}
