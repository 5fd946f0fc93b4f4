/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orange blocks: green blocks whose receiver reports the outcome. Every segment of such a block has
 * a header extension with a private-use tag (RFC 5326 §3.1.4), which other receivers skip. The
 * receiver ends the session like a green one, and sends a cancel that has the same extension with
 * the outcome: "delivered" when the user has all bytes, "lost" when no segment arrived for a while
 * and bytes are missing. The cancel is repeated and acknowledged like any other, and is only sent
 * if an answer was requested.
 *
 * What can go wrong: all segments are lost, or all answers, or the receiver does not support the
 * extension. Then the sender's timer reports "lost". So "delivered" is always true, and every loss
 * is reported.
 */
#include "ltp/engine.h"

#include <assert.h>

/* Tag, length, two letters against other uses of the tag, kind. */
#define TAG_ORANGE 0xC4
#define ORANGE_VALUE(kind)                                                                         \
    {                                                                                              \
        TAG_ORANGE, ORANGE_EXT - 2, 'O', 'R', kind                                                 \
    }

static const uint8_t extensions[][ORANGE_EXT] = {
    ORANGE_VALUE(ORANGE_NONE), ORANGE_VALUE(ORANGE_ASKS), ORANGE_VALUE(ORANGE_DELIVERED),
    ORANGE_VALUE(ORANGE_LOST)};

struct slice ltp_orange_extension(enum event_orange kind)
{
    assert(kind <= ORANGE_LOST);
    return slice_of(extensions[kind], ORANGE_EXT);
}

enum event_orange ltp_orange_of(const struct ltp_segment *s)
{
    struct slice at = s->headers;
    struct extension e;
    bool data = segment_is_data(s);
    if (s->header_count == 0 || (data ? segment_is_red(s) : s->type != LTP_CR))
        return ORANGE_NONE;
    while (segment_extension(&at, &e)) {
        if (e.tag != TAG_ORANGE || e.value.len != ORANGE_EXT - 2 || e.value.data[0] != 'O' ||
            e.value.data[1] != 'R')
            continue;
        uint8_t kind = e.value.data[2];
        if (data ? kind == ORANGE_ASKS : kind == ORANGE_DELIVERED || kind == ORANGE_LOST)
            return (enum event_orange)kind;
    }
    return ORANGE_NONE;
}

void ltp_orange_sent(struct ltp *l, struct export_session *e, tick now)
{
    assert(e->orange && e->next == e->length);
    ltp_timer_start(l, &e->stall, now, e->s.peer->span.orange_answer);
}

enum verdict ltp_orange_answered(struct ltp *l, struct export_session *e, enum event_orange answer,
                                 enum ltp_reason reason, tick now)
{
    assert(e->orange && e->red_len == 0);
    bool delivered = answer == ORANGE_DELIVERED;
    if (delivered && e->next < e->length)
        return VERDICT_INCONSISTENT;
    l->counters.orange_delivered += delivered;
    l->counters.orange_lost += !delivered;
    ltp_export_close(l, e, delivered ? OUTCOME_DONE : OUTCOME_LOST, reason, now, false);
    return VERDICT_OK;
}

void ltp_orange_silent(struct ltp *l, struct export_session *e, tick now)
{
    assert(e->orange);
    l->counters.orange_silent++;
    ltp_export_close(l, e, OUTCOME_LOST, LTP_RLEXC, now, false);
}

void ltp_orange_note(struct import *im, const struct ltp_segment *s)
{
    if (!im->asks && !im->s.peer->span.orange_deaf)
        im->asks = ltp_orange_of(s) == ORANGE_ASKS;
}

enum event_orange ltp_orange_answer(const struct import *im, enum event_outcome outcome)
{
    if (!ltp_orange(im) || (outcome != OUTCOME_DONE && outcome != OUTCOME_LOST))
        return ORANGE_NONE;
    return outcome == OUTCOME_DONE ? ORANGE_DELIVERED : ORANGE_LOST;
}

void ltp_orange_idle(struct ltp *l, struct import *im, tick now)
{
    ltp_green_flush(l, im);
    ltp_import_close(l, im, OUTCOME_LOST, LTP_SYS_CNCLD, now);
}
