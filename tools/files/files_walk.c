/* SPDX-License-Identifier: Apache-2.0 */
/* Folder by folder, in the order of names. What can go wrong: folders deeper than NAME_MAX allows,
 * which are skipped, and those that cannot be read. */
#include "tools/files/files_walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"

#define PATH_LEN 4096
#define DEPTH_MAX 64

struct place {
    char path[PATH_LEN];
    char name[FILES_NAME_MAX + 1]; /* empty: of the top */
    unsigned depth;
};

static int walk_folder(struct files_walk *w, const struct place *at);

/* False: it would be too long. */
static bool go_below(const struct place *at, const char *part, struct place *out)
{
    int n = snprintf(out->path, sizeof out->path, "%s/%s", at->path, part);
    int m = snprintf(out->name, sizeof out->name, "%s%s%s", at->name,
                     at->name[0] != '\0' ? "/" : "", part);
    out->depth = at->depth + 1;
    return n > 0 && (size_t)n < sizeof out->path && m > 0 && (size_t)m < sizeof out->name &&
           out->depth < DEPTH_MAX;
}

static void leave_out(struct files_walk *w, const struct place *at, const char *part,
                      enum files_left why)
{
    if (w->left != NULL)
        w->left(w->context, at->path, part, why);
}

static int walk_entry(struct files_walk *w, const struct place *at, const char *part)
{
    struct stat st;
    if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
        return 0;
    if (part[0] == '.' && !w->hidden) {
        leave_out(w, at, part, FILES_LEFT_HIDDEN);
        return 0;
    }
    struct place *below = malloc(sizeof *below);
    if (below == NULL)
        return HELIO_ENOMEM;
    int rc = 0;
    bool fits = go_below(at, part, below), there = fits && lstat(below->path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        rc = walk_folder(w, below);
    else if (there && S_ISREG(st.st_mode))
        rc = w->found(w->context, below->path, below->name) ? 0 : HELIO_EAGAIN;
    else
        leave_out(w, at, part,
                  !fits                          ? FILES_LEFT_LONG
                  : there && S_ISLNK(st.st_mode) ? FILES_LEFT_LINK
                                                 : FILES_LEFT_OTHER);
    free(below);
    return rc;
}

static int walk_folder(struct files_walk *w, const struct place *at)
{
    struct dirent **entries;
    if (w->folder != NULL)
        w->folder(w->context, at->path);
    int n = scandir(at->path, &entries, NULL, alphasort);
    if (n < 0)
        return helio_from_errno(errno);
    int rc = 0;
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = walk_entry(w, at, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int files_walk_below(struct files_walk *w, const char *path)
{
    struct place *top = calloc(1, sizeof *top);
    if (top == NULL)
        return HELIO_ENOMEM;
    snprintf(top->path, sizeof top->path, "%s", path);
    int rc = walk_folder(w, top);
    free(top);
    return rc;
}

/* The last part of a path, without trailing slashes; empty for "." and "..". */
static void find_last(const char *path, char out[FILES_NAME_MAX + 1])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(out, FILES_NAME_MAX + 1, "%.*s", (int)(end - begin), path + begin);
    if (strcmp(out, ".") == 0 || strcmp(out, "..") == 0)
        out[0] = '\0';
}

int files_walk_path(struct files_walk *w, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return helio_from_errno(errno);
    struct place *top = calloc(1, sizeof *top);
    if (top == NULL)
        return HELIO_ENOMEM;
    snprintf(top->path, sizeof top->path, "%s", path);
    find_last(path, top->name);
    int rc = 0;
    if (S_ISDIR(st.st_mode))
        rc = walk_folder(w, top);
    else
        rc = w->found(w->context, top->path, top->name) ? 0 : HELIO_EAGAIN;
    free(top);
    return rc;
}
