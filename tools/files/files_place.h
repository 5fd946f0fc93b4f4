/* SPDX-License-Identifier: Apache-2.0 */
/* A file's place below a folder. No symbolic link is followed on the way to it. */
#ifndef TOOLS_FILES_PLACE_H
#define TOOLS_FILES_PLACE_H

#include <stdbool.h>

#include "tools/files/files_wire.h"

/* Opens the folder below `dir` that the last part of a good name belongs to; `make`: makes what is
 * missing on the way. The descriptor, with *last that part; HELIO_EINVAL: something is in the way;
 * or what the system says. */
int files_place_parent(int dir, const char *name, bool make, const char **last);

/*
 * Links the file `from` of folder `state` to a good name (files_wire.h) below folder `dir`, where
 * the folders of the name are made; to name.1, name.2, … when it is taken. `out` is the name then.
 * 0; HELIO_EINVAL: something is in the way; or what the system says.
 */
int files_place_link(int state, const char *from, int dir, const char *name, bool sync,
                     char out[FILES_NAME_MAX + 16]);

#endif
