/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a payload that helio-send or helio-recv receives, and as a name. */
#include <stdlib.h>

#include "tools/files/files_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A good name has none of what would lead out of a folder. */
static void try_name(struct slice name)
{
    if (!files_name_good(name, true))
        return;
    if (name.len == 0 || name.data[0] == '/' || name.len > FILES_NAME_MAX)
        abort();
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] < 0x20 || name.data[i] == 0x7f)
            abort();
    for (size_t i = 0; i + 1 < name.len; i++) {
        bool first = i == 0 || name.data[i - 1] == '/';
        bool last = i + 2 == name.len || name.data[i + 2] == '/';
        if (first && last && name.data[i] == '.' && name.data[i + 1] == '.')
            abort();
    }
}

static void try_payload(struct slice payload)
{
    struct files_head h;
    struct files_receipt r;
    struct slice body;
    if (files_parse(payload, &h, &body) != FILES_OK)
        return;
    if (body.data + body.len != payload.data + payload.len || h.name.len > FILES_NAME_MAX)
        abort();
    if (h.kind == FILES_PIECE && (h.offset > h.size || body.len > h.size - h.offset))
        abort();
    if (h.kind != FILES_RECEIPT || !files_parse_receipt(body, h.size, &r))
        return;
    uint64_t at = 0;
    for (size_t i = 0; i < r.gaps_len; i++) {
        if (r.gaps[i].lo < at || r.gaps[i].hi > h.size)
            abort();
        at = r.gaps[i].hi;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[4096 + FILES_HEAD];
    struct files_head h = {.kind = FILES_RECEIPT};
    try_name(slice_of(data, size));
    try_payload(slice_of(data, size));
    if (size < 8 || size > 4096) /* the same behind a sound head, for what is in it */
        return 0;
    memcpy(&h.size, data, 6);
    size_t len = files_write(&h, slice_of(data + 8, size - 8), out);
    memcpy(out + len, data + 8, size - 8);
    try_payload(slice_of(out, len + size - 8));
    return 0;
}
