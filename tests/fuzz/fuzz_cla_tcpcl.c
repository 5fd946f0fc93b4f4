/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever octets a peer sends: the session keeps its invariants, tells one outcome for each bundle
 * it was given, and understands the same however the octets are cut into pieces.
 * Input: role and answers in one byte, then the stream.
 */
#include <assert.h>
#include <string.h>

#include "cla/tcpcl/tcpcl_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct run {
    struct tcpcl_session *s;
    struct tcpcl_counters n;
    uint8_t mode;
    uint32_t turn; /* messages of one; 0: no bound */
    bool sheds;    /* what has come of a transfer is too much now and then */
    unsigned notices[TCPCL_OVER + 1];
    uint64_t received_bytes, written;
    unsigned given;
};

static void give_bundle(struct run *r)
{
    struct buf *b = buf_new(0, 100);
    if (b == NULL)
        return;
    memset(buf_append(b, 100), 'x', 100);
    for (unsigned i = 0; i < 3; i++)
        r->given += tcpcl_send(r->s, i, b) == 0;
    buf_drop(b);
}

static void take_notice(struct run *r, const struct tcpcl_notice *n)
{
    struct tcpcl_terms terms = {.keepalive_s = 1,
                                .segment_mru = 3000,
                                .transfer_mru = 5000,
                                .segment_max = 30,
                                .transfer_idle = TICK_S / 2,
                                .held_bytes = 100,
                                .node_id = "ipn:2.0"};
    r->notices[n->kind]++;
    if (n->kind == TCPCL_CONTACT)
        tcpcl_secured(r->s, true, 2);
    else if (n->kind == TCPCL_PEER)
        tcpcl_admit(r->s, &terms, 2);
    else if (n->kind == TCPCL_UP && (r->mode & 2) != 0)
        give_bundle(r);
    if (n->kind != TCPCL_RECEIVED)
        return;
    assert(n->bundle->len >= 1 && n->bundle->len <= 5000);
    r->received_bytes += n->bundle->len;
    buf_drop(n->bundle);
    tcpcl_confirm(r->s, n->token, (r->mode & 4) != 0, TCPCL_REFUSE_NO_RESOURCES);
}

static void drain(struct run *r)
{
    struct tcpcl_notice n;
    struct slice parts[4];
    bool more = true;
    while (more) {
        more = false;
        for (; tcpcl_poll(r->s, &n, 2); more = true)
            take_notice(r, &n);
        if (r->sheds && tcpcl_held(r->s) > 40) {
            tcpcl_shed(r->s, TCPCL_REFUSE_NO_RESOURCES, 2);
            assert(tcpcl_held(r->s) == 0);
            more = true;
        }
        if (tcpcl_stopped(r->s)) {
            assert(r->turn > 0 && !tcpcl_reads(r->s));
            tcpcl_turn(r->s, r->turn);
            more = true;
        }
        size_t len = 0, count = tcpcl_output(r->s, parts, 4, 2);
        for (size_t i = 0; i < count; i++)
            len += parts[i].len;
        tcpcl_wrote(r->s, len, 2);
        r->written += len;
        more = more || len > 0;
        tcpcl_check(r->s);
    }
}

static void play(struct run *r, const uint8_t *data, size_t len, size_t step)
{
    struct tcpcl_setup setup = {.active = (r->mode & 1) != 0,
                                .contact_timeout = TICK_S,
                                .ending_timeout = TICK_S,
                                .terms = {.keepalive_s = 1,
                                          .segment_mru = 3000,
                                          .transfer_mru = 5000,
                                          .segment_max = 30,
                                          .transfer_idle = TICK_S / 2,
                                          .held_bytes = 100,
                                          .node_id = "ipn:1.0"},
                                .counters = &r->n};
    r->s = tcpcl_new(&setup, 1);
    if (r->s == NULL)
        return;
    if (r->turn > 0)
        tcpcl_turn(r->s, r->turn);
    drain(r);
    while (len > 0 && tcpcl_reads(r->s)) {
        size_t room;
        uint8_t *at = tcpcl_space(r->s, &room);
        room = room < len ? room : len;
        room = room < step ? room : step;
        memcpy(at, data, room);
        tcpcl_fed(r->s, room, 2);
        data += room;
        len -= room;
        drain(r);
    }
    tcpcl_expire(r->s, tcpcl_deadline(r->s));
    drain(r);
    tcpcl_closed(r->s, 2);
    drain(r);
    assert(r->notices[TCPCL_OVER] == 1 && r->notices[TCPCL_DONE] == r->given);
    tcpcl_free(r->s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct run whole = {0}, pieces = {0};
    if (len == 0)
        return 0;
    whole.mode = pieces.mode = data[0];
    pieces.turn = 1 + data[0] / 8 % 4;
    pieces.sheds = (data[0] & 8) != 0;
    play(&whole, data + 1, len - 1, SIZE_MAX);
    play(&pieces, data + 1, len - 1, 1 + data[0] / 32);
    /* Not when what left meanwhile counts: bundles of this side, the end behind SESS_TERM, the
     * place for rejections, messages that a peer may reject. */
    bool timeless = !pieces.sheds && (data[0] & 2) == 0 && whole.n.rx[TCPCL_SESS_TERM] == 0 &&
                    pieces.n.tx[TCPCL_MSG_REJECT] < 16 &&
                    pieces.n.rx[TCPCL_MSG_REJECT] <= TCPCL_REJECTS_SPARE;
    if (timeless) {
        assert(memcmp(whole.notices, pieces.notices, sizeof whole.notices) == 0);
        assert(whole.received_bytes == pieces.received_bytes);
        assert(memcmp(whole.n.rx, pieces.n.rx, sizeof whole.n.rx) == 0);
        assert(memcmp(whole.n.refused_tx, pieces.n.refused_tx, sizeof whole.n.refused_tx) == 0);
    }
    return 0;
}
