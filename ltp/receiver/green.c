/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Green parts, which are unreliable. A complete part is given to the user as a whole. An incomplete
 * one is given in pieces after the session was silent for long enough (RFC 5326 §6.10 does not
 * specify reordering).
 *
 * What can go wrong: no memory for a piece; then the piece is lost, as if in transmission. The same
 * holds for all but the longest piece if the import sessions are at their memory limit, or if many
 * pieces wait for the user.
 */
#include "ltp/engine.h"

static struct ltp_notice *give_piece(struct ltp *l, struct import *im, struct buf *data,
                                     uint64_t offset)
{
    struct ltp_notice *n = ltp_notice_put(l, &im->s, LTP_GREEN);
    n->data = data;
    n->offset = offset;
    n->red_len = im->red_len == EVENT_NONE ? 0 : im->red_len;
    n->end = offset + data->len == im->length;
    n->orange = ltp_orange(im);
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
    if (!ltp_part_gather(l, im, false)) {
        ltp_green_flush(l, im);
        return;
    }
    im->s.peer->hint[0] = im->length - from;
    give_piece(l, im, ltp_part_take(l, im, false, from, im->length - from), from);
    im->green_done = true;
}

/* Which of the ranges from index i on is the longest. */
static size_t longest_from(const struct ranges *r, size_t i)
{
    size_t best = i;
    for (; i < r->len; i++) {
        if (r->at[i].hi - r->at[i].lo > r->at[best].hi - r->at[best].lo)
            best = i;
    }
    return best;
}

static void drop_copy(struct ltp *l, struct buf *copy)
{
    if (copy != NULL)
        ltp_held_sub(l, NULL, copy->cap);
    buf_drop(copy);
}

static struct buf *copy_of(struct ltp *l, const struct import *im, const struct buf *all,
                           uint64_t from, uint64_t len)
{
    bool room = l->notice_len < PIECES_MAX && ltp_held_room(l, im->s.peer) >= len;
    struct buf *piece = room ? buf_new(0, (size_t)len) : NULL;
    if (piece == NULL)
        return NULL;
    ltp_held_add(l, NULL, piece->cap);
    ltp_part_copy(&im->green, all, from, len, buf_append(piece, (size_t)len));
    return piece;
}

/* The longest piece is given in the buffer itself, the others as copies, so that little additional
 * memory is needed. The source of a copy stays valid, because the user has not been given the
 * buffer yet. If a piece is too far away to be gathered in the buffer, all pieces are copied. */
void ltp_green_flush(struct ltp *l, struct import *im)
{
    if (im->green_done)
        return;
    im->green_done = true;
    if (im->green_low == EVENT_NONE)
        return;
    size_t i = ranges_find(&im->got, im->green_low);
    const struct buf *all = im->green.buf;
    bool gathered = list_empty(&im->green.pieces);
    size_t longest = gathered ? longest_from(&im->got, i) : SIZE_MAX;
    for (; i < im->got.len; i++) {
        struct range r = im->got.at[i];
        r.lo = r.lo < im->green_low ? im->green_low : r.lo;
        struct buf *copy = NULL;
        if (i != longest && (copy = copy_of(l, im, all, r.lo, r.hi - r.lo)) == NULL) {
            l->counters.pieces_dropped++;
        } else if (ltp_notice_promise(l, &im->s, 1) < 0) {
            l->counters.pieces_dropped++;
            drop_copy(l, copy);
        } else {
            give_piece(l, im, i == longest ? ltp_part_take(l, im, false, r.lo, r.hi - r.lo) : copy,
                       r.lo);
        }
    }
    ltp_part_drop(l, im, false);
}
