/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with sessions of its own, one peer and, if the first byte says so, unconfigured peers,
 * under a script of bytes: each entry is an opcode, a length and so many bytes, that arrive as a
 * datagram or choose a call. One opcode puts the number of the engine's own last session into the
 * datagram, since nobody would guess it.
 */
#include <assert.h>

#include "ltp/ltp.h"
#include "ltp/sdnv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct ltp *engine_new(uint8_t options)
{
    struct ltp *l = NULL;
    const struct ltp_span unconfigured = {.segment_max = 100,
                                          .block_max = 1 << 16,
                                          .rto = TICK_MS,
                                          .retries_max = 1,
                                          .idle_timeout = 10 * TICK_MS};
    struct ltp_config config = {.engine = 2,
                                .seed = 5,
                                .import_sessions = 8,
                                .held_bytes = 1 << 20,
                                .closed_memory = 16,
                                .closed_time = 50 * TICK_MS,
                                .unconfigured_max = options & 8 ? 3 : 0,
                                .unconfigured = &unconfigured};
    struct ltp_span span = {.peer = 1,
                            .segment_max = 100,
                            .export_sessions = 4,
                            .block_max = 1 << 19,
                            .ranges_max = 8,
                            .claims_max = 2,
                            .rto = TICK_MS,
                            .retries_max = 2,
                            .report_delay = options & 1 ? TICK_MS / 2 : 0,
                            .report_defer = options & 16 ? TICK_MS : 0,
                            .idle_timeout = options & 2 ? 20 * TICK_MS : 0,
                            .confirm_import = (options & 4) != 0};
    if (ltp_new(&l, &config) < 0 || ltp_span_set(l, &span, 0) < 0) {
        ltp_free(l);
        return NULL;
    }
    ltp_link(l, 1, true, 0);
    return l;
}

static void send_block(struct ltp *l, uint8_t how, tick now, struct ltp_session_id *id)
{
    struct buf *b = buf_new(0, 400);
    if (b == NULL)
        return;
    memset(buf_append(b, 400), how, 400);
    struct ltp_block block = {
        .peer = 1, .client_service = 1, .data = b, .red_len = how % 3 == 0 ? 400 : how % 300};
    ltp_send(l, &block, now, id);
    buf_drop(b);
}

static void drain(struct ltp *l, uint8_t how, tick now)
{
    uint8_t head[256];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_notice n;
    for (int i = how & 15; i > 0 && ltp_output(l, 1, now, &out) != 0; i--)
        assert(out.head_len + out.data.len <= 160);
    struct ltp_unconfigured g;
    for (int i = how & 15; i > 0 && ltp_unconfigured_next(l, &g); i--)
        assert(ltp_output(l, g.peer, now, &out) == 1 && out.data.len == 0);
    while (ltp_poll(l, &n) != 0) {
        if (n.kind == LTP_BLOCK && (how & 16) != 0)
            ltp_accept(l, n.id, now);
        buf_drop(n.data);
    }
}

/* arg is a control byte and what follows the session's number. */
static void input_own(struct ltp *l, struct slice arg, struct ltp_session_id id, tick now)
{
    uint8_t bytes[300];
    if (arg.len == 0)
        return;
    bytes[0] = arg.data[0];
    uint8_t *p = sdnv_put(sdnv_put(bytes + 1, id.originator), id.number);
    memcpy(p, arg.data + 1, arg.len - 1);
    ltp_input(l, bytes, (size_t)(p - bytes) + arg.len - 1, now);
}

static void act(struct ltp *l, uint8_t op, struct slice arg, tick *now, struct ltp_session_id *id)
{
    uint8_t how = arg.len == 0 ? 0 : arg.data[0];
    switch (op & 7) {
    case 0:
        *now += (tick)how * 100 * TICK_US;
        ltp_expire(l, *now);
        break;
    case 1:
        drain(l, how, *now);
        break;
    case 2:
        send_block(l, how, *now, id);
        break;
    case 3:
        ltp_link(l, 1, (how & 1) != 0, *now);
        break;
    case 4:
        input_own(l, arg, *id, *now);
        break;
    default:
        assert(ltp_input_from(l, arg.data, arg.len, slice_of("ab", op >> 7), *now) < VERDICT_COUNT);
    }
    ltp_check(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct ltp *l = engine_new(len == 0 ? 0 : data[0]);
    tick now = 0;
    struct ltp_session_id id = {2, 1};
    for (size_t at = 1; l != NULL && at + 2 <= len;) {
        size_t n = data[at + 1];
        n = n > len - at - 2 ? len - at - 2 : n;
        act(l, data[at], slice_of(data + at + 2, n), &now, &id);
        at += 2 + n;
    }
    ltp_free(l);
    return 0;
}
