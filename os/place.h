/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program can make or write what a path of its configuration names; nothing is made. */
#ifndef OS_PLACE_H
#define OS_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum place_kind {
    PLACE_SOCKET, /* made anew: its directory is there, and at most an old socket at its name */
    PLACE_FILE,   /* a file that is made or continued, or a device */
    PLACE_FOLDER  /* of files; is made in its directory if it is not there */
};

/* False: the start would fail; why[cap] says what is wrong, and what to do. An empty path is good.
 * Rights are those of this process. */
bool place_check(enum place_kind kind, const char *path, char *why, size_t cap);

#endif
