/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times. One agenda holds all times that the engine waits for: those of links, and of
 * what the service has. The engine's deadline is the head of the agenda. Times that are due are
 * served in order, one after the other.
 *
 * Times that move with each message (heartbeat, silence, returns, latency) are not moved in the
 * agenda: what comes out too early is looked at and kept again. So nothing is missed, and a message
 * costs nothing here.
 */
#include <assert.h>

#include "sle/isp1.h"

void kept_init(struct kept *k, unsigned kind, unsigned rank)
{
    heap_node_init(&k->node);
    k->kind = (uint8_t)kind;
    k->rank = (uint8_t)rank;
}

int kept_reserve(struct isp1 *s, size_t count)
{
    const int e = agenda_reserve(&s->agenda, s->kept_max + count);
    s->kept_max += e == 0 ? count : 0;
    return e;
}

void kept_release(struct isp1 *s, size_t count)
{
    assert(s->kept_max >= count);
    s->kept_max -= count;
    assert(agenda_len(&s->agenda) <= s->kept_max);
}

void kept_set(struct isp1 *s, struct kept *k, tick due)
{
    if (due == TICK_NEVER) {
        agenda_sub(&s->agenda, &k->node);
        return;
    }
    const int e = agenda_set(&s->agenda, &k->node, due, k->rank);
    assert(e == 0 && agenda_len(&s->agenda) <= s->kept_max);
    (void)e;
}

void kept_by(struct isp1 *s, struct kept *k, tick due)
{
    if (!kept_is(k) || due < k->node.due)
        kept_set(s, k, due);
}

tick kept_tick(const struct isp1 *s, struct sle_time t)
{
    uint64_t unix_ns = sle_time_unix(t), zero = s->config.unix_ns;
    return unix_ns > zero ? unix_ns - zero : 0;
}

struct kept *kept_next(struct isp1 *s, tick now)
{
    if (agenda_due(&s->agenda) > now)
        return NULL;
    struct kept *k = container_of(agenda_first(&s->agenda), struct kept, node);
    agenda_sub(&s->agenda, &k->node);
    return k;
}
