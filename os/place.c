/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the paths of a program before it starts. What can go wrong: a directory does not exist,
 * mostly because of a typing error in its name; another kind of file has the name; permissions. */
#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAP 4096

/* The directory that a path's last part lies in. */
static void directory_of(const char *path, char out[PATH_CAP])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0)
        path = ".";
    n = n == 0 ? 1 : n < PATH_CAP ? n : PATH_CAP - 1;
    memcpy(out, path, n);
    out[n] = '\0';
}

static bool check_right(const char *path, int right, char *why, size_t cap)
{
    if (faccessat(AT_FDCWD, path, right, AT_EACCESS) == 0)
        return true;
    snprintf(why, cap, "%s cannot be written: %s; give this user the right, or write another path",
             path, strerror(errno));
    return false;
}

static bool check_directory(const char *path, char *why, size_t cap)
{
    char directory[PATH_CAP];
    struct stat st;
    directory_of(path, directory);
    if (stat(directory, &st) != 0 && errno == ENOENT)
        snprintf(why, cap, "the directory %s does not exist; make it, or write another", directory);
    else if (stat(directory, &st) != 0)
        snprintf(why, cap, "%s: %s", directory, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        snprintf(why, cap, "%s is not a directory", directory);
    else
        return true;
    return false;
}

/* An existing file must be of the kind that the program would create. */
static bool check_kind(enum place_kind kind, const struct stat *st, const char *path, char *why,
                       size_t cap)
{
    if (kind == PLACE_SOCKET && !S_ISSOCK(st->st_mode))
        snprintf(why, cap, "%s is there and is no socket; write another path", path);
    else if (kind == PLACE_FILE && S_ISDIR(st->st_mode))
        snprintf(why, cap, "%s is a directory; write the path of a file", path);
    else if (kind == PLACE_FOLDER && !S_ISDIR(st->st_mode))
        snprintf(why, cap, "%s is no directory; write the path of one, new or not", path);
    else
        return true;
    return false;
}

bool place_check(enum place_kind kind, const char *path, char *why, size_t cap)
{
    char directory[PATH_CAP];
    struct stat st;
    if (*path == '\0')
        return true;
    if (!check_directory(path, why, cap))
        return false;
    const bool there = stat(path, &st) == 0;
    if (there && !check_kind(kind, &st, path, why, cap))
        return false;
    directory_of(path, directory);
    if (!there || kind == PLACE_SOCKET) /* an old socket is removed */
        return check_right(directory, W_OK | X_OK, why, cap);
    return check_right(path, kind == PLACE_FOLDER ? W_OK | X_OK : W_OK, why, cap);
}
