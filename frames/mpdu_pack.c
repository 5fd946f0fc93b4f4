/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zone is filled from front to back. What is copied goes to its own place in the caller's frame
 * buffer; a piece that is not copied leaves a hole there, and the slices go around it: so headers,
 * zone and check value need no buffer of their own, and a frame without holes is one slice. Nothing
 * can go wrong but the caller's order of calls.
 */
#include "frames/mpdu_pack.h"

#include <assert.h>

static_assert(MPDU_GATHER_LEAST > PACKET_HEADER_MAX, "headers are always copied");

const char *mpdu_pack_problem(const struct mpdu_pack_config *c)
{
    const struct frame_format *f = &c->format;
    if (f->kind == FRAME_TC)
        return "TC frames carry whole packets: there is nothing to pack";
    if (frame_format_problem(f) != NULL)
        return frame_format_problem(f);
    if (c->scid >= (f->kind == FRAME_USLP                 ? 65536U
                    : f->kind == FRAME_TM || f->wide_scid ? 1024U
                                                          : 256U))
        return "the spacecraft's number does not fit its field";
    if (c->vcid >= (f->kind == FRAME_TM ? 8 : FRAME_IDLE_VCID))
        return "the virtual channel is 0 to 7 for TM, 0 to 62 for others";
    if (c->map > 15 || (c->map != 0 && f->kind != FRAME_USLP))
        return "the MAP is 0 to 15, of USLP frames";
    if (c->replay && f->kind != FRAME_AOS)
        return "the replay flag is of AOS frames";
    if (c->idle != PACKET_ENCAP && c->idle != PACKET_SPACE)
        return "idle packets are encapsulation or space packets";
    if (c->gather_min != 0 && c->gather_min < MPDU_GATHER_LEAST)
        return "pieces below 16 octets are always copied";
    return NULL;
}

static uint64_t wrap_count(const struct mpdu_pack *p, uint64_t count)
{
    return count & ((UINT64_C(1) << frame_count_bits(&p->config.format)) - 1);
}

void mpdu_pack_init(struct mpdu_pack *p, const struct mpdu_pack_config *c)
{
    assert(mpdu_pack_problem(c) == NULL);
    *p = (struct mpdu_pack){.config = *c, .layout = frame_layout(&c->format)};
    p->count = wrap_count(p, c->count);
}

size_t mpdu_pack_slices_max(const struct mpdu_pack *p)
{
    return p->config.gather_min == 0 ? 1 : 2 * (p->layout.zone_len / p->config.gather_min) + 1;
}

/* What was copied since the last piece that was not. */
static void end_run(struct mpdu_pack *p, uint32_t at)
{
    assert(p->run <= at);
    if (at > p->run)
        p->slices[p->slice_count++] = slice_of(p->frame + p->run, at - p->run);
    assert(p->slice_count <= mpdu_pack_slices_max(p));
    p->run = at;
}

/* The front of a piece, as much as there is room for. Returns how much. */
static size_t place_piece(struct mpdu_pack *p, struct slice s)
{
    uint32_t room = mpdu_pack_room(p), at = p->layout.zone_at + p->used;
    size_t n = s.len < room ? s.len : room;
    if (n == 0)
        return 0;
    if (p->config.gather_min != 0 && n >= p->config.gather_min) {
        end_run(p, at);
        p->slices[p->slice_count++] = slice_of(s.data, n);
        p->run = at + (uint32_t)n;
    } else {
        memcpy(p->frame + at, s.data, n);
    }
    p->used += (uint32_t)n;
    assert(p->used <= p->layout.zone_len);
    return n;
}

static void place_zeros(struct mpdu_pack *p)
{
    uint32_t room = mpdu_pack_room(p);
    uint32_t n = p->zeros < room ? (uint32_t)p->zeros : room;
    memset(p->frame + p->layout.zone_at + p->used, 0, n);
    p->used += n;
    p->zeros -= n;
    p->totals.idle_bytes += n;
}

/* What is left of the packet, as far as the frame goes. */
static void place_packet(struct mpdu_pack *p)
{
    for (; p->part < p->part_count; p->part++) {
        struct slice *s = &p->parts[p->part];
        size_t n = place_piece(p, *s);
        if (n > 0)
            *s = slice_of(s->data + n, s->len - n);
        if (s->len > 0)
            return;
    }
    place_zeros(p);
    assert(!mpdu_pack_pending(p) || mpdu_pack_full(p));
}

void mpdu_pack_open(struct mpdu_pack *p, uint8_t *frame, struct slice *slices)
{
    assert(p->frame == NULL && frame != NULL && slices != NULL);
    p->frame = frame;
    p->slices = slices;
    p->slice_count = 0;
    p->used = p->run = 0;
    p->pointer = FRAME_NO_START;
    place_packet(p);
}

static void begin_packet(struct mpdu_pack *p, const uint8_t *header, size_t len)
{
    assert(p->frame != NULL && !mpdu_pack_full(p) && !mpdu_pack_pending(p));
    assert(len > 0 && len <= PACKET_HEADER_MAX);
    if (p->pointer == FRAME_NO_START)
        p->pointer = p->used;
    memcpy(p->header, header, len);
    p->parts[0] = slice_of(p->header, len);
    p->part = 0;
    p->part_count = 1;
}

void mpdu_pack_put(struct mpdu_pack *p, const uint8_t *header, size_t header_len,
                   const struct slice *payload, size_t n)
{
    assert(n <= MPDU_PARTS_MAX);
    begin_packet(p, header, header_len);
    p->totals.packets++;
    p->totals.packet_bytes += header_len;
    for (size_t i = 0; i < n; i++) {
        p->totals.packet_bytes += payload[i].len;
        if (payload[i].len > 0)
            p->parts[p->part_count++] = payload[i];
    }
    place_packet(p);
}

void mpdu_pack_fill(struct mpdu_pack *p)
{
    uint8_t header[PACKET_HEADER_MAX];
    struct packet idle = {.kind = p->config.idle, .length = mpdu_pack_room(p)};
    if (mpdu_pack_full(p))
        return;
    if (idle.kind == PACKET_SPACE) {
        idle.apid = PACKET_IDLE_APID;
        idle.sequence_flags = 3;
        if (idle.length <= PACKET_SPACE_HEADER)
            idle.length = PACKET_SPACE_HEADER + 1;
    }
    size_t n = packet_write(&idle, header);
    assert(n > 0 && n <= idle.length);
    begin_packet(p, header, n);
    p->totals.idle_packets++;
    p->totals.idle_bytes += n;
    p->zeros = idle.length - n;
    place_packet(p);
    assert(mpdu_pack_full(p));
}

void mpdu_pack_close(struct mpdu_pack *p, const struct mpdu_extra *extra, struct mpdu_frame *out)
{
    const struct frame_format *f = &p->config.format;
    struct frame head = {.kind = f->kind,
                         .scid = p->config.scid,
                         .vcid = p->config.vcid,
                         .map = p->config.map,
                         .replay = p->config.replay,
                         .count = p->count,
                         .pointer = p->pointer};
    assert(p->frame != NULL && mpdu_pack_full(p));
    if (extra != NULL) {
        head.ocf = extra->ocf;
        head.master_count = extra->master_count;
        head.insert = extra->insert;
        head.secondary = extra->secondary;
    }
    frame_write(f, &head, p->frame);
    bool copied = p->run < p->layout.fecf_at;
    end_run(p, p->layout.fecf_at);
    assert(p->slice_count > 0);
    frame_seal(f, p->slices, p->slice_count, p->frame);
    if (copied) /* the check value is behind what was copied last */
        p->slices[p->slice_count - 1].len += f->fecf;
    else
        end_run(p, f->length);
    *out = (struct mpdu_frame){p->slices, p->slice_count, p->count};
    p->count = wrap_count(p, p->count + 1);
    p->totals.frames++;
    p->frame = NULL;
}
