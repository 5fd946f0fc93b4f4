/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is being written grows, so it is sent when it has not changed from one look to the
 * next. What can go wrong: it is gone, or cannot be removed: it stays, and is not sent again as
 * long as it is the same. */
#include "tools/files/files_spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

#define REFUSED ".refused"

struct spooled {
    struct list order;
    char *path;
    struct stat was;
    uint64_t look; /* the last one that found it */
    bool given;    /* `ready` took it */
};

void files_spool_init(struct files_spool *s, const char *path, const char *sent, bool hidden,
                      bool (*ready)(void *context, const char *path, const char *name, bool first),
                      void *context)
{
    *s = (struct files_spool){
        .path = path, .sent = sent, .hidden = hidden, .ready = ready, .context = context};
    list_init(&s->files);
}

static void forget_file(struct files_spool *s, struct spooled *f)
{
    list_sub(&f->order);
    s->len--;
    free(f->path);
    free(f);
}

void files_spool_fini(struct files_spool *s)
{
    list_for_each_safe (it, &s->files)
        forget_file(s, container_of(it, struct spooled, order));
}

static struct spooled *find_file(const struct files_spool *s, const char *path)
{
    list_for_each (it, &s->files) {
        struct spooled *f = container_of(it, struct spooled, order);
        if (strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

static struct spooled *new_file(struct files_spool *s, const char *path)
{
    struct spooled *f = s->len < FILES_SPOOL_MAX ? calloc(1, sizeof *f) : NULL;
    if (f == NULL || (f->path = strdup(path)) == NULL) {
        free(f);
        return NULL;
    }
    list_init(&f->order);
    list_add_tail(&s->files, &f->order);
    s->len++;
    return f;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool look_at(void *context, const char *path, const char *name)
{
    struct files_spool *s = context;
    struct stat st;
    struct spooled *f = find_file(s, path);
    if (strncmp(name, REFUSED "/", sizeof REFUSED) == 0 || lstat(path, &st) != 0)
        return true;
    if (f == NULL && (f = new_file(s, path)) == NULL)
        return false;
    bool known = f->look != 0, same = known && is_same(&f->was, &st);
    f->was = st;
    f->look = s->look;
    if (!same)
        f->given = false;
    if (same && !f->given)
        f->given = s->ready(s->context, path, name, s->look == 2);
    return true;
}

int files_spool_look(struct files_spool *s)
{
    struct files_walk w = {.hidden = s->hidden, .found = look_at, .context = s};
    s->look++;
    int rc = files_walk_below(&w, s->path);
    list_for_each_safe (it, &s->files) {
        struct spooled *f = container_of(it, struct spooled, order);
        if (rc == 0 && f->look != s->look)
            forget_file(s, f);
    }
    return rc == HELIO_EAGAIN ? 0 : rc;
}

/* Moves a file to folder `to`, below which the folders of its name are made. */
static int move_file(const char *path, const char *to, const char *name)
{
    char target[4096];
    int n = snprintf(target, sizeof target, "%s/%s", to, name);
    if (n < 0 || (size_t)n >= sizeof target)
        return helio_from_errno(ENAMETOOLONG);
    for (char *p = target + strlen(to); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(target, 0777) != 0 && errno != EEXIST)
            return helio_from_errno(errno);
        *p = '/';
    }
    return rename(path, target) == 0 ? 0 : helio_from_errno(errno);
}

int files_spool_over(struct files_spool *s, const char *path, const char *name,
                     const struct stat *was, bool sent)
{
    char refused[4096];
    struct stat st;
    if (lstat(path, &st) != 0)
        return helio_from_errno(errno);
    if (!is_same(&st, was))
        return 0;
    if (sent && s->sent == NULL)
        return unlink(path) == 0 ? 0 : helio_from_errno(errno);
    snprintf(refused, sizeof refused, "%s/" REFUSED, s->path);
    return move_file(path, sent ? s->sent : refused, name);
}
