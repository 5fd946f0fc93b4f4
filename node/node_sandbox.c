/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places are values of the tables of keys: OPTION_FILE is read, OPTION_PLACE and OPTION_SOCKET
 * are written, in the configuration and in each of its links. What can go wrong: the kernel lacks a
 * part of it, which is a warning; a directory of a later configuration was not among the places:
 * then its files cannot be opened until the node is restarted.
 */
#include "node/node_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "node/config/config_tables.h"
#include "os/process/sandbox.h"

#define PATH_CAP 4096

struct places {
    struct sandbox_place *at; /* their paths are allocated */
    size_t len, cap;
    bool failed;
};

static void add_place(struct places *p, const char *path, size_t len, bool write)
{
    if (p->len == p->cap) {
        const size_t cap = 2 * p->cap + 32;
        struct sandbox_place *at = realloc(p->at, cap * sizeof *at);
        if (at == NULL) {
            p->failed = true;
            return;
        }
        p->at = at;
        p->cap = cap;
    }
    char *own = strndup(path, len);
    p->failed = p->failed || own == NULL;
    if (own != NULL)
        p->at[p->len++] = (struct sandbox_place){own, write};
}

/* The directory in which it lies: what has this name may be another file later. */
static void add_directory(struct places *p, const char *path, bool write)
{
    if (path == NULL || *path == '\0')
        return;
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len == 0)
        add_place(p, ".", 1, write);
    else
        add_place(p, path, len, write);
}

static void add_options(struct places *p, const struct conf_option *options, const void *base)
{
    for (const struct conf_option *o = options; o->key != NULL; o++) {
        const bool made = o->type == OPTION_PLACE || o->type == OPTION_SOCKET;
        if (o->type == OPTION_FILE || made)
            add_directory(p, *(char *const *)(const void *)((const char *)base + o->offset), made);
    }
}

/* As the store itself would make it; its name is on the medium before its parent is out of reach.
 */
static void add_store(struct places *p, const struct config *c)
{
    char parent[PATH_CAP];
    const char *path = c->store.path;
    if (c->store.durability == STORE_NONE || *path == '\0')
        return;
    if (mkdir(path, 0700) == 0) {
        snprintf(parent, sizeof parent, "%s/..", path);
        int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            (void)fsync(fd); /* the store's own first sync tells what its medium cannot do */
            close(fd);
        }
    }
    add_place(p, path, strlen(path), true);
}

/* Names of users, groups and hosts, the time zone, OpenSSL's own settings, the machine's state, and
 * the service's credentials. */
static void add_system(struct places *p)
{
    static const char *const reads[] = {"/etc",
                                        "/usr",
                                        "/lib",
                                        "/lib64",
                                        "/proc",
                                        "/sys",
                                        "/run/systemd",
                                        "/run/NetworkManager",
                                        "/run/resolvconf",
                                        "/dev/urandom",
                                        "/dev/random"};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        add_place(p, reads[i], strlen(reads[i]), false);
    add_place(p, "/dev/null", strlen("/dev/null"), true);
    const char *own = getenv("CREDENTIALS_DIRECTORY"); /* of this service alone */
    if (own != NULL && *own == '/')
        add_place(p, own, strlen(own), false);
}

static void gather_places(struct places *p, const struct node *n)
{
    const struct config *c = n->config;
    for (size_t i = 0; config_section_at(i) != NULL; i++)
        add_options(p, config_section_at(i)->options, c);
    for (size_t i = 0; i < c->links_len; i++)
        add_options(p, c->links[i].ops->options, c->links[i].settings);
    add_directory(p, c->control, true); /* it may have a default */
    add_directory(p, n->path, false);
    add_store(p, c);
    add_system(p);
}

static void say_missing(struct node *n, const char *what, const char *forbidden, int error)
{
    const bool none = helio_errno(error) == ENOSYS || helio_errno(error) == EOPNOTSUPP;
    say(&n->say, LEVEL_WARNING, "sandbox: %s: %s; %s", what,
        none ? "this kernel has none" : helio_strerror(error), forbidden);
}

void node_sandbox_files(struct node *n)
{
    struct places p = {0};
    if (n->config->sandbox != SANDBOX_ON)
        return;
    gather_places(&p, n);
    int version = p.failed ? HELIO_ENOMEM : sandbox_files(p.at, p.len);
    if (version < 0)
        say_missing(n, "Landlock", "the node can open every file that its user can", version);
    else
        say(&n->say, LEVEL_INFO, "sandbox: files of %zu places only (Landlock %d)", p.len, version);
    for (size_t i = 0; i < p.len; i++)
        free((char *)(uintptr_t)p.at[i].path);
    free(p.at);
}

void node_sandbox_calls(struct node *n)
{
    if (n->config->sandbox != SANDBOX_ON)
        return;
    int err = sandbox_calls();
    if (err < 0)
        say_missing(n, "seccomp", "the node can make every system call", err);
    else
        say(&n->say, LEVEL_INFO, "sandbox: system calls are limited (seccomp)");
}
