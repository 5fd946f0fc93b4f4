/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder whose files are to be sent: each that was the same in two looks in a row. What was sent
 * is removed, or moved to a folder; what was refused is moved to `.refused` in it.
 */
#ifndef TOOLS_FILES_SPOOL_H
#define TOOLS_FILES_SPOOL_H

#include <sys/stat.h>

#include "base/list.h"
#include "tools/files/files_walk.h"

#define FILES_SPOOL_MAX 10000 /* files that are known at once; the others wait */

struct files_spool {
    const char *path, *sent; /* sent: NULL: removed */
    bool hidden;
    struct list files;
    uint64_t len;
    uint64_t look; /* number of this one */
    bool (*ready)(void *context, const char *path, const char *name, bool first);
    void *context;
};

/* ready: a file is to be sent; `first`: it was there at the first look. False: not now. */
void files_spool_init(struct files_spool *s, const char *path, const char *sent, bool hidden,
                      bool (*ready)(void *context, const char *path, const char *name, bool first),
                      void *context);
void files_spool_fini(struct files_spool *s);

/* Looks. 0, or what the system says of the folder. */
int files_spool_look(struct files_spool *s);

/* The file that `ready` reported is finished, in the state in which it was read. 0, or a system
 * error of removing or moving it: then it is not sent again. A file that has changed since then
 * stays, and is sent. */
int files_spool_over(struct files_spool *s, const char *path, const char *name,
                     const struct stat *was, bool sent);

#endif
