/* SPDX-License-Identifier: Apache-2.0 */
/* The checksums of files (CCSDS 727.0-B-5 4.2.2 and annex F), fed with consecutive parts. */
#ifndef CFDP_CHECKSUM_H
#define CFDP_CHECKSUM_H

#include "cfdp/cfdp.h"

struct cfdp_sum {
    unsigned type; /* enum cfdp_checksum */
    uint32_t value;
    uint64_t len; /* octets so far */
};

bool cfdp_checksum_known(unsigned type);
/* Static; NULL: not known. */
const char *cfdp_checksum_name(unsigned type);

/* `type` is a known one. */
void cfdp_sum_begin(struct cfdp_sum *s, unsigned type);
/* The next octets of the file. */
void cfdp_sum_add(struct cfdp_sum *s, const void *data, size_t len);

#endif
