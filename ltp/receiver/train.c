/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fast path for the direct successor of the latest segment: red data of the same session, with
 * the same first bytes up to the client service, contiguous in the block, and no checkpoint. Of the
 * 500 segments of a block of 500 kB, all but two or three are such. They need no look-up and no
 * checks: their bytes are appended, and the last range grows. In all unusual cases (a sink,
 * authentication, another source, a limit, memory that must grow, a deferred report, a timer to
 * start) import.c processes the segment; so the result is the same. Nothing can go wrong.
 */
#include <assert.h>

#include "ltp/engine.h"
#include "ltp/sdnv.h"

/* Would each segment of this peer and source be examined in vain? */
static bool is_trusted(const struct ltp *l, const struct peer *p, struct slice source)
{
    return l->config.sink == NULL && l->authenticated == 0 && l->unconfigured.at == NULL &&
           p->unconfigured == NULL && !p->silent && (l->sourced == 0 || ltp_peer_source(p, source));
}

/* Is [offset, offset + length) red, next, within memory and limits, and without consequences? */
static bool is_next(const struct import *im, uint64_t offset, uint64_t length)
{
    const struct ltp_span *span = &im->s.peer->span;
    const struct buf *buf = im->red.buf;
    if (im->got.len == 0 || im->got.at[im->got.len - 1].hi != offset || buf == NULL ||
        length > buf->cap || offset > buf->cap - length || offset + length > span->block_max)
        return false;
    return im->red_len == EVENT_NONE && im->green_low == EVENT_NONE && im->red.base == 0 &&
           list_empty(&im->red.pieces) && list_empty(&im->deferred) &&
           (span->idle_timeout == 0 || !list_empty(&im->idle.in_peer));
}

bool ltp_train_input(struct ltp *l, const uint8_t *data, size_t len, struct slice source, tick now)
{
    const struct train *t = &l->train;
    struct import *im = t->import;
    if (im == NULL || len < t->len || memcmp(data, t->first, t->len) != 0)
        return false;
    const uint8_t *p = data + t->len, *end = data + len;
    uint64_t offset = 0, length = 0;
    if (sdnv_get(&p, end, &offset) != VERDICT_OK || sdnv_get(&p, end, &length) != VERDICT_OK ||
        length == 0 || length != (size_t)(end - p))
        return false;
    struct peer *peer = im->s.peer;
    if (!is_next(im, offset, length) || !is_trusted(l, peer, source))
        return false;
    assert(im->length == EVENT_NONE && !im->delivered);
    memcpy(im->red.buf->mem + offset, p, (size_t)length);
    im->red.received += length;
    im->got.at[im->got.len - 1].hi = offset + length;
    im->red_high = im->red_high > offset + length ? im->red_high : offset + length;
    im->arrival = ltp_uptime(peer, now);
    ltp_peer_heard(peer, len, now);
    ltp_peer_touch(l, peer);
    ltp_emit_train(l, peer, len, length);
    return true;
}

/* Bytes up to the client service, or 0: more than TRAIN_MAX. */
static size_t first_bytes(const uint8_t *data, size_t len)
{
    const uint8_t *p = data + 1, *end = data + len;
    uint64_t number;
    for (int i = 0; i < 3; i++) {
        p += i == 2; /* the numbers of extensions */
        enum verdict v = sdnv_get(&p, end, &number);
        assert(v == VERDICT_OK); /* it was parsed */
        (void)v;
    }
    return p - data > TRAIN_MAX ? 0 : (size_t)(p - data);
}

void ltp_train_note(struct ltp *l, const struct ltp_segment *s, const uint8_t *data, size_t len)
{
    struct import *im = l->last_import;
    assert(im != NULL && s->type == LTP_RED);
    if (l->train.import == im || s->header_count + s->trailer_count > 0 ||
        s->id.number != im->s.id.number || s->id.originator != im->s.id.originator)
        return;
    size_t first = first_bytes(data, len);
    l->train.import = first == 0 ? NULL : im;
    l->train.len = (uint8_t)first;
    memcpy(l->train.first, data, first);
}
