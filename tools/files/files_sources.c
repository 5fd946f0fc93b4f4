/* SPDX-License-Identifier: Apache-2.0 */
/* An entry exists as long as its source has a file. What can go wrong: memory. */
#include "tools/files/files_sources.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"

int files_sources_init(struct files_sources *s, uint64_t seed)
{
    return hash_init(&s->hash, seed);
}

void files_sources_fini(struct files_sources *s)
{
    assert(s->hash.len == 0);
    hash_fini(&s->hash);
}

static uint64_t hash_source(const struct files_sources *s, const char *source)
{
    return hash_bytes(s->hash.seed, source, strlen(source));
}

static struct files_share *find_share(const struct files_sources *s, const char *source)
{
    struct hash_node *n = hash_find(&s->hash, hash_source(s, source));
    for (; n != NULL; n = hash_next(n)) {
        struct files_share *share = container_of(n, struct files_share, node);
        if (strcmp(share->source, source) == 0)
            return share;
    }
    return NULL;
}

const struct files_share *files_sources_find(const struct files_sources *s, const char *source)
{
    return find_share(s, source);
}

int files_sources_add(struct files_sources *s, const char *source, uint64_t bytes)
{
    struct files_share *share = find_share(s, source);
    size_t len = strlen(source) + 1;
    if (share == NULL) {
        share = calloc(1, sizeof *share + len);
        if (share == NULL)
            return HELIO_ENOMEM;
        memcpy(share->source, source, len);
        hash_add(&s->hash, &share->node, hash_source(s, source));
    }
    assert(share->space <= UINT64_MAX - bytes);
    share->items++;
    share->space += bytes;
    assert(find_share(s, source) == share);
    return 0;
}

void files_sources_sub(struct files_sources *s, const char *source, uint64_t bytes)
{
    struct files_share *share = find_share(s, source);
    assert(share != NULL && share->items > 0 && share->space >= bytes);
    share->items--;
    share->space -= bytes;
    if (share->items > 0)
        return;
    assert(share->space == 0);
    hash_sub(&s->hash, &share->node);
    free(share);
}

void files_sources_grow(struct files_sources *s, const char *source, uint64_t bytes)
{
    struct files_share *share = find_share(s, source);
    assert(share != NULL && share->space <= UINT64_MAX - bytes);
    share->space += bytes;
}

bool files_sources_may_begin(const struct files_sources *s, const char *source, uint64_t items_max)
{
    const struct files_share *share = find_share(s, source);
    return share == NULL || share->items < items_max;
}

bool files_sources_may_grow(const struct files_sources *s, const char *source, uint64_t bytes,
                            uint64_t space_max)
{
    const struct files_share *share = find_share(s, source);
    return share == NULL || share->items == 1 ||
           (bytes <= space_max && share->space <= space_max - bytes);
}
