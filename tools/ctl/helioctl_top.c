/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request in each interval. Its rows, without names, become structs, which are sorted and shown
 * as far as the screen permits. What can go wrong: the node does not answer. On a screen this is
 * shown, and the request is repeated; with lines it ends the program.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "tools/ctl/ctl_ask.h"
#include "tools/ctl/helioctl.h"
#include "tools/ctl/helioctl_screen.h"
#include "tools/ctl/helioctl_top_private.h"

static bool look_at(struct top *t, bool quiet)
{
    json_t *answer = ctl_ask("helioctl", t->path, "{\"cmd\": \"top\"}", t->timeout, quiet);
    t->silent = answer == NULL || !json_is_array(json_object_get(answer, "rows"));
    t->looks++;
    if (t->silent) {
        if (answer != NULL && !quiet)
            fputs("helioctl: the node is an older one: it does not know top\n", stderr);
        json_decref(answer);
        return false;
    }
    json_decref(t->answer);
    t->answer = answer;
    return top_make_rows(t);
}

static void ask_backlog(struct top *t)
{
    json_t *answer =
        ctl_ask("helioctl", t->path, "{\"cmd\": \"backlog\", \"limit\": 5}", t->timeout, true);
    if (answer == NULL)
        return;
    json_decref(t->backlog);
    t->backlog = answer;
}

/* ---- keys ---- */

static void sort_next(struct top *t, int by)
{
    t->sort = (t->sort + by + F_COUNT) % F_COUNT;
}

static void move_by(struct top *t, long by)
{
    if (t->detail != NULL) {
        long to = (long)t->first + by;
        t->first = to < 0 ? 0 : (size_t)to; /* top_show bounds it */
        return;
    }
    if (t->rows_len == 0)
        return;
    size_t now = top_selected(t);
    long to = now == SIZE_MAX ? (by > 1 ? by - 1 : 0) : (long)now + by,
         last = (long)t->rows_len - 1;
    to = to < 0 ? 0 : to > last ? last : to;
    const char *name = json_string_value(t->rows[to].values[F_NAME]);
    snprintf(t->selected, sizeof t->selected, "%s", name != NULL ? name : "");
}

static void keep_sessions(struct top *t, const json_t *answer)
{
    json_decref(t->sessions);
    t->sessions = json_incref(json_object_get(answer, "sessions"));
}

/* What `links` and `sessions` print of the selected link; or the session that is shown. */
static void ask_detail(struct top *t)
{
    static const char *const commands[] = {"links", "sessions"};
    const bool one = t->session[0] != '\0';
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = one ? 1 : 0; out != NULL && i < sizeof commands / sizeof *commands; i++) {
        json_t *in = json_pack("{s:s, s:s}", "cmd", commands[i], "link", t->selected);
        char *line = in != NULL ? json_dumps(in, JSON_COMPACT) : NULL;
        json_t *answer = line != NULL ? ctl_ask("helioctl", t->path, line, t->timeout, true) : NULL;
        if (i > 0)
            keep_sessions(t, answer);
        if (i > 0 && !one)
            fputc('\n', out);
        if (one && answer != NULL)
            top_put_session(t, out);
        else if (answer != NULL && json_is_array(json_object_get(answer, commands[i])))
            ctl_show_at(out, false, commands[i], answer);
        else
            fputs("the node does not answer, or this link is no more\n", out);
        json_decref(answer);
        json_decref(in);
        free(line);
    }
    if (out != NULL && fclose(out) == 0 && text != NULL) {
        free(t->detail);
        t->detail = text;
    }
}

/* From the session to its link, and from the link to the list. */
static void leave_detail(struct top *t)
{
    const bool one = t->session[0] != '\0';
    t->session[0] = '\0';
    if (one) {
        ask_detail(t);
        return;
    }
    free(t->detail);
    t->detail = NULL;
    t->first = 0;
}

static void enter_detail(struct top *t)
{
    if (t->selected[0] == '\0' || top_selected(t) == SIZE_MAX)
        move_by(t, 1);
    t->first = 0;
    if (t->rows_len > 0)
        ask_detail(t);
}

/* A key while the filter is typed. */
static void type_filter(struct top *t, int key)
{
    size_t len = strlen(t->filter);
    if (key == KEY_ESCAPE)
        t->filter[0] = '\0';
    if (key == KEY_ESCAPE || key == '\r' || key == '\n')
        t->typing = false;
    else if ((key == '\b' || key == 127) && len > 0)
        t->filter[len - 1] = '\0';
    else if (key > ' ' && key < 127 && len + 1 < sizeof t->filter) {
        t->filter[len] = (char)key;
        t->filter[len + 1] = '\0';
    }
    (void)top_make_rows(t);
}

static void move_key(struct top *t, int key, const struct screen *s)
{
    long page = s->height > 16 ? (long)s->height - 15 : 1;
    switch (key) {
    case KEY_UP:
        move_by(t, -1);
        break;
    case KEY_DOWN:
        move_by(t, 1);
        break;
    case KEY_PAGE_UP:
        move_by(t, -page);
        break;
    case KEY_PAGE_DOWN:
        move_by(t, page);
        break;
    case KEY_HOME:
        move_by(t, INT32_MIN);
        break;
    case KEY_LAST:
        move_by(t, INT32_MAX);
        break;
    default:
        break;
    }
}

/* False: it is the end. */
static bool take_key(struct top *t, int key, const struct screen *s)
{
    if (t->typing && key != KEY_END) {
        type_filter(t, key);
        return true;
    }
    switch (key) {
    case KEY_END:
    case 'q':
        return false;
    case '\r':
    case '\n':
        t->detail != NULL ? leave_detail(t) : enter_detail(t);
        break;
    case KEY_ESCAPE:
        if (t->detail == NULL)
            type_filter(t, key);
        leave_detail(t);
        break;
    case '/':
        t->typing = t->detail == NULL;
        break;
    case '\t':
        if (t->detail != NULL) {
            top_next_session(t);
            ask_detail(t);
        }
        break;
    case 's':
        sort_next(t, 1);
        break;
    case 'S':
        sort_next(t, -1);
        break;
    case 'r':
        t->reverse = !t->reverse;
        break;
    case 'a':
        t->busy_only = !t->busy_only;
        (void)top_make_rows(t);
        break;
    case 'p':
        t->paused = !t->paused;
        break;
    case 'h':
    case '?':
        t->help = !t->help;
        break;
    case '+':
        t->interval = t->interval / 2 < 200 * TICK_MS ? 200 * TICK_MS : t->interval / 2;
        break;
    case '-':
        t->interval = t->interval > 30 * TICK_S ? 60 * TICK_S : 2 * t->interval;
        break;
    default:
        move_key(t, key, s);
        break;
    }
    return true;
}

/* Beside the links: destinations of queued bundles, or the sessions of the shown link. */
static void ask_more(struct top *t)
{
    if (t->detail != NULL)
        ask_detail(t);
    else
        ask_backlog(t);
}

static int run_screen(struct top *t, uint64_t looks)
{
    struct screen s;
    bool go = look_at(t, false);
    if (!go)
        return 1;
    ask_backlog(t);
    if (screen_open(&s) < 0) {
        fputs("helioctl: the terminal cannot be used; helioctl watch writes lines\n", stderr);
        return 1;
    }
    tick next = clock_now() + t->interval;
    while (go) {
        top_show(t, &s);
        tick now = clock_now();
        int key = screen_key(&s, now < next ? next - now : 0);
        go = take_key(t, key, &s);
        if (go && (clock_now() >= next || key == ' ')) {
            next = clock_now() + t->interval;
            go = looks == 0 || t->looks < looks;
            if (go && !t->paused && look_at(t, true))
                ask_more(t);
        }
    }
    screen_close(&s);
    return 0;
}

/* ---- lines ---- */

static void print_lines(const struct top *t)
{
    char stamp[32], cell[320];
    struct tm tm;
    const struct top_sums *sum = &t->sums;
    gmtime_r(&(time_t){(time_t)(clock_wall() / TICK_S)}, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
    printf("%s node %s: %.0f bundles, %.0f bytes, out %.0f bit/s, in %.0f bit/s, %zu of %zu links "
           "up%s, %.0f sessions, %.0f applications\n",
           stamp, json_string_value(json_object_get(json_object_get(t->answer, "node"), "node")),
           top_node_number(t, "bundles"), top_node_number(t, "bytes"), sum->tx, sum->rx, sum->up,
           sum->links, sum->others, sum->sessions, top_node_number(t, "applications"));
    for (size_t i = 0; i < t->rows_len; i++) {
        const struct row *r = &t->rows[i];
        if (!top_is_busy(r) && !top_is_bad(r))
            continue;
        printf("%s link", stamp);
        for (int f = F_NAME; f < F_COUNT; f++) {
            top_cell(r, f, cell, sizeof cell);
            if (f == F_NAME)
                printf(" %s", cell);
            else if (strcmp(cell, "-") != 0)
                printf("%s%s %s", f == F_PEER ? ": " : ", ", top_fields[f].title, cell);
        }
        putchar('\n');
    }
    fflush(stdout);
}

static int run_lines(struct top *t, uint64_t looks)
{
    while (look_at(t, false)) {
        top_sort_rows(t);
        print_lines(t);
        if (ferror(stdout) != 0 || (looks != 0 && t->looks >= looks))
            return 0;
        struct timespec pause = {.tv_sec = (time_t)(t->interval / TICK_S),
                                 .tv_nsec = (long)(t->interval % TICK_S)};
        (void)nanosleep(&pause, NULL);
    }
    return 1;
}

int ctl_top(const char *path, bool plain, tick interval, tick timeout, uint64_t looks)
{
    struct top t = {.path = path, .timeout = timeout, .interval = interval, .sort = F_TX};
    bool screen = !plain && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    int code = screen ? run_screen(&t, looks) : run_lines(&t, looks);
    json_decref(t.answer);
    json_decref(t.backlog);
    json_decref(t.sessions);
    free(t.rows);
    free(t.detail);
    return code;
}
