/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks and their heads. What can go wrong is in the file: a head that is none, a length beyond
 * the limits, records that the check value does not fit (a torn write, a bad medium).
 */
#include "os/log/recording_block.h"

#include <assert.h>
#include <endian.h>

#include "base/crc.h"

#define VERSION 1
#define CRC_AT 40u /* in the head; what is before it is checked */

static const uint8_t magic[5] = {'H', 'R', 'E', 'C', VERSION};

static void put32(uint8_t *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof v);
}

static void put64(uint8_t *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return le32toh(v);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

static uint32_t check_value(const uint8_t *block, uint32_t length)
{
    return crc32c(crc32c(0, block + BLOCK_HEAD, length - BLOCK_HEAD), block, CRC_AT);
}

void block_seal(uint8_t *block, const struct block_head *h)
{
    assert(h->length > BLOCK_HEAD && h->length <= BLOCK_MAX && h->records > 0);
    assert(h->earliest <= h->latest);
    memset(block, 0, BLOCK_HEAD);
    memcpy(block, magic, sizeof magic);
    put32(block + 8, h->length);
    put32(block + 12, h->records);
    put64(block + 16, h->number);
    put64(block + 24, h->earliest);
    put64(block + 32, h->latest);
    put32(block + CRC_AT, check_value(block, h->length));
}

bool block_head_parse(const uint8_t *at, struct block_head *out)
{
    struct block_head h = {.length = get32(at + 8),
                           .records = get32(at + 12),
                           .crc = get32(at + CRC_AT),
                           .number = get64(at + 16),
                           .earliest = get64(at + 24),
                           .latest = get64(at + 32)};
    if (memcmp(at, magic, sizeof magic) != 0 || h.length <= BLOCK_HEAD || h.length > BLOCK_MAX ||
        h.records == 0 || h.earliest > h.latest)
        return false;
    *out = h;
    return true;
}

bool block_intact(const uint8_t *block, const struct block_head *h)
{
    return check_value(block, h->length) == h->crc;
}

void block_record_write(uint8_t *at, uint32_t len, uint32_t tag, uint64_t time)
{
    put32(at, len);
    put32(at + 4, tag);
    put64(at + 8, time);
}

bool block_next(const uint8_t *block, uint32_t length, uint32_t *at, struct block_record *out)
{
    assert(*at >= BLOCK_HEAD && *at <= length);
    if (length - *at < BLOCK_RECORD)
        return false;
    const uint8_t *p = block + *at;
    uint32_t len = get32(p);
    if (len > length - *at - BLOCK_RECORD)
        return false;
    *out = (struct block_record){
        .tag = get32(p + 4), .time = get64(p + 8), .data = slice_of(p + BLOCK_RECORD, len)};
    *at += BLOCK_RECORD + len;
    return true;
}

void block_index_write(uint8_t *at, const struct block_index *x)
{
    put64(at, x->offset);
    put32(at + 8, x->length);
    put32(at + 12, x->records);
    put64(at + 16, x->earliest);
    put64(at + 24, x->latest);
}

bool block_index_parse(const uint8_t *at, struct block_index *out)
{
    struct block_index x = {.offset = get64(at),
                            .length = get32(at + 8),
                            .records = get32(at + 12),
                            .earliest = get64(at + 16),
                            .latest = get64(at + 24)};
    if (x.length <= BLOCK_HEAD || x.length > BLOCK_MAX || x.records == 0 || x.earliest > x.latest)
        return false;
    *out = x;
    return true;
}
