/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The initialization vectors of a node over restarts. AES-GCM is broken by one IV that is used
 * twice with a key (NIST SP 800-38D, section 8). So IVs are reserved in steps of NODE_IVS_STEP: the
 * end of the step is on the medium before the first IV of it is used. After a restart they go on
 * behind the noted end, or at the clock if that is later. The rest of the step is never used.
 *
 * The note is a text file of the store's folder, so that `rm -r` of a store takes it away only
 * together with the store's bundles; then the clock alone keeps IVs apart
 * (os/log/ivs_note.h).
 */
#ifndef NODE_NODE_IVS_H
#define NODE_NODE_IVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crypto;
struct security_ring;
struct node_ivs;

#define NODE_IVS_FILE "security.ivs"
#define NODE_IVS_STEP 65536 /* IVs, and uses of each key, that a restart may lose */

/*
 * Reads the note of the folder and makes the ring reserve by it. crypto and ring outlive it. 0;
 * HELIO_ENOMEM; HELIO_EFORMAT or HELIO_EIO with what is wrong, and what would be right, in `why`.
 */
int node_ivs_open(struct node_ivs **out, const char *folder, const struct crypto *crypto,
                  struct security_ring *ring, uint64_t dtn_ms, char *why, size_t why_cap);
/* The ring has other keys now: each gets the uses that are remembered of it. */
void node_ivs_keys(struct node_ivs *v);
/* A count was not noted since the medium failed: once for each failure. */
bool node_ivs_trouble(struct node_ivs *v, int *error);
void node_ivs_free(struct node_ivs *v); /* NULL is allowed */

#endif
