/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports that something below a folder has changed, not what: the folder is searched then. So an
 * overflow of the kernel's queue, and a new folder, need no special treatment.
 */
#ifndef TOOLS_SYNC_WATCH_H
#define TOOLS_SYNC_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct sync_watch {
    int fd;             /* -1: there is no inotify */
    uint64_t overflows; /* times that the kernel's queue was full */
    uint64_t unwatched; /* folders that could not be watched since the last look */
};

void sync_watch_init(struct sync_watch *w);
void sync_watch_fini(struct sync_watch *w);

/* Watches one folder too; again does nothing. */
void sync_watch_add(struct sync_watch *w, const char *path);
/* Reads the kernel's events. True: something has changed since the last call. */
bool sync_watch_changed(struct sync_watch *w);

#endif
