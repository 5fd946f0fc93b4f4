/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of plans in files share: any bytes are a plan or a list of errors; what is
 * a plan is whole, and what is written of it reads back to as many contacts and ranges. */
#ifndef TESTS_FUZZ_PLAN_TEXT_H
#define TESTS_FUZZ_PLAN_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "node/plan/plan_draft.h"

typedef int plan_reader(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e);

/* The plan, and when its times count from. */
static struct plan *plan_of(plan_reader *read, const char *text, size_t len, tick *start,
                            struct conf_errors *e)
{
    struct plan_config config;
    struct plan_draft d;
    struct plan *p;
    plan_config_default(&config);
    if (plan_new(&p, &config) < 0)
        abort();
    plan_draft_init(&d, 0);
    int rc = read(&d, text, len, e);
    if ((rc == 0) != (e->total == 0) || e->len > CONF_ERRORS_MAX)
        abort();
    if (rc == 0)
        rc = plan_draft_build(&d, p, e);
    if ((rc == 0) != (e->total == 0))
        abort();
    *start = d.dated && d.start == 0 ? 1 : d.start;
    plan_draft_fini(&d);
    plan_check(p);
    return p;
}

static void plan_same_light(const struct plan *a, const struct plan *b, uint64_t from, uint64_t to,
                            tick t)
{
    struct plan_range x = {.start = TICK_NEVER}, y = {.start = TICK_NEVER};
    const bool has = plan_range_at(a, from, to, t, &x) == 0 && x.start <= t;
    const bool again = plan_range_at(b, from, to, t, &y) == 0 && y.start <= t;
    if (has != again || (has && x.owlt != y.owlt))
        abort();
}

/* Light times read back, in both directions. */
static void plan_same_lights(const struct plan *a, const struct plan *b)
{
    struct plan_cursor at = {0};
    struct plan_range r;
    while (plan_walk_ranges(a, &at, &r)) {
        plan_same_light(a, b, r.from, r.to, r.start);
        plan_same_light(a, b, r.from, r.to, r.end - 1);
        plan_same_light(a, b, r.to, r.from, r.start);
    }
}

/* What the format's own program loads is a plan, too, of as many contacts as were left. */
static void plan_fits(const struct plan *p, tick start, enum plan_format format, plan_reader *read,
                      struct conf_errors *e)
{
    struct plan_totals a, b;
    struct plan_fitted fitted;
    struct plan_lost lost;
    struct plan *fit;
    char *out = NULL;
    size_t len = 0;
    if (plan_fit(p, format, start, &fit, &fitted) < 0)
        abort();
    plan_check(fit);
    plan_totals(fit, &a);
    FILE *f = open_memstream(&out, &len);
    if (f == NULL || plan_write(f, fit, format, start, &lost) < 0 || lost.fractions > 0)
        abort();
    fclose(f);
    struct plan *again = plan_of(read, out, len, &start, e);
    plan_totals(again, &b);
    if (a.contacts > 0 && (e->total > 0 || a.contacts != b.contacts))
        abort();
    plan_free(again);
    plan_free(fit);
    free(out);
}

static void plan_read_back(const struct plan *p, tick start, enum plan_format format,
                           plan_reader *read, struct conf_errors *e)
{
    struct plan_totals a, b;
    struct plan_lost lost;
    char *out = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&out, &len);
    plan_totals(p, &a);
    if (f == NULL || plan_write(f, p, format, format == PLAN_HDTN ? 0 : start, &lost) < 0)
        abort();
    fclose(f);
    struct plan *again = plan_of(read, out, len, &start, e);
    plan_totals(again, &b);
    if (e->total > 0 || a.contacts != b.contacts || (format == PLAN_YAML && a.ranges != b.ranges))
        abort();
    if (format != PLAN_HDTN && lost.one_way == 0)
        plan_same_lights(p, again);
    plan_free(again);
    free(out);
}

static int plan_fuzz(const uint8_t *data, size_t len, enum plan_format format, plan_reader *read)
{
    tick start;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        abort();
    conf_errors_init(e, "fuzz");
    struct plan *p = plan_of(read, (const char *)data, len, &start, e);
    struct plan_totals t;
    plan_totals(p, &t);
    /* A tree of nothing is no file. */
    if (e->total == 0 && t.contacts > 0)
        plan_read_back(p, start, format, read, e);
    if (e->total == 0 && t.contacts > 0 && format != PLAN_YAML)
        plan_fits(p, format == PLAN_HDTN ? 0 : start, format, read, e);
    plan_free(p);
    free(e);
    return 0;
}

#endif
