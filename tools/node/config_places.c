/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the paths of a configuration can be made on this machine. What can go wrong: a directory
 * that does not exist, which is most often a wrong character in its name. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/node/config.h"

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

static void check_place(const char *key, uint32_t line, const char *path,
                        struct conf_errors *errors)
{
    char directory[PATH_CAP];
    struct stat st;
    if (line == 0 || path == NULL || *path == '\0')
        return;
    directory_of(path, directory);
    if (stat(directory, &st) != 0 && errno == ENOENT)
        conf_error(errors, line, "%s: the directory %s does not exist; make it, or write another",
                   key, directory);
    else if (stat(directory, &st) != 0)
        conf_error(errors, line, "%s: %s: %s", key, directory, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        conf_error(errors, line, "%s: %s is not a directory", key, directory);
}

enum kind { KIND_SOCKET, KIND_LOG, KIND_STORE };

/* What is at the place already must be what the node would make there; a log may be a device. */
static void check_kind(enum kind kind, const char *key, uint32_t line, const char *path,
                       struct conf_errors *errors)
{
    struct stat st;
    if (line == 0 || path == NULL || *path == '\0' || stat(path, &st) != 0)
        return;
    if (kind == KIND_SOCKET && !S_ISSOCK(st.st_mode))
        conf_error(errors, line, "%s: %s is there and is no socket; write another path", key, path);
    if (kind == KIND_LOG && S_ISDIR(st.st_mode))
        conf_error(errors, line, "%s: %s is a directory; write the path of a file", key, path);
    if (kind == KIND_STORE && !S_ISDIR(st.st_mode))
        conf_error(errors, line, "%s: %s is no directory; write the path of one, new or not", key,
                   path);
}

/* Two sockets or two logs in one place. */
static void check_apart(const char *key, uint32_t line, const char *path, const char *other_key,
                        const char *other, struct conf_errors *errors)
{
    if (line != 0 && path != NULL && other != NULL && *path != '\0' && strcmp(path, other) == 0)
        conf_error(errors, line, "%s: the same path as %s; write another", key, other_key);
}

int config_places(const struct config *c, struct conf_errors *errors)
{
    size_t before = errors->total;
    check_place("socket", c->lines.socket, c->socket, errors);
    check_place("control", c->lines.control, c->control, errors);
    check_place("log.segments", c->lines.segments, c->log.segments, errors);
    check_place("log.bundles", c->lines.bundles, c->log.bundles, errors);
    if (c->store.durability != STORE_NONE)
        check_place("store.path", c->lines.store, c->store.path, errors);
    check_kind(KIND_SOCKET, "socket", c->lines.socket, c->socket, errors);
    check_kind(KIND_SOCKET, "control", c->lines.control, c->control, errors);
    check_kind(KIND_LOG, "log.segments", c->lines.segments, c->log.segments, errors);
    check_kind(KIND_LOG, "log.bundles", c->lines.bundles, c->log.bundles, errors);
    if (c->store.durability != STORE_NONE)
        check_kind(KIND_STORE, "store.path", c->lines.store, c->store.path, errors);
    check_apart("control", c->lines.control, c->control, "socket", c->socket, errors);
    check_apart("log.bundles", c->lines.bundles, c->log.bundles, "log.segments", c->log.segments,
                errors);
    return errors->total == before ? 0 : HELIO_ENOENT;
}
