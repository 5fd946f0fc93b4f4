/* SPDX-License-Identifier: Apache-2.0 */
/* EIDs in CBOR (RFC 9171 §4.2.5.1) outside of bundles, for other protocols that have them. */
#ifndef BP_EID_ITEM_H
#define BP_EID_ITEM_H

#include "bp/codec/cbor.h"
#include "bp/codec/eid.h"

/* Reads one, as strictly as those of a bundle in strict mode; else the reader has an error and *out
 * is dtn:none. */
void eid_item_read(struct item_reader *r, struct eid *out);
/* Writes one, which is legal. */
void eid_item_write(struct writer *w, const struct eid *e);

#endif
