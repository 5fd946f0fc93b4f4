/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: what a recording's files are made of. A file is one block behind the other; a block is a
 * head and whole records. Numbers are little-endian.
 *
 *   head: magic "HREC"(4) version(1) 0(3) length(4) records(4) number(8) earliest(8) latest(8)
 *         crc(4) 0(4): 48 octets; length is that of the block, head included; number counts the
 *         blocks of one writer; earliest and latest are the times of its records; crc is CRC-32C of
 *         the records, then of the head up to here
 *   record: length(4) tag(4) time(8), length octets
 *   index: offset(8) length(4) records(4) earliest(8) latest(8): 32 octets for each block, in a
 *         file of its own; it can be made anew from the blocks
 */
#ifndef OS_RECORDING_BLOCK_H
#define OS_RECORDING_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define BLOCK_MAX (1024u * 1024u)
#define BLOCK_HEAD 48u
#define BLOCK_RECORD 16u
#define BLOCK_INDEX 32u

struct block_head {
    uint32_t length, records, crc;
    uint64_t number, earliest, latest;
};

struct block_record {
    uint32_t tag;
    uint64_t time;
    struct slice data; /* in the block */
};

/* Where a block is in its file, and what it has. */
struct block_index {
    uint64_t offset, earliest, latest;
    uint32_t length, records;
};

/* Writes the head before the records that lie at block + BLOCK_HEAD; h->crc is computed. */
void block_seal(uint8_t *block, const struct block_head *h);

/* Reads a head; false: it is none. `at` has BLOCK_HEAD octets. */
bool block_head_parse(const uint8_t *at, struct block_head *out);
/* Are the records those that were sealed, and whole? block has h->length octets. */
bool block_intact(const uint8_t *block, const struct block_head *h);

/* Writes the head of a record of so many octets, which follow it. */
void block_record_write(uint8_t *at, uint32_t len, uint32_t tag, uint64_t time);
/* The next record: *at (from BLOCK_HEAD on) moves behind it. False: there is none. */
bool block_next(const uint8_t *block, uint32_t length, uint32_t *at, struct block_record *out);

void block_index_write(uint8_t *at, const struct block_index *x);
/* False: it can be none. */
bool block_index_parse(const uint8_t *at, struct block_index *out);

#endif
