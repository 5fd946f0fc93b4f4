/* SPDX-License-Identifier: Apache-2.0 */
/* helio-analyze: segment logs to a table of sessions and a summary (docs/helio-analyze.md). What
 * can go wrong: files that cannot be read or written (exit code 1), malformed rows (counted and
 * told, the first ones by file and line; with --strict they end the run). */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/analyze_result.h"
#include "tools/seglog_input.h"

#define TOLD_MAX 10 /* malformed rows that are told one by one */
#define PROGRESS_ROWS (1 << 18)

struct run {
    bool json, strict;
    const char *sessions;
    char **paths;
    size_t count;
    FILE *table;
    bool table_failed;
    struct analyze analyze;
    struct analyze_totals totals;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct run *r = state->input;
    switch (key) {
    case 'j':
        r->json = true;
        return 0;
    case 's':
        r->sessions = arg;
        return 0;
    case 'S':
        r->strict = true;
        return 0;
    case ARGP_KEY_ARGS:
        r->paths = state->argv + state->next;
        r->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "LOG.csv is missing: the segment log of one or more nodes");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool complain(void *context, const char *file, uint64_t line, const char *why)
{
    struct run *r = context;
    r->totals.malformed++;
    if (r->strict || r->totals.malformed <= TOLD_MAX)
        fprintf(stderr, "helio-analyze: %s:%llu: malformed row: %s\n", file,
                (unsigned long long)line, why);
    else if (r->totals.malformed == TOLD_MAX + 1)
        fprintf(stderr, "helio-analyze: further malformed rows are only counted\n");
    return !r->strict;
}

static void take(void *context, const struct analyze_session *s)
{
    struct run *r = context;
    if (r->table != NULL && !analyze_result_session(r->table, s))
        r->table_failed = true;
}

static void progress(const struct seglog_input *in, uint64_t rows)
{
    double share = seglog_input_share(in);
    int done = (int)(40 * share);
    fprintf(stderr, "\r[%.*s%*s] %3.0f %%  %llu rows ", done,
            "========================================", 40 - done, "", 100 * share,
            (unsigned long long)rows);
    fflush(stderr);
}

static int read_all(struct run *r, struct seglog_input *in)
{
    const struct seglog_row *row;
    size_t failed;
    bool terminal = isatty(STDERR_FILENO) == 1;
    int rc;
    for (size_t i = 0; i < r->count; i++)
        if (seglog_input_node(in, i) != EVENT_NONE)
            analyze_node(&r->analyze, seglog_input_node(in, i));
    while ((rc = seglog_input_next(in, &row, &failed)) == 1) {
        if (analyze_row(&r->analyze, row) != 0)
            return -ENOMEM;
        if (terminal && r->analyze.rows % PROGRESS_ROWS == 0)
            progress(in, r->analyze.rows);
    }
    if (terminal)
        fprintf(stderr, "\r%78s\r", "");
    if (rc != 0 && rc != -ECANCELED)
        fprintf(stderr, "helio-analyze: %s: the file is damaged\n", r->paths[failed]);
    return rc != 0 ? rc : analyze_end(&r->analyze);
}

static bool open_table(struct run *r)
{
    if (r->sessions == NULL)
        return true;
    r->table = strcmp(r->sessions, "-") == 0 ? stdout : fopen(r->sessions, "w");
    if (r->table != NULL && fputs(analyze_sessions_header, r->table) != EOF)
        return true;
    fprintf(stderr, "helio-analyze: --sessions %s: %s\n", r->sessions, strerror(errno));
    return false;
}

static bool close_table(struct run *r)
{
    if (r->table == NULL)
        return true;
    if (fflush(r->table) != 0)
        r->table_failed = true;
    if (r->table != stdout && fclose(r->table) != 0)
        r->table_failed = true;
    if (r->table_failed)
        fprintf(stderr, "helio-analyze: --sessions %s: cannot be written\n", r->sessions);
    return !r->table_failed;
}

static const char *input_problem(int rc)
{
    if (rc == -EBADMSG)
        return "not a segment log: the first line is not the column names";
    return rc == -ENODATA ? "not a segment log: the file is empty" : strerror(-rc);
}

static bool analyse(struct run *r)
{
    struct seglog_input *in = NULL;
    size_t failed;
    int rc = seglog_input_open(&in, r->paths, r->count, complain, r, &failed);
    if (rc == 0)
        rc = read_all(r, in);
    else if (rc != -ECANCELED)
        fprintf(stderr, "helio-analyze: %s: %s\n", r->paths[failed], input_problem(rc));
    seglog_input_close(in);
    return rc == 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'j', NULL, 0, "print the summary as JSON", 0},
        {"sessions", 's', "OUT.csv", 0, "write one row per session (- for standard output)", 0},
        {"strict", 'S', NULL, 0, "stop at the first malformed row", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "LOG.csv...",
        "Reads segment logs (plain or gzip, - for standard input) and summarises their LTP "
        "sessions. Give the logs of both ends of a link together: then losses are known."
        "\vexamples:\n"
        "  helio-analyze node1.segments.csv node2.segments.csv\n"
        "  helio-analyze --sessions sessions.csv node1.csv.gz node2.csv.gz\n"
        "\nexit codes: 0 done, 1 a file could not be read or written, 2 wrong usage",
        NULL,
        NULL,
        NULL};
    struct run r = {0};
    argp_err_exit_status = 2;
    argp_program_version = "helio-analyze " HELIO_VERSION;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &r);
    r.totals.files = r.count;
    if (analyze_init(&r.analyze, take, &r) != 0)
        return 1;
    bool ok = open_table(&r) && analyse(&r);
    ok = close_table(&r) && ok;
    if (ok && r.json)
        ok = analyze_result_json(stdout, &r.analyze, &r.totals);
    else if (ok)
        analyze_result_text(stdout, &r.analyze, &r.totals);
    analyze_fini(&r.analyze);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
