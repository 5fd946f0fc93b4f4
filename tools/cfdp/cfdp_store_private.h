/* SPDX-License-Identifier: Apache-2.0 */
/* Private: what the parts of the filestore share. */
#ifndef TOOLS_CFDP_STORE_PRIVATE_H
#define TOOLS_CFDP_STORE_PRIVATE_H

#include "tools/cfdp/cfdp_store.h"

#define STORE_PAST "past" /* results, and the file before it */
#define STORE_PAST_OLD "past.old"
#define STORE_PAST_MAX (INT64_C(256) << 10) /* octets of each, about */
#define STORE_NAME 64                       /* of a file of the state folder */

struct store_file {
    int fd;
    bool partial, listing;
};

/* Steps over leading slashes: the store's folder is the root of names. False: no good name. */
bool store_name_good(const char **name);
/* As files_place_parent; HELIO_EINVAL: no good name. */
int store_parent(const struct cfdp_store *s, const char *name, bool make, const char **last);
/* "SOURCE-NUMBER.KIND" */
void store_state_name(struct cfdp_id id, const char *kind, char out[STORE_NAME]);

/* The list of a folder's entries, made once for a transaction. The descriptor, or HELIO_E*. */
int store_list(struct cfdp_store *s, struct cfdp_id id, const char *name, uint64_t *size);
/* As cfdp_files.act. */
unsigned store_act(struct cfdp_store *s, struct cfdp_id id, struct cfdp_act *act);

#endif
