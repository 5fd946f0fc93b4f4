/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines that talk to each other over a channel which the script ill-treats: each entry is an
 * opcode and an argument. Frames are delivered, lost, doubled, reordered, changed in a byte or cut
 * short; time passes; blocks are sent, sessions cancelled, links go down. At the end the channel
 * becomes perfect, and both engines must come to rest. The first two bytes choose the spans'
 * options and the switches of recovery.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/ltp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FRAMES 64

struct frame {
    uint8_t to;
    uint8_t len;
    uint8_t bytes[200];
};

struct pair {
    struct ltp *l[2];
    tick now;
    struct ltp_session_id last[2];
    struct frame frames[FRAMES];
    size_t flying;
    bool accept;
};

static struct ltp_recovery recovery_of(uint8_t k)
{
    return (struct ltp_recovery){.rto_auto = (k & 1) != 0,
                                 .rto_max = k & 1 ? 50 * TICK_MS : 0,
                                 .closing_bytes = k & 2 ? 8 : 0,
                                 .copies = k >> 2 & 3,
                                 .report_copies = k >> 4 & 1,
                                 .copy_spacing = 2 * TICK_MS,
                                 .checkpoint_segments = k & 32 ? 3 : 0,
                                 .resend_wait = k & 64 ? 2 * TICK_MS : 0,
                                 .merge_claims = (k & 128) != 0,
                                 .oldest_first = (k & 1) != 0,
                                 .sessions_auto = (k & 2) != 0};
}

static struct ltp *engine_new(uint64_t self, uint8_t options, uint8_t recovery)
{
    struct ltp *l = NULL;
    struct ltp_config config = {.engine = self,
                                .seed = self,
                                .import_sessions = 3,
                                .held_bytes = 1 << 18,
                                .closed_memory = options & 8 ? 2 : 64,
                                .closed_time = TICK_S};
    struct ltp_span span = {.peer = 3 - self,
                            .segment_max = 64 + (options & 3) * 40,
                            .export_sessions = 3,
                            .block_max = 4000,
                            .ranges_max = 6,
                            .claims_max = 1 + (options >> 4 & 3),
                            .rto = 10 * TICK_MS,
                            .retries_max = 3,
                            .report_delay = options & 4 ? TICK_MS : 0,
                            .report_defer = options & 16 ? 2 * TICK_MS : 0,
                            .idle_timeout = 100 * TICK_MS,
                            .confirm_import = (options & 64) != 0,
                            .orange_deaf = (options & 128) != 0,
                            .recovery = recovery_of(recovery)};
    if (ltp_new(&l, &config) < 0 || ltp_span_set(l, &span, 0) < 0) {
        ltp_free(l);
        return NULL;
    }
    ltp_link(l, 3 - self, true, 0);
    return l;
}

static void drain(struct pair *p)
{
    uint8_t head[256];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_notice n;
    for (uint8_t i = 0; i < 2; i++) {
        while (ltp_poll(p->l[i], &n) != 0) {
            if ((n.kind == LTP_BLOCK || (n.kind == LTP_GREEN && n.orange)) && p->accept)
                ltp_accept(p->l[i], n.id, p->now);
            buf_drop(n.data);
        }
        while (p->flying < FRAMES && ltp_output(p->l[i], 2 - i, p->now, &out) != 0) {
            struct frame *f = &p->frames[p->flying++];
            size_t all = out.head_len + out.data.len;
            assert(all <= sizeof f->bytes);
            f->to = (uint8_t)(1 - i);
            f->len = (uint8_t)all;
            memcpy(f->bytes, out.head, out.head_len);
            if (out.data.len > 0)
                memcpy(f->bytes + out.head_len, out.data.data, out.data.len);
        }
        ltp_check(p->l[i]);
    }
}

static struct frame take(struct pair *p, size_t at)
{
    struct frame f = p->frames[at];
    p->flying--;
    memmove(p->frames + at, p->frames + at + 1, (p->flying - at) * sizeof f);
    return f;
}

static void arrive(struct pair *p, const struct frame *f)
{
    uint8_t *exact = malloc(f->len == 0 ? 1 : f->len); /* so that a read beyond it is seen */
    if (exact == NULL)
        return;
    memcpy(exact, f->bytes, f->len);
    assert(ltp_input(p->l[f->to], exact, f->len, p->now) < VERDICT_COUNT);
    free(exact);
}

static void send_block(struct pair *p, uint8_t arg)
{
    size_t len = 1 + (size_t)(arg >> 1) * 8;
    uint64_t self = (uint64_t)(arg & 1);
    struct buf *b = buf_new(0, len);
    if (b == NULL)
        return;
    memset(buf_append(b, len), arg, len);
    struct ltp_block block = {.peer = 2 - self,
                              .client_service = arg % 31 == 0 ? 9 : 1,
                              .data = b,
                              .red_len = arg % 3 == 0   ? len / 2
                                         : arg % 7 == 0 ? 0
                                                        : len};
    block.orange = block.red_len == 0 && arg % 4 < 3;
    ltp_send(p->l[self], &block, p->now, &p->last[self]);
    buf_drop(b);
}

static void pass_time(struct pair *p, tick d)
{
    p->now += d;
    ltp_expire(p->l[0], p->now);
    ltp_expire(p->l[1], p->now);
}

/* What happens to a frame on its way. */
static void treat(struct pair *p, uint8_t op, uint8_t arg)
{
    if (p->flying == 0)
        return;
    struct frame f = take(p, (op & 7) == 3 ? arg % p->flying : 0);
    switch (op & 7) {
    case 0:
    case 3: /* overtakes */
        arrive(p, &f);
        break;
    case 1: /* doubled */
        arrive(p, &f);
        arrive(p, &f);
        break;
    case 2: /* lost */
        break;
    case 4:
        f.bytes[op >> 3 & 31] ^= arg;
        arrive(p, &f);
        break;
    case 5:
        f.len = (uint8_t)(f.len - arg % f.len);
        arrive(p, &f);
        break;
    case 6: /* comes back to its sender */
        f.to = (uint8_t)(1 - f.to);
        arrive(p, &f);
        break;
    default: /* changed, and the true one follows */
        f.bytes[f.len - 1 - (op >> 3) % f.len] ^= arg;
        arrive(p, &f);
        f.bytes[f.len - 1 - (op >> 3) % f.len] ^= arg;
        arrive(p, &f);
    }
}

static void act(struct pair *p, uint8_t op, uint8_t arg)
{
    uint8_t i = arg & 1;
    if (op < 176) {
        treat(p, op, arg);
    } else if (op < 200) {
        send_block(p, arg);
    } else if (op < 230) {
        pass_time(p, (tick)arg * 200 * TICK_US);
    } else if (op < 240) {
        ltp_link(p->l[i], 2 - i, (arg & 2) != 0, p->now);
    } else if (op < 248) {
        ltp_cancel(p->l[i], p->last[arg >> 1 & 1], LTP_USR_CNCLD, p->now);
    } else {
        p->accept = i != 0;
    }
    drain(p);
}

static void rest(struct pair *p)
{
    p->accept = true;
    ltp_link(p->l[0], 2, true, p->now);
    ltp_link(p->l[1], 1, true, p->now);
    drain(p);
    for (int i = 0; i < 20000; i++) {
        tick due = tick_min(ltp_deadline(p->l[0]), ltp_deadline(p->l[1]));
        if (p->flying > 0) {
            struct frame f = take(p, 0);
            arrive(p, &f);
        } else if (due != TICK_NEVER) {
            pass_time(p, due > p->now ? due - p->now : 0);
        } else {
            break;
        }
        drain(p);
    }
    assert(ltp_idle(p->l[0]) && ltp_idle(p->l[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pair p = {.accept = true, .last = {{1, 1}, {2, 1}}};
    uint8_t options = len == 0 ? 0 : data[0], recovery = len < 2 ? 0 : data[1];
    p.l[0] = engine_new(1, options, recovery);
    p.l[1] = engine_new(2, options, recovery);
    if (p.l[0] != NULL && p.l[1] != NULL) {
        for (size_t at = 2; at + 2 <= len && at < 4000; at += 2)
            act(&p, data[at], data[at + 1]);
        rest(&p);
    }
    ltp_free(p.l[0]);
    ltp_free(p.l[1]);
    return 0;
}
