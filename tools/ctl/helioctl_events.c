/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node keeps its latest events while somebody asks for them. Each question has the number of
 * the last event that was printed. What can go wrong: the node does not answer, which ends the
 * program; events that the node no longer had are counted on standard error.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "tools/ctl/ctl_ask.h"
#include "tools/ctl/helioctl.h"

#define INTERVAL_MAX (500 * TICK_MS)

struct watch {
    const char *path;
    const char *const *texts;
    size_t texts_len;
    bool json;
    tick timeout;
    uint64_t left; /* lines until the end; UINT64_MAX: no end */
    json_int_t last;
    bool begun;
};

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text == NULL ? "" : text;
}

/* The node's name, if it has one. */
static const char *name_of(const json_t *o, const char *key)
{
    char named[64];
    snprintf(named, sizeof named, "%s_name", key);
    const char *name = text_of(o, named);
    return *name != '\0' ? name : text_of(o, key);
}

/* A number; one that is too large for JSON is a text of its digits. */
static void put_number(FILE *out, const json_t *value)
{
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        fputs(json_is_string(value) ? json_string_value(value) : "-", out);
}

static void put_time(FILE *out, json_int_t unix_ns)
{
    char stamp[32];
    struct tm tm;
    gmtime_r(&(time_t){(time_t)(unix_ns / (json_int_t)TICK_S)}, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(out, "%s.%06uZ", stamp, (unsigned)(unix_ns % (json_int_t)TICK_S / 1000));
}

/* Time, event, key, id, destination, bytes, and what else the event has. */
static void put_line(FILE *out, const json_t *e)
{
    static const struct {
        const char *before, *key;
    } rest[] = {{", link ", "link"}, {", peer ", "peer"}, {", ", "reason"}};
    put_time(out, json_integer_value(json_object_get(e, "t_ns")));
    fprintf(out, "  %-12s  ", text_of(e, "event"));
    put_number(out, json_object_get(e, "key"));
    fprintf(out, "  %s,", *text_of(e, "source") == '\0' ? "-" : text_of(e, "source"));
    put_number(out, json_object_get(e, "created_ms"));
    putc(',', out);
    put_number(out, json_object_get(e, "sequence"));
    fprintf(out, " to %s, ", name_of(e, "destination"));
    put_number(out, json_object_get(e, "payload"));
    fputs(" B", out);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (json_object_get(e, rest[i].key) != NULL)
            fprintf(out, "%s%s", rest[i].before, name_of(e, rest[i].key));
    if (json_object_get(e, "session") != NULL) {
        fputs(", session ", out);
        put_number(out, json_object_get(e, "originator"));
        putc(':', out);
        put_number(out, json_object_get(e, "session"));
    }
}

static bool has_all(const char *line, const struct watch *w)
{
    for (size_t i = 0; i < w->texts_len; i++)
        if (strstr(line, w->texts[i]) == NULL)
            return false;
    return true;
}

/* NULL: no memory. */
static char *line_of(const json_t *e)
{
    char *line = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&line, &len);
    if (f == NULL)
        return NULL;
    put_line(f, e);
    if (fclose(f) == 0)
        return line;
    free(line);
    return NULL;
}

static void print_event(struct watch *w, const json_t *e)
{
    char *line = line_of(e);
    if (line == NULL || w->left == 0 || !has_all(line, w)) {
        free(line);
        return;
    }
    if (w->json) {
        free(line);
        line = json_dumps(e, JSON_COMPACT);
    }
    puts(line == NULL ? "" : line);
    free(line);
    w->left -= w->left != UINT64_MAX;
}

/* False: no answer, which was said, or an older node. more: ask again at once. */
static bool ask_events(struct watch *w, bool *more)
{
    char line[64] = "{\"cmd\": \"events\"}";
    if (w->begun)
        snprintf(line, sizeof line, "{\"cmd\": \"events\", \"after\": %" JSON_INTEGER_FORMAT "}",
                 w->last);
    json_t *answer = ctl_ask("helioctl", w->path, line, w->timeout, false), *e;
    const json_int_t missed = json_integer_value(json_object_get(answer, "missed"));
    const bool good = json_is_true(json_object_get(answer, "ok"));
    if (answer != NULL && !good)
        fprintf(stderr, "helioctl: %s\n", text_of(answer, "error"));
    if (missed > 0)
        fprintf(stderr,
                "helioctl: %" JSON_INTEGER_FORMAT " events are not shown: there were more than the "
                "node keeps; a bundle log has them all\n",
                missed);
    size_t i;
    json_array_foreach(json_object_get(answer, "events"), i, e) print_event(w, e);
    w->last = json_integer_value(json_object_get(answer, "last"));
    w->begun = true;
    *more = json_is_true(json_object_get(answer, "more"));
    json_decref(answer);
    return good;
}

int ctl_events(const char *path, const char *const *texts, size_t texts_len, bool json,
               tick interval, tick timeout, uint64_t count)
{
    struct watch w = {.path = path,
                      .texts = texts,
                      .texts_len = texts_len,
                      .json = json,
                      .timeout = timeout,
                      .left = count == 0 ? UINT64_MAX : count};
    const tick wait = interval < INTERVAL_MAX ? interval : INTERVAL_MAX;
    bool more;
    while (ask_events(&w, &more)) {
        if (fflush(stdout) != 0 || w.left == 0)
            return w.left == 0 ? 0 : 1;
        if (!more)
            (void)nanosleep(&(struct timespec){.tv_nsec = (long)wait}, NULL);
    }
    return 1;
}
