/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells that something below a folder has changed, not what: the folder is looked through then. So
 * an overflow of the kernel's queue, and a folder that appears, need nothing of their own.
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
/* Reads what has come. True: something has changed since the last call. */
bool sync_watch_changed(struct sync_watch *w);

#endif
