/* SPDX-License-Identifier: Apache-2.0 */
/* Files below folders, and the names that they are sent under. */
#ifndef TOOLS_FILES_WALK_H
#define TOOLS_FILES_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/files/files_wire.h"

/* Why an entry below a folder is left out. */
enum files_left {
    FILES_LEFT_HIDDEN, /* its name begins with a dot */
    FILES_LEFT_LINK,   /* a symbolic link */
    FILES_LEFT_OTHER,  /* a pipe, a socket, a device, or gone meanwhile */
    FILES_LEFT_LONG,   /* its name is too long, or it is too deep */
    FILES_LEFT_COUNT
};

struct files_walk {
    bool hidden; /* what begins with a dot, too */
    /* NULL: not reported. */
    void (*left)(void *context, const char *folder, const char *part, enum files_left why);
    /* Called with a folder before its content; NULL: not reported. */
    void (*folder)(void *context, const char *path);
    /* A regular file, and its name. False: end the walk. */
    bool (*found)(void *context, const char *path, const char *name);
    void *context;
};

/* What a file, or a folder with all below it, is called: its last part, and the parts below it;
 * "." and "..": only these. Symbolic links below are not followed. 0; HELIO_EAGAIN: `found` ended
 * it; or what the system says of `path`. */
int files_walk_path(struct files_walk *w, const char *path);

/* The same for what is below a folder, without its own name. */
int files_walk_below(struct files_walk *w, const char *path);

#endif
