/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the store as bytes. Each has a CRC-32C over its bytes and its key, so that a damaged row,
 * or a row under another key, is detected.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "bp/agent/store.h"

/* 1 had no check values (ends without one are its); 2 no bundles within their heads' rows, and its
 * marks had a second table; 3 each long bundle in one row. */
#define STORE_FORMAT 4
#define STORE_FORMAT_TABLES 3 /* the first one with the present tables */
#define STORE_HEAD_ROW_MAX (16 + STORE_HEAD_MAX)
#define STORE_WITHIN_MAX 2000 /* bytes of a row that has its bundle within */
#define STORE_NOTE_ROW_MAX (4 + STORE_NOTE_MAX)
#define STORE_END_ROW 4

/* What is known of a bundle without reading it. A small one lies in the same row behind its head:
 * one row is written where two would be. */
struct store_head {
    uint64_t bytes;      /* of the bundle */
    uint32_t crc;        /* CRC-32C of the bundle */
    struct slice head;   /* the user's */
    bool within;         /* the bundle is in this row … */
    struct slice bundle; /* … here; the row's check value does not cover it, crc does */
};

/* Numbers in the byte order in which they sort. */
void store_number_write(uint64_t v, uint8_t out[8]);
uint64_t store_number_read(const uint8_t in[8]);
void store_part_write(uint32_t number, uint8_t out[4]); /* of a part, behind its bundle's key */

/* Each write returns the row's length; each read 0 or HELIO_EFORMAT, and views into row. */
size_t store_head_size(const struct store_head *h); /* of its row */
size_t store_head_write(uint64_t key, const struct store_head *h, uint8_t *out);
int store_head_read(uint64_t key, struct slice row, struct store_head *out);

/* The key of a mark in the order of their ends, and the row under it. */
#define STORE_END_KEY_MAX (8 + STORE_MARK_MAX)
size_t store_end_key(uint64_t until_ms, struct slice id, uint8_t out[STORE_END_KEY_MAX]);
void store_end_write(struct slice end_key, uint8_t out[STORE_END_ROW]);
int store_end_read(struct slice end_key, struct slice row, uint64_t *until_ms, struct slice *id);

size_t store_note_write(const char *name, struct slice value, uint8_t out[STORE_NOTE_ROW_MAX]);
int store_note_read(const char *name, struct slice row, struct slice *value);

#endif
