/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a copy, below its folder. No symbolic link is followed. Files that this synchronisation
 * did not write, or that have changed since, are never overwritten and never removed. Calls return
 * 0, HELIO_EINVAL (another file has the name), HELIO_EFORMAT (its content differs), or a system
 * error.
 */
#ifndef TOOLS_SYNC_PLACE_H
#define TOOLS_SYNC_PLACE_H

#include "tools/sync/sync_work.h"

#define SYNC_NEW "new" /* of the state folder: a file before its rename */

/* Makes SYNC_NEW of bytes. */
int sync_place_write(int state, struct slice content);
/* Makes w->made of what lies under a name, if that is still what was placed, and its SHA-256 is
 * right: else HELIO_EFORMAT. As sync_sum_read with w->copy. */
int sync_place_copy(int dir, const char *name, const struct sync_placed *placed, int state,
                    struct sync_work *w, uint64_t *left);

/* Moves file `from` of `state` to a name, with the time and mode of its entry. Of existing files
 * only `placed` is overwritten; another file becomes name.1, name.2, …: *aside. `placed` is the new
 * file then. */
int sync_place_put(int state, const char *from, int dir, const struct sync_entry *e,
                   struct sync_placed *placed, bool *aside);
/* The file under the name has the size and the SHA-256 of the entry: it takes over time and mode,
 * and `placed` is this file. HELIO_EFORMAT: it has not, or there is none. As sync_sum_read. */
int sync_place_adopt(int dir, const struct sync_entry *e, struct sync_placed *placed,
                     struct sync_sum *sum, uint64_t *left);
/* Removes what was placed, and the folders of its name that are empty then. HELIO_EFORMAT: it has
 * changed, and stays. */
int sync_place_remove(int dir, const char *name, const struct sync_placed *placed);
/* Is it there, and as it was placed? */
bool sync_place_has(int dir, const char *name, const struct sync_placed *placed);

/* An open file has that SHA-256. HELIO_EFORMAT: it is another. As sync_sum_read. */
int sync_place_verify(int fd, const struct stat *st, const uint8_t sha[FILES_SHA],
                      struct sync_sum *sum, uint64_t *left);

#endif
