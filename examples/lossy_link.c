/* SPDX-License-Identifier: Apache-2.0 */
/* Two LTP engines, 10 ms apart, and a link that loses a tenth of all segments; in virtual time.
 *
 *   cc lossy_link.c $(pkg-config --cflags --libs helio-ltp helio-chan) && ./a.out     # C++, too
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
        struct ltp_config config = {}; /* 0 is the default of most things */
        struct ltp_span span = {};
        struct chan_config link = {};
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
    struct ltp_session_id id;
    struct ltp_block block = {};
    block.peer = 2;
    block.client_service = 1;
    block.red_len = BLOCK;
    block.data = buf_new(0, BLOCK);
    if (block.data == NULL)
        return 1;
    memset(buf_append(block.data, BLOCK), 'h', BLOCK);
    if (ltp_send(engine[0], &block, 0, &id) != 0)
        return 1;

    size_t arrived = 0;
    tick now = 0, next = 0, confirmed = 0;
    for (; next != TICK_NEVER; now = next) { /* to the next thing that happens, until none does */
        for (unsigned i = 0; i < 2; i++) {
            uint8_t segment[1500];
            struct chan_out frame;
            struct ltp_notice notice;
            struct ltp_out out = {};
            out.head = segment;
            out.head_cap = sizeof segment;
            while (chan_output(way[1 - i], now, &frame) > 0)
                ltp_input(engine[i], frame.data, frame.len, now);
            ltp_expire(engine[i], now);
            while (ltp_poll(engine[i], &notice) > 0) {
                arrived += notice.kind == LTP_BLOCK ? notice.data->len : 0;
                confirmed = notice.kind == LTP_EXPORT_DONE ? now : confirmed;
                buf_drop(notice.data);
            }
            while (ltp_output(engine[i], 2 - i, now, &out) > 0) {
                memcpy(segment + out.head_len, out.data.data, out.data.len);
                chan_input(way[i], segment, out.head_len + out.data.len, 0, now);
            }
        }
        next = tick_min(tick_min(ltp_deadline(engine[0]), chan_deadline(way[0])),
                        tick_min(ltp_deadline(engine[1]), chan_deadline(way[1])));
    }
    printf("%zu bytes arrived, confirmed after %.3f ms; %llu of %llu segments lost\n", arrived,
           (double)confirmed / 1e6, (unsigned long long)chan_lost(chan_counters(way[0])),
           (unsigned long long)chan_counters(way[0])->in);
    for (unsigned i = 0; i < 2; i++) {
        ltp_free(engine[i]);
        chan_free(way[i]);
    }
    buf_drop(block.data);
    return arrived == BLOCK && confirmed > 0 ? 0 : 1;
}
