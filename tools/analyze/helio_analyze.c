/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-analyze: logs and captures to tables and a summary (docs/helio-analyze.md). Finished
 * sessions wait in an unnamed file, because their rows need values that are known only at the end.
 * What can go wrong: files that cannot be read or written (exit code 1); malformed rows, which are
 * counted and reported, the first ones with file and line. With --strict they end the run.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"
#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/analyze/analyze_page.h"
#include "tools/analyze/analyze_result.h"
#include "tools/analyze/analyze_table.h"

#define TOLD_MAX 10 /* malformed rows that are reported one by one */
#define PROGRESS_ROWS (1 << 18)
#define PATH_BYTES 4096
#define FIGURE_BINS 60

struct run {
    struct analyze_options options;
    FILE *spool; /* finished sessions; NULL when no table of them is wanted */
    bool spool_failed;
    struct analyze analyze;
    struct lives lives;
    struct clocks clocks;
    struct analyze_totals totals;
};

static bool complain_row(void *context, const char *file, uint64_t line, const char *why)
{
    struct run *r = context;
    r->totals.malformed++;
    if (r->options.strict || r->totals.malformed <= TOLD_MAX)
        fprintf(stderr, "helio-analyze: %s:%llu: malformed row: %s\n", file,
                (unsigned long long)line, why);
    else if (r->totals.malformed == TOLD_MAX + 1)
        fprintf(stderr, "helio-analyze: further malformed rows are only counted\n");
    return !r->options.strict;
}

static void take_session(void *context, const struct analyze_session *s)
{
    struct run *r = context;
    lives_session(&r->lives, s);
    if (r->spool != NULL && fwrite(s, sizeof *s, 1, r->spool) != 1)
        r->spool_failed = true;
}

static void show_progress(const struct input *in, uint64_t rows)
{
    double share = input_share(in);
    int done = (int)(40 * share);
    fprintf(stderr, "\r[%.*s%*s] %3.0f %%  %llu rows ", done,
            "========================================", 40 - done, "", 100 * share,
            (unsigned long long)rows);
    fflush(stderr);
}

static void add_node(void *context, uint64_t node)
{
    struct run *r = context;
    analyze_node(&r->analyze, node);
}

/* The clocks are estimated once: before their correction, if that was requested. */
static int add_row(struct run *r, const struct input_row *row)
{
    int rc = 0;
    if (row->log != NULL && !r->options.clock_auto)
        rc = clocks_row(&r->clocks, row->log);
    if (rc != 0)
        return rc;
    if (row->bundle != NULL)
        return lives_row(&r->lives, row->bundle);
    return row->log != NULL ? analyze_row(&r->analyze, row->log)
                            : analyze_drop(&r->analyze, row->drop);
}

/* What the reading says of the files. */
static void sum_inputs(struct run *r, const struct input *in)
{
    r->totals.captures = input_captures(in, &r->totals.capture);
    r->totals.views_len = input_views(in, r->totals.views);
    r->totals.back = input_went_back(in);
    r->totals.twins = input_twin_logs(in);
}

/* A row of another run ends the one before it. */
static int take_row(struct run *r, const struct input_row *row, uint64_t *last_run)
{
    if (r->options.run != 0 && r->options.run != row->run + 1)
        return 0;
    int rc = row->run != *last_run ? analyze_next_run(&r->analyze) : 0;
    *last_run = row->run;
    return rc == 0 ? add_row(r, row) : rc;
}

static int read_all(struct run *r, struct input *in)
{
    struct input_row row;
    uint64_t last_run = 0;
    size_t failed;
    bool terminal = isatty(STDERR_FILENO) == 1;
    int rc;
    input_nodes(in, add_node, r);
    r->analyze.drops = input_has_drops(in);
    r->totals.lives = input_has_bundles(in) ? &r->lives : NULL;
    while ((rc = input_next(in, &row, &failed)) == 1) {
        if (take_row(r, &row, &last_run) != 0)
            return HELIO_ENOMEM;
        uint64_t rows = r->analyze.rows + r->lives.rows;
        if (terminal && rows % PROGRESS_ROWS == 0)
            show_progress(in, rows);
    }
    if (terminal)
        fprintf(stderr, "\r%78s\r", "");
    const char *why = input_error(in);
    if (helio_code(rc) == HELIO_EIO)
        fprintf(stderr, "helio-analyze: %s: %s\n", r->options.files[failed].path,
                why[0] != '\0' ? why : "the file is damaged");
    sum_inputs(r, in);
    if (rc == 0)
        rc = analyze_end(&r->analyze);
    if (rc == 0)
        lives_end(&r->lives);
    return rc;
}

static bool ignore_row(void *context, const char *file, uint64_t line, const char *why)
{
    (void)context;
    (void)file;
    (void)line;
    (void)why;
    return true; /* it is reported when the inputs are analysed */
}

/* --clock auto: a first pass, for the clocks only. The second pass reports what cannot be read. */
static void read_clocks(struct run *r)
{
    struct analyze_options *o = &r->options;
    struct input *in = NULL;
    struct input_row row;
    size_t failed;
    char error[256];
    int rc = input_open(&in, o->files, o->files_len, &o->watch, ignore_row, NULL, &failed, error);
    while (rc == 0 && input_next(in, &row, &failed) == 1) {
        bool wanted = row.log != NULL && (o->run == 0 || o->run == row.run + 1);
        rc = wanted ? clocks_row(&r->clocks, row.log) : 0;
    }
    input_close(in);
    o->fixes_len = clocks_fixes(&r->clocks, o->fixes);
}

static bool analyse_inputs(struct run *r)
{
    struct input *in = NULL;
    const struct analyze_options *o = &r->options;
    size_t failed;
    char error[256];
    int rc = input_open(&in, o->files, o->files_len, &o->watch, complain_row, r, &failed, error);
    if (rc == 0) {
        input_correct(in, o->fixes, o->fixes_len);
        rc = read_all(r, in);
    } else if (rc != HELIO_ESTOPPED && rc != HELIO_ENOMEM)
        fprintf(stderr, "helio-analyze: %s: %s\n", o->files[failed].path,
                error[0] != '\0' ? error : helio_strerror(rc));
    if (rc == HELIO_ENOMEM)
        fprintf(stderr, "helio-analyze: out of memory\n");
    input_close(in);
    return rc == 0;
}

static bool read_trace(struct run *r)
{
    struct trace_source source;
    char error[TRACE_FILE_ERROR_MAX];
    if (r->options.trace == NULL)
        return true;
    if (trace_source_read(&source, r->options.trace, error) != 0) {
        fprintf(stderr, "helio-analyze: --trace %s: %s\n", r->options.trace, error);
        return false;
    }
    uint64_t bad = 0;
    for (size_t i = 0; i < source.trace.len; i++)
        bad += source.trace.runs[i].bad ? source.trace.runs[i].steps : 0;
    double share = source.trace.steps > 0 ? (double)bad / (double)source.trace.steps : 0;
    r->options.model.good_share = 1 - (source.loss > 0 ? source.loss : share);
    trace_source_fini(&source);
    return true;
}

/* Each row with the expected values of its flow. */
static bool write_sessions(FILE *f, const struct run *r)
{
    struct analyze_session s;
    struct analyze_split splits[ANALYZE_FLOWS_MAX];
    for (size_t i = 0; i < r->analyze.flows_len; i++)
        splits[i] = analyze_split_flow(r->analyze.flows[i], &r->options.model);
    rewind(r->spool);
    bool ok = fputs(analyze_sessions_header, f) != EOF;
    while (ok && fread(&s, sizeof s, 1, r->spool) == 1) {
        const struct analyze_flow *flow = analyze_flow_find(&r->analyze, &s);
        size_t i = 0;
        while (r->analyze.flows[i] != flow)
            i++;
        ok = analyze_table_session(f, &s, &splits[i]);
    }
    return ok && !r->spool_failed && ferror(r->spool) == 0;
}

static bool write_series(FILE *f, const struct run *r)
{
    return analyze_table_series(f, &r->analyze);
}

static bool write_cdf(FILE *f, const struct run *r)
{
    return analyze_table_cdf(f, &r->analyze);
}

static bool write_bundles(FILE *f, const struct run *r)
{
    return lives_table(f, &r->lives);
}

static bool write_delays(FILE *f, const struct run *r)
{
    return delays_table(f, &r->lives);
}

static bool write_summary(FILE *f, const struct run *r)
{
    return analyze_result_json(f, &r->analyze, &r->totals);
}

/* To a file, or - for standard output; nothing for NULL. */
static bool write_to(const char *path, const struct run *r,
                     bool (*write)(FILE *f, const struct run *r))
{
    if (path == NULL)
        return true;
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    errno = f == NULL ? errno : EIO;
    bool ok = f != NULL && write(f, r);
    if (f != NULL)
        ok = (f == stdout ? fflush(f) : fclose(f)) == 0 && ok;
    if (!ok)
        fprintf(stderr, "helio-analyze: %s cannot be written: %s\n", path, strerror(errno));
    return ok;
}

static bool write_tables(const struct run *r, const char *folder)
{
    static const struct {
        const char *name;
        bool (*write)(FILE *f, const struct run *r);
    } tables[] = {{"sessions.csv", write_sessions}, {"series.csv", write_series},
                  {"cdf.csv", write_cdf},           {"summary.json", write_summary},
                  {"bundles.csv", write_bundles},   {"delays.csv", write_delays}};
    char path[PATH_BYTES];
    bool ok = true;
    size_t len = r->totals.lives != NULL ? 6 : 4; /* the last ones only of bundle logs */
    for (size_t i = 0; folder != NULL && i < len && ok; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, tables[i].name);
        ok = write_to(path, r, tables[i].write);
    }
    return ok;
}

static bool make_folder(const char *option, const char *path)
{
    if (path == NULL || mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    int why = errno;
    fprintf(stderr, "helio-analyze: %s %s: %s\n", option, path, strerror(why));
    errno = why;
    return false;
}

/* All sessions are needed once more at the end. */
static bool needs_spool(const struct analyze_options *o)
{
    return o->tables != NULL || o->sessions != NULL || o->extract != NULL || analyze_page_wanted(o);
}

static bool is_missing(const char *path)
{
    if (strcmp(path, "-") == 0 || access(path, R_OK) == 0)
        return false;
    fprintf(stderr, "helio-analyze: %s: %s\n", path, strerror(errno));
    return true;
}

/* What has to be there before the reading begins, so that hours of it are not lost. Returns the
 * exit code. */
static int prepare_run(struct run *r)
{
    const struct analyze_options *o = &r->options;
    if (analyze_page_wanted(o) && !analyze_page_possible(o))
        return 2;
    if (!make_folder("--tables", o->tables) || !make_folder("--extract", o->extract) ||
        !make_folder("--plot", o->plot) || !analyze_page_place(o))
        return argument_open_code(errno);
    for (size_t i = 0; i < o->files_len; i++)
        if (is_missing(o->files[i].path))
            return 2;
    if (needs_spool(o) && (r->spool = tmpfile()) == NULL) {
        fprintf(stderr, "helio-analyze: no temporary file: %s\n", strerror(errno));
        return 1;
    }
    return read_trace(r) ? 0 : 2;
}

static bool write_page(const struct run *r)
{
    const struct analyze_options *o = &r->options;
    char folder[PAGE_PATH_MAX];
    if (!analyze_page_wanted(o))
        return true;
    if (!analyze_page_folder(folder))
        return false;
    bool ok = write_tables(r, folder) &&
              (o->html == NULL || analyze_page_extract(o, &r->analyze, r->spool, folder)) &&
              analyze_page_make(o, folder);
    analyze_page_remove(folder);
    return ok;
}

static bool write_all(const struct run *r)
{
    const struct analyze_options *o = &r->options;
    return write_tables(r, o->tables) && write_to(o->sessions, r, write_sessions) &&
           write_to(o->series, r, write_series) && write_to(o->cdf, r, write_cdf) &&
           write_to(o->bundles, r, write_bundles) &&
           (o->extract == NULL || analyze_page_extract(o, &r->analyze, r->spool, o->extract)) &&
           write_page(r);
}

/* Figures alone need no certain bin, but enough of them and not too many. */
static void set_bin(struct run *r)
{
    const struct analyze_options *o = &r->options;
    bool tables = o->tables != NULL || o->series != NULL;
    if (o->bin != 0) {
        r->analyze.bin = tables || analyze_page_wanted(o) ? o->bin : 0;
    } else if (tables) {
        r->analyze.bin = TICK_S;
    } else if (analyze_page_wanted(o)) {
        r->analyze.bin = 10 * TICK_MS;
        r->analyze.bins_max = FIGURE_BINS;
    }
}

static bool has_table_on_stdout(const struct analyze_options *o)
{
    const char *tables[] = {o->sessions, o->series, o->cdf, o->bundles};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i] != NULL && strcmp(tables[i], "-") == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    file_limit_report();
    struct run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return 1;
    const struct analyze_options *o = &r->options;
    analyze_options_parse(&r->options, argc, argv);
    r->totals.files = o->files_len;
    if (analyze_init(&r->analyze, take_session, r) != 0 || lives_init(&r->lives) != 0 ||
        clocks_init(&r->clocks) != 0)
        return 1;
    set_bin(r);
    int unprepared = prepare_run(r);
    if (unprepared == 0 && o->clock_auto)
        read_clocks(r);
    bool ok = unprepared == 0 && analyse_inputs(r);
    r->totals.model = o->model;
    r->totals.clocks = &r->clocks;
    r->totals.fixes = o->fixes;
    r->totals.fixes_len = o->fixes_len;
    r->totals.clock_auto = o->clock_auto;
    r->totals.run = o->run;
    ok = ok && write_all(r);
    FILE *summary = has_table_on_stdout(o) ? stderr : stdout; /* a table is for another program */
    if (ok && o->json)
        ok = write_summary(summary, r);
    else if (ok)
        analyze_result_text(summary, &r->analyze, &r->totals);
    analyze_fini(&r->analyze);
    lives_fini(&r->lives);
    clocks_fini(&r->clocks);
    if (r->spool != NULL)
        fclose(r->spool);
    analyze_options_fini(&r->options);
    free(r);
    if (unprepared != 0)
        return unprepared;
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
