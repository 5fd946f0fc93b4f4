/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a text that is not understood, windows that overlap, memory. */
#include "channel-emu/wan/wan_stalls.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

#define WORD_CAP 48

static const char hint_all[] =
    "write none, \"every 10s for 200ms\", or windows in order such as \"2s-2200ms,7s-8s\"";

void wan_stalls_fini(struct wan_stalls *s)
{
    free(s->windows);
    *s = (struct wan_stalls){.len = 0};
}

int wan_stalls_add(struct wan_stalls *s, tick from, tick to)
{
    if (from >= to || (s->len > 0 && from < s->windows[s->len - 1].to) || s->len == WAN_WINDOWS_MAX)
        return HELIO_EFORMAT;
    struct wan_window *more = realloc(s->windows, (s->len + 1) * sizeof *more);
    if (more == NULL)
        return HELIO_ENOMEM;
    s->windows = more;
    s->windows[s->len++] = (struct wan_window){from, to};
    return 0;
}

/* The duration up to `end`. */
static int read_time(const char *text, const char *end, tick *out)
{
    char word[WORD_CAP];
    size_t len = (size_t)(end - text);
    if (len == 0 || len >= sizeof word)
        return HELIO_EFORMAT;
    memcpy(word, text, len);
    word[len] = '\0';
    return units_duration(word, out);
}

static int parse_every(struct wan_stalls *s, const char *text)
{
    const char *middle = strstr(text, " for ");
    if (middle == NULL || read_time(text, middle, &s->every) < 0 ||
        units_duration(middle + 5, &s->lasts) < 0)
        return HELIO_EFORMAT;
    return s->lasts > 0 && s->lasts < s->every ? 0 : HELIO_EFORMAT;
}

static int parse_windows(struct wan_stalls *s, const char *text)
{
    for (;;) {
        tick from, to;
        const char *end = text + strcspn(text, ","), *middle = text + strcspn(text, "-,");
        if (*middle != '-' || read_time(text, middle, &from) < 0 ||
            read_time(middle + 1, end, &to) < 0)
            return HELIO_EFORMAT;
        int r = wan_stalls_add(s, from, to);
        if (r < 0 || *end == '\0')
            return r;
        text = end + 1;
    }
}

int wan_stalls_parse(struct wan_stalls *s, const char *text, const char **hint)
{
    struct wan_stalls read = {.len = 0};
    int r = 0;
    if (strncmp(text, "every ", 6) == 0)
        r = parse_every(&read, text + 6);
    else if (strcmp(text, "none") != 0)
        r = parse_windows(&read, text);
    if (r < 0) {
        wan_stalls_fini(&read);
        *hint = hint_all;
        return r;
    }
    wan_stalls_fini(s);
    *s = read;
    return 0;
}

/* The first window that is not over at `at`. */
static const struct wan_window *find_window(const struct wan_stalls *s, tick at)
{
    size_t low = 0, high = s->len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->windows[middle].to <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->len ? &s->windows[low] : NULL;
}

tick wan_stalls_pass(const struct wan_stalls *s, tick at)
{
    for (bool moved = true; moved;) {
        const struct wan_window *w = find_window(s, at);
        moved = false;
        if (w != NULL && w->from <= at) {
            at = w->to;
            moved = true;
        }
        if (s->every != 0 && at >= s->every && at % s->every < s->lasts) {
            at = tick_add(at, s->lasts - at % s->every);
            moved = at != TICK_NEVER;
        }
    }
    return at;
}

/* When the next stall begins, of a time that lies in none. */
static tick next_stall(const struct wan_stalls *s, tick at)
{
    const struct wan_window *w = find_window(s, at);
    tick next = w != NULL ? w->from : TICK_NEVER;
    return s->every == 0 ? next : tick_min(next, tick_add(at, s->every - at % s->every));
}

tick wan_stalls_work(const struct wan_stalls *s, tick at, tick busy)
{
    for (;;) {
        at = wan_stalls_pass(s, at);
        tick next = next_stall(s, at);
        if (tick_add(at, busy) <= next)
            return tick_add(at, busy);
        busy -= next - at;
        at = next;
    }
}
