/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed fields, then the user's bytes. The CRC-32C is first (heads, notes), or the only field (ends
 * of marks; their rows of the oldest format are empty). What can go wrong: a row that differs from
 * what was written; a reader reports only that.
 */
#include "store/store_record.h"

#include <assert.h>

#include "base/crc.h"
#include "base/cursor.h"

void store_number_write(uint64_t v, uint8_t out[8])
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

uint64_t store_number_read(const uint8_t in[8])
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | in[i];
    return v;
}

static void write_4(uint32_t v, uint8_t out[4])
{
    for (int i = 3; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

void store_part_write(uint32_t number, uint8_t out[4])
{
    write_4(number, out);
}

static uint32_t read_crc(const uint8_t in[4])
{
    return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

static uint32_t crc_with_key(struct slice key, struct slice rest)
{
    return crc32c(crc32c(0, key.data, key.len), rest.data, rest.len);
}

static uint32_t head_crc(uint64_t key, struct slice rest)
{
    uint8_t name[8];
    store_number_write(key, name);
    return crc_with_key(slice_of(name, sizeof name), rest);
}

#define WITHIN (UINT64_C(1) << 63) /* of the length: no bundle is so long */

size_t store_head_size(const struct store_head *h)
{
    assert(!h->within || h->bundle.len == h->bytes);
    return 16 + h->head.len + (h->within ? h->bundle.len : 0);
}

size_t store_head_write(uint64_t key, const struct store_head *h, uint8_t *out)
{
    assert(h->head.len <= STORE_HEAD_MAX && h->bytes < WITHIN);
    assert(!h->within || store_head_size(h) <= STORE_WITHIN_MAX);
    store_number_write(h->bytes | (h->within ? WITHIN : 0), out + 4);
    write_4(h->crc, out + 12);
    if (h->head.len > 0)
        memcpy(out + 16, h->head.data, h->head.len);
    write_4(head_crc(key, slice_of(out + 4, 12 + h->head.len)), out);
    if (h->within && h->bundle.len > 0)
        memcpy(out + 16 + h->head.len, h->bundle.data, h->bundle.len);
    return store_head_size(h);
}

int store_head_read(uint64_t key, struct slice row, struct store_head *out)
{
    if (row.len < 16)
        return HELIO_EFORMAT;
    const uint64_t bytes = store_number_read(row.data + 4);
    const bool within = (bytes & WITHIN) != 0;
    size_t rest = row.len - 16;
    if (within && (row.len > STORE_WITHIN_MAX || (bytes & ~WITHIN) > rest))
        return HELIO_EFORMAT;
    rest -= within ? (size_t)(bytes & ~WITHIN) : 0;
    if (rest > STORE_HEAD_MAX ||
        read_crc(row.data) != head_crc(key, slice_of(row.data + 4, 12 + rest)))
        return HELIO_EFORMAT;
    *out = (struct store_head){.bytes = bytes & ~WITHIN,
                               .crc = read_crc(row.data + 12),
                               .head = slice_of(row.data + 16, rest),
                               .within = within};
    if (within)
        out->bundle = slice_of(row.data + 16 + rest, row.len - 16 - rest);
    return 0;
}

size_t store_end_key(uint64_t until_ms, struct slice id, uint8_t out[STORE_END_KEY_MAX])
{
    assert(id.len > 0 && id.len <= STORE_MARK_MAX);
    store_number_write(until_ms, out);
    memcpy(out + 8, id.data, id.len);
    return 8 + id.len;
}

void store_end_write(struct slice end_key, uint8_t out[STORE_END_ROW])
{
    write_4(crc32c(0, end_key.data, end_key.len), out);
}

int store_end_read(struct slice end_key, struct slice row, uint64_t *until_ms, struct slice *id)
{
    if (end_key.len <= 8 || end_key.len > STORE_END_KEY_MAX ||
        (row.len != 0 && row.len != STORE_END_ROW))
        return HELIO_EFORMAT;
    if (row.len == STORE_END_ROW && read_crc(row.data) != crc32c(0, end_key.data, end_key.len))
        return HELIO_EFORMAT;
    *until_ms = store_number_read(end_key.data);
    *id = slice_of(end_key.data + 8, end_key.len - 8);
    return 0;
}

static struct slice name_of(const char *name)
{
    return slice_of(name, strlen(name));
}

size_t store_note_write(const char *name, struct slice value, uint8_t out[STORE_NOTE_ROW_MAX])
{
    assert(value.len <= STORE_NOTE_MAX);
    if (value.len > 0)
        memcpy(out + 4, value.data, value.len);
    write_4(crc_with_key(name_of(name), slice_of(out + 4, value.len)), out);
    return 4 + value.len;
}

int store_note_read(const char *name, struct slice row, struct slice *value)
{
    if (row.len < 4 || row.len > STORE_NOTE_ROW_MAX)
        return HELIO_EFORMAT;
    *value = slice_of(row.data + 4, row.len - 4);
    return read_crc(row.data) == crc_with_key(name_of(name), *value) ? 0 : HELIO_EFORMAT;
}
