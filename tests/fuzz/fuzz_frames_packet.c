/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of packets in pieces gives what it gives as a whole, and what parses is written again.
 */
#include <assert.h>

#include "frames/packet_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LONGEST = 1000 };
struct seen {
    uint64_t packets, bytes, sum;
    enum packet_verdict end;
};

static void check_header(const struct packet *p)
{
    uint8_t header[PACKET_HEADER_MAX];
    struct packet again;
    if (p->kind == PACKET_ENCAP && p->protocol == PACKET_EXTENDED && p->header_len == 2)
        return; /* has no room for the extension: read, since its length is plain, not written */
    assert(packet_write(p, header) == p->header_len);
    assert(packet_read(&again, header, p->header_len) == PACKET_OK);
    assert(again.length == p->length && again.protocol == p->protocol && again.apid == p->apid &&
           again.ccsds == p->ccsds && again.extension == p->extension &&
           again.sequence_count == p->sequence_count && again.idle == p->idle);
}

static struct seen read_stream(const uint8_t *data, size_t len, size_t step)
{
    static uint8_t buffer[LONGEST];
    struct packet_reader r;
    struct packet_join j = {.buffer = buffer, .room = sizeof buffer};
    struct seen s = {.end = PACKET_MORE};
    packet_reader_init(&r, LONGEST);
    for (size_t at = 0; at < len && s.end == PACKET_MORE; at += step) {
        struct slice in = slice_of(data + at, len - at < step ? len - at : step), payload;
        struct packet_piece piece;
        while ((s.end = packet_reader_next(&r, &in, &piece)) == PACKET_OK) {
            check_header(piece.packet);
            assert(piece.data.len == 0 ||
                   (piece.data.data >= data && piece.data.data + piece.data.len <= data + len));
            s.bytes += piece.data.len;
            if (!packet_join(&j, &piece, &payload)) {
                assert(!piece.last || piece.packet->idle);
                continue;
            }
            assert(payload.len == piece.packet->length - piece.packet->header_len);
            s.packets++;
            for (size_t i = 0; i < payload.len; i++)
                s.sum = s.sum * 31 + payload.data[i];
        }
        assert(s.end != PACKET_MORE || in.len == 0);
    }
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct seen whole = read_stream(data, len, len + 1);
    for (size_t step = 1; step < 12; step += 1 + step / 4) {
        struct seen cut = read_stream(data, len, step);
        assert(cut.end == whole.end && cut.bytes == whole.bytes);
        assert(cut.packets <= LONGEST + len);
        if (whole.bytes < LONGEST) /* idle ones that long are joined in one piece alone */
            assert(cut.packets == whole.packets && cut.sum == whole.sum);
    }
    return 0;
}
