/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/codec/cose_*.c. */
#ifndef BP_COSE_PRIVATE_H
#define BP_COSE_PRIVATE_H

#include "bp/codec/cbor.h"

/* Skips one item of any kind; `levels`: arrays, maps and tags that may contain it. */
void cose_skip(struct item_reader *r, unsigned levels);

#endif
