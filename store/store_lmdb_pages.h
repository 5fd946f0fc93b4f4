/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of an LMDB file (format 1, releases 0.9), read without LMDB: LMDB trusts what its pages
 * say, so that a damaged one can end the process in a signal, at once or in a later commit. These
 * functions read a mapped file and trust nothing in it; they never write. The layout is that of
 * MDB_page, MDB_meta, MDB_db and MDB_node in mdb.c; numbers are the machine's own. Not for others
 * than the files of the LMDB store.
 */
#ifndef STORE_LMDB_PAGES_H
#define STORE_LMDB_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

#define PAGES_WORD sizeof(size_t)       /* octets of page and transaction numbers */
#define PAGES_HEADER (PAGES_WORD + 8)   /* octets at the begin of each page */
#define PAGES_TREE (8 + 5 * PAGES_WORD) /* octets that describe a tree */
#define PAGES_DEPTH_MAX 32              /* levels of a tree, as in LMDB */
#define PAGES_NONE ((uint64_t)SIZE_MAX) /* the root of an empty tree */

/* One tree: a table, the list of tables, or the list of free pages. */
struct page_tree {
    uint64_t root; /* PAGES_NONE: empty */
    unsigned depth;
    unsigned flags;
};

/* One state of the database: that of its newer meta page, or of the older one. */
struct pages {
    const uint8_t *map; /* the user's; `bytes` of it */
    size_t bytes;
    uint32_t page_bytes;
    uint64_t count; /* of whole pages in the file */
    uint64_t last;  /* number of the database's last page; the file may end before it */
    uint64_t txn;
    struct page_tree free_pages, tables;
};

/*
 * Reads the meta pages of map[0..bytes), which the caller keeps until *p is not used any more. Both
 * must be whole, as LMDB requires, unless `older` is set. 0, or HELIO_EFORMAT with the reason in
 * why.
 */
int pages_begin(struct pages *p, const uint8_t *map, size_t bytes, bool older, char *why,
                size_t cap);

/*
 * Checks that every used page is within the file, of the right kind, in order, and used once; and
 * that the list of free pages is sorted and has no used pages. Each page is read once. headers:
 * also reads the headers of long values of the table "bundles" (one read of the medium each); their
 * positions are always checked. Returns 0; HELIO_EFORMAT with the reason in why; HELIO_ENOMEM.
 */
int pages_check(const struct pages *p, bool headers, char *why, size_t cap);

/* One row; views into the map. Non-zero stops the walk. */
typedef int pages_row(void *ctx, struct slice key, struct slice value);

/*
 * All rows of a table in the order of its tree, without those below pages that are not whole:
 * *lost is increased for each of these. What fn returned, 0 at the end, HELIO_ENOENT: there is no
 * such table; HELIO_ENOMEM.
 */
int pages_each(const struct pages *p, const char *table, pages_row *fn, void *ctx, uint64_t *lost);

/* Is data[0..len) of this page, which holds a long value, described as it must be? `number`: its
 * page number. */
bool pages_long_value(const uint8_t *page, uint64_t number, size_t len, uint32_t page_bytes);
/* Does LMDB store such a row's value in separate pages? */
bool pages_is_long(size_t key_len, size_t value_len, uint32_t page_bytes);

/* Where the map begins in which `at` lies in a leaf that was checked, without its page's number
 * being known. */
const uint8_t *pages_map(const uint8_t *at, uint32_t page_bytes);

/* ---- between the files of this reader ---- */

enum page_kind { PAGE_BRANCH = 1, PAGE_LEAF = 2, PAGE_LONG = 4, PAGE_META = 8 };
enum node_flag { NODE_LONG = 1, NODE_TABLE = 2 };

struct page_node {
    struct slice key;
    uint64_t child; /* of a branch, or the first page of a long value */
    unsigned flags;
    struct slice data; /* of a leaf, unless NODE_LONG; then its length alone */
};

const uint8_t *pages_at(const struct pages *p, uint64_t number); /* NULL: not in the file */
/* NULL: a whole branch (or leaf); else what is wrong with it. */
const char *pages_fault(const struct pages *p, uint64_t number, enum page_kind kind);
/* Of a page that is whole: its nodes, 0 <= i < count. */
size_t pages_nodes(const uint8_t *page);
struct page_node pages_node(const uint8_t *page, size_t i);
/* How many pages a long value takes. */
uint64_t pages_of_value(size_t len, uint32_t page_bytes);
uint64_t pages_word(const uint8_t *at);
/* Of a node with NODE_TABLE. */
struct page_tree pages_tree(const uint8_t *at);

#endif
