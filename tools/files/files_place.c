/* SPDX-License-Identifier: Apache-2.0 */
/* Folder by folder, each opened from the one before. What can go wrong: a link or a file in the
 * place of a folder, no rights, a thousand of the same name. */
#include "tools/files/files_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define NAMES_MAX 1000
#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)

/* The descriptor, or HELIO_E*. */
static int open_folder(int at, const char *part, bool make)
{
    int fd = openat(at, part, FOLDER);
    if (fd < 0 && make && errno == ENOENT && (mkdirat(at, part, 0777) == 0 || errno == EEXIST))
        fd = openat(at, part, FOLDER);
    if (fd >= 0)
        return fd;
    bool in_the_way =
        errno == ELOOP || errno == ENOTDIR || errno == ENAMETOOLONG || errno == EACCES;
    return in_the_way ? HELIO_EINVAL : helio_from_errno(errno);
}

int files_place_parent(int dir, const char *name, bool make, const char **last)
{
    int fd = openat(dir, ".", FOLDER);
    if (fd < 0)
        return helio_from_errno(errno);
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        char part[FILES_PART_MAX + 1];
        size_t len = (size_t)(slash - name);
        if (len > FILES_PART_MAX) {
            close(fd);
            return HELIO_EINVAL;
        }
        memcpy(part, name, len);
        part[len] = '\0';
        int next = open_folder(fd, part, make);
        close(fd);
        if (next < 0)
            return next;
        fd = next;
    }
    *last = name;
    return fd;
}

/* The number behind the name; or HELIO_E*. */
static int link_file(int state, const char *from, int parent, const char *last)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        char name[FILES_PART_MAX + 16];
        int n = i == 0 ? snprintf(name, sizeof name, "%s", last)
                       : snprintf(name, sizeof name, "%s.%d", last, i);
        if (n < 0 || (size_t)n >= sizeof name)
            return HELIO_EINVAL;
        if (linkat(state, from, parent, name, 0) == 0)
            return i;
        if (errno == ENAMETOOLONG || errno == EACCES || errno == EXDEV)
            return HELIO_EINVAL;
        if (errno != EEXIST)
            return helio_from_errno(errno);
    }
    return HELIO_EINVAL;
}

int files_place_link(int state, const char *from, int dir, const char *name, bool sync,
                     char out[FILES_NAME_MAX + 16])
{
    const char *last = name;
    int parent = files_place_parent(dir, name, true, &last);
    if (parent < 0)
        return parent;
    int number = link_file(state, from, parent, last);
    int rc = number < 0 ? number : 0;
    if (rc == 0 && sync && fsync(parent) != 0)
        rc = helio_from_errno(errno);
    close(parent);
    if (number > 0)
        snprintf(out, FILES_NAME_MAX + 16, "%s.%d", name, number);
    else
        snprintf(out, FILES_NAME_MAX + 16, "%s", name);
    return rc;
}
