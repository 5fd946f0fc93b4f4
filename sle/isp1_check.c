/* SPDX-License-Identifier: Apache-2.0 */
/* What always holds of links over ISP1. */
#undef NDEBUG
#include <assert.h>

#include "sle/isp1.h"

enum { REPLAY_CHECKED = 64 };

static void check_out(const struct out *o)
{
    size_t octets = 0;
    for (uint32_t k = 0; k < o->part_count; k++)
        octets += o->parts[k].len;
    assert(octets == o->octets && o->written < o->octets && o->part_done < o->part_count);
    assert(o->part_off < o->parts[o->part_done].len);
    assert(o->buffer || (o->frames == 0 && o->syncs == 0));
}

static void check_link(const struct isp1_link *l)
{
    size_t octets = 0, answers = 0;
    list_for_each (it, &l->queue) {
        const struct out *o = container_of(it, struct out, node);
        check_out(o);
        assert(!l->ended || l->closing || o->exposed);
        octets += o->octets - o->written;
        answers += o->buffer ? 0 : o->octets;
    }
    assert(octets == l->queue_octets && answers == l->answer_octets);
    assert(!l->ended || l->end == SLE_END_UNBOUND || l->stream != SLE_STREAM_KEEP || l->closing);
}

void isp1_check(const struct isp1 *s)
{
    uint32_t links = 0;
    agenda_check(&s->agenda);
    assert(agenda_len(&s->agenda) <= s->kept_max);
    list_for_each (it, &s->links) {
        check_link(container_of(it, struct isp1_link, node));
        links++;
    }
    assert(links == s->link_count && links <= s->config.links_max);
    list_for_each (it, &s->peers) {
        const struct replay *r = &container_of(it, struct isp1_peer, node)->replay;
        if (r->len <= REPLAY_CHECKED) /* more of them take long, at each step */
            replay_check(r);
    }
}
