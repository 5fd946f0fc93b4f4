/* SPDX-License-Identifier: Apache-2.0 */
/* A file as a plan, for helio-plan's commands; and `check` and `convert`. What can go wrong: errors
 * in the file, each reported with its line. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "os/clock.h"
#include "tools/plan/helio_plan.h"

#define NOTES_MAX (2 * CONF_ERRORS_MAX)

static void print_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-plan: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-plan: %s: %zu more errors\n", e->file, e->total - e->len);
}

void plan_tell_notes(const struct plan_opened *p)
{
    const struct conf_errors *e = &p->notes;
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-plan: note: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-plan: note: %s: %zu more notes\n", e->file, e->total - e->len);
}

static void find_ends(struct plan_opened *p)
{
    struct plan_cursor at = {0};
    uint64_t id;
    p->first = TICK_NEVER;
    for (const struct plan_contact *c; (c = plan_walk(p->plan, &at, &id)) != NULL;) {
        p->first = tick_min(p->first, c->start);
        p->last = c->end > p->last ? c->end : p->last;
    }
    if (p->last == 0)
        p->first = 0;
}

struct plan_opened *plan_open(const struct plan_options *o)
{
    struct plan_opened *p = calloc(1, sizeof *p);
    if (p == NULL || plan_new(&p->plan, &o->config) < 0) {
        fprintf(stderr, "helio-plan: out of memory\n");
        free(p);
        return NULL;
    }
    enum plan_format format =
        o->format < 0 ? plan_format_guess(o->path) : (enum plan_format)o->format;
    conf_errors_init(&p->errors, o->path);
    conf_errors_init(&p->notes, o->path);
    plan_draft_init(&p->draft, o->start);
    p->draft.notes = &p->notes;
    (void)plan_file_read(&p->draft, o->path, format, &p->errors);
    (void)plan_draft_build(&p->draft, p->plan, &p->errors); /* overlaps are reported at once */
    if (p->errors.total > 0) {
        print_errors(&p->errors);
        plan_close(p);
        return NULL;
    }
    find_ends(p);
    /* Dates are shown as such; counted times too, when it is known from when. */
    if (p->draft.dated && p->draft.start == 0)
        p->draft.start = p->first;
    return p;
}

void plan_tell_over(const struct plan_opened *p, const char *hint)
{
    char end[PLAN_TIME_CAP];
    if (p->last == 0 || (!p->draft.dated && p->draft.start == 0) || p->last > clock_wall())
        return;
    fprintf(stderr, "helio-plan: all contacts are in the past, since %s%s\n",
            plan_date_text(p->last, false, end), hint);
}

void plan_close(struct plan_opened *p)
{
    plan_draft_fini(&p->draft);
    plan_free(p->plan);
    free(p);
}

/* --- check --- */

struct notes {
    const struct plan_opened *opened;
    json_t *list;
    size_t total;
};

static void note_error(struct notes *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note_error(struct notes *n, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    n->total++;
    if (json_array_size(n->list) < NOTES_MAX)
        json_array_append_new(n->list, json_string(line));
}

/* The first time of the contact without a light time; its end when there is none. */
static tick find_hole(const struct plan *p, const struct plan_contact *c, tick *until)
{
    struct plan_range r;
    tick t = c->start;
    while (t < c->end && plan_range_at(p, c->from, c->to, t, &r) == 0 && r.start <= t)
        t = r.end;
    *until = t < c->end && plan_range_at(p, c->from, c->to, t, &r) == 0 ? tick_min(r.start, c->end)
                                                                        : c->end;
    return t < c->end ? t : c->end;
}

static void check_contact(struct notes *n, const struct plan_contact *c, uint64_t id)
{
    const struct plan *p = n->opened->plan;
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP], from[PLAN_TIME_CAP];
    tick start = n->opened->draft.start, until, hole = find_hole(p, c, &until);
    plan_time_text(c->start, start, from);
    if (hole < c->end)
        note_error(
            n,
            "contact %" PRIu64 " to %" PRIu64 " at %s: no light time from %s to %s; it is not used "
            "then",
            c->from, c->to, from, plan_time_text(hole, start, a), plan_time_text(until, start, b));
    if (plan_volume(p, id) == 0)
        note_error(n, "contact %" PRIu64 " to %" PRIu64 " at %s: too short for a byte", c->from,
                   c->to, from);
    if (plan_at(p, c->to, c->from, 0) == 0)
        note_error(n,
                   "contact %" PRIu64 " to %" PRIu64
                   " at %s: there is no contact back at any time; LTP's "
                   "reports need one",
                   c->from, c->to, from);
}

static json_t *check_json(const struct plan_opened *p, const struct notes *n)
{
    struct plan_totals t;
    plan_totals(p->plan, &t);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O}", "nodes", json_integer((json_int_t)t.nodes),
        "contacts", json_integer((json_int_t)t.contacts), "ranges",
        json_integer((json_int_t)t.ranges), "first_ns", json_number(p->first), "last_ns",
        json_number(p->last), "skipped_lines", json_integer((json_int_t)p->draft.skipped), "notes",
        json_integer((json_int_t)n->total), "texts", n->list);
}

static void print_check(const struct plan_opened *p, const struct notes *n)
{
    struct plan_totals t;
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    size_t i;
    json_t *text;
    plan_totals(p->plan, &t);
    json_array_foreach(n->list, i, text) printf("%s\n", json_string_value(text));
    if (n->total > json_array_size(n->list))
        printf("%zu more of these\n", n->total - json_array_size(n->list));
    printf("%zu nodes, %zu contacts, %zu ranges, from %s to %s\n", t.nodes, t.contacts, t.ranges,
           plan_time_text(p->first, p->draft.start, a), plan_time_text(p->last, p->draft.start, b));
    if (p->draft.skipped > 0)
        printf("%zu lines are other commands of ionadmin\n", p->draft.skipped);
}

int command_check(const struct plan_options *o)
{
    struct plan_opened *p = plan_open(o);
    struct plan_cursor at = {0};
    uint64_t id;
    if (p == NULL)
        return EXIT_USAGE;
    struct notes n = {p, json_array(), p->notes.total};
    for (size_t i = 0; i < p->notes.len; i++)
        json_array_append_new(n.list, json_string(p->notes.text[i]));
    for (const struct plan_contact *c; (c = plan_walk(p->plan, &at, &id)) != NULL;)
        check_contact(&n, c, id);
    if (o->json) {
        json_t *j = check_json(p, &n);
        json_dumpf(j, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(j);
    } else {
        print_check(p, &n);
    }
    json_decref(n.list);
    plan_tell_over(p, "");
    plan_close(p);
    return EXIT_DONE;
}

/* --- convert --- */

static void tell_lost(const struct plan_lost *l, enum plan_format to)
{
    const char *name = plan_format_name(to);
    if (l->confidence > 0)
        fprintf(stderr, "helio-plan: %s has no confidence: lost of %zu contacts\n", name,
                l->confidence);
    if (l->ranges > 0)
        fprintf(stderr,
                "helio-plan: %s has one light time for a contact: %zu contacts have other or none "
                "for a part of theirs, and got that of their start\n",
                name, l->ranges);
    if (l->fractions > 0)
        fprintf(stderr,
                "helio-plan: %zu of the lines have fractions of seconds (or of bytes), which "
                "%s does not read; without --exact they are rounded\n",
                l->fractions, to == PLAN_ION ? "ION itself" : "HDTN itself");
    if (l->one_way > 0)
        fprintf(stderr,
                "helio-plan: %zu light times are of one direction only; %s reads them for both\n",
                l->one_way, name);
    if (l->dates > 0)
        fprintf(stderr,
                "helio-plan: %s has no dates: times count from the first contact, or from "
                "--start\n",
                name);
}

static void tell_fitted(const struct plan_fitted *l, enum plan_format to)
{
    const struct {
        size_t count;
        const char *what;
    } lines[] = {{l->seconds, "contacts or light times had fractions of seconds, and are rounded"},
                 {l->vanished, "contacts or light times are left out: they have no whole second"},
                 {l->touching, "contacts end a second earlier, since another begins when they end"},
                 {l->rates, "contacts have a rate that cannot be written, and got the nearest"},
                 {l->numbers, "contacts are left out: a node or time is above 2147483647"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i].count > 0)
            fprintf(stderr, "helio-plan: for %s: %zu %s\n", plan_format_name(to), lines[i].count,
                    lines[i].what);
    }
}

/* As the format's own program reads it, unless all digits were requested. 0 or -1 (errno). */
static int write_plan(FILE *f, const struct plan_options *o, const struct plan *p, tick start)
{
    const enum plan_format to = (enum plan_format)o->to;
    struct plan *fit = NULL;
    struct plan_fitted fitted = {0};
    struct plan_lost lost;
    if (to != PLAN_YAML && !o->exact && plan_fit(p, to, start, &fit, &fitted) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int rc = plan_write(f, fit != NULL ? fit : p, to, start, &lost);
    plan_free(fit);
    if (rc == 0) {
        tell_fitted(&fitted, to);
        tell_lost(&lost, to);
    }
    return rc;
}

int command_convert(const struct plan_options *o)
{
    struct plan_opened *p = plan_open(o);
    if (p == NULL)
        return EXIT_USAGE;
    plan_tell_notes(p);
    FILE *f = o->output == NULL ? stdout : fopen(o->output, "w");
    tick start = p->draft.start;
    if (o->to == PLAN_HDTN && start > p->first)
        start = p->first;
    int rc = f == NULL ? -1 : write_plan(f, o, p->plan, start);
    if (f != NULL && f != stdout && fclose(f) != 0)
        rc = -1;
    if (rc < 0)
        fprintf(stderr, "helio-plan: %s: cannot be written: %s\n",
                o->output == NULL ? "standard output" : o->output, strerror(errno));
    plan_close(p);
    return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}
