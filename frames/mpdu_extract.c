/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet zones of consecutive frames are one stream of packets, read by a packet_reader. While
 * no frame is missing, each first header pointer is known in advance: it is the end of the open
 * packet. What can go wrong: a gap, another pointer, an invalid header. Then the open packet is
 * abandoned, and reading continues at the next first header pointer.
 */
#include "frames/mpdu_extract.h"

#include <assert.h>

void mpdu_extract_init(struct mpdu_extract *x, uint64_t packet_max)
{
    *x = (struct mpdu_extract){0};
    packet_reader_init(&x->reader, packet_max);
}

/* Where the next packet begins is not known any more. */
static void lose_place(struct mpdu_extract *x)
{
    if (packet_reader_reset(&x->reader))
        x->counts.cut++;
    x->abandoned |= x->given;
    x->given = false;
    x->following = false;
    assert(packet_reader_idle(&x->reader));
}

bool mpdu_extract_reset(struct mpdu_extract *x)
{
    assert(x->rest.len == 0);
    lose_place(x);
    bool told = x->abandoned;
    x->counting = x->abandoned = false;
    return told;
}

/* False for a frame that was read already. */
static bool follow_count(struct mpdu_extract *x, const struct frame *f)
{
    if (f->count_bits == 0)
        return true;
    uint64_t mask = (UINT64_C(1) << f->count_bits) - 1, ahead = (f->count - x->expected) & mask;
    assert(f->count <= mask);
    if (x->counting && ahead == mask) {
        x->counts.repeated++;
        return false;
    }
    if (x->counting && ahead != 0) {
        if (ahead > mask / 2) {
            x->counts.backward++;
        } else {
            x->counts.gaps++;
            x->counts.lost += ahead;
        }
        lose_place(x);
    }
    x->counting = true;
    x->expected = (f->count + 1) & mask;
    return true;
}

/* Octets from the zone's front on that belong to the packet that is open; more than the zone has
 * when it does not end there. A header that is cut is completed in a copy. */
static uint64_t measure_open(const struct mpdu_extract *x, struct slice zone)
{
    const struct packet_reader *r = &x->reader;
    uint8_t head[PACKET_HEADER_MAX];
    struct packet p;
    if (r->open)
        return r->packet.length - r->packet.header_len - r->done;
    if (r->header_have == 0)
        return 0;
    size_t more = sizeof head - r->header_have;
    more = more < zone.len ? more : zone.len;
    memcpy(head, r->header, r->header_have);
    memcpy(head + r->header_have, zone.data, more);
    enum packet_verdict v = packet_read(&p, head, r->header_have + more);
    if (v == PACKET_OK)
        return p.length - r->header_have;
    /* Wrong, which the reader will say; or longer than a very short zone. */
    return v == PACKET_MORE ? UINT64_MAX : FRAME_NO_START;
}

static void follow_pointer(struct mpdu_extract *x, const struct frame *f)
{
    uint64_t open = measure_open(x, f->zone);
    uint32_t due = open < f->zone.len ? (uint32_t)open : FRAME_NO_START;
    x->rest = f->zone;
    if (x->following && f->pointer == due)
        return;
    if (x->following) {
        x->counts.pointer++;
        lose_place(x);
    }
    bool begins = f->pointer < f->zone.len;
    if (!begins && f->pointer != FRAME_NO_START)
        x->counts.pointer++;
    size_t skip = begins ? f->pointer : f->zone.len;
    x->counts.skipped_bytes += skip;
    x->counts.skipped_frames += !begins;
    x->rest = slice_of(f->zone.data + skip, f->zone.len - skip);
    x->following = begins;
}

enum frame_verdict mpdu_extract_input(struct mpdu_extract *x, const struct frame *frame)
{
    assert(x->rest.len == 0 && !x->abandoned && frame->zone.len > 0);
    if (!follow_count(x, frame))
        return FRAME_REPEATED_VERDICT;
    x->counts.frames++;
    if (frame->only_idle) /* between two of a packet that goes on, too */
        return FRAME_IDLE_VERDICT;
    if (!frame->packets) {
        x->counts.no_packets++;
        return FRAME_NO_PACKETS_VERDICT;
    }
    follow_pointer(x, frame);
    assert(x->following || x->rest.len == 0);
    return FRAME_OK_VERDICT;
}

static void count_bad(struct mpdu_extract *x, enum packet_verdict v)
{
    x->counts.bad_version += v == PACKET_BAD_VERSION;
    x->counts.bad_length += v == PACKET_BAD_LENGTH;
    x->counts.too_long += v == PACKET_LONG;
    x->counts.skipped_bytes += x->rest.len;
    x->rest = slice_of(NULL, 0);
    lose_place(x);
}

bool mpdu_extract_next(struct mpdu_extract *x, struct packet_piece *piece)
{
    if (x->abandoned) {
        x->abandoned = false;
        *piece = (struct packet_piece){.abandoned = true};
        return true;
    }
    while (x->following && x->rest.len > 0) {
        enum packet_verdict v = packet_reader_next(&x->reader, &x->rest, piece);
        if (v == PACKET_MORE)
            break;
        if (v != PACKET_OK) {
            count_bad(x, v);
            break;
        }
        bool idle = piece->packet->idle;
        x->given = !idle && !piece->last;
        x->counts.packets += !idle && piece->last;
        x->counts.idle += idle && piece->last;
        if (!idle)
            return true;
    }
    assert(x->rest.len == 0 && !x->abandoned);
    return false;
}
