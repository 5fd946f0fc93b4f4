/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each CSV is one loop over the traces. A plot is the same CSV files in a temporary folder and a
 * script in Python that draws them. What can go wrong: files that cannot be written; no Python, no
 * matplotlib.
 */
#include "channel-emu/trace/trace_describe.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/trace/trace_file.h"
#include "os/process/python_run.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)
#define PATH_BYTES 4096
#define BINS 100u

int described_init(struct described *d, const char *name, struct trace trace)
{
    *d = (struct described){.name = name, .trace = trace};
    int rc = trace_stats(&d->trace, &d->good, &d->bad);
    for (int bad = 0; rc == 0 && bad < 2; bad++)
        rc = dwell_init(&d->dwell[bad], &d->trace, bad == 1);
    return rc;
}

void described_fini(struct described *d)
{
    dwell_fini(&d->dwell[0]);
    dwell_fini(&d->dwell[1]);
    trace_fini(&d->trace);
}

static double steps_ms(const struct described *d, uint64_t steps)
{
    return (double)steps * (double)d->trace.step / 1e6;
}

/* A field of a CSV with the quotes that it needs. */
static void put_name(FILE *f, const char *name)
{
    if (strpbrk(name, ",\"\n\r") == NULL) {
        fputs(name, f);
        return;
    }
    fputc('"', f);
    for (; *name != '\0'; name++) {
        if (*name == '"')
            fputc('"', f);
        fputc(*name, f);
    }
    fputc('"', f);
}

static void put_side(FILE *f, const struct described *d, const char *state,
                     const struct trace_side *s)
{
    put_name(f, d->name);
    fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",%.6f,%.4f,%.4f,%.4f,%.4f,%.4f\n",
            d->trace.steps, d->trace.step, state, s->runs, s->share, s->mean_ms, s->sd_ms,
            s->median_ms, s->p90_ms, s->max_ms);
}

static void put_statistics(FILE *f, const struct described *d)
{
    put_side(f, d, "bad", &d->bad);
    put_side(f, d, "good", &d->good);
}

static void put_dwell(FILE *f, const struct described *d)
{
    for (int bad = 1; bad >= 0; bad--) {
        const struct dwell *w = &d->dwell[bad];
        for (size_t i = 0; i < w->len; i++) {
            put_name(f, d->name);
            fprintf(f, ",%s,%.6f,%.6f\n", bad == 1 ? "bad" : "good", steps_ms(d, w->point[i].steps),
                    (double)w->point[i].upto / (double)w->runs);
        }
    }
}

/* Lags up to a tenth of the trace: each step at first, then by 5 %. */
static void put_autocorrelation(FILE *f, const struct described *d)
{
    uint64_t most = d->trace.steps / 10;
    for (uint64_t lag = 0; lag <= most; lag += 1 + lag / 20) {
        put_name(f, d->name);
        fprintf(f, ",%.6f,%.6f\n", steps_ms(d, lag), trace_autocorrelation(&d->trace, lag));
    }
}

static void put_bad_share(FILE *f, const struct described *d)
{
    uint64_t steps = d->trace.steps, bins = steps < BINS ? steps : BINS;
    for (uint64_t i = 0; i < bins; i++) {
        uint64_t from = steps / bins * i, to = i + 1 == bins ? steps : steps / bins * (i + 1);
        put_name(f, d->name);
        fprintf(f, ",%.9f,%.9f,%.6f\n", steps_ms(d, from) / 1e3, steps_ms(d, to) / 1e3,
                trace_bad_share(&d->trace, from, to));
    }
}

static const struct table {
    const char *name, *titles;
    void (*put)(FILE *f, const struct described *d);
} tables[] = {
    {"statistics.csv", "trace,steps,step_ns,state,runs,share,mean_ms,sd_ms,median_ms,p90_ms,max_ms",
     put_statistics},
    {"dwell_cdf.csv", "trace,state,duration_ms,share", put_dwell},
    {"autocorrelation.csv", "trace,lag_ms,correlation", put_autocorrelation},
    {"bad_share.csv", "trace,from_s,to_s,share", put_bad_share},
};
#define TABLES (sizeof tables / sizeof *tables)

static int put_table(const struct table *table, const struct described *d, size_t n,
                     const char *folder, char *error)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, table->name);
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        SAY(error, "%.300s: cannot be created: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    fprintf(f, "%s\n", table->titles);
    for (size_t i = 0; i < n; i++)
        table->put(f, &d[i]);
    bool ok = !ferror(f);
    if (fclose(f) != 0 || !ok) {
        SAY(error, "%.300s: cannot be written: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    return 0;
}

int describe_csv(const struct described *d, size_t n, const char *folder, char *error)
{
    int rc = 0;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        SAY(error, "%.300s: cannot be made: %s", folder, strerror(errno));
        return HELIO_EIO;
    }
    for (size_t i = 0; rc == 0 && i < TABLES; i++)
        rc = put_table(&tables[i], d, n, folder, error);
    return rc;
}

static int draw_figures(const char *folder, const char *path, char *error)
{
    char why[PYTHON_ERROR_MAX];
    int rc = python_run("--plot", "figures.trace", (const char *[]){folder, path}, 2, why);
    if (rc != 0)
        SAY(error, "%.300s%s", why[0] != '\0' ? why : path,
            why[0] != '\0' ? "; --csv gives the same numbers" : ": cannot be drawn");
    return rc;
}

/* Named as it is to be drawn: what is synthetic is said to be. */
static struct described name_drawn(const struct described *d, char *room)
{
    struct described named = *d;
    snprintf(room, PATH_BYTES, "%s%s", d->name,
             gen_synthetic(d->about.generator) ? " (synthetic)" : "");
    named.name = room;
    return named;
}

int describe_plot(const struct described *d, size_t n, const char *path, char *error)
{
    char folder[] = "/tmp/helio-trace-XXXXXX", file[PATH_BYTES], room[2][PATH_BYTES];
    struct described named[2];
    assert(n <= 2);
    for (size_t i = 0; i < n; i++)
        named[i] = name_drawn(&d[i], room[i]);
    if (mkdtemp(folder) == NULL) {
        SAY(error, "/tmp: no folder can be made there: %s", strerror(errno));
        return HELIO_EIO;
    }
    int rc = describe_csv(named, n, folder, error);
    if (rc == 0)
        rc = draw_figures(folder, path, error);
    for (size_t i = 0; i < TABLES; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, tables[i].name);
        unlink(file);
    }
    rmdir(folder);
    return rc;
}
