/* SPDX-License-Identifier: Apache-2.0 */
/* `show`: contacts as a table, each direction as a line over time, and a figure. What can go wrong:
 * no Python with matplotlib; then it prints the text only, with exit code 1. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "conf/conf_value.h"
#include "conf/json_number.h"
#include "os/process/python_run.h"
#include "tools/plan/helio_plan.h"

#define WIDTH 60

typedef char text[PLAN_TIME_CAP];

/* The least and largest light time during the contact; false when there is none. */
static bool find_light(const struct plan *p, const struct plan_contact *c, tick *least, tick *most)
{
    struct plan_range r;
    tick t = c->start;
    *least = TICK_NEVER;
    *most = 0;
    while (t < c->end && plan_range_at(p, c->from, c->to, t, &r) == 0 && r.start < c->end) {
        *least = tick_min(*least, r.owlt);
        *most = r.owlt > *most ? r.owlt : *most;
        t = r.end;
    }
    return *least <= *most;
}

static const char *light_text(const struct plan *p, const struct plan_contact *c, char out[80])
{
    tick least, most;
    char a[CONF_NUMBER_CAP], b[CONF_NUMBER_CAP];
    if (!find_light(p, c, &least, &most))
        snprintf(out, 80, "none");
    else if (least == most)
        snprintf(out, 80, "%s", conf_number_text(OPTION_DURATION, least, a));
    else
        snprintf(out, 80, "%s to %s", conf_number_text(OPTION_DURATION, least, a),
                 conf_number_text(OPTION_DURATION, most, b));
    return out;
}

static void print_contact(const struct plan_opened *p, const struct plan_contact *c, uint64_t id)
{
    char way[48], light[80], rate[CONF_NUMBER_CAP], volume[CONF_NUMBER_CAP];
    text a, b;
    uint64_t bytes = plan_volume(p->plan, id);
    snprintf(way, sizeof way, "%" PRIu64 " to %" PRIu64, c->from, c->to);
    printf("%-12s  %-20s  %-20s  %-12s  %-14s  %-14s", way,
           plan_time_text(c->start, p->draft.start, a), plan_time_text(c->end, p->draft.start, b),
           c->rate == 0 ? "unlimited" : conf_number_text(OPTION_RATE, c->rate, rate),
           bytes == UINT64_MAX ? "unlimited" : conf_number_text(OPTION_SIZE, bytes, volume),
           light_text(p->plan, c, light));
    if (c->confidence < 1)
        printf("  %g", c->confidence);
    putchar('\n');
}

static size_t column_of(const struct plan_opened *p, tick t)
{
    return (size_t)((double)(t - p->first) / (double)(p->last - p->first) * WIDTH);
}

/* A line for each direction: `#` where there is a contact, `.` where there is none. */
static void print_lines(const struct plan_opened *p)
{
    struct plan_cursor at = {0};
    uint64_t id, from = 0, to = 0;
    char line[WIDTH + 1] = "", way[48];
    text a, b;
    const struct plan_contact *c;
    if (p->last == 0)
        return;
    printf("\n%-12s  from %s to %s\n", "", plan_time_text(p->first, p->draft.start, a),
           plan_time_text(p->last, p->draft.start, b));
    do {
        c = plan_walk(p->plan, &at, &id);
        if (line[0] != '\0' && (c == NULL || c->from != from || c->to != to)) {
            snprintf(way, sizeof way, "%" PRIu64 " to %" PRIu64, from, to);
            printf("%-12s  %s\n", way, line);
            line[0] = '\0';
        }
        if (c == NULL)
            break;
        if (line[0] == '\0') {
            memset(line, '.', WIDTH);
            line[WIDTH] = '\0';
        }
        size_t begin = column_of(p, c->start), end = column_of(p, c->end);
        begin = begin >= WIDTH ? WIDTH - 1 : begin;
        end = end > begin ? end : begin + 1;
        memset(line + begin, '#', end - begin);
        from = c->from;
        to = c->to;
    } while (true);
}

static void print_table(const struct plan_opened *p)
{
    struct plan_cursor at = {0};
    uint64_t id;
    printf("%-12s  %-20s  %-20s  %-12s  %-14s  %s\n", "contact", "start", "end", "rate", "volume",
           "light time");
    for (const struct plan_contact *c; (c = plan_walk(p->plan, &at, &id)) != NULL;)
        print_contact(p, c, id);
    print_lines(p);
}

static void print_json(const struct plan_opened *p)
{
    struct plan_cursor at = {0};
    struct plan_range r;
    uint64_t id;
    json_t *contacts = json_array(), *ranges = json_array();
    for (const struct plan_contact *c; (c = plan_walk(p->plan, &at, &id)) != NULL;)
        json_array_append_new(
            contacts,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "from", json_number(c->from), "to",
                      json_number(c->to), "start_ns", json_number(c->start), "end_ns",
                      json_number(c->end), "rate_bps", json_number(c->rate), "volume_bytes",
                      json_number(plan_volume(p->plan, id)), "confidence", c->confidence));
    at = (struct plan_cursor){0};
    while (plan_walk_ranges(p->plan, &at, &r))
        json_array_append_new(ranges,
                              json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "from",
                                        json_number(r.from), "to", json_number(r.to), "start_ns",
                                        json_number(r.start), "end_ns", json_number(r.end),
                                        "owlt_ns", json_number(r.owlt), "one_way", (int)r.one_way));
    json_t *all = json_pack("{s:o, s:o}", "contacts", contacts, "ranges", ranges);
    json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

/* What the figure is drawn from: lines of numbers. */
static int write_table(const struct plan_opened *p, int fd)
{
    struct plan_cursor at = {0};
    struct plan_range r;
    uint64_t id;
    FILE *f = fdopen(fd, "w");
    if (f == NULL)
        return -1;
    fprintf(f, "kind,from,to,start_ns,end_ns,value\n");
    for (const struct plan_contact *c; (c = plan_walk(p->plan, &at, &id)) != NULL;)
        fprintf(f, "contact,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", c->from,
                c->to, c->start, c->end, c->rate);
    at = (struct plan_cursor){0};
    while (plan_walk_ranges(p->plan, &at, &r))
        fprintf(f, "range,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r.from,
                r.to, r.start, r.end, r.owlt);
    return fclose(f) != 0 ? -1 : 0;
}

static bool draw_plan(const struct plan_options *o, const struct plan_opened *p)
{
    char path[] = "/tmp/helio-plan.XXXXXX", error[PYTHON_ERROR_MAX] = "", start[32];
    int fd = mkstemp(path);
    if (fd < 0 || write_table(p, fd) < 0) {
        fprintf(stderr, "helio-plan: %s: cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    snprintf(start, sizeof start, "%" PRIu64, p->draft.start);
    const char *arguments[] = {path, o->plot, start};
    int rc = python_run("--plot", "figures.plan", arguments, 3, error);
    unlink(path);
    if (rc != 0 && error[0] != '\0')
        fprintf(stderr, "helio-plan: %s\n", error);
    return rc == 0;
}

int command_show(const struct plan_options *o)
{
    struct plan_opened *p = plan_open(o);
    bool drawn = true;
    if (p == NULL)
        return EXIT_USAGE;
    plan_tell_notes(p);
    if (o->plot != NULL)
        drawn = draw_plan(o, p);
    if (o->json)
        print_json(p);
    else if (o->plot == NULL || !drawn)
        print_table(p);
    plan_close(p);
    return drawn ? EXIT_DONE : EXIT_FAILED;
}
