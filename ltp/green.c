/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Green parts, unreliable: given whole when all bytes arrived, in pieces when the session has been
 * silent for long enough (RFC 5326 §6.10 leaves reordering to us). Memory for a piece may be out:
 * the piece is then lost, as it might have been on the way.
 */
#include "ltp/engine.h"

static struct ltp_notice *give(struct ltp *l, struct import *im, struct buf *data, uint64_t offset)
{
    struct ltp_notice *n = ltp_notice_put(l, &im->s, LTP_GREEN);
    n->data = data;
    n->offset = offset;
    n->red_len = im->red_len == EVENT_NONE ? 0 : im->red_len;
    n->end = offset + data->len == im->length;
    return n;
}

void ltp_green_progress(struct ltp *l, struct import *im)
{
    if (im->green_done || im->green_low == EVENT_NONE || im->length == EVENT_NONE)
        return;
    if (im->red_high > 0 && im->red_len == EVENT_NONE)
        return;
    uint64_t from = im->red_high > 0 ? im->red_len : 0;
    if (!ranges_has(&im->got, from, im->length))
        return;
    im->s.peer->hint[0] = im->length - from;
    give(l, im, ltp_part_take(l, &im->green, from, im->length - from), from);
    im->green_done = true;
}

static void give_piece(struct ltp *l, struct import *im, uint64_t lo, uint64_t hi)
{
    struct buf *piece = buf_new(0, (size_t)(hi - lo));
    if (piece == NULL)
        return;
    if (ltp_notice_promise(l, &im->s, 1) < 0) {
        buf_drop(piece);
        return;
    }
    memcpy(buf_append(piece, (size_t)(hi - lo)), im->green.buf->mem + (lo - im->green.base),
           (size_t)(hi - lo));
    give(l, im, piece, lo);
}

void ltp_green_flush(struct ltp *l, struct import *im)
{
    if (im->green_done)
        return;
    im->green_done = true;
    if (im->green_low == EVENT_NONE)
        return;
    for (size_t i = ranges_find(&im->got, im->green_low); i < im->got.len; i++) {
        struct range r = im->got.at[i];
        give_piece(l, im, r.lo < im->green_low ? im->green_low : r.lo, r.hi);
    }
    ltp_part_drop(l, &im->green);
}
