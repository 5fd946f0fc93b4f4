/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request continues the count by one chain of bundles (agent_bundles_scan); simultaneous
 * requests share it. A count that was not continued for a while starts again. What can go wrong:
 * memory; too many tables that are still being read: then the last one is shown for longer.
 */
#include "node/node_backlog.h"

#include <assert.h>
#include <stdlib.h>

#include "os/paced.h"

#define LEAST TICK_S          /* a table is at least so old before another one is begun, */
#define PAUSE (100 * TICK_US) /* and older by this for each of its bundles */
#define STALE (10 * TICK_S)   /* a count whose last step is so long ago is dropped */
#define SHARE 10 /* of the loop's time that the node counts by itself: one part of … */
#define TURN_LEAST (50 * TICK_US)
#define TURN_STEPS 256
#define SLOTS (2 * NODE_BACKLOG_ROWS)

struct table {
    struct node_backlog_table is;
    unsigned uses;   /* number of readers, and 1 while it is the latest one */
    uint64_t cursor; /* of agent_bundles_scan, while it is counted */
    uint64_t seed;
    uint16_t slots[SLOTS]; /* of the rows by the hash of their node; their number, 0: free */
};

struct node_backlog {
    struct table *last, *next; /* NULL: none */
    unsigned tables;           /* with those that are still read */
    tick stepped;              /* when `next` was counted on */
    struct paced turns;
    struct list turn;
};

/* ---- a table ---- */

static struct table *table_of(const struct node_backlog_table *t)
{
    return container_of((struct node_backlog_table *)(uintptr_t)t, struct table, is);
}

static struct table *new_table(struct node_backlog *b, uint64_t seed)
{
    struct table *t = b->tables == NODE_BACKLOG_TABLES ? NULL : calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->is.rows = calloc(NODE_BACKLOG_ROWS, sizeof *t->is.rows);
    if (t->is.rows == NULL) {
        free(t);
        return NULL;
    }
    t->uses = 1;
    t->seed = seed;
    b->tables++;
    return t;
}

static void drop_table(struct node_backlog *b, struct table *t)
{
    if (t == NULL || --t->uses > 0)
        return;
    assert(b->tables > 0);
    b->tables--;
    free(t->is.rows);
    free(t);
}

static struct node_backlog_row *find_row(struct table *t, const struct eid *node)
{
    struct node_backlog_table *b = &t->is;
    size_t at = eid_hash(t->seed, node) % SLOTS;
    for (; t->slots[at] != 0; at = (at + 1) % SLOTS)
        if (eid_equal(&b->rows[t->slots[at] - 1].node, node))
            return &b->rows[t->slots[at] - 1];
    if (b->len == NODE_BACKLOG_ROWS)
        return &b->others;
    b->rows[b->len].node = *node;
    t->slots[at] = (uint16_t)++b->len;
    return &b->rows[b->len - 1];
}

static void see_bundle(void *context, const struct agent_bundle_info *b)
{
    struct table *t = context;
    const struct eid to = eid_node(&b->destination);
    struct node_backlog_row *row = find_row(t, &to);
    row->bundles++;
    row->bytes += b->bytes;
    row->oldest_ms = b->age_ms > row->oldest_ms ? b->age_ms : row->oldest_ms;
    t->is.bundles++;
}

static int more_bytes(const void *x, const void *y)
{
    const struct node_backlog_rank *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->row > b->row) - (a->row < b->row);
}

static void order_rows(struct node_backlog_table *b)
{
    for (size_t i = 0; i < b->len; i++)
        b->order[i] = (struct node_backlog_rank){b->rows[i].bytes, i};
    qsort(b->order, b->len, sizeof *b->order, more_bytes);
    struct node_backlog_row *fitted = realloc(b->rows, (b->len + 1) * sizeof *b->rows);
    b->rows = fitted != NULL ? fitted : b->rows;
}

/* ---- the count ---- */

static bool count_turn(void *context, struct list *turn)
{
    (void)turn;
    for (int i = 0; i < TURN_STEPS; i++)
        if (!node_backlog_step(context))
            return false;
    return true;
}

/* NULL: no memory, or the node is at its end. */
static struct node_backlog *backlog_of(struct node *n)
{
    if (n->backlog == NULL && n->round.run != NULL) {
        struct node_backlog *b = n->backlog = calloc(1, sizeof *b);
        if (b == NULL)
            return NULL;
        paced_init(&b->turns, n->world, SHARE, TURN_LEAST, count_turn, n);
        list_init(&b->turn);
    }
    return n->backlog;
}

static bool is_due(const struct node_backlog *b, tick now)
{
    const struct table *t = b->last;
    return t == NULL || now - t->is.made >= tick_add(LEAST, t->is.bundles * PAUSE);
}

bool node_backlog_step(struct node *n)
{
    struct node_backlog *b = backlog_of(n);
    const tick now = world_now(n->world);
    if (b != NULL && b->next != NULL && now - b->stepped > STALE) {
        drop_table(b, b->next);
        b->next = NULL;
    }
    if (b != NULL && b->next == NULL && is_due(b, now))
        b->next = new_table(b, n->seed);
    if (b == NULL || b->next == NULL)
        return false;
    struct table *t = b->next;
    b->stepped = now;
    t->cursor = agent_bundles_scan(n->agent, t->cursor, see_bundle, t);
    if (t->cursor != 0)
        return true;
    order_rows(&t->is);
    t->is.made = now;
    drop_table(b, b->last);
    b->last = t;
    b->next = NULL;
    return false;
}

void node_backlog_want(struct node *n)
{
    struct node_backlog *b = backlog_of(n);
    if (b != NULL && n->round.run != NULL && (b->next != NULL || is_due(b, world_now(n->world))))
        paced_add(&b->turns, &b->turn);
}

const struct node_backlog_table *node_backlog_keep(struct node *n)
{
    struct table *t = n->backlog == NULL ? NULL : n->backlog->last;
    if (t == NULL)
        return NULL;
    t->uses++;
    return &t->is;
}

void node_backlog_drop(struct node *n, const struct node_backlog_table *t)
{
    if (t != NULL)
        drop_table(n->backlog, table_of(t));
}

void node_backlog_rest(struct node *n)
{
    struct node_backlog *b = n->backlog;
    if (b == NULL)
        return;
    list_sub(&b->turn);
    paced_fini(&b->turns);
}

void node_backlog_free(struct node *n)
{
    struct node_backlog *b = n->backlog;
    if (b == NULL)
        return;
    drop_table(b, b->next);
    drop_table(b, b->last);
    assert(b->tables == 0);
    free(b);
    n->backlog = NULL;
}
