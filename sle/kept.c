/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times. One agenda holds all times that the engine waits for: those of links, of instances and of
 * CLTUs. The engine's deadline is the head of the agenda. sle_expire serves the times that are due,
 * in order, one after the other.
 *
 * Times that move with each message (heartbeat, silence, returns, latency) are not moved in the
 * agenda: what comes out too early is looked at and kept again. So nothing is missed, and a message
 * costs nothing here.
 */
#include <assert.h>

#include "sle/engine_private.h"

/* Of those due at one tick: what ends a link, then what production waits for, then the rest. */
static unsigned rank_of(enum kept_kind kind)
{
    return kind < KEPT_CLOSE ? 0 : kind == KEPT_CLTU ? 1 : 2;
}

void kept_init(struct kept *k, enum kept_kind kind)
{
    heap_node_init(&k->node);
    k->kind = kind;
}

int kept_reserve(struct sle *s, size_t count)
{
    const int e = agenda_reserve(&s->agenda, s->kept_max + count);
    s->kept_max += e == 0 ? count : 0;
    return e;
}

void kept_release(struct sle *s, size_t count)
{
    assert(s->kept_max >= count);
    s->kept_max -= count;
    assert(agenda_len(&s->agenda) <= s->kept_max);
}

void kept_set(struct sle *s, struct kept *k, tick due)
{
    if (due == TICK_NEVER) {
        agenda_sub(&s->agenda, &k->node);
        return;
    }
    const int e = agenda_set(&s->agenda, &k->node, due, rank_of(k->kind));
    assert(e == 0 && agenda_len(&s->agenda) <= s->kept_max);
    (void)e;
}

void kept_by(struct sle *s, struct kept *k, tick due)
{
    if (!kept_is(k) || due < k->node.due)
        kept_set(s, k, due);
}

tick kept_tick(const struct sle *s, struct sle_time t)
{
    uint64_t unix_ns = sle_time_unix(t), zero = s->config.unix_ns;
    return unix_ns > zero ? unix_ns - zero : 0;
}

tick sle_deadline(const struct sle *s)
{
    return agenda_due(&s->agenda);
}

static struct sle_link *link_of(struct kept *k)
{
    return container_of(k - k->kind, struct sle_link, kept[0]);
}

static struct sle_instance *instance_of(struct kept *k)
{
    return container_of(k - (k->kind - KEPT_OF_LINK), struct sle_instance, kept[0]);
}

static bool serve_kept(struct kept *k, struct sle_due *out, tick now)
{
    if (k->kind < KEPT_OF_LINK) {
        *out = (struct sle_due){.link = link_of(k)};
        return link_serve(out->link, k->kind, now);
    }
    struct cltu *c = container_of(k, struct cltu, expiry);
    struct sle_instance *i = k->kind == KEPT_EXPIRY ? c->instance : instance_of(k);
    *out = (struct sle_due){.link = i->link, .instance = i};
    return k->kind == KEPT_EXPIRY ? forward_expire(c, now) : provider_serve(i, k->kind, now);
}

bool sle_expire(struct sle *s, struct sle_due *out, tick now)
{
    while (agenda_due(&s->agenda) <= now) {
        struct kept *k = container_of(agenda_first(&s->agenda), struct kept, node);
        agenda_sub(&s->agenda, &k->node);
        if (serve_kept(k, out, now))
            return true;
    }
    return false;
}
