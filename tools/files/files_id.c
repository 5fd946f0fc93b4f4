/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of SHA-256 values. What can go wrong: memory. */
#include "tools/files/files_id.h"

#include "base/cursor.h"

/* Of `first`, which has a fixed length, and `second`. */
static bool hash_parts(struct slice first, struct slice second, uint8_t out[FILES_ID])
{
    uint8_t sha[FILES_SHA];
    struct files_digest *d = files_digest_new();
    if (d == NULL)
        return false;
    files_digest_add(d, first);
    files_digest_add(d, second);
    const bool good = files_digest_end(d, sha);
    if (good)
        memcpy(out, sha, FILES_ID);
    return good;
}

bool files_id_make(const struct files_head *h, uint8_t out[FILES_ID])
{
    uint8_t content[FILES_SHA + 8];
    struct writer w = writer_of(content, sizeof content);
    writer_bytes(&w, h->sha, FILES_SHA);
    writer_number(&w, h->size, 8);
    return hash_parts(slice_of(content, sizeof content), h->name, out);
}

bool files_id_of_source(const uint8_t id[FILES_ID], const char *source, uint8_t out[FILES_ID])
{
    return hash_parts(slice_of(id, FILES_ID), slice_of(source, strlen(source)), out);
}
