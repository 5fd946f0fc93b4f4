/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a payload that either end of helio-sync receives. */
#include <stdlib.h>

#include "tools/sync/sync_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct sync_change *c)
{
    if (c->version == 0 || c->name.len == 0 || c->name.len > FILES_NAME_MAX ||
        c->content.len > SYNC_INLINE_MAX || (c->with && c->content.len != c->size) ||
        (!c->with && c->content.len > 0))
        abort();
}

static void try_payload(struct slice payload)
{
    struct sync_head h;
    struct sync_change change;
    struct sync_answer answer;
    struct reader r;
    if (sync_parse(payload, &h, &r) != SYNC_OK)
        return;
    if (h.count == 0 || h.count > SYNC_ENTRIES_MAX)
        abort();
    for (uint32_t i = 0; i < h.count; i++) {
        if (!(h.kind == SYNC_CHANGES ? sync_parse_change(&r, &change)
                                     : sync_parse_answer(&r, &answer)))
            abort(); /* sync_parse has checked all */
        if (h.kind == SYNC_CHANGES)
            look_at(&change);
    }
    if (reader_left(&r) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[8192];
    uint64_t version;
    (void)sync_content_version(slice_of(data, size), &version);
    try_payload(slice_of(data, size));
    if (size < 2 || size > sizeof out - SYNC_HEAD) /* the same behind a sound head */
        return 0;
    const struct sync_head h = {data[0] % 2 == 0 ? SYNC_CHANGES : SYNC_ANSWERS, 1,
                                1u + data[1] % 8};
    memcpy(out + SYNC_HEAD, data + 2, size - 2);
    sync_write_end(out, SYNC_HEAD + size - 2, &h);
    try_payload(slice_of(out, SYNC_HEAD + size - 2));
    return 0;
}
