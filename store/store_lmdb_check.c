/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All trees of the database: the list of free pages first, then the list of tables and each table
 * in it. Each page in use is claimed in a bitmap of the file's pages, so that one in use twice, or
 * in a circle, is seen; free pages are claimed in the same bitmap. Pages behind the file's end may
 * be free ones only (LMDB took them and gave them back within one transaction). Keys are compared
 * where LMDB's search depends on them: in branches, and in the list of free pages. A row with a
 * wrong key is for the check value of that row.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_lmdb_pages.h"

#define TABLE_NAME_MAX 24

struct walk {
    const struct pages *p;
    uint8_t *used;     /* a bit for each page of the file */
    const char *table; /* which is walked, for messages */
    bool rescue;       /* skips faults, and counts them */
    bool headers;      /* looks at the headers of long values */
    bool integers;     /* keys are integers */
    uint64_t lost;     /* rescue: pages */
    pages_row *fn;     /* for each row … */
    void *ctx;
    char *why; /* the first fault; `cap` of it */
    size_t cap;
};

static int fail_at(struct walk *w, uint64_t number, const char *fault)
{
    w->lost++;
    if (w->rescue)
        return 0;
    snprintf(w->why, w->cap, "page %" PRIu64 " of table \"%s\": %s", number, w->table, fault);
    return HELIO_EFORMAT;
}

/* false: out of the file, or in use already. */
static bool claim(struct walk *w, uint64_t first, uint64_t count)
{
    if (first < 2 || count > w->p->count || first > w->p->count - count)
        return false;
    for (uint64_t i = first; i < first + count; i++) {
        const uint8_t bit = (uint8_t)(1u << i % 8);
        if ((w->used[i / 8] & bit) != 0)
            return false;
        w->used[i / 8] |= bit;
    }
    return true;
}

static uint64_t id_of(struct slice key)
{
    return pages_word(key.data);
}

static int compare_keys(const struct walk *w, struct slice a, struct slice b)
{
    if (w->integers) {
        const uint64_t x = id_of(a), y = id_of(b);
        return x < y ? -1 : x > y;
    }
    const size_t len = a.len < b.len ? a.len : b.len;
    const int order = memcmp(a.data, b.data, len);
    return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

/* ---- rows ---- */

/* The value of a row that has pages of its own; false: they cannot be its. */
static bool take_long_value(struct walk *w, const struct page_node *n, struct slice *value)
{
    const uint32_t page_bytes = w->p->page_bytes;
    const uint64_t count = pages_of_value(n->data.len, page_bytes);
    if (w->rescue ? n->child < 2 || count > w->p->count || n->child > w->p->count - count
                  : !claim(w, n->child, count))
        return false;
    const uint8_t *page = pages_at(w->p, n->child);
    *value = slice_of(page + PAGES_HEADER, n->data.len);
    return w->rescue || !w->headers || pages_long_value(page, n->child, n->data.len, page_bytes);
}

static int visit_row(struct walk *w, uint64_t number, const struct page_node *n)
{
    struct slice value = n->data;
    if ((n->flags & NODE_TABLE) != 0 && strcmp(w->table, "tables") != 0)
        return fail_at(w, number, "a row in it is a table");
    if ((n->flags & NODE_LONG) != 0 && !take_long_value(w, n, &value))
        return fail_at(w, number,
                       "the pages of a long value are not its own, or behind the end of the file");
    return w->fn != NULL ? w->fn(w->ctx, n->key, value) : 0;
}

/* ---- trees ---- */

/* Keys of the rows below a page: [low, high), as far as they are known. */
struct bounds {
    struct slice low, high; /* no data: open */
};

static bool within(const struct walk *w, struct slice key, const struct bounds *b)
{
    return (b->low.data == NULL || compare_keys(w, key, b->low) >= 0) &&
           (b->high.data == NULL || compare_keys(w, key, b->high) < 0);
}

/* The first key of a branch is not looked at by LMDB's search. */
static const char *keys_fault(const struct walk *w, const uint8_t *page, enum page_kind kind,
                              const struct bounds *b)
{
    const size_t count = pages_nodes(page);
    struct slice before = {0};
    for (size_t i = kind == PAGE_BRANCH ? 1 : 0; i < count; i++) {
        const struct slice key = pages_node(page, i).key;
        if ((w->integers && key.len != PAGES_WORD) || key.len == 0)
            return "a key in it has an impossible length";
        if (!within(w, key, b) || (before.data != NULL && compare_keys(w, before, key) >= 0))
            return "its keys are not in order";
        before = key;
    }
    return NULL;
}

static int walk_leaf(struct walk *w, uint64_t number, const uint8_t *page)
{
    const size_t count = pages_nodes(page);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct page_node n = pages_node(page, i);
        rc = visit_row(w, number, &n);
    }
    return rc;
}

static int walk_page(struct walk *w, uint64_t number, unsigned depth, const struct bounds *b);

static int walk_branch(struct walk *w, const uint8_t *page, unsigned depth, const struct bounds *b)
{
    const size_t count = pages_nodes(page);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct bounds below = {.low = i > 0 ? pages_node(page, i).key : b->low,
                                     .high = i + 1 < count ? pages_node(page, i + 1).key : b->high};
        rc = walk_page(w, pages_node(page, i).child, depth - 1, &below);
    }
    return rc;
}

/* As deep as its tree, PAGES_DEPTH_MAX at most. */
static int walk_page(struct walk *w, uint64_t number, unsigned depth, const struct bounds *b)
{
    const enum page_kind kind = depth > 1 ? PAGE_BRANCH : PAGE_LEAF;
    const char *fault = pages_fault(w->p, number, kind);
    if (fault == NULL && !claim(w, number, 1))
        fault = "it is in use twice";
    if (fault != NULL)
        return fail_at(w, number, fault);
    const uint8_t *page = pages_at(w->p, number);
    fault = w->rescue ? NULL : keys_fault(w, page, kind, b);
    if (fault != NULL)
        return fail_at(w, number, fault);
    return kind == PAGE_LEAF ? walk_leaf(w, number, page) : walk_branch(w, page, depth, b);
}

static int walk_tree(struct walk *w, const struct page_tree *t)
{
    const struct bounds all = {0};
    if ((t->root == PAGES_NONE) != (t->depth == 0) || t->depth > PAGES_DEPTH_MAX)
        return fail_at(w, t->root, "the depth of its tree is impossible");
    return t->depth > 0 ? walk_page(w, t->root, t->depth, &all) : 0;
}

/* ---- free pages ---- */

struct free_pages {
    struct walk *w;
    uint64_t behind;  /* pages between the file's end and the database's */
    uint64_t entries; /* rows' words: no more free pages than that */
    uint8_t *used;    /* of those behind the file's end; NULL: they are counted only */
};

static int count_free(void *ctx, struct slice key, struct slice value)
{
    struct free_pages *f = ctx;
    (void)key;
    f->entries += value.len / PAGES_WORD;
    return 0;
}

static bool claim_free(struct free_pages *f, uint64_t number)
{
    const struct pages *p = f->w->p;
    if (number < p->count)
        return claim(f->w, number, 1);
    const uint64_t i = number - p->count;
    const uint8_t bit = (uint8_t)(1u << i % 8);
    if (i >= f->behind || (f->used[i / 8] & bit) != 0)
        return false;
    f->used[i / 8] |= bit;
    f->entries--;
    return true;
}

/* A row: how many, then their numbers from the last to the first. */
static int free_row(void *ctx, struct slice key, struct slice value)
{
    struct free_pages *f = ctx;
    const uint64_t count = value.len >= PAGES_WORD ? id_of(value) : UINT64_MAX;
    uint64_t before = UINT64_MAX;
    if (count > value.len / PAGES_WORD - 1 || value.len % PAGES_WORD != 0 ||
        id_of(key) > f->w->p->txn)
        return fail_at(f->w, 0, "a row has an impossible length or key");
    for (uint64_t i = 1; i <= count; i++) {
        const uint64_t number = pages_word(value.data + PAGES_WORD * i);
        if (number >= before || number > f->w->p->last || !claim_free(f, number))
            return fail_at(f->w, number, "it is said to be free, and is in use");
        before = number;
    }
    return 0;
}

static int check_free_rows(struct walk *w, struct free_pages *f)
{
    const struct pages *p = w->p;
    w->fn = count_free;
    int rc = walk_tree(w, &p->free_pages);
    if (rc != 0)
        return rc;
    f->behind = p->last >= p->count ? p->last + 1 - p->count : 0;
    if (f->behind > f->entries)
        return fail_at(w, p->last, "the file is cut: it ends before this page");
    if ((f->used = calloc(1, f->behind / 8 + 1)) == NULL)
        return HELIO_ENOMEM;
    f->entries = f->behind; /* from now on: those that nothing names yet */
    w->fn = free_row;
    /* The tree's own pages are claimed: a second walk reads their rows. */
    struct walk again = *w;
    again.used = calloc(1, (size_t)(p->count / 8 + 1));
    rc = again.used != NULL ? walk_tree(&again, &p->free_pages) : HELIO_ENOMEM;
    free(again.used);
    if (rc == 0 && f->entries > 0)
        rc = fail_at(w, p->last, "the file is cut: it ends before this page");
    free(f->used);
    return rc;
}

static int check_free(struct walk *w)
{
    struct free_pages f = {.w = w};
    w->table = "free pages";
    w->integers = true;
    w->ctx = &f;
    int rc = check_free_rows(w, &f);
    w->integers = false;
    w->fn = NULL;
    w->ctx = NULL;
    return rc;
}

/* ---- tables ---- */

struct tables {
    struct walk *w;
    const char *wanted; /* NULL: all are walked */
    struct page_tree found;
    bool has;
};

static int table_row(void *ctx, struct slice key, struct slice value)
{
    struct tables *t = ctx;
    char name[TABLE_NAME_MAX + 1] = "";
    if (value.len != PAGES_TREE || key.len > TABLE_NAME_MAX)
        return fail_at(t->w, 0, "a row in it is no table");
    const struct page_tree tree = pages_tree(value.data);
    memcpy(name, key.data, key.len);
    if (t->wanted != NULL) {
        if (strcmp(name, t->wanted) == 0) {
            t->has = true;
            t->found = tree;
        }
        return 0;
    }
    if (tree.flags != 0)
        return fail_at(t->w, 0, "a table in it has flags that are not ours");
    struct walk below = *t->w;
    below.table = name;
    below.fn = NULL;
    below.headers = t->w->headers || strcmp(name, "bundles") != 0;
    return walk_tree(&below, &tree);
}

static int check_tables(struct walk *w)
{
    struct tables t = {.w = w};
    w->table = "tables";
    w->fn = table_row;
    w->ctx = &t;
    int rc = walk_tree(w, &w->p->tables);
    w->ctx = NULL;
    return rc;
}

int pages_check(const struct pages *p, bool headers, char *why, size_t cap)
{
    struct walk w = {.p = p, .headers = true, .why = why, .cap = cap};
    w.used = calloc(1, (size_t)(p->count / 8 + 1));
    if (w.used == NULL)
        return HELIO_ENOMEM;
    /* Pages in use are claimed before free ones: the fault is that of the list of free pages. */
    w.headers = headers;
    int rc = check_tables(&w);
    w.headers = true;
    if (rc == 0)
        rc = check_free(&w);
    free(w.used);
    return rc;
}

int pages_each(const struct pages *p, const char *table, pages_row *fn, void *ctx, uint64_t *lost)
{
    struct walk w = {.p = p, .rescue = true, .table = "tables", .fn = table_row};
    struct tables t = {.w = &w, .wanted = table};
    w.ctx = &t;
    w.used = calloc(1, (size_t)(p->count / 8 + 1));
    if (w.used == NULL)
        return HELIO_ENOMEM;
    int rc = walk_tree(&w, &p->tables);
    if (rc == 0 && !t.has)
        rc = HELIO_ENOENT;
    if (rc == 0) {
        w.table = table;
        w.fn = fn;
        w.ctx = ctx;
        rc = walk_tree(&w, &t.found);
    }
    *lost += w.lost;
    free(w.used);
    return rc;
}
