/* SPDX-License-Identifier: Apache-2.0 */
/* A row that a reader takes is, written again, the same bytes: nothing in it is without meaning. */
#include <assert.h>

#include "store/store_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_head_row(uint64_t key, struct slice row)
{
    struct store_head h;
    uint8_t again[STORE_WITHIN_MAX];
    if (store_head_read(key, row, &h) < 0)
        return;
    assert(store_head_write(key, &h, again) == row.len);
    assert(memcmp(again, row.data, row.len) == 0);
}

static void read_mark_rows(struct slice id, struct slice row)
{
    uint64_t until_ms;
    struct slice found;
    uint8_t end[STORE_END_KEY_MAX];
    if (store_end_read(id, row, &until_ms, &found) == 0) {
        assert(store_end_key(until_ms, found, end) == id.len);
        assert(memcmp(end, id.data, id.len) == 0);
    }
}

/* One byte: the length of the key; the key; the row. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 1 || len < 1 + (size_t)data[0])
        return 0;
    struct slice key = slice_of(data + 1, data[0]);
    struct slice row = slice_of(data + 1 + key.len, len - 1 - key.len);
    char name[256] = "";
    struct slice value;
    if (key.len == 8)
        read_head_row(store_number_read(key.data), row);
    read_mark_rows(key, row);
    memcpy(name, key.data, key.len);
    if (strlen(name) == key.len && store_note_read(name, row, &value) == 0)
        assert(value.len + 4 == row.len);
    return 0;
}
