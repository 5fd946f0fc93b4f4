/* SPDX-License-Identifier: Apache-2.0 */
/* What the frames of one direction look like: whether a packer takes them, and two are the same.
 * Nothing can go wrong. */
#include <assert.h>

#include "cla/framed/frame_line.h"
#include "frames/mpdu_pack.h"
#include "frames/packet.h"
#include "frames/tc_pack.h"
#include "os/net/udp_io.h"

const char *frame_way_problem(const struct frame_way *w)
{
    struct mpdu_pack_config mpdu = {
        .format = w->format, .scid = w->scid, .vcid = w->vcid, .map = w->map, .idle = PACKET_ENCAP};
    struct tc_pack_config tc = {
        .format = w->format, .scid = w->scid, .vcid = w->vcid, .map = w->map};
    return w->format.kind == FRAME_TC ? tc_pack_problem(&tc) : mpdu_pack_problem(&mpdu);
}

uint32_t frame_way_mtu(const struct frame_way *w)
{
    assert(frame_way_problem(w) == NULL);
    if (w->format.kind != FRAME_TC || w->format.segments)
        return UDP_DATAGRAM_MAX;
    uint8_t header[PACKET_HEADER_MAX];
    uint32_t room = frame_layout(&w->format).zone_len;
    size_t n = packet_write_encap(PACKET_LTP, room, header);
    return room > n ? room - (uint32_t)n : 0;
}

bool frame_way_same(const struct frame_way *a, const struct frame_way *b)
{
    return a->format.kind == b->format.kind && a->format.length == b->format.length &&
           a->format.ocf == b->format.ocf && a->format.segments == b->format.segments &&
           a->cltu == b->cltu && a->randomise == b->randomise && a->numbered == b->numbered &&
           a->scid == b->scid && frame_code_same(&a->code, &b->code);
}
