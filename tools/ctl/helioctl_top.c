/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question each interval; its rows, without names, become structs, which are sorted and shown
 * as far as the screen goes. What can go wrong: the node does not answer; on a screen that is
 * shown, and asked again, in lines it is the end.
 */
#include "tools/ctl/helioctl_top.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cla/link_state.h"
#include "os/clock.h"
#include "tools/ctl/ctl_table.h"
#include "tools/ctl/helioctl_ask.h"
#include "tools/ctl/helioctl_screen.h"

#define ROWS_MAX 65536
#define BACKLOG_SHOWN 5
#define CELL 24
#define STATE_WORD(name, word) word,

/* Columns of the screen; each is a column of the node's answer too, or made of some. */
enum field {
    F_NAME,
    F_PEER,
    F_STATE,
    F_TX,
    F_RX,
    F_SHARE,
    F_RTO,
    F_RTT,
    F_HEARD,
    F_RESENT,
    F_SESSIONS,
    F_BUNDLES,
    F_BYTES,
    F_OLDEST,
    F_SENT,
    F_FAILED,
    F_COUNT
};

static const struct {
    const char *title, *key; /* key NULL: made here */
    enum column_kind kind;
    int width;
} fields[F_COUNT] = {
    [F_NAME] = {"LINK", "name", COLUMN_TEXT, -14},
    [F_PEER] = {"PEER", "peer", COLUMN_TEXT, -12},
    [F_STATE] = {"STATE", "state", COLUMN_TEXT, -7},
    [F_TX] = {"OUT", "tx_bps", COLUMN_SPEED, 12},
    [F_RX] = {"IN", "rx_bps", COLUMN_SPEED, 12},
    [F_SHARE] = {"SHARE", NULL, COLUMN_NUMBER, 6},
    [F_RTO] = {"RTO", "rto_ns", COLUMN_DURATION, 8},
    [F_RTT] = {"TRIP", "rtt_ns", COLUMN_DURATION, 8},
    [F_HEARD] = {"HEARD", "heard_ns", COLUMN_DURATION, 8},
    [F_RESENT] = {"RESENT", "resent_bps", COLUMN_SPEED, 12},
    [F_SESSIONS] = {"SESS", "sessions", COLUMN_NUMBER, 6},
    [F_BUNDLES] = {"WAIT", "bundles", COLUMN_NUMBER, 8},
    [F_BYTES] = {"BYTES", "bytes", COLUMN_BYTES, 9},
    [F_OLDEST] = {"OLDEST", "oldest_ms", COLUMN_SPAN_MS, 13},
    [F_SENT] = {"SENT", "sent", COLUMN_NUMBER, 9},
    [F_FAILED] = {"FAILED", "failed", COLUMN_NUMBER, 7},
};

struct row {
    json_t *values[F_COUNT]; /* borrowed from the answer; NULL: not told */
    double share;            /* of the nominal rate; < 0: it has none */
};

struct top {
    const char *path;
    tick timeout, interval;
    json_t *answer, *backlog; /* the last good ones; NULL: none yet */
    struct row *rows;
    size_t rows_len, rows_cap;
    bool silent; /* the last question had no answer */
    int sort;    /* enum field */
    bool reverse, busy_only, help, paused;
    size_t first; /* row at the top of the list */
    uint64_t looks;
};

/* ---- what the node says ---- */

static size_t column_of(const json_t *columns, const char *key)
{
    size_t at;
    json_t *c;
    json_array_foreach((json_t *)(uintptr_t)columns, at,
                       c) if (key != NULL && strcmp(json_string_value(c), key) == 0) return at;
    return SIZE_MAX;
}

static double number_of(const struct row *r, int f)
{
    return r->values[f] == NULL ? 0 : json_number_value(r->values[f]);
}

static bool is_busy(const struct row *r)
{
    return number_of(r, F_TX) + number_of(r, F_RX) + number_of(r, F_BUNDLES) > 0;
}

static bool is_state(const struct row *r, const char *word)
{
    const char *state = json_string_value(r->values[F_STATE]);
    return state != NULL && strcmp(state, word) == 0;
}

static bool is_up(const struct row *r)
{
    return is_state(r, "up");
}

static bool is_bad(const struct row *r)
{
    return is_state(r, "silent") || is_state(r, "down") || is_state(r, "refused");
}

static bool make_rows(struct top *t)
{
    const json_t *columns = json_object_get(t->answer, "columns");
    const json_t *rows = json_object_get(t->answer, "rows");
    size_t from[F_COUNT], rate = column_of(columns, "rate_bps"), n = json_array_size(rows);
    n = n > ROWS_MAX ? ROWS_MAX : n;
    if (n > t->rows_cap) {
        struct row *grown = realloc(t->rows, n * sizeof *grown);
        if (grown == NULL)
            return false;
        t->rows = grown;
        t->rows_cap = n;
    }
    for (int f = 0; f < F_COUNT; f++)
        from[f] = column_of(columns, fields[f].key);
    t->rows_len = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *in = json_array_get(rows, i);
        struct row *r = &t->rows[t->rows_len];
        for (int f = 0; f < F_COUNT; f++) {
            json_t *v = from[f] == SIZE_MAX ? NULL : json_array_get(in, from[f]);
            r->values[f] = json_is_null(v) ? NULL : v;
        }
        double nominal = json_number_value(json_array_get(in, rate));
        r->share = nominal > 0 ? number_of(r, F_TX) / nominal : -1;
        t->rows_len += !t->busy_only || is_busy(r);
    }
    return true;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct top *t = context;
    const struct row *x = a, *y = b;
    int order = 0;
    if (t->sort == F_SHARE)
        order = (y->share > x->share) - (y->share < x->share);
    else if (fields[t->sort].kind != COLUMN_TEXT)
        order = (number_of(y, t->sort) > number_of(x, t->sort)) -
                (number_of(y, t->sort) < number_of(x, t->sort));
    else
        order = strverscmp(json_string_value(x->values[t->sort]),
                           json_string_value(y->values[t->sort]));
    if (order == 0)
        return strverscmp(json_string_value(x->values[F_NAME]),
                          json_string_value(y->values[F_NAME]));
    return t->reverse ? -order : order;
}

static bool look_at(struct top *t, bool quiet)
{
    json_t *answer = ctl_ask(t->path, "{\"cmd\": \"top\"}", t->timeout, quiet);
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
    return make_rows(t);
}

static void ask_backlog(struct top *t)
{
    json_t *answer = ctl_ask(t->path, "{\"cmd\": \"backlog\", \"limit\": 5}", t->timeout, true);
    if (answer == NULL)
        return;
    json_decref(t->backlog);
    t->backlog = answer;
}

/* ---- the screen ---- */

static void cell_text(const struct row *r, int f, char *out, size_t cap)
{
    if (f == F_SHARE && r->share < 0)
        snprintf(out, cap, "-");
    else if (f == F_SHARE)
        snprintf(out, cap, "%.0f %%", 100 * r->share);
    else
        value_text(r->values[f], fields[f].kind, out, cap);
}

static void put_cell(char *line, size_t cap, size_t *used, int width, const char *cell)
{
    int least = width < 0 ? -width : width;
    int n = snprintf(line + *used, cap - *used, "%*.*s ", width, width < 0 ? least : 64, cell);
    *used += n > 0 && (size_t)n < cap - *used ? (size_t)n : 0;
}

static void show_rows(struct top *t, struct screen *s, unsigned room)
{
    char line[512], cell[320];
    size_t used = 0;
    for (int f = 0; f < F_COUNT; f++) {
        snprintf(cell, sizeof cell, "%s%s", t->sort == f ? t->reverse ? "^" : "v" : "",
                 fields[f].title);
        put_cell(line, sizeof line, &used, fields[f].width, cell);
    }
    screen_line(s, "7", line);
    for (size_t i = t->first; i < t->rows_len && i < t->first + room; i++) {
        const struct row *r = &t->rows[i];
        used = 0;
        for (int f = 0; f < F_COUNT; f++) {
            cell_text(r, f, cell, sizeof cell);
            put_cell(line, sizeof line, &used, fields[f].width, cell);
        }
        screen_line(s, is_bad(r) ? "31" : is_busy(r) ? "" : "2", line);
    }
    if (t->rows_len == 0)
        screen_line(s, "2", t->busy_only ? "no link is busy; a shows all" : "no links");
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

static double node_number(const struct top *t, const char *key)
{
    return json_number_value(json_object_get(json_object_get(t->answer, "node"), key));
}

struct sums {
    double tx, rx, sessions;
    size_t up;
    char others[96]; /* " (2 silent, 1 waiting)" */
};

/* States as the node names them, those that are not up. */
static void count_others(const struct top *t, char *out, size_t cap)
{
    static const char *const words[] = {LINK_STATES(STATE_WORD)};
    size_t used = 0;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t n = 0;
        for (size_t i = 0; i < t->rows_len; i++)
            n += is_state(&t->rows[i], words[w]);
        if (n == 0 || strcmp(words[w], "up") == 0 || used >= cap)
            continue;
        int k = snprintf(out + used, cap - used, "%s%zu %s", used == 0 ? " (" : ", ", n, words[w]);
        used += k > 0 ? (size_t)k : 0;
    }
    if (used > 0 && used < cap)
        snprintf(out + used, cap - used, ")");
}

static struct sums sum_rows(const struct top *t)
{
    struct sums s = {0};
    count_others(t, s.others, sizeof s.others);
    for (size_t i = 0; i < t->rows_len; i++) {
        s.tx += number_of(&t->rows[i], F_TX);
        s.rx += number_of(&t->rows[i], F_RX);
        s.sessions += number_of(&t->rows[i], F_SESSIONS);
        s.up += is_up(&t->rows[i]);
    }
    return s;
}

static void speed_text(double bps, char out[CELL])
{
    json_t *v = json_integer((json_int_t)bps);
    value_text(v, COLUMN_SPEED, out, CELL);
    json_decref(v);
}

static void show_node(const struct top *t, struct screen *s)
{
    char line[256], up[CELL], tx[CELL], rx[CELL];
    const json_t *node = json_object_get(t->answer, "node");
    json_t *ms = json_integer((json_int_t)node_number(t, "uptime_s") * 1000);
    struct sums sum = sum_rows(t);
    value_text(ms, COLUMN_SPAN_MS, up, sizeof up);
    json_decref(ms);
    snprintf(line, sizeof line, "%s  up %s  heliograph %s%s",
             json_string_value(json_object_get(node, "node")), up,
             json_string_value(json_object_get(node, "version")),
             t->paused ? "  PAUSED (p goes on)" : "");
    screen_line(s, "1", line);
    bool stored = json_object_get(node, "store_bytes") != NULL;
    put_bar(line, sizeof line, stored ? "Store" : "Held",
            node_number(t, stored ? "store_bytes" : "bytes"), node_number(t, "store_max"), true);
    screen_line(s, "36", line);
    put_bar(line, sizeof line, "Memory", node_number(t, "memory_bytes"),
            node_number(t, "memory_max"), true);
    screen_line(s, "36", line);
    put_bar(line, sizeof line, "Bundles", node_number(t, "bundles"), node_number(t, "bundles_max"),
            false);
    screen_line(s, "36", line);
    speed_text(sum.tx, tx);
    speed_text(sum.rx, rx);
    snprintf(
        line, sizeof line,
        "Out %s  In %s  Links %zu up of %zu%s  Sessions %.0f  Applications %.0f  Delivered %.0f "
        " Forwarded %.0f  Expired %.0f",
        tx, rx, sum.up, t->rows_len, sum.others, sum.sessions, node_number(t, "applications"),
        node_number(t, "delivered"), node_number(t, "forwarded"), node_number(t, "expired"));
    screen_line(s, "", line);
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
                 json_string_value(json_object_get(b, "destination")),
                 (long long)json_integer_value(json_object_get(b, "bundles")), bytes, oldest);
        if (at < BACKLOG_SHOWN)
            screen_line(s, "", line);
    }
}

static void show_help(struct screen *s)
{
    static const char *const lines[] = {
        "",
        "  q, Ctrl-C       end",
        "  s, S            sort by the next, the last column (v marks it)",
        "  r               reverse",
        "  a               all links, or only busy ones",
        "  up, down, page up, page down, home, end   move",
        "  p               pause",
        "  space           look now",
        "  + -             look more often, less often",
        "  h, ?            this, and back",
        "",
        "  OUT, IN  rate of the last second      SHARE  of the link's nominal rate",
        "  RTO      retransmission timer in force   TRIP  smoothed round trip",
        "  HEARD    since something came from the peer   RESENT  rate of data sent again",
        "  WAIT, BYTES, OLDEST  bundles that wait for the link or are on it",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        screen_line(s, "", lines[i]);
}

static void show_screen(struct top *t, struct screen *s)
{
    screen_begin(s);
    show_node(t, s);
    unsigned used = 7 + 1 + BACKLOG_SHOWN + 1 + 1; /* node, titles, backlog, its title, keys */
    unsigned room = s->height > used ? s->height - used : 1;
    if (t->first + room > t->rows_len)
        t->first = t->rows_len > room ? t->rows_len - room : 0;
    qsort_r(t->rows, t->rows_len, sizeof *t->rows, compare_rows, t);
    if (t->help) {
        show_help(s);
    } else {
        show_rows(t, s, room);
        while (s->line + BACKLOG_SHOWN + 2 < s->height)
            screen_line(s, "", "");
        show_backlog(t, s);
    }
    while (s->line + 1 < s->height)
        screen_line(s, "", "");
    screen_line(s, "7", " h help  q end  s sort  r reverse  a busy/all  p pause  + - interval ");
    screen_end(s);
}

static void sort_next(struct top *t, int by)
{
    t->sort = (t->sort + by + F_COUNT) % F_COUNT;
}

static void move_by(struct top *t, long by)
{
    long to = (long)t->first + by;
    t->first = to < 0 ? 0 : (size_t)to; /* show_screen bounds it */
}

/* False: it is the end. */
static bool take_key(struct top *t, int key, const struct screen *s)
{
    long page = s->height > 16 ? (long)s->height - 15 : 1;
    switch (key) {
    case KEY_END:
    case 'q':
        return false;
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
        t->first = 0;
        break;
    case KEY_LAST:
        t->first = t->rows_len;
        break;
    default:
        break;
    }
    return true;
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
        show_screen(t, &s);
        tick now = clock_now();
        int key = screen_key(&s, now < next ? next - now : 0);
        go = take_key(t, key, &s);
        if (key == 'a')
            (void)make_rows(t);
        if (go && (clock_now() >= next || key == ' ')) {
            next = clock_now() + t->interval;
            go = looks == 0 || t->looks < looks;
            if (go && !t->paused && look_at(t, true))
                ask_backlog(t);
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
    struct sums sum = sum_rows(t);
    gmtime_r(&(time_t){(time_t)(clock_wall() / TICK_S)}, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
    printf("%s node %s: %.0f bundles, %.0f bytes, out %.0f bit/s, in %.0f bit/s, %zu of %zu links "
           "up%s, %.0f sessions, %.0f applications\n",
           stamp, json_string_value(json_object_get(json_object_get(t->answer, "node"), "node")),
           node_number(t, "bundles"), node_number(t, "bytes"), sum.tx, sum.rx, sum.up, t->rows_len,
           sum.others, sum.sessions, node_number(t, "applications"));
    for (size_t i = 0; i < t->rows_len; i++) {
        const struct row *r = &t->rows[i];
        if (!is_busy(r) && !is_bad(r))
            continue;
        printf("%s link", stamp);
        for (int f = F_NAME; f < F_COUNT; f++) {
            cell_text(r, f, cell, sizeof cell);
            if (f == F_NAME)
                printf(" %s", cell);
            else if (strcmp(cell, "-") != 0)
                printf("%s%s %s", f == F_PEER ? ": " : ", ", fields[f].title, cell);
        }
        putchar('\n');
    }
    fflush(stdout);
}

static int run_lines(struct top *t, uint64_t looks)
{
    while (look_at(t, false)) {
        qsort_r(t->rows, t->rows_len, sizeof *t->rows, compare_rows, t);
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
    free(t.rows);
    return code;
}
