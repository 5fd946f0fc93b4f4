/* SPDX-License-Identifier: Apache-2.0 */
/* One session of the selected link, from the node's answer to `sessions`. A session that is not in
 * it any more has ended. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "tools/ctl/helioctl_top_private.h"

/* "1:4711", as `helioctl cancel` takes it; without a number the peer. */
static void write_id(const json_t *session, char out[TOP_SESSION_MAX])
{
    const json_t *number = json_object_get(session, "number");
    const char *peer = json_string_value(json_object_get(session, "peer"));
    char a[32], b[32];
    if (number == NULL) {
        snprintf(out, TOP_SESSION_MAX, "%s", peer != NULL ? peer : "?");
        return;
    }
    value_text(json_object_get(session, "originator"), COLUMN_NUMBER, a, sizeof a);
    value_text(number, COLUMN_NUMBER, b, sizeof b);
    snprintf(out, TOP_SESSION_MAX, "%s:%s", a, b);
}

/* Of the session that is shown; its number of sessions: there is none. */
static size_t find_shown(const struct top *t)
{
    char id[TOP_SESSION_MAX];
    size_t i;
    const json_t *session;
    json_array_foreach(t->sessions, i, session)
    {
        write_id(session, id);
        if (strcmp(id, t->session) == 0)
            break;
    }
    return i;
}

void top_next_session(struct top *t)
{
    const size_t len = json_array_size(t->sessions), at = find_shown(t);
    t->session_at = 0;
    if (len > 0)
        write_id(json_array_get(t->sessions, at + 1 < len ? at + 1 : 0), t->session);
}

static enum column_kind kind_of(const char *key, const json_t *value)
{
    static const char *const sizes[] = {"length", "red_length", "done", "held"};
    if (!json_is_number(value))
        return COLUMN_TEXT;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(key, sizes[i]) == 0)
            return COLUMN_BYTES;
    const size_t len = strlen(key);
    return len > 3 && strcmp(key + len - 3, "_ns") == 0 ? COLUMN_DURATION : COLUMN_NUMBER;
}

/* The part that is done, and how fast it grew since the last look. */
static void put_progress(struct top *t, const json_t *session, FILE *out)
{
    const double done = json_number_value(json_object_get(session, "done"));
    const double length = json_number_value(json_object_get(session, "length"));
    const tick now = clock_now();
    char text[64], bar[31];
    memset(bar, ' ', sizeof bar);
    bar[30] = '\0';
    if (length > 0) {
        memset(bar, '|', (size_t)(done >= length ? 30 : done / length * 30));
        fprintf(out, "%-16s [%s] %.0f %%\n", "progress", bar, 100 * done / length);
    }
    if (t->session_at != 0 && now > t->session_at && done >= t->session_done) {
        json_t *rate = json_integer(
            (json_int_t)((done - t->session_done) * 8e9 / (double)(now - t->session_at)));
        value_text(rate, COLUMN_SPEED, text, sizeof text);
        fprintf(out, "%-16s %s\n", "rate now", text);
        json_decref(rate);
    }
    t->session_done = done;
    t->session_at = now;
}

void top_put_session(struct top *t, FILE *out)
{
    json_t *session = json_array_get(t->sessions, find_shown(t)), *value;
    const char *key;
    char text[320];
    fprintf(out, "session %s of %s\n\n", t->session, t->selected);
    if (session == NULL) {
        fputs("it has ended; Tab goes to the next one\n", out);
        return;
    }
    json_object_foreach(session, key, value)
    {
        value_text(value, kind_of(key, value), text, sizeof text);
        fprintf(out, "%-16s %s\n", strcmp(key, "age_ns") == 0 ? "age" : key, text);
    }
    put_progress(t, session, out);
}
