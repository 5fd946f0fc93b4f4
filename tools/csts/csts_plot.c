/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: each new name gets a panel, each value a point; plot_write scales each panel to
 * its least and greatest value, and all panels to the same time.
 *
 * What can go wrong: too many names: they are left out. Too many points: the distance of points is
 * doubled, so that the whole time is shown. The file cannot be written: an error.
 */
#include "tools/csts/csts_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

enum { WIDTH = 800, PANEL = 110, LEFT = 90, RIGHT = 20, TOP = 24, BOTTOM = 30, INNER = 66 };

struct point {
    double time, value;
};

struct panel {
    char name[PLOT_NAME_MAX];
    struct point *points;
    size_t len, room;
    size_t every, skipped; /* one point of `every` is kept */
};

struct csts_plot {
    struct panel *panels[PLOT_PANELS_MAX];
    size_t len;
};

struct csts_plot *plot_new(void)
{
    return calloc(1, sizeof(struct csts_plot));
}

void plot_free(struct csts_plot *p)
{
    for (size_t i = 0; p != NULL && i < p->len; i++) {
        free(p->panels[i]->points);
        free(p->panels[i]);
    }
    free(p);
}

static struct panel *panel_of(struct csts_plot *p, const char *name)
{
    for (size_t i = 0; i < p->len; i++)
        if (strcmp(p->panels[i]->name, name) == 0)
            return p->panels[i];
    struct panel *n = p->len == PLOT_PANELS_MAX ? NULL : calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    snprintf(n->name, sizeof n->name, "%s", name);
    n->every = 1;
    p->panels[p->len++] = n;
    return n;
}

static void thin_out(struct panel *n)
{
    size_t kept = 0;
    for (size_t k = 0; k < n->len; k += 2)
        n->points[kept++] = n->points[k];
    n->len = kept;
    n->every *= 2;
}

static bool grow_panel(struct panel *n)
{
    if (n->len < n->room)
        return true;
    const size_t room = n->room == 0 ? 64 : 2 * n->room;
    struct point *more = realloc(n->points, room * sizeof *more);
    if (more == NULL)
        return false;
    n->points = more;
    n->room = room;
    return true;
}

bool plot_add(struct csts_plot *p, const char *name, double time, double value)
{
    struct panel *n = panel_of(p, name);
    if (n == NULL)
        return false;
    if (n->len > 0 && ++n->skipped < n->every)
        return true;
    n->skipped = 0;
    if (n->len == PLOT_POINTS_MAX)
        thin_out(n);
    if (!grow_panel(n))
        return false;
    n->points[n->len++] = (struct point){time, value};
    return true;
}

/* ---- the image ---- */

struct range {
    double low, high;
};

static void widen(struct range *r, double v)
{
    if (isnan(v))
        return;
    r->low = v < r->low ? v : r->low;
    r->high = v > r->high ? v : r->high;
}

/* 0 to 1; a range of one value has it in the middle. */
static double place_of(const struct range *r, double v)
{
    return r->high > r->low ? (v - r->low) / (r->high - r->low) : 0.5;
}

static void write_escaped(FILE *f, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("<>&\"'", *text) != NULL || (unsigned char)*text < ' ')
            fprintf(f, "&#%d;", (unsigned char)*text < ' ' ? '?' : *text);
        else
            fputc(*text, f);
}

static void write_label(FILE *f, int x, int y, const char *anchor, const char *text)
{
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
    write_escaped(f, text);
    fprintf(f, "</text>\n");
}

static void write_number(FILE *f, int y, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.6g", v);
    write_label(f, LEFT - 6, y, "end", text);
}

/* One line for each stretch of values without a gap. */
static void write_lines(FILE *f, const struct panel *n, const struct range *times,
                        const struct range *values, int top)
{
    bool open = false;
    for (size_t k = 0; k < n->len; k++) {
        const struct point *p = &n->points[k];
        if (isnan(p->value) && open)
            fprintf(f, "\"/>\n");
        if (!isnan(p->value))
            fprintf(f, "%s%.2f,%.2f", open ? " " : "<polyline points=\"",
                    LEFT + place_of(times, p->time) * (WIDTH - LEFT - RIGHT),
                    top + INNER * (1 - place_of(values, p->value)));
        open = !isnan(p->value);
    }
    if (open)
        fprintf(f, "\"/>\n");
}

static void write_panel(FILE *f, const struct panel *n, const struct range *times, int top)
{
    struct range values = {INFINITY, -INFINITY};
    for (size_t k = 0; k < n->len; k++)
        widen(&values, n->points[k].value);
    write_label(f, LEFT, top - 6, "start", n->name);
    fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, top,
            WIDTH - LEFT - RIGHT, INNER);
    if (values.low > values.high) {
        write_label(f, LEFT + 6, top + 16, "start", "no values");
        return;
    }
    write_number(f, top + 10, values.high);
    if (values.high > values.low)
        write_number(f, top + INNER, values.low);
    write_lines(f, n, times, &values, top);
}

static void write_time(FILE *f, int x, int y, const char *anchor, double at)
{
    char text[40];
    struct tm utc;
    const time_t whole = (time_t)at;
    if (gmtime_r(&whole, &utc) != NULL && strftime(text, sizeof text, "%FT%TZ", &utc) > 0)
        write_label(f, x, y, anchor, text);
}

static void write_image(FILE *f, const struct csts_plot *p)
{
    struct range times = {INFINITY, -INFINITY};
    const int height = TOP + PANEL * (int)p->len + BOTTOM;
    for (size_t i = 0; i < p->len; i++)
        for (size_t k = 0; k < p->panels[i]->len; k++)
            widen(&times, p->panels[i]->points[k].time);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n"
            "<style>text{font:12px sans-serif}rect{fill:none;stroke:#999}"
            "polyline{fill:none;stroke:#0055aa;stroke-width:1.5}</style>\n"
            "<path fill=\"#fff\" d=\"M0 0H%dV%dH0z\"/>\n",
            WIDTH, height, WIDTH, height);
    for (size_t i = 0; i < p->len; i++)
        write_panel(f, p->panels[i], &times, TOP + PANEL * (int)i);
    if (times.low <= times.high) {
        write_time(f, LEFT, height - 10, "start", times.low);
        write_time(f, WIDTH - RIGHT, height - 10, "end", times.high);
    }
    fprintf(f, "</svg>\n");
}

int plot_write(const struct csts_plot *p, const char *path)
{
    char beside[4096];
    if ((size_t)snprintf(beside, sizeof beside, "%s.part", path) >= sizeof beside)
        return helio_from_errno(ENAMETOOLONG);
    FILE *f = fopen(beside, "w");
    if (f == NULL)
        return helio_from_errno(errno);
    write_image(f, p);
    const bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad || rename(beside, path) != 0) {
        const int e = errno != 0 ? helio_from_errno(errno) : HELIO_EIO;
        (void)remove(beside);
        return e;
    }
    return 0;
}
