/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local endpoint with streams from its first link to its last: it listens, and calls its adapter
 * in its turns. What can go wrong at the beginning: the address cannot be listened at; memory.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/stream_endpoint.h"

void stream_endpoint_kick(struct stream_endpoint *h)
{
    stream_endpoint_wake_at(h, 0);
}

void stream_endpoint_wake_at(struct stream_endpoint *h, tick when)
{
    if (when < alarm_due(&h->alarm))
        alarm_set(&h->alarm, when);
}

void stream_endpoint_more_at(struct stream_endpoint *h, tick when)
{
    if (when < alarm_due(&h->more))
        alarm_set(&h->more, when);
}

/* ---- turns ---- */

static void free_dead(struct stream_endpoint *h)
{
    for (struct list *l; (l = list_first(&h->dead)) != NULL;) {
        list_sub(l);
        free(l);
    }
}

static void fini_endpoint(struct stream_endpoint *h)
{
    world_detach(&h->round);
    alarm_fini(&h->alarm);
    alarm_fini(&h->more);
    crowd_place_fini(&h->crowds);
}

static void end_endpoint(struct stream_endpoint *h)
{
    assert(list_empty(&h->common.links) && list_empty(&h->dirty) && list_empty(&h->stopped));
    free_dead(h);
    fini_endpoint(h); /* the node's crowd_room may be freed with the last link */
    local_endpoint_tell_left(&h->common);
    free(h);
}

/* During the iteration links may be appended; the node closes no link within an event. */
static void take_turn(void *context)
{
    struct stream_endpoint *h = context;
    if (h->common.ending) {
        end_endpoint(h);
        return;
    }
    const tick now = world_now(h->world);
    free_dead(h);
    h->ops->tend(h, now);
    local_endpoint_tell_left(&h->common);
}

/* Steps of each connection that has a part of the next turn. */
static uint32_t share_turn(struct stream_endpoint *h, tick now)
{
    const uint32_t all = turn_size_next(&h->turn, h->turn_follows, now);
    const uint32_t least = all < h->ops->turn ? 1 : h->ops->turn_least;
    const uint32_t share = all / h->sharing;
    return share < least ? least : share;
}

/* Once in each round of the loop: those that had more than a turn takes, in their order. */
static void take_stopped(void *context)
{
    struct stream_endpoint *h = context;
    struct list list;
    const tick now = world_now(h->world);
    uint32_t sharing = 0;
    list_init(&list);
    list_for_each_safe (it, &h->stopped) {
        const tick rests = h->ops->rests_until(it);
        if (now < rests) {
            stream_endpoint_more_at(h, rests);
            continue;
        }
        list_sub(it);
        list_add_tail(&list, it);
        sharing++;
    }
    assert(list_empty(&h->stopped) || alarm_due(&h->more) != TICK_NEVER);
    h->sharing = sharing < 1 ? 1 : sharing;
    const uint32_t steps = share_turn(h, now);
    for (struct list *l; (l = list_first(&list)) != NULL;) {
        list_sub(l);
        h->ops->take(l, steps);
    }
    h->turn_follows = alarm_due(&h->more) == 0;
}

/* What the node gave in this round, and confirmed, is written. */
static bool end_round(void *context)
{
    struct stream_endpoint *h = context;
    const bool any = !list_empty(&h->dirty);
    h->rounds++;
    for (struct list *l; (l = list_first(&h->dirty)) != NULL;)
        h->ops->write(l);
    return any;
}

/* ---- from the first link to the last ---- */

static bool same_place(const struct stream_endpoint *h, const struct stream_place *p)
{
    if (h->listener == NULL)
        return false;
    if (p->path != NULL)
        return strcmp(h->path, p->path) == 0;
    return h->path[0] == '\0' && address_port(p->address) != 0 &&
           address_equal(&h->local, p->address);
}

struct stream_endpoint *stream_endpoint_find(const struct cla_env *env,
                                             const struct stream_place *at)
{
    struct local_endpoint *e = local_endpoint_first(env->shared);
    while (e != NULL && !same_place(container_of(e, struct stream_endpoint, common), at))
        e = e->next;
    return e == NULL ? NULL : container_of(e, struct stream_endpoint, common);
}

static struct stream_endpoint *endpoint_new(const struct stream_endpoint_ops *ops,
                                            const struct cla_env *env)
{
    struct stream_endpoint *h = calloc(1, ops->size);
    assert(ops->size >= sizeof *h && ops->turn_least >= 1);
    if (h == NULL)
        return NULL;
    h->ops = ops;
    h->world = env->world;
    h->shared = env->rests != NULL ? env->rests : &h->own_rests;
    struct crowd_room *room = env->room != NULL ? env->room : &h->own_room;
    if (crowd_place_init(&h->crowds, room, env->seed, ops->displaced) != 0) {
        free(h);
        return NULL;
    }
    list_init(&h->dirty);
    list_init(&h->stopped);
    list_init(&h->dead);
    h->sharing = 1;
    turn_size_init(&h->turn, ops->turn_short, ops->turn, TURN_TIME);
    alarm_init(&h->alarm, h->world, ALARM_LINK, take_turn, h);
    alarm_init(&h->more, h->world, ALARM_LINK, take_stopped, h);
    h->round = (struct round_end){.run = end_round, .context = h};
    world_attach(h->world, &h->round);
    local_endpoint_begin(&h->common, env->shared);
    return h;
}

static int listen_at(struct stream_endpoint *h, const struct stream_place *at, char *why,
                     size_t why_cap)
{
    char text[ADDRESS_TEXT_MAX];
    const int r = stream_listen(h->world, &h->listener, at, h->ops->accepted, h);
    if (r == 0) {
        h->local = *at->address;
        snprintf(h->path, sizeof h->path, "%s", at->path == NULL ? "" : at->path);
        return 0;
    }
    h->listener = NULL;
    snprintf(why, why_cap, "%s: cannot listen at %s: %s", at->path == NULL ? "local" : "local_path",
             at->path == NULL ? address_write(at->address, text) : at->path, helio_strerror(r));
    return r;
}

int stream_endpoint_open(struct stream_endpoint **out, const struct stream_endpoint_ops *ops,
                         const struct cla_env *env, const struct stream_place *at, char *why,
                         size_t why_cap)
{
    struct stream_endpoint *h = endpoint_new(ops, env);
    if (h == NULL)
        return HELIO_ENOMEM;
    const int r = at != NULL ? listen_at(h, at, why, why_cap) : 0;
    if (r != 0) {
        local_endpoint_end(&h->common);
        fini_endpoint(h);
        free(h);
        return r;
    }
    *out = h;
    return 0;
}

void stream_endpoint_leave(struct stream_endpoint *h, struct cla *c)
{
    const bool ends = local_endpoint_leave(&h->common, c);
    stream_endpoint_kick(h);
    if (!ends)
        return;
    if (h->ops->end != NULL)
        h->ops->end(h);
    if (h->listener != NULL)
        stream_unlisten(h->listener);
    h->listener = NULL;
}

/* ---- connections ---- */

int stream_endpoint_set_up(struct stream *s, uint64_t buffer, const char *congestion)
{
    if (buffer != 0)
        stream_buffers(s, (uint32_t)buffer);
    return congestion != NULL && *congestion != '\0' ? stream_congestion(s, congestion) : 0;
}

tick stream_endpoint_pause(tick *pause, bool failed, tick least, tick most)
{
    const tick now = !failed || *pause < least ? least : *pause;
    *pause = 2 * now < most ? 2 * now : most;
    return now;
}
