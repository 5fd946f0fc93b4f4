/* SPDX-License-Identifier: Apache-2.0 */
/* A store that fails when a test wants it to. */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bp/agent/store.h"

#define KEYS 4096
#define LONG (16 << 20)

/* Keys that are in the store; `pending` while a transaction is open. */
struct fake {
    struct store base;
    bool has[KEYS], pending[KEYS];
    int batch;                   /* puts of the open transaction */
    atomic_int puts_max;         /* a commit with more puts fails: the medium is full */
    atomic_int removes;          /* removals work? */
    int held, held_then;         /* keys that are in the store; before the open transaction */
    int room;                    /* for so many keys */
    atomic_int puts_room;        /* and of one transaction for so many puts */
    atomic_uint_fast64_t fits;   /* what it says of its medium */
    int removed, removed_before; /* removals; those before the last put that found room */
    atomic_int commits, forgets;
    atomic_int spoilt;    /* key whose bytes are damaged; 0: none */
    atomic_int aside;     /* key that was set aside */
    atomic_int old_marks; /* calls of forget that find more than they remove */
    uint64_t ahead;       /* key of a long bundle whose first bytes are stored; 0: none */
    atomic_int aheads;    /* and how often they were; removals then */
    int ahead_removed;
    uint64_t octets, octets_most; /* of the open transaction's puts; of any */
};

static int fake_open(struct store **out, const struct store_options *o, char *why, size_t cap);

static void fake_close(struct store *s)
{
    free(s);
}

static int fake_begin(struct store *s)
{
    struct fake *f = (struct fake *)s;
    memcpy(f->pending, f->has, sizeof f->has);
    f->held_then = f->held;
    f->batch = 0;
    f->octets = 0;
    return 0;
}

static int fake_commit(struct store *s)
{
    struct fake *f = (struct fake *)s;
    if (f->batch > f->puts_max) {
        f->held = f->held_then;
        return HELIO_ESPACE;
    }
    memcpy(f->has, f->pending, sizeof f->has);
    f->commits++;
    return 0;
}

static void fake_abort(struct store *s)
{
    struct fake *f = (struct fake *)s;
    f->held = f->held_then;
}

static int fake_put(struct store *s, uint64_t key, struct slice head, struct slice bundle)
{
    struct fake *f = (struct fake *)s;
    (void)head;
    if (f->held >= f->room || f->batch >= f->puts_room)
        return HELIO_ESPACE;
    if (bundle.len > LONG && f->ahead != key)
        return HELIO_EIO;
    f->ahead = 0;
    f->octets += bundle.len;
    f->octets_most = f->octets > f->octets_most ? f->octets : f->octets_most;
    f->held++;
    f->removed_before = f->removed;
    f->batch += bundle.len > 0;
    f->pending[key] = true;
    return 0;
}

static int fake_put_ahead(struct store *s, uint64_t key, struct slice bundle)
{
    struct fake *f = (struct fake *)s;
    if (bundle.len <= LONG)
        return 0;
    if (f->held >= f->room)
        return HELIO_ESPACE;
    f->aheads++;
    f->ahead = key;
    f->ahead_removed = f->removed;
    return 0;
}

static int fake_drop_ahead(struct store *s)
{
    ((struct fake *)s)->ahead = 0;
    return 0;
}

static int fake_remove(struct store *s, uint64_t key)
{
    struct fake *f = (struct fake *)s;
    if (f->removes == 0)
        return HELIO_EIO;
    f->held--;
    f->removed++;
    f->pending[key] = false;
    return 0;
}

static int fake_get(struct store *s, uint64_t key, size_t head_room, struct buf **out)
{
    struct fake *f = (struct fake *)s;
    if (!f->has[key])
        return HELIO_ENOENT;
    if (key == (uint64_t)f->spoilt)
        return HELIO_EFORMAT;
    *out = buf_new(head_room, 1);
    if (*out != NULL)
        *buf_append(*out, 1) = 'x';
    return *out != NULL ? 0 : HELIO_ENOMEM;
}

static int fake_set_aside(struct store *s, uint64_t key)
{
    ((struct fake *)s)->aside = (int)key;
    return 0;
}

static uint64_t fake_damaged(struct store *s)
{
    return ((struct fake *)s)->aside != 0;
}

static int fake_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    (void)s, (void)id, (void)until_ms;
    return 0;
}

static int fake_forget(struct store *s, uint64_t now_ms)
{
    struct fake *f = (struct fake *)s;
    (void)now_ms;
    f->forgets++;
    return f->old_marks > 0 && f->old_marks-- > 0;
}

static int fake_flush(struct store *s)
{
    (void)s;
    return 0;
}

static uint64_t fake_bytes(struct store *s)
{
    (void)s;
    return 0;
}

static uint64_t fake_fits(struct store *s)
{
    return ((struct fake *)s)->fits;
}

static const struct store_ops fake_ops = {
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .begin = fake_begin,
    .commit = fake_commit,
    .abort = fake_abort,
    .put = fake_put,
    .put_ahead = fake_put_ahead,
    .drop_ahead = fake_drop_ahead,
    .remove = fake_remove,
    .get = fake_get,
    .set_aside = fake_set_aside,
    .damaged = fake_damaged,
    .mark = fake_mark,
    .forget = fake_forget,
    .flush = fake_flush,
    .bytes = fake_bytes,
    .fits = fake_fits,
};

static int fake_open(struct store **out, const struct store_options *o, char *why, size_t cap)
{
    (void)o, (void)why, (void)cap;
    struct fake *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    f->base.ops = &fake_ops;
    f->puts_max = f->room = f->puts_room = KEYS;
    f->fits = 80 << 20;
    f->removes = 1;
    *out = &f->base;
    return 0;
}

#endif
