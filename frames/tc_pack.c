/* SPDX-License-Identifier: Apache-2.0 */
/* The zone of the frame that is open is gathered here, since its length comes before it. What can
 * go wrong is the caller's: a packet that is longer than any frame. */
#include "frames/tc_pack.h"

#include <assert.h>

enum { SEGMENT_MIDDLE = 0, SEGMENT_FIRST = 1, SEGMENT_LAST = 2, SEGMENT_NONE = 3 };

const char *tc_pack_problem(const struct tc_pack_config *c)
{
    if (c->format.kind != FRAME_TC)
        return "the kind is not TC";
    if (frame_format_problem(&c->format) != NULL)
        return frame_format_problem(&c->format);
    if (c->scid > 1023)
        return "the spacecraft of a TC frame is at most 1023";
    if (c->vcid > 63)
        return "the virtual channel of a TC frame is at most 63";
    if (c->map > 63 || (c->map != 0 && !c->format.segments))
        return "the MAP is at most 63, and needs segment headers";
    return NULL;
}

void tc_pack_init(struct tc_pack *p, const struct tc_pack_config *c)
{
    assert(tc_pack_problem(c) == NULL);
    *p = (struct tc_pack){.config = *c, .layout = frame_layout(&c->format)};
    p->sequence = SEGMENT_NONE;
    assert(p->layout.zone_len > 0 && p->layout.zone_len <= sizeof p->zone);
}

/* From what is left of the packet. */
static void fill_zone(struct tc_pack *p)
{
    while (p->part < p->part_count && p->used < p->layout.zone_len) {
        struct slice *s = &p->parts[p->part];
        size_t room = p->layout.zone_len - p->used, n = s->len < room ? s->len : room;
        if (n > 0)
            memcpy(p->zone + p->used, s->data, n);
        p->used += (uint32_t)n;
        *s = slice_of(s->data + n, s->len - n);
        p->part += s->len == 0;
    }
    assert(p->used <= p->layout.zone_len);
}

static bool is_pending(const struct tc_pack *p)
{
    return p->part < p->part_count;
}

bool tc_pack_full(const struct tc_pack *p)
{
    return p->used == p->layout.zone_len || (p->used > 0 && p->sequence != SEGMENT_NONE);
}

enum tc_pack_result tc_pack_put(struct tc_pack *p, const uint8_t *header, size_t header_len,
                                const struct slice *payload, size_t n)
{
    size_t len = header_len;
    assert(header_len <= sizeof p->header && n <= TC_PARTS_MAX && !is_pending(p));
    for (size_t i = 0; i < n; i++)
        len += payload[i].len;
    assert(len > 0);
    if (len > p->layout.zone_len && !p->config.format.segments)
        return TC_PACK_LONG;
    if (tc_pack_full(p) || (p->used > 0 && len > p->layout.zone_len - p->used))
        return TC_PACK_FULL;
    memcpy(p->header, header, header_len);
    p->parts[0] = slice_of(p->header, header_len);
    p->part = 0;
    p->part_count = 1;
    for (size_t i = 0; i < n; i++)
        if (payload[i].len > 0)
            p->parts[p->part_count++] = payload[i];
    fill_zone(p);
    if (is_pending(p))
        p->sequence = SEGMENT_FIRST;
    else
        p->whole++;
    p->totals.packet_bytes += len;
    assert(p->used > 0 && (!is_pending(p) || tc_pack_full(p)));
    return TC_PACK_TAKEN;
}

size_t tc_pack_close(struct tc_pack *p, uint8_t *out)
{
    const struct tc_pack_config *c = &p->config;
    struct frame f = {.kind = FRAME_TC,
                      .scid = c->scid,
                      .vcid = c->vcid,
                      .map = c->map,
                      .bypass = true,
                      .sequence = p->sequence,
                      .count = c->numbered ? p->count : 0};
    assert(tc_pack_open(p));
    size_t len = frame_write_tc(&c->format, &f, slice_of(p->zone, p->used), out, c->format.length);
    assert(len > 0);
    p->count++;
    p->totals.frames++;
    p->totals.packets += p->whole;
    p->used = p->whole = 0;
    p->sequence = SEGMENT_NONE;
    if (is_pending(p)) {
        fill_zone(p);
        p->sequence = is_pending(p) ? SEGMENT_MIDDLE : SEGMENT_LAST;
        p->whole = !is_pending(p);
    }
    return len;
}
