/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service data aggregation (CCSDS 734.1-B-1, client service 2): a block that consists of data
 * capsules. A capsule is the SDNV of a client service number, followed by one service data unit of
 * that service. The capsule has no length field: only the client service can find the unit's
 * length. So the caller passes a function for it.
 */
#ifndef LTP_SDA_H
#define LTP_SDA_H

#include "base/err.h"
#include "base/slice.h"
#include "ltp/sdnv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LTP_SERVICE_BUNDLES 1 /* one bundle per block */
#define LTP_SERVICE_SDA 2     /* capsules */

struct sda_capsule {
    uint64_t client_service;
    struct slice unit; /* a view of the block */
};

/* Returns the length of the unit at the start of `rest`, 1 … rest.len bytes; 0: there is none. */
typedef size_t sda_length(uint64_t client_service, struct slice rest);

/* Reads the next capsule of a block; begin with *rest = the block. Returns 1; 0 at the block's end;
 * or HELIO_EFORMAT (*rest is then unchanged). */
int sda_next(struct slice *rest, sda_length *length, struct sda_capsule *out);

/* Returns the number of capsules of a whole block; HELIO_EFORMAT when it has none, more than max,
 * or a malformed one. */
int sda_count(struct slice block, sda_length *length, uint32_t max);

/* Length of a capsule, bytes. */
static inline size_t sda_size(uint64_t client_service, size_t unit)
{
    return sdnv_len(client_service) + unit;
}

#ifdef __cplusplus
}
#endif

#endif
