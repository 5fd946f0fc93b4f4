/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of helioctl top. A screen that is narrow has fewer columns, not cut numbers. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/helioctl_screen.h"
#include "tools/ctl/helioctl_top_private.h"

#define CELL 24

static void put_cell(char *line, size_t cap, size_t *used, int width, const char *cell)
{
    int least = width < 0 ? -width : width;
    int n = snprintf(line + *used, cap - *used, "%*.*s ", width, width < 0 ? least : 64, cell);
    *used += n > 0 && (size_t)n < cap - *used ? (size_t)n : 0;
}

/* The most important columns that fit into the width, including the one that is sorted by. */
static void choose_fields(const struct top *t, unsigned width, bool shown[F_COUNT])
{
    unsigned used = 0;
    memset(shown, 0, F_COUNT * sizeof *shown);
    for (int rank = -1; rank < F_COUNT; rank++) {
        for (int f = 0; f < F_COUNT; f++) {
            unsigned w = (unsigned)abs(top_fields[f].width);
            bool wanted = rank < 0 ? f == t->sort : top_fields[f].rank == rank;
            unsigned gap = used > 0 ? 1 : 0;
            if (wanted && !shown[f] && (used + gap + w <= width || used == 0)) {
                shown[f] = true;
                used += gap + w;
            }
        }
    }
}

static void show_titles(const struct top *t, struct screen *s, const bool shown[F_COUNT])
{
    char line[512] = "", cell[64];
    size_t used = 0;
    for (int f = 0; f < F_COUNT; f++) {
        snprintf(cell, sizeof cell, "%s%s", t->sort == f ? t->reverse ? "^" : "v" : "",
                 top_fields[f].title);
        if (shown[f])
            put_cell(line, sizeof line, &used, top_fields[f].width, cell);
    }
    screen_line(s, "7", line);
}

static void show_row(const struct row *r, struct screen *s, const bool shown[F_COUNT],
                     bool selected)
{
    char line[512] = "", cell[320];
    size_t used = 0;
    for (int f = 0; f < F_COUNT; f++) {
        top_cell(r, f, cell, sizeof cell);
        if (shown[f])
            put_cell(line, sizeof line, &used, top_fields[f].width, cell);
    }
    screen_line(s, selected ? "1;7" : top_is_bad(r) ? "31" : top_is_busy(r) ? "" : "2", line);
}

static void show_rows(struct top *t, struct screen *s, unsigned room)
{
    bool shown[F_COUNT];
    size_t selected = top_selected(t);
    choose_fields(t, s->width, shown);
    show_titles(t, s, shown);
    if (selected != SIZE_MAX && selected < t->first)
        t->first = selected;
    if (selected != SIZE_MAX && selected >= t->first + room)
        t->first = selected - room + 1;
    if (t->first + room > t->rows_len)
        t->first = t->rows_len > room ? t->rows_len - room : 0;
    for (size_t i = t->first; i < t->rows_len && i < t->first + room; i++)
        show_row(&t->rows[i], s, shown, i == selected);
    if (t->rows_len == 0)
        screen_line(s, "2",
                    t->sums.links == 0  ? "no links"
                    : t->filter[0] != 0 ? "no link fits the filter; / changes it"
                                        : "no link is busy; a shows all");
}

/* "Store  [||||      1.2 GB / 20.0 GB]" */
static void put_bar(char *out, size_t cap, const char *name, double now, double most, bool bytes)
{
    char a[CELL], b[CELL], bar[31];
    json_t *x = json_integer((json_int_t)now), *y = json_integer((json_int_t)most);
    int full = most > 0 && now > 0 ? (int)(now / most * 29) + 1 : 0;
    memset(bar, ' ', sizeof bar);
    memset(bar, '|', (size_t)(full > 30 ? 30 : full));
    bar[30] = '\0';
    value_text(x, bytes ? COLUMN_BYTES : COLUMN_NUMBER, a, sizeof a);
    value_text(y, bytes ? COLUMN_BYTES : COLUMN_NUMBER, b, sizeof b);
    snprintf(out, cap, "%-8s[%s] %s / %s", name, bar, a, b);
    json_decref(x);
    json_decref(y);
}

static void speed_text(double bps, char out[CELL])
{
    json_t *v = json_integer((json_int_t)bps);
    value_text(v, COLUMN_SPEED, out, CELL);
    json_decref(v);
}

/* Words that two spaces part stay together. */
static void show_wrapped(struct screen *s, const char *text)
{
    char line[256];
    while (*text != '\0') {
        size_t end = 0;
        for (const char *gap = text; gap != NULL; gap = strstr(gap + 1, "  ")) {
            size_t to = gap == text ? 0 : (size_t)(gap - text);
            end = to <= s->width ? to : end;
        }
        if (strlen(text) <= s->width || end == 0)
            end = strlen(text);
        snprintf(line, sizeof line, "%.*s", (int)end, text);
        screen_line(s, "", line);
        text += end;
        text += strspn(text, " ");
    }
}

static void show_node(const struct top *t, struct screen *s)
{
    char line[256], up[CELL], tx[CELL], rx[CELL];
    const json_t *node = json_object_get(t->answer, "node");
    json_t *ms = json_integer((json_int_t)top_node_number(t, "uptime_s") * 1000);
    const struct top_sums *sum = &t->sums;
    value_text(ms, COLUMN_SPAN_MS, up, sizeof up);
    json_decref(ms);
    snprintf(line, sizeof line, "%s  up %s  heliograph %s%s",
             json_string_value(value_shown(node, "node")), up,
             json_string_value(json_object_get(node, "version")),
             t->paused ? "  PAUSED (p goes on)" : "");
    screen_line(s, "1", line);
    bool stored = json_object_get(node, "store_bytes") != NULL;
    put_bar(line, sizeof line, stored ? "Store" : "Held",
            top_node_number(t, stored ? "store_bytes" : "bytes"), top_node_number(t, "store_max"),
            true);
    screen_line(s, "36", line);
    put_bar(line, sizeof line, "Memory", top_node_number(t, "memory_bytes"),
            top_node_number(t, "memory_max"), true);
    screen_line(s, "36", line);
    put_bar(line, sizeof line, "Bundles", top_node_number(t, "bundles"),
            top_node_number(t, "bundles_max"), false);
    screen_line(s, "36", line);
    speed_text(sum->tx, tx);
    speed_text(sum->rx, rx);
    snprintf(
        line, sizeof line,
        "Out %s  In %s  Links %zu up of %zu%s  Sessions %.0f  Applications %.0f  Delivered %.0f  "
        "Forwarded %.0f  Expired %.0f",
        tx, rx, sum->up, sum->links, sum->others, sum->sessions, top_node_number(t, "applications"),
        top_node_number(t, "delivered"), top_node_number(t, "forwarded"),
        top_node_number(t, "expired"));
    show_wrapped(s, line);
    screen_line(s, "31;1", t->silent ? "the node does not answer; this is what it said last" : "");
}

static void show_backlog(const struct top *t, struct screen *s)
{
    const json_t *list = json_object_get(t->backlog, "backlog");
    char line[256], bytes[CELL], oldest[CELL];
    size_t at;
    json_t *b;
    screen_line(s, "7", "WAITS FOR         BUNDLES      BYTES        OLDEST ");
    json_array_foreach((json_t *)(uintptr_t)list, at, b)
    {
        value_text(json_object_get(b, "bytes"), COLUMN_BYTES, bytes, sizeof bytes);
        value_text(json_object_get(b, "oldest_ms"), COLUMN_SPAN_MS, oldest, sizeof oldest);
        snprintf(line, sizeof line, "%-16.16s %8lld %10s %13s",
                 json_string_value(value_shown(b, "destination")),
                 (long long)json_integer_value(json_object_get(b, "bundles")), bytes, oldest);
        if (at < TOP_BACKLOG_SHOWN)
            screen_line(s, "", line);
    }
}

static void show_help(struct screen *s)
{
    static const char *const lines[] = {
        "",
        "  q, Ctrl-C       end",
        "  Enter           the selected link with its counters and sessions, and back",
        "  Tab             there: one session after the other",
        "  /               only links whose name, peer or state has a text",
        "  s, S            sort by the next, the last column (v marks it)",
        "  r               reverse",
        "  a               all links, or only busy ones",
        "  up, down, page up, page down, home, end   select a link",
        "  p               pause",
        "  space           look now",
        "  + -             look more often, less often",
        "  h, ?            this, and back",
        "",
        "  OUT, IN  rate of the last second      SHARE  of the link's nominal rate",
        "  RTO      retransmission timer in force   TRIP  smoothed round trip",
        "  HEARD    since the peer was last received     RESENT  rate of data sent again",
        "  WAIT, BYTES, OLDEST  bundles that wait for the link or are on it",
        "  A narrow screen has fewer columns; s goes through all.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        screen_line(s, "", lines[i]);
}

#define NUMBER_WIDTH 24 /* no number is as wide with its unit; a sentence is */

/* Octets of a table's row of `len` that fit into the width: no number is cut, but a sentence is. */
static size_t fit_row(const char *row, size_t len, unsigned width)
{
    size_t end = 0, word = 0;
    if (len <= width)
        return len;
    for (size_t i = 1; i + 2 < width; i++) {
        if (row[i] != ' ' && row[i + 1] == ' ')
            word = i + 1;
        if (word == i + 1 && row[i + 2] == ' ')
            end = word;
    }
    return end + NUMBER_WIDTH < word ? word : end;
}

/* One link, from the answers to `links` and `sessions`. What does not fit is marked. */
static void show_detail(struct top *t, struct screen *s)
{
    size_t lines = 0, room = s->height > s->line + 1 ? s->height - s->line - 1 : 1;
    for (const char *c = t->detail; *c != '\0'; c++)
        lines += *c == '\n';
    if (t->first + room > lines)
        t->first = lines > room ? lines - room : 0;
    const char *at = t->detail;
    for (size_t i = 0; *at != '\0' && i < t->first + room; i++) {
        char line[512];
        size_t len = strcspn(at, "\n"), shown = fit_row(at, len, s->width);
        snprintf(line, sizeof line, "%.*s%s", (int)(shown < sizeof line ? shown : sizeof line - 1),
                 at, shown < len ? " >" : "");
        if (i >= t->first)
            screen_line(s, "", line);
        at += len + (at[len] == '\n');
    }
}

static void show_keys(const struct top *t, struct screen *s)
{
    char line[TOP_NAME_MAX + 96];
    if (t->typing)
        snprintf(line, sizeof line, " filter: %s_  (Enter: done, Esc: all links)", t->filter);
    else if (t->detail != NULL)
        snprintf(line, sizeof line, " %s   Tab %s session  Enter, Esc back  up, down move  q end ",
                 t->selected, t->session[0] == '\0' ? "a" : "the next");
    else
        snprintf(line, sizeof line, " h help  q end  Enter link  / filter%s%s  s sort  a busy/all ",
                 t->filter[0] != '\0' ? ": " : "", t->filter);
    screen_line(s, "7", line);
}

void top_show(struct top *t, struct screen *s)
{
    screen_begin(s);
    show_node(t, s);
    unsigned used = s->line + 1 + TOP_BACKLOG_SHOWN + 1 + 1; /* titles, backlog, its title, keys */
    unsigned room = s->height > used ? s->height - used : 1;
    top_sort_rows(t);
    if (t->help) {
        show_help(s);
    } else if (t->detail != NULL) {
        show_detail(t, s);
    } else {
        show_rows(t, s, room);
        while (s->line + TOP_BACKLOG_SHOWN + 2 < s->height)
            screen_line(s, "", "");
        show_backlog(t, s);
    }
    while (s->line + 1 < s->height)
        screen_line(s, "", "");
    show_keys(t, s);
    screen_end(s);
}
