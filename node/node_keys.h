/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of keys of bundle security. */
#ifndef NODE_NODE_KEYS_H
#define NODE_NODE_KEYS_H

#include <stddef.h>

struct security_ring;
struct token_keys;

/*
 * Reads all key files of the folder into ring->at; names that begin with a dot are left out. The
 * folder and its files must be accessible to their owner alone, and the owner is the process's user
 * or root. 0; HELIO_EIO or HELIO_EFORMAT with the path, what is wrong and what would be right in
 * `why`, which never has a part of a secret: then ring->len is 0. The ring is in secret memory.
 * Keys of tokens are opened as a new list of `tokens` (os/crypto/token_keys.h), which the caller
 * settles.
 */
int node_keys_read(const char *folder, struct security_ring *ring, struct token_keys *tokens,
                   char *why, size_t why_cap);

#endif
