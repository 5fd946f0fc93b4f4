/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sessions are shown is known only when all are, so the inputs are read a second time for
 * their rows; the rest is Python's, which has a folder of tables to go by. What can go wrong:
 * standard input cannot be read twice (then there are no timelines), the disk is full, Python or
 * what it needs is missing.
 */
#include "tools/analyze/analyze_page.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/python_run.h"

#define SIGNAL_ROWS (1 << 16)

bool analyze_page_wanted(const struct analyze_options *o)
{
    return o->plot != NULL || o->html != NULL;
}

static bool run_python(const struct analyze_options *o, const char *const *arguments, size_t count)
{
    char error[PYTHON_ERROR_MAX];
    int rc = python_run(o->html != NULL ? "--html" : "--plot", "figures.analysis", arguments, count,
                        error);
    if (error[0] != '\0')
        fprintf(stderr, "helio-analyze: %s\n", error);
    return rc == 0;
}

bool analyze_page_possible(const struct analyze_options *o)
{
    return run_python(o, (const char *[]){"--check"}, 1);
}

bool analyze_page_place(const struct analyze_options *o)
{
    char folder[4096];
    const char *slash = o->html != NULL ? strrchr(o->html, '/') : NULL;
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - o->html) + 1 : 1,
             slash != NULL ? o->html : ".");
    if (o->html == NULL || access(folder, W_OK | X_OK) == 0)
        return true;
    int why = errno;
    fprintf(stderr, "helio-analyze: --html %s: %s\n", o->html, strerror(why));
    errno = why;
    return false;
}

/* What takes a while, on a terminal; NULL wipes it. */
static void say_line(const char *what)
{
    if (isatty(STDERR_FILENO) != 1)
        return;
    fprintf(stderr, "\r%-60s\r", what != NULL ? what : "");
    fflush(stderr);
}

static sigset_t ending_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

static bool was_interrupted(void)
{
    sigset_t waiting;
    return sigpending(&waiting) == 0 &&
           (sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1 ||
            sigismember(&waiting, SIGHUP) == 1);
}

bool analyze_page_folder(char path[PAGE_PATH_MAX])
{
    sigset_t set = ending_signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
    snprintf(path, PAGE_PATH_MAX, "/tmp/helio-analyze-XXXXXX");
    if (mkdtemp(path) != NULL)
        return true;
    fprintf(stderr, "helio-analyze: /tmp: no folder can be made there: %s\n", strerror(errno));
    return false;
}

void analyze_page_remove(const char *path)
{
    static const char *const names[] = {"sessions.csv", "series.csv", "cdf.csv",     "summary.json",
                                        "segments.csv", "drops.csv",  "left-out.csv"};
    char file[PAGE_PATH_MAX + 16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        unlink(file);
    }
    rmdir(path);
    sigset_t set = ending_signals();
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static size_t flow_index(const struct analyze *a, const struct analyze_session *s)
{
    const struct analyze_flow *flow = analyze_flow_find(a, s);
    size_t i = 0;
    while (i < a->flows_len && a->flows[i] != flow)
        i++;
    return i;
}

/* Flows with most bytes first. */
static size_t flow_order(const struct analyze *a, size_t out[ANALYZE_FLOWS_MAX])
{
    for (size_t i = 0; i < a->flows_len; i++) {
        size_t at = i;
        for (; at > 0 && a->flows[out[at - 1]]->done_bytes < a->flows[i]->done_bytes; at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return a->flows_len;
}

static bool choose_sessions(const struct analyze_options *o, const struct analyze *a, FILE *spool,
                            struct analyze_extract *x)
{
    struct analyze_session s;
    struct analyze_choose *c = calloc(1, sizeof *c);
    size_t order[ANALYZE_FLOWS_MAX];
    if (c == NULL)
        return false;
    rewind(spool);
    while (fread(&s, sizeof s, 1, spool) == 1) {
        size_t flow = flow_index(a, &s);
        if (flow < a->flows_len)
            analyze_choose_add(c, flow, &s, a->flows[flow]);
    }
    memcpy(x->names, o->names, o->names_len * sizeof *o->names);
    x->len = o->names_len;
    struct analyze_name found[64];
    size_t n = analyze_choose_names(c, order, flow_order(a, order), found, (size_t)o->timeline);
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t j = 0; j < x->len && !known; j++)
            known = x->names[j].originator == found[i].originator &&
                    x->names[j].number == found[i].number;
        if (!known)
            x->names[x->len++] = found[i];
    }
    free(c);
    return ferror(spool) == 0;
}

static bool say_nothing(void *context, const char *file, uint64_t line, const char *why)
{
    (void)context;
    (void)file;
    (void)line;
    (void)why;
    return true; /* it was reported the first time */
}

static bool read_again(const struct analyze_options *o, struct analyze_extract *x)
{
    struct input *in = NULL;
    struct input_row row;
    size_t failed;
    uint64_t rows = 0;
    char error[256];
    int rc = input_open(&in, o->files, o->files_len, &o->watch, say_nothing, NULL, &failed, error);
    if (rc == 0)
        input_correct(in, o->fixes, o->fixes_len);
    while (rc == 0 && (rc = input_next(in, &row, &failed)) == 1) {
        bool wanted = o->run == 0 || o->run == row.run + 1;
        if (wanted && row.log != NULL)
            analyze_extract_row(x, row.log);
        else if (wanted && row.drop != NULL)
            analyze_extract_drop(x, row.drop);
        rc = ++rows % SIGNAL_ROWS == 0 && was_interrupted() ? HELIO_ESTOPPED : 0;
    }
    input_close(in);
    if (rc != 0 && rc != HELIO_ESTOPPED)
        fprintf(stderr, "helio-analyze: the inputs cannot be read a second time: %s\n",
                helio_strerror(rc));
    return rc == 0;
}

static bool can_reread(const struct analyze_options *o)
{
    for (size_t i = 0; i < o->files_len; i++)
        if (strcmp(o->files[i].path, "-") == 0)
            return false;
    return true;
}

static void tell_left_out(const struct analyze_extract *x)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < x->len; i++)
        rows += x->left_out[i];
    if (rows > 0)
        fprintf(stderr,
                "helio-analyze: %" PRIu64
                " rows beyond %d of a session or %d in all are left out\n",
                rows, EXTRACT_ROWS_MAX, EXTRACT_TOTAL_MAX);
}

bool analyze_page_extract(const struct analyze_options *o, const struct analyze *a, FILE *spool,
                          const char *folder)
{
    if (!can_reread(o)) {
        fprintf(stderr, "helio-analyze: standard input cannot be read twice: no session's segments "
                        "are shown\n");
        return o->extract == NULL;
    }
    struct analyze_extract *x = calloc(1, sizeof *x);
    if (x == NULL)
        return false;
    errno = 0;
    bool ok = choose_sessions(o, a, spool, x) && analyze_extract_open(x, folder);
    say_line("reading the segments of single sessions");
    bool read = ok && read_again(o, x);
    say_line(NULL);
    ok = analyze_extract_close(x) && ok;
    if (!ok)
        fprintf(stderr, "helio-analyze: %s: segments cannot be written: %s\n", folder,
                strerror(errno));
    for (size_t i = 0; i < o->names_len; i++)
        if (ok && read && x->rows[i] == 0)
            fprintf(stderr, "helio-analyze: --session %" PRIu64 ":%" PRIu64 ": no row has it\n",
                    o->names[i].originator, o->names[i].number);
    tell_left_out(x);
    free(x);
    return ok && read;
}

bool analyze_page_make(const struct analyze_options *o, const char *folder)
{
    const char *arguments[PYTHON_ARGUMENTS_MAX];
    char names[EXTRACT_SESSIONS_MAX / 2][48];
    size_t n = 0;
    arguments[n++] = folder;
    if (o->plot != NULL) {
        arguments[n++] = "--plot";
        arguments[n++] = o->plot;
    }
    if (o->html != NULL) {
        arguments[n++] = "--html";
        arguments[n++] = o->html;
    }
    for (size_t i = 0; i < o->names_len; i++) {
        snprintf(names[i], sizeof names[i], "--session=%" PRIu64 ":%" PRIu64,
                 o->names[i].originator, o->names[i].number);
        arguments[n++] = names[i];
    }
    arguments[n++] = "--";
    for (size_t i = 0; i < o->files_len; i++)
        arguments[n++] = o->files[i].path;
    say_line("drawing");
    bool ok = run_python(o, arguments, n);
    say_line(NULL);
    return ok;
}
