/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that lives and dies with the process: bundles and marks in two hash tables, changes
 * made at once, with an undo log that abort plays backwards. What can go wrong is the limit of
 * bytes and memory running out; either leaves the transaction as it was.
 */
#include "tests/unit/store/store_memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"

#define MARKS_DEFAULT 1000000

struct item {
    struct hash_node by_key;
    struct list order; /* ascending keys */
    uint64_t key;
    struct slice head; /* own allocation */
    size_t len;
    uint8_t bytes[];
};

struct mark {
    struct hash_node by_id;
    struct list order; /* of arrival */
    uint64_t until_ms;
    size_t len;
    uint8_t id[];
};

struct text {
    struct list order;
    char name[32];
    size_t len;
    uint8_t value[STORE_NOTE_MAX];
};

enum undo_kind { UNDO_PUT, UNDO_UPDATE, UNDO_REMOVE, UNDO_NEW_MARK, UNDO_MARK, UNDO_NOTE };

struct undo {
    struct list node;
    enum undo_kind kind;
    struct item *item;
    struct mark *mark;
    struct slice head;
    uint64_t until_ms;
    struct text before; /* of a note; empty name: there was none */
};

struct memory {
    struct store store;
    struct hash items, marks;
    struct list order, marks_order, notes;
    struct list undo;
    uint64_t last_key, damaged;
    uint64_t bytes, limit, marks_max;
    bool in_transaction;
};

static struct memory *memory_of(struct store *s)
{
    return container_of(s, struct memory, store);
}

static int memory_open(struct store **out, const struct store_options *o, char *why, size_t why_cap)
{
    struct memory *m = calloc(1, sizeof *m);
    if (m == NULL || hash_init(&m->items, 1) < 0 || hash_init(&m->marks, 2) < 0) {
        snprintf(why, why_cap, "out of memory");
        if (m != NULL)
            hash_fini(&m->items);
        free(m);
        return HELIO_ENOMEM;
    }
    m->store.ops = &store_memory;
    list_init(&m->order);
    list_init(&m->marks_order);
    list_init(&m->undo);
    list_init(&m->notes);
    m->limit = o->limit_bytes;
    m->marks_max = o->marks_max > 0 ? o->marks_max : MARKS_DEFAULT;
    *out = &m->store;
    return 0;
}

static void item_free(struct item *it)
{
    free((void *)(uintptr_t)it->head.data);
    free(it);
}

static void mark_free(struct memory *m, struct mark *k)
{
    assert(m->marks.len > 0);
    hash_sub(&m->marks, &k->by_id);
    list_sub(&k->order);
    free(k);
}

static void item_in(struct memory *m, struct item *it)
{
    assert(it->key != 0);
    struct list *at = m->order.prev;
    while (at != &m->order && container_of(at, struct item, order)->key > it->key)
        at = at->prev;
    list_add_head(at, &it->order);
    hash_add(&m->items, &it->by_key, hash_mix(1, it->key, 0));
    assert(m->bytes <= UINT64_MAX - it->len);
    m->bytes += it->len;
}

static void item_out(struct memory *m, struct item *it)
{
    assert(m->bytes >= it->len && m->items.len > 0);
    hash_sub(&m->items, &it->by_key);
    list_sub(&it->order);
    m->bytes -= it->len;
}

static struct item *item_find(struct memory *m, uint64_t key)
{
    struct hash_node *n = hash_find(&m->items, hash_mix(1, key, 0));
    for (; n != NULL; n = hash_next(n)) {
        struct item *it = container_of(n, struct item, by_key);
        if (it->key == key)
            return it;
    }
    return NULL;
}

static struct text *note_find(struct memory *m, const char *name)
{
    list_for_each (it, &m->notes) {
        struct text *n = container_of(it, struct text, order);
        if (strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

static void note_back(struct memory *m, const struct text *before)
{
    assert(m->in_transaction);
    struct text *n = note_find(m, before->name);
    n->len = before->len;
    memcpy(n->value, before->value, before->len);
}

static void undo_one(struct memory *m, struct undo *u)
{
    assert(m->in_transaction);
    switch (u->kind) {
    case UNDO_PUT:
        item_out(m, u->item);
        item_free(u->item);
        break;
    case UNDO_UPDATE:
        free((void *)(uintptr_t)u->item->head.data);
        u->item->head = u->head;
        break;
    case UNDO_REMOVE:
        item_in(m, u->item);
        break;
    case UNDO_NEW_MARK:
        mark_free(m, u->mark);
        break;
    case UNDO_MARK:
        u->mark->until_ms = u->until_ms;
        break;
    case UNDO_NOTE:
        note_back(m, &u->before);
        break;
    }
}

static void memory_abort(struct store *s)
{
    struct memory *m = memory_of(s);
    while (!list_empty(&m->undo)) {
        struct undo *u = container_of(m->undo.prev, struct undo, node);
        list_sub(&u->node);
        undo_one(m, u);
        free(u);
    }
    assert(list_empty(&m->undo));
    m->in_transaction = false;
}

static int memory_begin(struct store *s)
{
    struct memory *m = memory_of(s);
    if (m->in_transaction)
        return HELIO_EINVAL;
    m->in_transaction = true;
    assert(list_empty(&m->undo));
    return 0;
}

static int memory_commit(struct store *s)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction)
        return HELIO_EINVAL;
    list_for_each_safe (it, &m->undo) {
        struct undo *u = container_of(it, struct undo, node);
        if (u->kind == UNDO_REMOVE)
            item_free(u->item);
        else if (u->kind == UNDO_UPDATE)
            free((void *)(uintptr_t)u->head.data);
        free(u);
    }
    list_init(&m->undo);
    m->in_transaction = false;
    assert(list_empty(&m->undo) && !m->in_transaction);
    return 0;
}

static void memory_close(struct store *s)
{
    if (s == NULL)
        return;
    struct memory *m = memory_of(s);
    memory_abort(s);
    list_for_each_safe (it, &m->order) {
        item_free(container_of(it, struct item, order));
    }
    list_for_each_safe (it, &m->marks_order) {
        free(container_of(it, struct mark, order));
    }
    list_for_each_safe (it, &m->notes) {
        free(container_of(it, struct text, order));
    }
    hash_fini(&m->items);
    hash_fini(&m->marks);
    free(m);
}

/* A note for abort; NULL when memory is out. */
static struct undo *undo_new(struct memory *m, enum undo_kind kind)
{
    assert(m->in_transaction);
    struct undo *u = calloc(1, sizeof *u);
    if (u == NULL)
        return NULL;
    u->kind = kind;
    list_add_tail(&m->undo, &u->node);
    return u;
}

static void undo_drop(struct undo *u)
{
    list_sub(&u->node);
    free(u);
}

static int slice_copy(struct slice from, struct slice *out)
{
    uint8_t *p = malloc(from.len + 1);
    if (p == NULL)
        return HELIO_ENOMEM;
    if (from.len > 0)
        memcpy(p, from.data, from.len);
    *out = slice_of(p, from.len);
    return 0;
}

static int memory_put(struct store *s, uint64_t key, struct slice head, struct slice bundle)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction || key == 0 || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    if (item_find(m, key) != NULL)
        return HELIO_EEXIST;
    if (bundle.len > m->limit || m->bytes > m->limit - bundle.len)
        return HELIO_ESPACE;
    struct undo *u = undo_new(m, UNDO_PUT);
    struct item *it = u == NULL ? NULL : malloc(sizeof *it + bundle.len);
    if (it == NULL || slice_copy(head, &it->head) < 0) {
        free(it);
        if (u != NULL)
            undo_drop(u);
        return HELIO_ENOMEM;
    }
    it->key = key;
    it->len = bundle.len;
    if (bundle.len > 0)
        memcpy(it->bytes, bundle.data, bundle.len);
    item_in(m, it);
    m->last_key = key > m->last_key ? key : m->last_key;
    u->item = it;
    assert(m->bytes <= m->limit && m->last_key >= key);
    return 0;
}

static int memory_update(struct store *s, uint64_t key, struct slice head)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    struct item *it = item_find(m, key);
    if (it == NULL)
        return HELIO_ENOENT;
    struct slice copy;
    if (slice_copy(head, &copy) < 0)
        return HELIO_ENOMEM;
    struct undo *u = undo_new(m, UNDO_UPDATE);
    if (u == NULL) {
        free((void *)(uintptr_t)copy.data);
        return HELIO_ENOMEM;
    }
    u->item = it;
    u->head = it->head;
    assert(it->key == key);
    it->head = copy;
    return 0;
}

static int memory_remove(struct store *s, uint64_t key)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction)
        return HELIO_EINVAL;
    struct item *it = item_find(m, key);
    if (it == NULL)
        return HELIO_ENOENT;
    struct undo *u = undo_new(m, UNDO_REMOVE);
    if (u == NULL)
        return HELIO_ENOMEM;
    u->item = it;
    item_out(m, it);
    return 0;
}

static int memory_set_aside(struct store *s, uint64_t key)
{
    int rc = memory_remove(s, key); /* there is no medium that could keep it */
    memory_of(s)->damaged += rc == 0;
    return rc;
}

static int memory_get(struct store *s, uint64_t key, size_t head_room, struct buf **out)
{
    struct item *it = item_find(memory_of(s), key);
    if (it == NULL)
        return HELIO_ENOENT;
    struct buf *b = buf_new(head_room, it->len);
    if (b == NULL)
        return HELIO_ENOMEM;
    memcpy(buf_append(b, it->len), it->bytes, it->len);
    *out = b;
    return 0;
}

static int memory_each(struct store *s,
                       int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes),
                       void *ctx)
{
    list_for_each_safe (at, &memory_of(s)->order) {
        struct item *it = container_of(at, struct item, order);
        int rc = fn(ctx, it->key, it->head, it->len);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static struct mark *mark_find(struct memory *m, struct slice id, uint64_t hash)
{
    for (struct hash_node *n = hash_find(&m->marks, hash); n != NULL; n = hash_next(n)) {
        struct mark *k = container_of(n, struct mark, by_id);
        if (slice_equal(slice_of(k->id, k->len), id))
            return k;
    }
    return NULL;
}

static int memory_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction || id.len == 0 || id.len > STORE_MARK_MAX)
        return HELIO_EINVAL;
    uint64_t hash = hash_bytes(2, id.data, id.len);
    struct mark *k = mark_find(m, id, hash);
    struct undo *u = undo_new(m, k == NULL ? UNDO_NEW_MARK : UNDO_MARK);
    if (u == NULL)
        return HELIO_ENOMEM;
    if (k != NULL) {
        u->until_ms = k->until_ms;
    } else {
        k = malloc(sizeof *k + id.len);
        if (k == NULL) {
            undo_drop(u);
            return HELIO_ENOMEM;
        }
        k->len = id.len;
        memcpy(k->id, id.data, id.len);
        hash_add(&m->marks, &k->by_id, hash);
        list_add_tail(&m->marks_order, &k->order);
    }
    u->mark = k;
    k->until_ms = until_ms;
    return 0;
}

static int memory_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                        void *ctx)
{
    list_for_each_safe (at, &memory_of(s)->marks_order) {
        struct mark *k = container_of(at, struct mark, order);
        int rc = fn(ctx, slice_of(k->id, k->len), k->until_ms);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int memory_forget(struct store *s, uint64_t now_ms)
{
    struct memory *m = memory_of(s);
    if (m->in_transaction)
        return HELIO_EINVAL;
    assert(list_empty(&m->undo));
    list_for_each_safe (at, &m->marks_order) {
        struct mark *k = container_of(at, struct mark, order);
        if (k->until_ms <= now_ms || m->marks.len > m->marks_max)
            mark_free(m, k);
    }
    return 0;
}

/* A note that did not exist is one of length 0 after an abort; nobody can tell the difference. */
static int memory_note(struct store *s, const char *name, struct slice value)
{
    struct memory *m = memory_of(s);
    if (!m->in_transaction || value.len > STORE_NOTE_MAX || strlen(name) >= 32)
        return HELIO_EINVAL;
    struct undo *u = undo_new(m, UNDO_NOTE);
    struct text *n = note_find(m, name);
    if (u != NULL && n == NULL && (n = calloc(1, sizeof *n)) != NULL) {
        memcpy(n->name, name, strlen(name) + 1);
        list_add_tail(&m->notes, &n->order);
    }
    if (u == NULL || n == NULL) {
        if (u != NULL)
            undo_drop(u);
        return HELIO_ENOMEM;
    }
    u->before = *n;
    n->len = value.len;
    if (value.len > 0)
        memcpy(n->value, value.data, value.len);
    return 0;
}

static int memory_recall(struct store *s, const char *name, uint8_t out[STORE_NOTE_MAX],
                         size_t *len)
{
    const struct text *n = note_find(memory_of(s), name);
    if (n == NULL || n->len == 0)
        return HELIO_ENOENT;
    *len = n->len;
    memcpy(out, n->value, n->len);
    return 0;
}

static uint64_t memory_last_key(struct store *s)
{
    return memory_of(s)->last_key;
}

static uint64_t memory_damaged(struct store *s)
{
    return memory_of(s)->damaged;
}

static int memory_flush(struct store *s)
{
    (void)s;
    return 0;
}

static uint64_t memory_bytes(struct store *s)
{
    return memory_of(s)->bytes;
}

const struct store_ops store_memory = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .begin = memory_begin,
    .commit = memory_commit,
    .abort = memory_abort,
    .put = memory_put,
    .update = memory_update,
    .remove = memory_remove,
    .get = memory_get,
    .set_aside = memory_set_aside,
    .each = memory_each,
    .mark = memory_mark,
    .marks = memory_marks,
    .forget = memory_forget,
    .note = memory_note,
    .recall = memory_recall,
    .last_key = memory_last_key,
    .damaged = memory_damaged,
    .flush = memory_flush,
    .bytes = memory_bytes,
};
