/* SPDX-License-Identifier: Apache-2.0 */
/* Results are small; what can go wrong is the file. */
#include "tools/perf/perf_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

json_t *perf_report_counts(const struct perf_count *list)
{
    json_t *j = json_object();
    for (; list->name != NULL; list++)
        json_object_set_new(j, list->name, json_integer((json_int_t)list->value));
    return j;
}

json_t *perf_report_delay(const struct hist *h)
{
    if (h->count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f}", "mean", h->mean / 1e6, "p50",
                     (double)hist_quantile(h, 0.5) / 1e6, "p90",
                     (double)hist_quantile(h, 0.9) / 1e6, "p99",
                     (double)hist_quantile(h, 0.99) / 1e6, "max", (double)h->max / 1e6);
}

static bool dump_json(json_t *j, FILE *f)
{
    bool ok = json_dumpf(j, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0;
    ok = fputc('\n', f) != EOF && ok;
    return fflush(f) == 0 && ok;
}

static bool special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* An errno; 0: it can be written, as far as can be known now. */
static int check_place(const char *path)
{
    char folder[4096] = ".";
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return EISDIR;
    if (there && !S_ISREG(st.st_mode))
        return access(path, W_OK) == 0 ? 0 : errno;
    const char *slash = strrchr(path, '/');
    if (slash != NULL && (size_t)(slash - path) + 1 >= sizeof folder)
        return ENAMETOOLONG;
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

void perf_report_place(struct argp_state *state, const char *option, const char *path)
{
    int number = path == NULL || strcmp(path, "-") == 0 ? 0 : check_place(path);
    if (number == ENOENT)
        argp_error(state,
                   "--%s %s: there is no such folder; make it (mkdir -p), or write another file",
                   option, path);
    else if (number != 0)
        argp_error(state, "--%s %s: %s", option, path, strerror(number));
}

bool perf_report_write(const char *program, json_t *j, const char *path)
{
    char beside[4096];
    bool direct = strcmp(path, "-") == 0 || special(path), ok = false;
    int n = snprintf(beside, sizeof beside, "%s%s", path, direct ? "" : ".new");
    if (n < 0 || (size_t)n >= sizeof beside)
        errno = ENAMETOOLONG;
    else if (strcmp(path, "-") == 0)
        ok = dump_json(j, stdout);
    else {
        FILE *f = fopen(beside, "w");
        ok = f != NULL && dump_json(j, f);
        if (f != NULL)
            ok = fclose(f) == 0 && ok;
        if (!direct)
            ok = ok && rename(beside, path) == 0;
    }
    if (!ok)
        fprintf(stderr, "%s: --json %s: %s\n", program, path, strerror(errno));
    json_decref(j);
    return ok;
}
