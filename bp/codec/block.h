/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the codec: one block of a bundle (RFC 9171 §4.3). */
#ifndef BP_BLOCK_H
#define BP_BLOCK_H

#include "bp/codec/check.h"

enum { BLOCK_BIB = 11, BLOCK_BCB = 12 }; /* RFC 9172 §3.4 */

/* Reads the primary block into the fields of *b. */
void primary_read(struct item_reader *r, struct check *c, struct bundle *b);
size_t primary_size(const struct bundle *b);
void primary_write(struct writer *w, const struct bundle *b);

/* Reads a canonical block with its CRC; its data is a view. */
void block_read(struct item_reader *r, struct check *c, struct bundle_block *out);
/* Bytes before and after the block-type-specific data; `len` is the length of the data. */
size_t block_head_size(const struct bundle_block *block, size_t len);
size_t block_tail_size(enum crc_type crc);
/* Writes all fields before the data. */
void block_write_head(struct writer *w, const struct bundle_block *block, size_t len);
/* Writes the CRC item after the data of a block that begins at `start`. The CRC covers [start,
 * w->p) and the CRC item itself with value 0 (§4.2.1; erratum 8043: the item's head is
 * included). */
void block_write_crc(struct writer *w, const uint8_t *start, enum crc_type crc);

/* Reads the CRC type; reads and checks the CRC item of a block that begins at `start`. */
enum crc_type block_read_crc_type(struct item_reader *r);
void block_read_crc(struct item_reader *r, struct check *c, const uint8_t *start,
                    enum crc_type type);

/* Is block `number` a target of any security block of this type? */
bool bundle_targeted(const struct bundle *b, uint64_t type, uint64_t number);
/* Does the primary block have a CRC or a block integrity block (RFC 9171 §4.3.1)? */
bool bundle_primary_protected(const struct bundle *b);
/* Sets b->encrypted. */
void bundle_mark_encrypted(struct bundle *b);
/* Does a BPSec block encrypt others[i]? */
bool bundle_is_encrypted(const struct bundle *b, size_t i);

/* Checks the rules between the blocks of a bundle (bundle_rules.c). */
void bundle_rules(const struct bundle *b, struct check *c);
/* bundle_decode; the findings so far are in *c. Returns 0 or HELIO_ENOMEM. */
int bundle_read(const uint8_t *data, size_t len, struct check *c, struct bundle *out);

#endif
