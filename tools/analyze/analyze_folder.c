/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: the folder cannot be read, memory; either looks like a folder without logs. */
#include "tools/analyze/analyze_options.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool analyze_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int is_log(const struct dirent *entry)
{
    static const char *const ends[] = {".segments.csv",    ".bundles.csv",    ".drops.csv",
                                       ".segments.csv.gz", ".bundles.csv.gz", ".drops.csv.gz"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(entry->d_name, ends[i]))
            return 1;
    return 0;
}

static char *join_path(const char *folder, const char *name)
{
    size_t cap = strlen(folder) + strlen(name) + 2;
    char *path = malloc(cap);
    if (path != NULL)
        snprintf(path, cap, "%s/%s", folder, name);
    return path;
}

size_t analyze_folder_logs(const char *path, char ***out)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_log, alphasort);
    char **paths = n > 0 ? calloc((size_t)n, sizeof *paths) : NULL;
    size_t found = 0;
    for (int i = 0; i < n; i++) {
        if (paths != NULL && (paths[found] = join_path(path, entries[i]->d_name)) != NULL)
            found++;
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (found == 0) {
        free(paths);
        paths = NULL;
    }
    *out = paths;
    return found;
}
