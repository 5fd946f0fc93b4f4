/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each notice of an engine is matched to its block by the session's id and compared byte by byte
 * with the sent data. The user, who knows which engines were restarted, judges the sum of the
 * notices of one block.
 */
#include "tests/sim/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

void ledger_init(struct ledger *g)
{
    *g = (struct ledger){0};
}

void ledger_fini(struct ledger *g)
{
    for (size_t i = 0; i < g->len; i++)
        buf_drop(g->entries[i].data);
    free(g->entries);
    ledger_init(g);
}

struct buf *ledger_block(uint64_t seed, size_t len)
{
    struct buf *b = buf_new(0, len);
    if (b == NULL)
        abort();
    uint8_t *p = buf_append(b, len);
    struct rng r;
    rng_init(&r, seed);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t v = rng_u64(&r);
        memcpy(p + i, &v, len - i < 8 ? len - i : 8);
    }
    return b;
}

struct ledger_entry *ledger_add(struct ledger *g, struct ltp_session_id id, struct buf *data)
{
    if (g->len == g->cap) {
        g->cap = g->cap == 0 ? 16 : 2 * g->cap;
        g->entries = realloc(g->entries, g->cap * sizeof *g->entries);
        if (g->entries == NULL)
            abort();
    }
    struct ledger_entry *e = &g->entries[g->len++];
    *e = (struct ledger_entry){.id = id, .data = data, .all_sent = TICK_NEVER};
    return e;
}

struct ledger_entry *ledger_find(const struct ledger *g, struct ltp_session_id id)
{
    for (size_t i = g->len; i > 0; i--) {
        struct ledger_entry *e = &g->entries[i - 1];
        if (e->id.originator == id.originator && e->id.number == id.number)
            return e;
    }
    return NULL;
}

static const char *compare(const struct ledger_entry *e, const struct ltp_notice *n)
{
    struct slice got = buf_slice(n->data);
    struct slice all = buf_slice(e->data);
    if (n->offset > all.len || got.len > all.len - n->offset)
        return "data beyond the block's end";
    if (memcmp(got.data, all.data + n->offset, got.len) != 0)
        return "the bytes differ";
    return NULL;
}

static const char *red(struct ledger_entry *e, const struct ltp_notice *n)
{
    e->red_arrived++;
    if (n->data->len != e->red_len || n->red_len != e->red_len || n->offset != 0)
        return "the red part has another length";
    return compare(e, n);
}

static const char *green(struct ledger_entry *e, const struct ltp_notice *n)
{
    e->green_arrived += n->data->len;
    e->whole |= n->offset == 0 && n->data->len == e->data->len;
    if (n->offset < e->red_len)
        return "green data within the red part";
    if (n->end != (n->offset + n->data->len == e->data->len))
        return "a wrong end of block";
    return compare(e, n);
}

static const char *end(struct ledger_entry *e, const struct ltp_notice *n)
{
    if (e->done || e->cancelled)
        return "the session ended twice";
    e->done = n->kind == LTP_EXPORT_DONE;
    e->cancelled = !e->done;
    e->reason = n->reason;
    e->remote = n->remote;
    return NULL;
}

const char *ledger_notice(struct ledger *g, const struct ltp_notice *n)
{
    struct ledger_entry *e = ledger_find(g, n->id);
    if (e == NULL)
        return "no such block was sent";
    switch (n->kind) {
    case LTP_BLOCK:
        return red(e, n);
    case LTP_GREEN:
        return green(e, n);
    case LTP_EXPORT_DONE:
    case LTP_EXPORT_CANCELLED:
    case LTP_EXPORT_LOST:
        return end(e, n);
    case LTP_IMPORT_CANCELLED:
        e->import_cancelled++;
        return NULL;
    default:
        return NULL;
    }
}
