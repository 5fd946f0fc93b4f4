/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of helioctl top: from the node's answer, without names, to what fits the filter, in
 * order. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/link_state.h"
#include "tools/ctl/helioctl_top_private.h"

#define ROWS_MAX 65536
#define STATE_WORD(name, word) word,

static const char *const state_words[] = {LINK_STATES(STATE_WORD)};

#define STATES (sizeof state_words / sizeof *state_words)

const struct field_format top_fields[F_COUNT] = {
    [F_NAME] = {"LINK", "name", COLUMN_TEXT, -14, 0},
    [F_PEER] = {"PEER", "peer", COLUMN_TEXT, -12, 6},
    [F_STATE] = {"STATE", "state", COLUMN_TEXT, -7, 1},
    [F_TX] = {"OUT", "tx_bps", COLUMN_SPEED, 12, 2},
    [F_RX] = {"IN", "rx_bps", COLUMN_SPEED, 12, 3},
    [F_SHARE] = {"SHARE", NULL, COLUMN_NUMBER, 6, 10},
    [F_RTO] = {"RTO", "rto_ns", COLUMN_DURATION, 8, 12},
    [F_RTT] = {"TRIP", "rtt_ns", COLUMN_DURATION, 8, 11},
    [F_HEARD] = {"HEARD", "heard_ns", COLUMN_DURATION, 8, 5},
    [F_RESENT] = {"RESENT", "resent_bps", COLUMN_SPEED, 12, 9},
    [F_SESSIONS] = {"SESS", "sessions", COLUMN_NUMBER, 6, 8},
    [F_BUNDLES] = {"WAIT", "bundles", COLUMN_NUMBER, 8, 4},
    [F_BYTES] = {"BYTES", "bytes", COLUMN_BYTES, 9, 13},
    [F_OLDEST] = {"OLDEST", "oldest_ms", COLUMN_SPAN_MS, 13, 7},
    [F_SENT] = {"SENT", "sent", COLUMN_NUMBER, 9, 15},
    [F_FAILED] = {"FAILED", "failed", COLUMN_NUMBER, 7, 14},
};

static size_t column_of(const json_t *columns, const char *key)
{
    size_t at;
    json_t *c;
    json_array_foreach((json_t *)(uintptr_t)columns, at,
                       c) if (key != NULL && strcmp(json_string_value(c), key) == 0) return at;
    return SIZE_MAX;
}

double top_number(const struct row *r, int f)
{
    return r->values[f] == NULL ? 0 : json_number_value(r->values[f]);
}

bool top_is_busy(const struct row *r)
{
    return top_number(r, F_TX) + top_number(r, F_RX) + top_number(r, F_BUNDLES) > 0;
}

static bool is_state(const struct row *r, const char *word)
{
    const char *state = json_string_value(r->values[F_STATE]);
    return state != NULL && strcmp(state, word) == 0;
}

bool top_is_bad(const struct row *r)
{
    return is_state(r, "silent") || is_state(r, "down") || is_state(r, "refused");
}

/* States as the node names them, those that are not up. */
static void write_others(const size_t counts[], struct top_sums *sums)
{
    size_t used = 0, cap = sizeof sums->others;
    for (size_t w = 0; w < STATES; w++) {
        if (counts[w] == 0 || strcmp(state_words[w], "up") == 0 || used >= cap)
            continue;
        int k = snprintf(sums->others + used, cap - used, "%s%zu %s", used == 0 ? " (" : ", ",
                         counts[w], state_words[w]);
        used += k > 0 ? (size_t)k : 0;
    }
    if (used > 0 && used < cap)
        snprintf(sums->others + used, cap - used, ")");
}

static void add_row(const struct row *r, struct top_sums *sums, size_t counts[])
{
    sums->links++;
    sums->tx += top_number(r, F_TX);
    sums->rx += top_number(r, F_RX);
    sums->sessions += top_number(r, F_SESSIONS);
    sums->up += is_state(r, "up");
    for (size_t w = 0; w < STATES; w++)
        counts[w] += is_state(r, state_words[w]);
}

/* Its name, peer or state has the filter's text. */
static bool fits_filter(const struct top *t, const struct row *r)
{
    static const int places[] = {F_NAME, F_PEER, F_STATE};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *text = json_string_value(r->values[places[i]]);
        if (text != NULL && strcasestr(text, t->filter) != NULL)
            return true;
    }
    return false;
}

bool top_make_rows(struct top *t)
{
    const json_t *columns = json_object_get(t->answer, "columns");
    const json_t *rows = json_object_get(t->answer, "rows");
    size_t counts[STATES] = {0};
    size_t from[F_COUNT], rate = column_of(columns, "rate_bps"), n = json_array_size(rows);
    const size_t named = column_of(columns, "peer_name");
    n = n > ROWS_MAX ? ROWS_MAX : n;
    if (n > t->rows_cap) {
        struct row *grown = realloc(t->rows, n * sizeof *grown);
        if (grown == NULL)
            return false;
        t->rows = grown;
        t->rows_cap = n;
    }
    for (int f = 0; f < F_COUNT; f++)
        from[f] = column_of(columns, top_fields[f].key);
    t->rows_len = 0;
    t->sums = (struct top_sums){0};
    for (size_t i = 0; i < n; i++) {
        const json_t *in = json_array_get(rows, i);
        struct row *r = &t->rows[t->rows_len];
        for (int f = 0; f < F_COUNT; f++) {
            json_t *v = from[f] == SIZE_MAX ? NULL : json_array_get(in, from[f]);
            r->values[f] = json_is_null(v) ? NULL : v;
        }
        if (json_is_string(json_array_get(in, named)))
            r->values[F_PEER] = json_array_get(in, named);
        double nominal = json_number_value(json_array_get(in, rate));
        r->share = nominal > 0 ? top_number(r, F_TX) / nominal : -1;
        add_row(r, &t->sums, counts);
        t->rows_len += (!t->busy_only || top_is_busy(r)) && fits_filter(t, r);
    }
    write_others(counts, &t->sums);
    return true;
}

static const char *text_of(const struct row *r, int f)
{
    const char *text = json_string_value(r->values[f]);
    return text != NULL ? text : "";
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct top *t = context;
    const struct row *x = a, *y = b;
    int order = 0;
    if (t->sort == F_SHARE)
        order = (y->share > x->share) - (y->share < x->share);
    else if (top_fields[t->sort].kind != COLUMN_TEXT)
        order = (top_number(y, t->sort) > top_number(x, t->sort)) -
                (top_number(y, t->sort) < top_number(x, t->sort));
    else
        order = strverscmp(text_of(x, t->sort), text_of(y, t->sort));
    if (order == 0)
        return strverscmp(text_of(x, F_NAME), text_of(y, F_NAME));
    return t->reverse ? -order : order;
}

void top_sort_rows(struct top *t)
{
    qsort_r(t->rows, t->rows_len, sizeof *t->rows, compare_rows, t);
}

size_t top_selected(const struct top *t)
{
    for (size_t i = 0; i < t->rows_len; i++)
        if (strcmp(text_of(&t->rows[i], F_NAME), t->selected) == 0)
            return i;
    return SIZE_MAX;
}

void top_cell(const struct row *r, int field, char *out, size_t cap)
{
    if (field == F_SHARE && r->share < 0)
        snprintf(out, cap, "-");
    else if (field == F_SHARE)
        snprintf(out, cap, "%.0f %%", 100 * r->share);
    else
        value_text(r->values[field], top_fields[field].kind, out, cap);
}

double top_node_number(const struct top *t, const char *key)
{
    return json_number_value(json_object_get(json_object_get(t->answer, "node"), key));
}
