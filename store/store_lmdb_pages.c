/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page at a time: what a meta page says, and whether a branch or leaf is whole. The nodes of a
 * page lie one behind the other, from `upper` to the page's end, each at an even place; the array
 * of their places, in the order of their keys, lies behind the page's header and ends at `lower`.
 * What can go wrong: any octet of a page may be any value.
 */
#include "store/store_lmdb_pages.h"

#include <stdio.h>
#include <string.h>

#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1
#define PAGE_BYTES_MIN 512
#define PAGE_BYTES_MAX 32768
#define SYSTEM_PAGE 4096 /* at least */
#define NODE_HEADER 8
#define KEY_MAX 511
#define FLAGS_OF_FREE_PAGES 8 /* its keys are integers; of other tables we set no flag */

/* Places within a page, and within a meta page behind the header. */
enum {
    AT_NUMBER = 0,
    AT_FLAGS = PAGES_WORD + 2,
    AT_LOWER = PAGES_WORD + 4,
    AT_UPPER = PAGES_WORD + 6,
    AT_PAGES = AT_LOWER
};
enum {
    META_MAP = 8 + PAGES_WORD,
    META_FREE = META_MAP + PAGES_WORD,
    META_TABLES = META_FREE + PAGES_TREE,
    META_LAST = META_TABLES + PAGES_TREE,
    META_TXN = META_LAST + PAGES_WORD
};
enum { TREE_FLAGS = 4, TREE_DEPTH = 6, TREE_ROOT = 8 + 4 * PAGES_WORD };

static unsigned read_16(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint32_t read_32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

uint64_t pages_word(const uint8_t *at)
{
    size_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

struct page_tree pages_tree(const uint8_t *at)
{
    return (struct page_tree){.root = pages_word(at + TREE_ROOT),
                              .depth = read_16(at + TREE_DEPTH),
                              .flags = read_16(at + TREE_FLAGS)};
}

const uint8_t *pages_at(const struct pages *p, uint64_t number)
{
    return number < p->count ? p->map + (size_t)number * p->page_bytes : NULL;
}

/* ---- meta pages ---- */

static int refuse_meta(char *why, size_t cap, unsigned index, const char *fault)
{
    snprintf(why, cap, "meta page %u: %s", index, fault);
    return HELIO_EFORMAT;
}

/* NULL: this meta page can be used. */
static const char *meta_fault(const struct pages *p, const uint8_t *page, unsigned index)
{
    const uint8_t *m = page + PAGES_HEADER;
    const uint32_t bytes = read_32(m + META_FREE);
    if (read_16(page + AT_FLAGS) != PAGE_META || pages_word(page + AT_NUMBER) != index)
        return "is none";
    if (read_32(m) != META_MAGIC || read_32(m + 4) != META_VERSION)
        return "has another magic number or version";
    if (bytes < PAGE_BYTES_MIN || bytes > PAGE_BYTES_MAX || (bytes & (bytes - 1)) != 0 ||
        (p->page_bytes != 0 && bytes != p->page_bytes))
        return "has an impossible length of pages";
    if (pages_word(m + META_TXN) % 2 != index && pages_word(m + META_TXN) != 0)
        return "has the number of another transaction";
    return NULL;
}

static void take_meta(struct pages *p, const uint8_t *page)
{
    const uint8_t *m = page + PAGES_HEADER;
    p->last = pages_word(m + META_LAST);
    p->txn = pages_word(m + META_TXN);
    p->free_pages = pages_tree(m + META_FREE);
    p->tables = pages_tree(m + META_TABLES);
}

/* The state that was chosen. */
static const char *state_fault(const struct pages *p, const uint8_t *page)
{
    const uint64_t map = pages_word(page + PAGES_HEADER + META_MAP);
    if (p->last < 1 || p->last >= map / p->page_bytes)
        return "has an impossible number of its last page";
    if (p->free_pages.flags != FLAGS_OF_FREE_PAGES || p->tables.flags != 0)
        return "has flags that are not ours";
    return NULL;
}

/* The length of pages, from the first meta page or else from where the second one may be. */
static uint32_t find_page_bytes(const struct pages *p)
{
    struct pages none = *p;
    if (meta_fault(&none, p->map, 0) == NULL)
        return read_32(p->map + PAGES_HEADER + META_FREE);
    for (uint32_t bytes = PAGE_BYTES_MIN; bytes <= PAGE_BYTES_MAX; bytes *= 2) {
        none.page_bytes = bytes;
        if (p->bytes >= 2 * (size_t)bytes && meta_fault(&none, p->map + bytes, 1) == NULL)
            return bytes;
    }
    return 0;
}

int pages_begin(struct pages *p, const uint8_t *map, size_t bytes, bool older, char *why,
                size_t cap)
{
    const char *fault[2];
    *p = (struct pages){.map = map, .bytes = bytes};
    if (bytes < PAGE_BYTES_MIN)
        return refuse_meta(why, cap, 0, "is not there");
    p->page_bytes = find_page_bytes(p);
    if (p->page_bytes == 0)
        return refuse_meta(why, cap, 0, meta_fault(p, map, 0));
    p->count = bytes / p->page_bytes;
    if (p->count < 2)
        return refuse_meta(why, cap, 1, "is not there");
    for (unsigned i = 0; i < 2; i++) {
        fault[i] = meta_fault(p, map + i * p->page_bytes, i);
        if (fault[i] != NULL && !older)
            return refuse_meta(why, cap, i, fault[i]);
    }
    const uint64_t txn[2] = {pages_word(map + PAGES_HEADER + META_TXN),
                             pages_word(map + p->page_bytes + PAGES_HEADER + META_TXN)};
    unsigned use = (txn[0] < txn[1]) != older;
    if (fault[use] != NULL)
        use = !use; /* only the other one is left */
    const uint8_t *page = map + use * p->page_bytes;
    take_meta(p, page);
    const char *text = fault[use] != NULL ? fault[use] : state_fault(p, page);
    return text != NULL ? refuse_meta(why, cap, use, text) : 0;
}

/* ---- branches and leaves ---- */

size_t pages_nodes(const uint8_t *page)
{
    return (read_16(page + AT_LOWER) - PAGES_HEADER) / 2;
}

struct page_node pages_node(const uint8_t *page, size_t i)
{
    const uint8_t *at = page + read_16(page + PAGES_HEADER + 2 * i);
    const unsigned flags = read_16(at + 4), key_len = read_16(at + 6);
    struct page_node n = {.key = slice_of(at + NODE_HEADER, key_len), .flags = flags};
    if (read_16(page + AT_FLAGS) == PAGE_BRANCH) {
        n.child = read_32(at) | (PAGES_WORD > 4 ? (uint64_t)flags << 32 : 0);
        n.flags = 0;
        return n;
    }
    const uint8_t *data = at + NODE_HEADER + key_len;
    n.child = flags & NODE_LONG ? pages_word(data) : 0;
    n.data = slice_of(flags & NODE_LONG ? NULL : data, read_32(at));
    return n;
}

static size_t node_max(uint32_t page_bytes)
{
    return (((page_bytes - PAGES_HEADER) / 2) & ~(size_t)1) - 2;
}

bool pages_is_long(size_t key_len, size_t value_len, uint32_t page_bytes)
{
    return NODE_HEADER + key_len + value_len > node_max(page_bytes);
}

uint64_t pages_of_value(size_t len, uint32_t page_bytes)
{
    return (PAGES_HEADER - 1 + (uint64_t)len) / page_bytes + 1;
}

bool pages_long_value(const uint8_t *page, uint64_t number, size_t len, uint32_t page_bytes)
{
    return pages_word(page + AT_NUMBER) == number && read_16(page + AT_FLAGS) == PAGE_LONG &&
           read_32(page + AT_PAGES) == pages_of_value(len, page_bytes);
}

/* A map begins at a page of the system, which may be shorter than the database's. */
const uint8_t *pages_map(const uint8_t *at, uint32_t page_bytes)
{
    const uint32_t step = page_bytes < SYSTEM_PAGE ? page_bytes : SYSTEM_PAGE;
    const uint8_t *page = at - (uintptr_t)at % step;
    while (read_16(page + AT_FLAGS) != PAGE_LEAF || at < page + read_16(page + AT_UPPER) ||
           at >= page + page_bytes)
        page -= step;
    return page - pages_word(page + AT_NUMBER) * page_bytes;
}

/* The length of the node at this place of a page, with what fills it up to an even one; 0: it
 * cannot be one. */
static size_t node_bytes(const uint8_t *page, size_t at, uint32_t page_bytes, enum page_kind kind)
{
    if (at + NODE_HEADER > page_bytes)
        return 0;
    const unsigned flags = read_16(page + at + 4);
    const size_t key = read_16(page + at + 6), value = read_32(page + at);
    size_t len = NODE_HEADER + key;
    if (key > KEY_MAX)
        return 0;
    if (kind == PAGE_LEAF) {
        if (key == 0 || (flags & ~(unsigned)(NODE_LONG | NODE_TABLE)) != 0)
            return 0;
        if (flags == NODE_LONG)
            len += PAGES_WORD;
        else if (flags == NODE_TABLE ? value != PAGES_TREE
                                     : flags != 0 || pages_is_long(key, value, page_bytes))
            return 0;
        else
            len += value;
    }
    len += len & 1;
    return at + len <= page_bytes ? len : 0;
}

/* Do `count` nodes fill the page from `upper` to its end, and does the array name each once? */
static const char *nodes_fault(const uint8_t *page, uint32_t page_bytes, enum page_kind kind)
{
    uint8_t begins[PAGE_BYTES_MAX / 16] = {0};
    const size_t count = pages_nodes(page);
    size_t found = 0, len;
    for (size_t at = read_16(page + AT_UPPER); at < page_bytes; at += len, found++) {
        if ((len = node_bytes(page, at, page_bytes, kind)) == 0)
            return "a row in it is out of bounds";
        begins[at / 16] |= (uint8_t)(1u << at / 2 % 8);
    }
    if (found != count)
        return "it has more or fewer rows than it says";
    for (size_t i = 0; i < count; i++) {
        const size_t at = read_16(page + PAGES_HEADER + 2 * i);
        const uint8_t bit = (uint8_t)(1u << at / 2 % 8);
        if (at >= page_bytes || (at & 1) != 0 || (begins[at / 16] & bit) == 0)
            return "it names a place where no row is";
        begins[at / 16] &= (uint8_t)~bit;
    }
    return NULL;
}

const char *pages_fault(const struct pages *p, uint64_t number, enum page_kind kind)
{
    const uint8_t *page = pages_at(p, number);
    if (number < 2 || number > p->last)
        return "no page in use has this number";
    if (page == NULL)
        return "it is behind the end of the file";
    const unsigned lower = read_16(page + AT_LOWER), upper = read_16(page + AT_UPPER);
    if (pages_word(page + AT_NUMBER) != number)
        return "it has the number of another page";
    if (read_16(page + AT_FLAGS) != (unsigned)kind)
        return "it is not of the kind that belongs there";
    if (lower < PAGES_HEADER + (kind == PAGE_BRANCH ? 4 : 2) || (lower & 1) != 0 || lower > upper ||
        (upper & 1) != 0 || upper >= p->page_bytes)
        return "its free room is out of bounds";
    return nodes_fault(page, p->page_bytes, kind);
}
