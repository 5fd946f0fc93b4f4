/* SPDX-License-Identifier: Apache-2.0 */
/* A file's place below a folder. Symbolic links in its path are not followed. */
#ifndef TOOLS_FILES_PLACE_H
#define TOOLS_FILES_PLACE_H

#include <stdbool.h>

#include "tools/files/files_wire.h"

/* Opens the folder below `dir` that contains the last part of a good name; `make`: creates missing
 * folders. Returns the descriptor, with *last that part; HELIO_EINVAL: another file has the name of
 * a folder; or a system error. */
int files_place_parent(int dir, const char *name, bool make, const char **last);

/*
 * Links the file `from` of folder `state` to a good name (files_wire.h) below folder `dir` and
 * creates the folders of the name. If the name is taken: to name.1, name.2, …. `out` is the final
 * name. 0; HELIO_EINVAL: another file has the name of a folder; or a system error.
 */
int files_place_link(int state, const char *from, int dir, const char *name, bool sync,
                     char out[FILES_NAME_MAX + 16]);

#endif
