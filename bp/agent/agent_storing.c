/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles that are being stored. While the store has few bundles, each is passed to it at once, in
 * order of arrival. When its window is full, the others wait here, and users, neighbours and
 * sources take turns (agent_turn.c). So a bundle waits for the store's present work and for one
 * round, however many bundles other parties have. A single party has a wide window, so that one
 * commit serves many bundles. Parties that have recently alternated share a narrow one, because
 * each of them waits for it.
 *
 * What can go wrong: bundles reach the store in another order than they arrived, and a put may
 * fail. So the note of used sequence numbers that is stored with a bundle is the highest of all
 * earlier ones.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"
#include "bp/agent/agent_storing.h"

#define BUNDLE_COST 8192         /* of each bundle, beside its bytes */
#define WINDOW_ALONE (64U << 20) /* in the store's hands, of such costs */
#define WINDOW_SHARED (4U << 20)
#define SHARED_TIME TICK_S /* after the latest bundle of another party */

uint64_t storing_cost(const struct record *r)
{
    return r->bytes + BUNDLE_COST;
}

void storing_init(struct storing *s)
{
    *s = (struct storing){.party = 0};
    list_init(&s->ready);
    turns_init(&s->waiting);
}

static bool has_room(const struct agent *a)
{
    const struct storing *s = &a->storing;
    return s->given < (a->now.now < s->shared_until ? WINDOW_SHARED : WINDOW_ALONE);
}

static void note_party(struct agent *a, const struct holder *h)
{
    struct storing *s = &a->storing;
    const uint64_t party = (h->user != NULL ? h->user : h->peer)->by_id.hash;
    if (party == s->party)
        return;
    if (s->party != 0)
        s->shared_until = tick_add(a->now.now, SHARED_TIME);
    s->party = party;
}

void storing_enter(struct agent *a, struct forwarding *f)
{
    struct storing *s = &a->storing;
    assert(f->state == STATE_STORING && f->turn == NULL);
    note_party(a, &f->bundle->holder);
    if (s->waiting.waiting > 0 || !has_room(a)) {
        turns_add(a, &s->waiting, f);
        return;
    }
    s->given += storing_cost(f->bundle);
    list_add_tail(&s->ready, &f->node);
}

void storing_leave(struct agent *a, struct forwarding *f)
{
    struct storing *s = &a->storing;
    if (f->turn != NULL) {
        turns_sub(a, &s->waiting, f);
        return;
    }
    list_sub(&f->node);
    assert(s->given >= storing_cost(f->bundle));
    s->given -= storing_cost(f->bundle);
}

static struct forwarding *take_waiting(struct agent *a)
{
    struct storing *s = &a->storing;
    struct forwarding *f = has_room(a) ? turns_first(a, &s->waiting, 0, 0) : NULL;
    if (f == NULL)
        return NULL;
    turns_take(a, &s->waiting, f);
    s->given += storing_cost(f->bundle);
    return f;
}

static struct forwarding *take_next(struct agent *a)
{
    struct list *l = list_first(&a->storing.ready);
    if (l == NULL)
        return take_waiting(a);
    list_sub(l);
    return container_of(l, struct forwarding, node);
}

int storing_poll(struct agent *a, struct agent_action *out)
{
    struct storing *s = &a->storing;
    struct forwarding *f = take_next(a);
    if (f == NULL)
        return 0;
    assert(f->state == STATE_STORING && f->buf != NULL);
    *out = (struct agent_action){
        .kind = AGENT_STORE,
        .key = f->key,
        .head = slice_of(f->bundle->head, f->bundle->head_len),
        .bundle = buf_keep(f->buf),
    };
    if (f->sequence_end > s->sequence_end)
        s->sequence_end = f->sequence_end;
    out->sequence_end = f->sequence_end > a->sequence_noted ? s->sequence_end : 0;
    return 1;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void storing_check(const struct agent *a, uint64_t given, uint64_t waiting)
{
    turns_check(a, &a->storing.waiting);
    assert(a->storing.waiting.waiting == waiting && a->storing.given == given);
}
