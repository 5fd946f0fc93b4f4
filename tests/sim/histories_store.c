/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's thread and medium as a model. The requests since the last transaction form the next
 * one, which takes its time and is on the medium as a whole at its end. A kill loses it, or it is
 * written and its outcome is not reported.
 */
#include <stdlib.h>
#include <string.h>

#include "bp/agent/agent_head.h"
#include "node/storage.h"
#include "tests/sim/histories.h"

enum job_kind { JOB_PUT, JOB_GET, JOB_REMOVE };

struct job {
    struct list node;
    enum job_kind kind;
    uint64_t key;
    struct history_kept *put;
    struct history_mark *mark; /* NULL: none */
    uint64_t sequence_end;
};

static void *allocate(size_t size)
{
    void *p = calloc(1, size);
    if (p == NULL)
        abort();
    return p;
}

static void free_kept(struct history_kept *k)
{
    if (k == NULL)
        return;
    list_sub(&k->node);
    buf_drop(k->bundle);
    free(k);
}

static void drop_jobs(struct list *jobs)
{
    for (struct list *l; (l = list_first(jobs)) != NULL;) {
        struct job *j = container_of(l, struct job, node);
        list_sub(l);
        free_kept(j->put);
        free(j->mark);
        free(j);
    }
}

static struct buf *copy_of(struct buf *b, size_t room)
{
    struct buf *copy = buf_new(room, b->len);
    if (copy == NULL)
        abort();
    memcpy(buf_append(copy, b->len), buf_data(b), b->len);
    return copy;
}

static struct history_kept *find_kept(struct history_disk *d, uint64_t key)
{
    list_for_each (it, &d->bundles) {
        struct history_kept *k = container_of(it, struct history_kept, node);
        if (k->key == key)
            return k;
    }
    return NULL;
}

static struct history_mark *mark_of(const struct agent_action *a)
{
    if (a->mark_id.len == 0)
        return NULL;
    struct history_mark *m = allocate(sizeof *m);
    list_init(&m->node);
    m->len = a->mark_id.len;
    m->until_ms = a->mark_until_ms;
    if (m->len > sizeof m->id)
        abort();
    memcpy(m->id, a->mark_id.data, m->len);
    return m;
}

static struct job *add_job(struct storage *s, enum job_kind kind, uint64_t key)
{
    struct job *j = allocate(sizeof *j);
    j->kind = kind;
    j->key = key;
    list_add_tail(&s->collected, &j->node);
    return j;
}

/* ---- what the node asks of it ---- */

int history_store_put(struct storage *s, const struct agent_action *a)
{
    struct job *j = add_job(s, JOB_PUT, a->key);
    struct history_kept *k = allocate(sizeof *k);
    struct agent_head h;
    size_t at;
    list_init(&k->node);
    k->key = a->key;
    k->head_len = a->head.len;
    if (a->head.len > sizeof k->head)
        abort();
    memcpy(k->head, a->head.data, a->head.len);
    k->bundle = copy_of(a->bundle, 0);
    k->index =
        agent_head_decode(a->head, &h, &at) == 0 ? history_index(s->owner->history, &h.id) : -1;
    j->put = k;
    j->mark = mark_of(a);
    j->sequence_end = a->sequence_end;
    return 0;
}

int history_store_get(struct storage *s, uint64_t key)
{
    (void)add_job(s, JOB_GET, key);
    return 0;
}

int history_store_remove(struct storage *s, const struct agent_action *a)
{
    add_job(s, JOB_REMOVE, a->key)->mark = mark_of(a);
    return 0;
}

void history_store_submit(struct storage *s)
{
    if (s->due != TICK_NEVER || list_empty(&s->collected))
        return;
    for (struct list *l; (l = list_first(&s->collected)) != NULL;) {
        list_sub(l);
        list_add_tail(&s->running, l);
    }
    s->due = s->owner->history->world.now + s->owner->history->c->store_time[s->owner->index];
}

/* ---- the medium ---- */

static void note_marked(struct history_node *n, uint64_t key)
{
    for (size_t i = 0; i < n->history->c->bundles; i++) {
        struct history_entry *e = &n->history->entry[i];
        bool here = n->history->c->bundle[i].from != n->index;
        if (here && e->delivered > 0 && e->key == key)
            e->marked = true;
    }
}

static void write_job(struct history_node *n, struct job *j)
{
    struct history_disk *d = &n->disk;
    if (j->kind == JOB_PUT) {
        free_kept(find_kept(d, j->key)); /* its head changed */
        struct list *before = &d->bundles;
        while (before->prev != &d->bundles &&
               container_of(before->prev, struct history_kept, node)->key > j->key)
            before = before->prev;
        list_add_tail(before, &j->put->node);
        if (j->put->index >= 0)
            n->history->entry[j->put->index].stored = true;
        j->put = NULL;
        if (j->sequence_end > d->sequence)
            d->sequence = j->sequence_end;
    }
    if (j->kind == JOB_REMOVE) {
        free_kept(find_kept(d, j->key));
        if (j->mark != NULL)
            note_marked(n, j->key);
    }
    if (j->mark != NULL)
        list_add_tail(&d->marks, &j->mark->node);
    j->mark = NULL;
}

static void answer_job(struct history_node *n, const struct job *j)
{
    struct agent_now now = node_now(&n->node);
    if (j->kind == JOB_PUT)
        agent_stored(n->node.agent, j->key, true, now);
    if (j->kind == JOB_GET) {
        const struct history_kept *k = find_kept(&n->disk, j->key);
        agent_loaded(n->node.agent, j->key, k == NULL ? NULL : copy_of(k->bundle, BUNDLE_HEAD_MAX),
                     now);
    }
    node_wake(&n->node);
}

static void write_all(struct history_node *n)
{
    list_for_each (it, &n->storage.running)
        write_job(n, container_of(it, struct job, node));
}

void history_store_step(struct history_node *n)
{
    struct storage *s = &n->storage;
    struct list done;
    list_init(&done);
    write_all(n);
    for (struct list *l; (l = list_first(&s->running)) != NULL;) {
        list_sub(l);
        list_add_tail(&done, l);
    }
    s->due = TICK_NEVER;
    list_for_each (it, &done)
        answer_job(n, container_of(it, struct job, node));
    drop_jobs(&done);
    history_store_submit(s);
}

void history_store_finish(struct history_node *n)
{
    while (n->storage.due != TICK_NEVER)
        history_store_step(n);
}

void history_store_kill(struct history_node *n, bool done)
{
    if (done)
        write_all(n);
    drop_jobs(&n->storage.running);
    drop_jobs(&n->storage.collected);
    n->storage.due = TICK_NEVER;
}

void history_store_open(struct history_node *n)
{
    n->storage.owner = n;
    n->storage.due = TICK_NEVER;
    list_init(&n->storage.collected);
    list_init(&n->storage.running);
    if (n->node.agent == NULL)
        return;
    list_for_each (it, &n->disk.bundles) {
        struct history_kept *k = container_of(it, struct history_kept, node);
        if (agent_restore(n->node.agent, k->key, slice_of(k->head, k->head_len), k->bundle->len) !=
            0)
            history_complain(n->history, "the agent does not take a bundle back from the store");
    }
    list_for_each (it, &n->disk.marks) {
        struct history_mark *m = container_of(it, struct history_mark, node);
        if (agent_restore_mark(n->node.agent, slice_of(m->id, m->len), m->until_ms) != 0)
            history_complain(n->history, "the agent does not take a mark back from the store");
    }
    if (n->disk.sequence > 0)
        agent_restore_sequence(n->node.agent, n->disk.sequence);
    else if (n->history->c->clockless)
        agent_restore_sequence(n->node.agent, rng_below(&n->history->rng, 1 << 30));
}

void history_disk_fini(struct history_disk *d)
{
    for (struct list *l; (l = list_first(&d->bundles)) != NULL;)
        free_kept(container_of(l, struct history_kept, node));
    for (struct list *l; (l = list_first(&d->marks)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct history_mark, node));
    }
}
