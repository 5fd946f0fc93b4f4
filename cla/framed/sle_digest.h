/* SPDX-License-Identifier: Apache-2.0 */
/* The hash functions of SLE's credentials. */
#ifndef CLA_SLE_DIGEST_H
#define CLA_SLE_DIGEST_H

#include "sle/auth.h"

struct sle_digests;

/* NULL: memory is out. */
struct sle_digests *sle_digests_new(void);
void sle_digests_free(struct sle_digests *d); /* NULL is allowed */

/* Of struct sle_config.hash; its context is a struct sle_digests. */
sle_hash_function sle_digest;

#endif
