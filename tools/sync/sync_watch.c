/* SPDX-License-Identifier: Apache-2.0 */
/* inotify, of which only the fact counts. What can go wrong: no inotify, or its limit of watches:
 * then only the looks at intervals find a change. */
#include "tools/sync/sync_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS                                                                                     \
    (IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MODIFY |             \
     IN_MOVE_SELF | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

void sync_watch_init(struct sync_watch *w)
{
    *w = (struct sync_watch){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

void sync_watch_fini(struct sync_watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void sync_watch_add(struct sync_watch *w, const char *path)
{
    if (w->fd < 0 || inotify_add_watch(w->fd, path, EVENTS) < 0)
        w->unwatched++;
}

bool sync_watch_changed(struct sync_watch *w)
{
    _Alignas(struct inotify_event) char bytes[16384];
    bool changed = false;
    ssize_t n;
    while (w->fd >= 0 && (n = read(w->fd, bytes, sizeof bytes)) > 0)
        for (const char *p = bytes; p < bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;
            w->overflows += (e->mask & IN_Q_OVERFLOW) != 0;
            changed = true;
            p += sizeof *e + e->len;
        }
    return changed;
}
