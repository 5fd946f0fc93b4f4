/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the paths of a configuration can be made on this machine, and whether it has the groups.
 * What can go wrong: a directory that does not exist, which is most often a wrong character in its
 * name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/config/config.h"
#include "os/input_file.h"
#include "os/place.h"
#include "os/private_file.h"
#include "os/process/users.h"

static void check_place(enum place_kind kind, const char *key, uint32_t line, const char *path,
                        struct conf_errors *errors)
{
    char why[512];
    if (line != 0 && path != NULL && !place_check(kind, path, why, sizeof why))
        conf_error(errors, line, "%s: %s", key, why);
}

/* What the adapters of links make or write. */
static void check_links(const struct config *c, struct conf_errors *errors)
{
    char key[128];
    for (size_t i = 0; i < c->links_len; i++) {
        const struct config_link *l = &c->links[i];
        for (const struct conf_option *o = l->ops->options; o->key != NULL; o++) {
            if (o->type != OPTION_PLACE && o->type != OPTION_SOCKET)
                continue;
            snprintf(key, sizeof key, "links[%.64s].%s", l->name, o->key);
            check_place(o->type == OPTION_SOCKET ? PLACE_SOCKET : PLACE_FILE, key, l->line,
                        *(char *const *)(const void *)((const char *)l->settings + o->offset),
                        errors);
        }
    }
}

/* Two sockets or two logs must not have one path. */
static void check_apart(const char *key, uint32_t line, const char *path, const char *other_key,
                        const char *other, struct conf_errors *errors)
{
    if (line != 0 && path != NULL && other != NULL && *path != '\0' && strcmp(path, other) == 0)
        conf_error(errors, line, "%s: the same path as %s; write another", key, other_key);
}

/* gives: the socket's file is given to the group. */
static void check_group(const char *key, uint32_t line, const char *group, bool gives,
                        struct conf_errors *errors)
{
    unsigned gid;
    char user[USERS_TEXT_MAX];
    if (line == 0 || group == NULL || *group == '\0')
        return;
    if (users_find_group(group, &gid) < 0) {
        conf_error(errors, line,
                   "%s: there is no group %.64s; make it (groupadd), or write another", key, group);
    } else if (gives && !users_may_give(gid)) {
        users_text((unsigned)geteuid(), user);
        conf_error(errors, line,
                   "%s: %s is not a member of the group %.64s and cannot give a socket to it; add "
                   "the user to the group (usermod -aG), or write another",
                   key, user, group);
    }
}

/* A plan that cannot be read; what is wrong in it is reported with the plan's own lines. */
static void check_plan(const struct config *c, struct conf_errors *errors)
{
    char why[128];
    if (c->lines.plan == 0 || c->plan == NULL || *c->plan == '\0')
        return;
    FILE *f = input_file_regular(c->plan, why, sizeof why);
    if (f != NULL)
        fclose(f);
    else
        conf_error(errors, c->lines.plan,
                   "plan: %s: cannot be read: %s; write the path of a contact plan", c->plan, why);
}

/* Of the folder of keys: may others read it? */
static bool lets_others(const char *path, const struct stat *st)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool lets = !private_file_is(fd, st, geteuid());
    if (fd >= 0)
        close(fd);
    return lets;
}

static void check_keys(const struct config *c, struct conf_errors *errors)
{
    struct stat st;
    const char *path = c->security_keys;
    char user[USERS_TEXT_MAX];
    if (c->lines.security_keys == 0 || c->security_len == 0 || path == NULL || *path == '\0')
        return;
    users_text((unsigned)geteuid(), user);
    if (stat(path, &st) != 0)
        conf_error(errors, c->lines.security_keys, "security_keys: %s: %s; %s", path,
                   strerror(errno),
                   errno == ENOENT ? "make the folder (mkdir -m 0700)"
                                   : "write the folder that has the key files, which the node's "
                                     "user must be able to read");
    else if (!S_ISDIR(st.st_mode))
        conf_error(errors, c->lines.security_keys,
                   "security_keys: %s is no folder; write the one that has the key files", path);
    else if (lets_others(path, &st))
        conf_error(errors, c->lines.security_keys, "security_keys: %s: " PRIVATE_FILE_OTHERS, path);
    else if (access(path, R_OK | X_OK) != 0)
        conf_error(errors, c->lines.security_keys,
                   "security_keys: %s: %s cannot read it: %s; the folder and its files must be the "
                   "node's user's (chown -R)",
                   path, user, strerror(errno));
}

/* A log at a socket's path would replace it. */
static void check_logs(const struct config *c, struct conf_errors *errors)
{
    const struct {
        const char *key, *path;
        uint32_t line;
    } logs[] = {{"log.segments", c->log.segments, c->lines.segments},
                {"log.bundles", c->log.bundles, c->lines.bundles}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        check_apart(logs[i].key, logs[i].line, logs[i].path, "socket", c->socket, errors);
        check_apart(logs[i].key, logs[i].line, logs[i].path, "control", c->control, errors);
    }
    check_apart("log.bundles", c->lines.bundles, c->log.bundles, "log.segments", c->log.segments,
                errors);
}

int config_places(const struct config *c, struct conf_errors *errors)
{
    size_t before = errors->total;
    check_place(PLACE_SOCKET, "socket", c->lines.socket, c->socket, errors);
    /* its path follows from that of socket when it is not given */
    const uint32_t control = c->lines.control != 0 ? c->lines.control : c->lines.socket;
    if (c->lines.control != 0 || errors->total == before)
        check_place(PLACE_SOCKET, "control", control, c->control, errors);
    check_place(PLACE_FILE, "log.segments", c->lines.segments, c->log.segments, errors);
    check_place(PLACE_FILE, "log.bundles", c->lines.bundles, c->log.bundles, errors);
    if (c->store.durability != STORE_NONE)
        check_place(PLACE_FOLDER, "store.path", c->lines.store, c->store.path, errors);
    check_links(c, errors);
    check_plan(c, errors);
    check_keys(c, errors);
    check_apart("control", c->lines.control, c->control, "socket", c->socket, errors);
    check_logs(c, errors);
    check_group("socket_group", c->lines.socket_group, c->socket_access.group, true, errors);
    check_group("control_group", c->lines.control_group, c->control_access.group, true, errors);
    check_group("control_admin_group", c->lines.admin_group, c->control_admin_group, false, errors);
    return errors->total == before ? 0 : errors->no_memory ? HELIO_ENOMEM : HELIO_ENOENT;
}
