/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed fields, then what the user gave; the CRC-32C comes first (heads, notes) or last (marks and
 * their ends, whose rows of the older format are the same without it). What can go wrong is a row
 * that is not what was written, and that is all a reader says of it.
 */
#include "bp/store_record.h"

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

static void write_crc(uint32_t crc, uint8_t out[4])
{
    for (int i = 3; i >= 0; i--, crc >>= 8)
        out[i] = (uint8_t)crc;
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

size_t store_head_write(uint64_t key, const struct store_head *h, uint8_t out[STORE_HEAD_ROW_MAX])
{
    assert(h->head.len <= STORE_HEAD_MAX);
    store_number_write(h->bytes, out + 4);
    write_crc(h->crc, out + 12);
    if (h->head.len > 0)
        memcpy(out + 16, h->head.data, h->head.len);
    write_crc(head_crc(key, slice_of(out + 4, 12 + h->head.len)), out);
    return 16 + h->head.len;
}

int store_head_read(uint64_t key, struct slice row, struct store_head *out)
{
    if (row.len < 16 || row.len > STORE_HEAD_ROW_MAX ||
        read_crc(row.data) != head_crc(key, slice_of(row.data + 4, row.len - 4)))
        return HELIO_EFORMAT;
    out->bytes = store_number_read(row.data + 4);
    out->crc = read_crc(row.data + 12);
    out->head = slice_of(row.data + 16, row.len - 16);
    return 0;
}

size_t store_mark_write(struct slice id, uint64_t until_ms, uint8_t out[STORE_MARK_ROW])
{
    store_number_write(until_ms, out);
    write_crc(crc_with_key(id, slice_of(out, 8)), out + 8);
    return STORE_MARK_ROW;
}

int store_mark_read(struct slice id, struct slice row, uint64_t *until_ms)
{
    if (row.len != 8 && row.len != STORE_MARK_ROW)
        return HELIO_EFORMAT;
    if (row.len == STORE_MARK_ROW &&
        read_crc(row.data + 8) != crc_with_key(id, slice_of(row.data, 8)))
        return HELIO_EFORMAT;
    *until_ms = store_number_read(row.data);
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
    write_crc(crc32c(0, end_key.data, end_key.len), out);
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
    write_crc(crc_with_key(name_of(name), slice_of(out + 4, value.len)), out);
    return 4 + value.len;
}

int store_note_read(const char *name, struct slice row, struct slice *value)
{
    if (row.len < 4 || row.len > STORE_NOTE_ROW_MAX)
        return HELIO_EFORMAT;
    *value = slice_of(row.data + 4, row.len - 4);
    return read_crc(row.data) == crc_with_key(name_of(name), *value) ? 0 : HELIO_EFORMAT;
}
