/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's notices are taken before it is asked for the next segment. A restart loses the
 * engine and what waits to be stored, not what is stored.
 */
#include "tests/sim/ours.h"

#include <stdlib.h>
#include <string.h>

static void send_block(struct ours *o, tick now)
{
    struct ltp_block b = {.peer = o->span.peer,
                          .client_service = 1,
                          .data = o->block,
                          .red_len = o->orange ? 0 : o->block->len,
                          .orange = o->orange};
    struct ltp_session_id id;
    o->sends++;
    o->open = true;
    if (ltp_send(o->ltp, &b, now, &id) != 0)
        abort();
}

void ours_start(struct ours *o, uint64_t seed, tick now)
{
    ours_stop(o);
    o->config.seed = seed;
    o->config.earlier_life = o->lives++ > 0;
    if (ltp_new(&o->ltp, &o->config) != 0 || ltp_span_set(o->ltp, &o->span, now) != 0 ||
        ltp_link(o->ltp, o->span.peer, true, now) != 0)
        abort();
    if (o->block != NULL && !o->done && o->sends < o->sends_max)
        send_block(o, now);
}

void ours_stop(struct ours *o)
{
    ltp_free(o->ltp);
    buf_drop(o->kept);
    o->ltp = NULL;
    o->kept = NULL;
    o->open = false;
    o->stored_at = o->again_at = TICK_NEVER;
}

void ours_link(struct ours *o, bool up, tick now)
{
    if (ltp_link(o->ltp, o->span.peer, up, now) != 0)
        abort();
}

static void store_block(struct ours *o, tick now)
{
    struct buf *b = o->kept;
    o->kept = NULL;
    o->stored_at = TICK_NEVER;
    o->stored(o->context, buf_slice(b));
    buf_drop(b);
    (void)ltp_accept(o->ltp, o->got, now);
}

static void take_block(struct ours *o, struct ltp_notice *n, tick now)
{
    bool whole = n->kind == LTP_BLOCK || (n->offset == 0 && n->end);
    if (!whole || o->kept != NULL) {
        buf_drop(n->data);
        return;
    }
    o->kept = n->data;
    o->got = n->id;
    o->stored_at = now + o->store_time;
    if (o->store_time == 0)
        store_block(o, now);
}

static void take_notice(struct ours *o, struct ltp_notice *n, tick now)
{
    switch (n->kind) {
    case LTP_BLOCK:
    case LTP_GREEN:
        take_block(o, n, now);
        break;
    case LTP_EXPORT_DONE:
        o->open = false;
        o->done = true;
        break;
    case LTP_EXPORT_CANCELLED:
    case LTP_EXPORT_LOST:
        o->open = false;
        o->ended++;
        if (o->sends < o->sends_max)
            o->again_at = now + o->pause;
        break;
    default:
        break;
    }
}

static void take_frame(void *self, const uint8_t *data, size_t len, tick now)
{
    ltp_input(((struct ours *)self)->ltp, data, len, now);
}

static size_t give_frame(void *self, uint8_t out[DUO_FRAME], tick now)
{
    struct ours *o = self;
    struct ltp_notice n;
    struct ltp_out segment = {.head = out, .head_cap = DUO_FRAME};
    while (ltp_poll(o->ltp, &n) != 0)
        take_notice(o, &n, now);
    if (ltp_output(o->ltp, o->span.peer, now, &segment) == 0)
        return 0;
    if (segment.data.len > 0)
        memcpy(out + segment.head_len, segment.data.data, segment.data.len);
    return segment.head_len + segment.data.len;
}

static void expire_timers(void *self, tick now)
{
    struct ours *o = self;
    if (o->stored_at <= now)
        store_block(o, now);
    if (o->again_at <= now) {
        o->again_at = TICK_NEVER;
        send_block(o, now);
    }
    ltp_expire(o->ltp, now);
}

static tick find_deadline(const void *self)
{
    const struct ours *o = self;
    return tick_min(ltp_deadline(o->ltp), tick_min(o->stored_at, o->again_at));
}

const struct duo_ops ours_ops = {take_frame, give_frame, expire_timers, find_deadline};
