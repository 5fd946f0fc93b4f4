/* SPDX-License-Identifier: Apache-2.0 */
/* An incomplete header is kept until it is complete; payload is passed on as it arrives. What can
 * go wrong: an invalid header; then the reader does not know where the next packet begins. */
#include "frames/packet_reader.h"

#include <assert.h>

void packet_reader_init(struct packet_reader *r, uint64_t length_max)
{
    assert(length_max > 0);
    *r = (struct packet_reader){.length_max = length_max};
}

bool packet_reader_reset(struct packet_reader *r)
{
    bool unfinished = !packet_reader_idle(r);
    packet_reader_init(r, r->length_max);
    return unfinished;
}

/* Until it is whole, or wrong, or the input ends. A header is parsed where it is when it lies in
 * one piece. */
static enum packet_verdict read_header(struct packet_reader *r, struct slice *input)
{
    enum packet_verdict v = PACKET_MORE;
    size_t take;
    if (r->header_have == 0) {
        v = packet_read(&r->packet, input->data, input->len);
        take = v == PACKET_OK ? r->packet.header_len : v == PACKET_MORE ? input->len : 0;
        assert(take <= input->len && (v != PACKET_MORE || take < PACKET_HEADER_MAX));
        if (v == PACKET_MORE && take > 0)
            memcpy(r->header, input->data, take);
        r->header_have = v == PACKET_MORE ? (uint8_t)take : 0;
        *input = slice_of(take > 0 ? input->data + take : input->data, input->len - take);
        return v;
    }
    for (; v == PACKET_MORE && input->len > 0; input->data++, input->len--) {
        assert(r->header_have < PACKET_HEADER_MAX);
        r->header[r->header_have++] = *input->data;
        v = packet_read(&r->packet, r->header, r->header_have);
    }
    if (v != PACKET_MORE)
        r->header_have = 0;
    return v;
}

static enum packet_verdict open_packet(struct packet_reader *r, struct slice *input)
{
    enum packet_verdict v = read_header(r, input);
    if (v == PACKET_OK && !r->packet.idle && r->packet.length > r->length_max)
        v = PACKET_LONG;
    if (v != PACKET_OK && v != PACKET_MORE)
        packet_reader_reset(r);
    r->open = v == PACKET_OK;
    r->done = 0;
    assert(!r->open || r->header_have == 0);
    return v;
}

enum packet_verdict packet_reader_next(struct packet_reader *r, struct slice *input,
                                       struct packet_piece *piece)
{
    if (!r->open) {
        enum packet_verdict v = open_packet(r, input);
        if (v != PACKET_OK)
            return v;
    }
    uint64_t left = r->packet.length - r->packet.header_len - r->done;
    size_t n = left < input->len ? (size_t)left : input->len;
    if (n == 0 && left > 0)
        return PACKET_MORE;
    *piece = (struct packet_piece){.packet = &r->packet,
                                   .offset = r->done,
                                   .data = slice_of(input->data, n),
                                   .last = n == left};
    r->done += n;
    r->open = n < left;
    if (n > 0)
        *input = slice_of(input->data + n, input->len - n);
    assert(r->done + r->packet.header_len <= r->packet.length);
    return PACKET_OK;
}

bool packet_join(struct packet_join *j, const struct packet_piece *piece, struct slice *payload)
{
    bool next = j->open && piece->offset == j->len;
    j->open = false;
    if (piece->abandoned)
        return false;
    if (piece->offset == 0 && piece->last) {
        *payload = piece->data;
        return true;
    }
    if (piece->offset == 0)
        j->len = 0;
    else if (!next)
        return false;
    if (piece->data.len > j->room - j->len)
        return false;
    memcpy(j->buffer + j->len, piece->data.data, piece->data.len);
    j->len += piece->data.len;
    assert(j->len <= j->room);
    j->open = !piece->last;
    *payload = slice_of(j->buffer, j->len);
    return piece->last;
}
