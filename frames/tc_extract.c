/* SPDX-License-Identifier: Apache-2.0 */
/* A frame with whole packets is read in place; segments are collected in the buffer and read when
 * the last one has arrived. What can go wrong: a missing segment, detected by the flags or the
 * frame count; packets that do not fill their frame or segments. */
#include "frames/tc_extract.h"

#include <assert.h>

enum { SEGMENT_MIDDLE = 0, SEGMENT_FIRST = 1, SEGMENT_LAST = 2, SEGMENT_NONE = 3 };

void tc_extract_init(struct tc_extract *x, const struct tc_extract_config *c)
{
    assert(c->buffer != NULL && c->room > 0);
    *x = (struct tc_extract){.config = *c};
    packet_reader_init(&x->reader, c->room);
}

static void drop_segments(struct tc_extract *x)
{
    x->counts.cut += x->open;
    x->open = false;
    x->len = 0;
}

/* False for a frame that was read already. */
static bool follow_count(struct tc_extract *x, const struct frame *f)
{
    uint8_t ahead = (uint8_t)(f->count - x->expected);
    if (!x->config.numbered)
        return true;
    if (x->counting && ahead == 255) {
        x->counts.repeated++;
        return false;
    }
    if (x->counting && ahead != 0) {
        if (ahead > 127) {
            x->counts.backward++;
        } else {
            x->counts.gaps++;
            x->counts.lost += ahead;
        }
        drop_segments(x);
    }
    x->counting = true;
    x->expected = (uint8_t)(f->count + 1);
    return true;
}

static void add_segment(struct tc_extract *x, const struct frame *f)
{
    if (f->sequence == SEGMENT_FIRST) {
        drop_segments(x);
        x->open = true;
    }
    if (!x->open) {
        x->counts.skipped_frames++;
        x->counts.skipped_bytes += f->zone.len;
        return;
    }
    if (f->zone.len > x->config.room - x->len) {
        x->counts.too_long++;
        x->open = false;
        x->len = 0;
        return;
    }
    memcpy(x->config.buffer + x->len, f->zone.data, f->zone.len);
    x->len += f->zone.len;
    if (f->sequence != SEGMENT_LAST)
        return;
    x->rest = slice_of(x->config.buffer, x->len);
    x->open = false;
    x->len = 0;
    assert(x->rest.len > 0);
}

enum frame_verdict tc_extract_input(struct tc_extract *x, const struct frame *frame)
{
    bool segment = !frame->packets && !frame->command;
    assert(x->rest.len == 0 && frame->kind == FRAME_TC && frame->zone.len > 0);
    if ((!frame->bypass && !x->config.accepted) || frame->command || frame->map != x->config.map) {
        x->counts.no_packets++;
        return FRAME_NO_PACKETS_VERDICT;
    }
    if (!follow_count(x, frame))
        return FRAME_REPEATED_VERDICT;
    x->counts.frames++;
    if (segment) {
        add_segment(x, frame);
        return FRAME_OK_VERDICT;
    }
    drop_segments(x);
    x->rest = frame->zone;
    return FRAME_OK_VERDICT;
}

static void count_bad(struct tc_extract *x, enum packet_verdict v)
{
    x->counts.bad_version += v == PACKET_BAD_VERSION;
    x->counts.bad_length += v == PACKET_BAD_LENGTH;
    x->counts.too_long += v == PACKET_LONG;
    x->counts.skipped_bytes += x->rest.len;
}

bool tc_extract_next(struct tc_extract *x, struct packet_piece *piece)
{
    while (x->rest.len > 0) {
        enum packet_verdict v = packet_reader_next(&x->reader, &x->rest, piece);
        if (v != PACKET_OK || !piece->last) { /* none goes on in another frame */
            x->counts.cut += v == PACKET_OK || v == PACKET_MORE;
            if (v != PACKET_OK && v != PACKET_MORE)
                count_bad(x, v);
            x->rest = slice_of(NULL, 0);
            (void)packet_reader_reset(&x->reader);
            break;
        }
        x->counts.packets += !piece->packet->idle;
        x->counts.idle += piece->packet->idle;
        if (!piece->packet->idle)
            return true;
    }
    assert(x->rest.len == 0 && packet_reader_idle(&x->reader));
    return false;
}
