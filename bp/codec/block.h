/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the codec: one block of a bundle (RFC 9171 §4.3). */
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
/* Bytes in front of the data of len bytes, and behind it. */
size_t block_head_size(const struct bundle_block *block, size_t len);
size_t block_tail_size(enum crc_type crc);
/* Everything in front of the data. */
void block_write_head(struct writer *w, const struct bundle_block *block, size_t len);
/* The CRC item behind the data of a block that begins at start: CRC over [start, w->p) and itself
 * with value 0 (§4.2.1; erratum 8043: the item's head stays). */
void block_write_crc(struct writer *w, const uint8_t *start, enum crc_type crc);

/* The CRC type's number, and the CRC item of a block that begins at start. */
enum crc_type block_read_crc_type(struct item_reader *r);
void block_read_crc(struct item_reader *r, struct check *c, const uint8_t *start,
                    enum crc_type type);

/* Is `number` a target of any block of that type? */
bool bundle_targeted(const struct bundle *b, uint64_t type, uint64_t number);
/* Has the primary block a CRC or an integrity block (RFC 9171 §4.3.1)? */
bool bundle_primary_protected(const struct bundle *b);
/* Sets b->encrypted. */
void bundle_mark_encrypted(struct bundle *b);
/* Does a BPSec block encrypt others[i]? */
bool bundle_is_encrypted(const struct bundle *b, size_t i);

/* What the blocks of a bundle demand of each other (bundle_rules.c). */
void bundle_rules(const struct bundle *b, struct check *c);
/* bundle_decode with what it found so far in *c. 0 or HELIO_ENOMEM. */
int bundle_read(const uint8_t *data, size_t len, struct check *c, struct bundle *out);

#endif
