/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our sender and a receiver as others make it (tests/sim/model_receiver.h), over a channel which
 * the script ill-treats: frames of both ways are lost, doubled, reordered, and damaged where a
 * receiver judges them; time passes, sessions are cancelled, links go down, the receiver forgets.
 * At the end the channel becomes perfect: both come to rest, and every block that the sender calls
 * done arrived whole, unless the receiver has forgotten (then sim_forget has the exact rule). The
 * first three bytes choose the receiver, the switches of recovery and the peer's profile.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/ltp.h"
#include "tests/sim/model_receiver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FRAMES 64
#define BLOCKS 256
#define FRAME_MAX 2048
#define ROUND_TRIP (10 * TICK_MS)

struct frame {
    bool to_sender;
    uint16_t len;
    uint8_t bytes[]; /* exactly these, so that a read beyond them is seen */
};

struct duel {
    struct ltp *sender;
    struct model *receiver;
    tick now;
    struct ltp_session_id last;
    struct frame *frames[FRAMES];
    size_t flying, blocks;
    bool arrived[BLOCKS], done[BLOCKS];
    bool forgot;
};

static struct model_traits choose_receiver(uint8_t k)
{
    switch (k % 4) {
    case 0:
        return model_ion(2 + (k >> 2) % 9, ROUND_TRIP);
    case 1:
        return model_hdtn(ROUND_TRIP, k & 4 ? 2 * TICK_MS : 0);
    case 2:
        return model_strict(ROUND_TRIP);
    default:
        return model_licklider(ROUND_TRIP);
    }
}

static struct ltp *open_sender(uint8_t recovery, uint8_t profile)
{
    struct ltp *l = NULL;
    struct ltp_config config = {.engine = 1, .seed = 1, .closed_memory = 64};
    struct ltp_span span = {.peer = 2,
                            .segment_max = 100,
                            .export_sessions = 4,
                            .block_max = 4000,
                            .rto = ROUND_TRIP,
                            .retries_max = 3,
                            .idle_timeout = 100 * TICK_MS,
                            .profile = (enum ltp_profile)(profile % (LTP_PROFILE_AUTO + 1)),
                            .recovery = {.rto_auto = (recovery & 1) != 0,
                                         .closing_bytes = recovery & 2 ? 1 : 0,
                                         .copies = recovery >> 2 & 7,
                                         .copy_spacing = 2 * TICK_MS,
                                         .checkpoint_segments = recovery & 32 ? 3 : 0,
                                         .resend_wait = recovery & 64 ? 2 * TICK_MS : 0,
                                         .merge_claims = (recovery & 128) != 0,
                                         .oldest_first = (recovery & 1) != 0}};
    if (ltp_new(&l, &config) < 0 || ltp_span_set(l, &span, 0) < 0) {
        ltp_free(l);
        return NULL;
    }
    ltp_link(l, 2, true, 0);
    return l;
}

static void note_block(struct duel *d, struct buf *b)
{
    const uint8_t *at = buf_data(b);
    assert(b->len >= 2 && at[0] < d->blocks);
    for (size_t i = 2; i < b->len; i++)
        assert(at[i] == (uint8_t)(at[0] + i));
    d->arrived[at[0]] = true;
    buf_drop(b);
}

static void add_frame(struct duel *d, bool to_sender, struct slice head, struct slice data)
{
    struct frame *f = malloc(sizeof *f + head.len + data.len);
    if (f == NULL)
        return; /* it is lost */
    f->to_sender = to_sender;
    f->len = (uint16_t)(head.len + data.len);
    memcpy(f->bytes, head.data, head.len);
    if (data.len > 0)
        memcpy(f->bytes + head.len, data.data, data.len);
    d->frames[d->flying++] = f;
}

static void drain_all(struct duel *d)
{
    uint8_t head[LTP_HEAD_MAX], wire[FRAME_MAX];
    size_t len;
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_notice n;
    struct buf *b;
    struct ltp_session_id id;
    while (ltp_poll(d->sender, &n) != 0) {
        if (n.kind == LTP_EXPORT_DONE)
            d->done[n.tag] = true;
        buf_drop(n.data);
    }
    while (d->flying < FRAMES && ltp_output(d->sender, 2, d->now, &out) != 0)
        add_frame(d, false, slice_of(head, out.head_len), out.data);
    while (d->flying < FRAMES && (len = model_output(d->receiver, wire, sizeof wire, d->now)) > 0)
        add_frame(d, true, slice_of(wire, len), slice_of(NULL, 0));
    while ((b = model_block(d->receiver, &id)) != NULL)
        note_block(d, b);
    ltp_check(d->sender);
}

static void deliver_frame(struct duel *d, const struct frame *f)
{
    if (f->to_sender)
        (void)ltp_input(d->sender, f->bytes, f->len, d->now);
    else
        model_input(d->receiver, f->bytes, f->len, d->now);
}

static struct frame *take_frame(struct duel *d, size_t at)
{
    struct frame *f = d->frames[at];
    d->flying--;
    memmove(d->frames + at, d->frames + at + 1, (d->flying - at) * sizeof(struct frame *));
    return f;
}

/* Cut short a frame can be mistaken for no other one. */
static struct frame *cut_frame(struct frame *f, uint8_t arg)
{
    struct frame *shorter = realloc(f, sizeof *f + f->len - arg % f->len);
    if (shorter == NULL)
        return f;
    shorter->len = (uint16_t)(shorter->len - arg % shorter->len);
    return shorter;
}

/* What happens to a frame on its way. */
static void treat_frame(struct duel *d, uint8_t op, uint8_t arg)
{
    if (d->flying == 0)
        return;
    struct frame *f = take_frame(d, op % 5 == 3 ? arg % d->flying : 0);
    if (op % 5 == 4 && f->to_sender)
        f = cut_frame(f, arg);
    if (op % 5 != 2)
        deliver_frame(d, f);
    if (op % 5 == 1)
        deliver_frame(d, f);
    free(f);
}

static void send_block(struct duel *d, uint8_t arg)
{
    size_t len = 2 + (size_t)arg * 8;
    struct buf *b = d->blocks < BLOCKS ? buf_new(0, len) : NULL;
    if (b == NULL)
        return;
    uint8_t *at = buf_append(b, len);
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)(d->blocks + i);
    struct ltp_block block = {
        .peer = 2, .client_service = 1, .data = b, .red_len = len, .tag = d->blocks};
    d->blocks += ltp_send(d->sender, &block, d->now, &d->last) == 0;
    buf_drop(b);
}

static void pass_time(struct duel *d, tick t)
{
    d->now += t;
    ltp_expire(d->sender, d->now);
    model_expire(d->receiver, d->now);
}

static void act(struct duel *d, uint8_t op, uint8_t arg)
{
    if (op < 170) {
        treat_frame(d, op, arg);
    } else if (op < 205) {
        send_block(d, arg);
    } else if (op < 240) {
        pass_time(d, (tick)arg * 200 * TICK_US);
    } else if (op < 248) {
        ltp_link(d->sender, 2, arg % 4 != 0, d->now);
    } else if (op < 252) {
        ltp_cancel(d->sender, d->last, LTP_USR_CNCLD, d->now);
    } else if (op < 254) {
        model_restart(d->receiver);
        d->forgot = true;
    } else {
        ltp_late(d->sender, (tick)arg * 100 * TICK_US);
    }
    drain_all(d);
}

static void come_to_rest(struct duel *d)
{
    ltp_link(d->sender, 2, true, d->now);
    drain_all(d);
    for (int i = 0; i < 50000; i++) {
        tick due = tick_min(ltp_deadline(d->sender), model_deadline(d->receiver));
        if (d->flying > 0) {
            struct frame *f = take_frame(d, 0);
            deliver_frame(d, f);
            free(f);
        } else if (due != TICK_NEVER) {
            pass_time(d, due > d->now ? due - d->now : 0);
        } else {
            break;
        }
        drain_all(d);
    }
    assert(ltp_idle(d->sender));
    for (size_t i = 0; i < d->blocks; i++)
        assert(!d->done[i] || d->arrived[i] || d->forgot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct duel *d = calloc(1, sizeof *d);
    struct model_config config = {.engine = 2, .seed = 2};
    if (d == NULL || len < 3) {
        free(d);
        return 0;
    }
    config.traits = choose_receiver(data[0]);
    d->receiver = model_new(&config);
    d->sender = open_sender(data[1], data[2]);
    if (d->sender != NULL && d->receiver != NULL) {
        for (size_t at = 3; at + 2 <= len && at < 4000; at += 2)
            act(d, data[at], data[at + 1]);
        come_to_rest(d);
    }
    while (d->flying > 0)
        free(take_frame(d, 0));
    ltp_free(d->sender);
    model_free(d->receiver);
    free(d);
    return 0;
}
