/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is cut into words; the first says what is done, the others are options with their values.
 * What can go wrong: a word that is none, a value out of its range: reported with its line.
 */
#include "tools/sle/sle_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tools/sle/sle_settings.h"

struct line {
    struct script *s;
    struct script_step *step;
    char *words[SCRIPT_WORDS_MAX + 1]; /* NULL behind the last */
    size_t at;
    char *why;
    size_t why_cap;
};

struct word {
    const char *text;
    unsigned value;
};

static bool refuse_word(struct line *l, const char *what, const char *want)
{
    snprintf(l->why, l->why_cap, "'%.40s': expected %s", what == NULL ? "" : what, want);
    return false;
}

/* ---- values ---- */

static bool take_word(struct line *l, const struct word *words, const char *want, unsigned *out)
{
    const char *text = l->words[l->at];
    for (size_t i = 0; text != NULL && words[i].text != NULL; i++)
        if (strcmp(words[i].text, text) == 0) {
            *out = words[i].value;
            l->at++;
            return true;
        }
    return refuse_word(l, text, want);
}

static bool take_count(struct line *l, uint64_t low, uint64_t high, uint64_t *out)
{
    const char *text = l->words[l->at];
    char want[64];
    if (text != NULL && units_count(text, high, out) == 0 && *out >= low) {
        l->at++;
        return true;
    }
    snprintf(want, sizeof want, "a number from %llu to %llu", (unsigned long long)low,
             (unsigned long long)high);
    return refuse_word(l, text, want);
}

static bool take_time(struct line *l, tick *out)
{
    const char *text = l->words[l->at];
    if (text == NULL || units_duration(text, out) < 0 || *out > 86400 * TICK_S)
        return refuse_word(l, text, "a time such as 2s, at most a day");
    l->at++;
    return true;
}

static bool take_when(struct line *l, struct user_when *out)
{
    const char *text = l->words[l->at];
    if (text == NULL || !user_when_parse(text, out))
        return refuse_word(l, text, "a time such as now-10s, +2s or 2026-11-22T18:00:00Z");
    l->at++;
    return true;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Octets in hexadecimal, kept with the script. */
static bool take_octets(struct line *l)
{
    const char *text = l->words[l->at];
    const size_t len = text == NULL ? 0 : strlen(text) / 2;
    uint8_t *out = l->s->octets + l->s->octets_len;
    if (len < 1 || len > SLE_CLTU_MAX || strlen(text) % 2 != 0)
        return refuse_word(l, text, "1 to 4096 octets, two hexadecimal digits each");
    for (size_t i = 0; i < len; i++) {
        const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return refuse_word(l, text, "1 to 4096 octets, two hexadecimal digits each");
        out[i] = (uint8_t)(high << 4 | low);
    }
    l->step->octets_at = l->s->octets_len;
    l->step->octets_len = len;
    l->s->octets_len += len;
    l->at++;
    return true;
}

/* ---- steps ---- */

static bool is_word(struct line *l, const char *text)
{
    if (l->words[l->at] == NULL || strcmp(l->words[l->at], text) != 0)
        return false;
    l->at++;
    return true;
}

static const struct word qualities[] = {
    {"good", SLE_GOOD_ONLY}, {"erred", SLE_ERRED_ONLY}, {"all", SLE_ALL_FRAMES}, {NULL, 0}};
static const struct word control_words[] = {
    {"all", SLE_ALL_WORDS}, {"clcw", SLE_CLCW}, {"not-clcw", SLE_NOT_CLCW}, {NULL, 0}};
static const struct word updates[] = {
    {"continuous", SLE_CONTINUOUS}, {"change", SLE_CHANGE_BASED}, {NULL, 0}};

static bool read_start(struct line *l)
{
    struct sle_start *s = &l->step->start;
    unsigned value = 0;
    uint64_t n = 0;
    for (;;) {
        if (is_word(l, "from")) {
            if (!take_when(l, &l->step->from))
                return false;
        } else if (is_word(l, "to")) {
            if (!take_when(l, &l->step->to))
                return false;
        } else if (is_word(l, "quality")) {
            if (!take_word(l, qualities, "good, erred or all", &value))
                return false;
            s->quality = (enum sle_wanted)value;
        } else if (is_word(l, "gvcid")) {
            if (l->words[l->at] == NULL || !settings_gvcid(l->words[l->at], &s->gvcid))
                return refuse_word(l, l->words[l->at], "a channel such as 1.171.5 or 0.22.*");
            l->at++;
        } else if (is_word(l, "control-words")) {
            if (!take_word(l, control_words, "all, clcw or not-clcw", &value))
                return false;
            s->word = (enum sle_control_word)value;
        } else if (is_word(l, "update-mode")) {
            if (!take_word(l, updates, "continuous or change", &value))
                return false;
            s->update = (enum sle_update)value;
        } else if (is_word(l, "tc-vcid")) {
            if (!take_count(l, 0, 63, &n))
                return false;
            s->tc_vcid = (uint8_t)n;
        } else if (is_word(l, "first")) {
            if (!take_count(l, 0, UINT32_MAX, &n))
                return false;
            s->first_cltu = (uint32_t)n;
        } else {
            return true;
        }
    }
}

static bool read_get(struct line *l)
{
#define PARAMETER_WORD(prefix, name, number, text) {text, number},
    static const struct word parameters[] = {SLE_PARAMETERS(PARAMETER_WORD, ){NULL, 0}};
#undef PARAMETER_WORD
    unsigned value = 0;
    if (!take_word(l, parameters, "a parameter such as bufferSize", &value))
        return false;
    l->step->parameter = (enum sle_parameter)value;
    l->step->is_given = is_word(l, "is");
    return !l->step->is_given || take_count(l, 0, UINT32_MAX, &l->step->number);
}

static bool read_report(struct line *l)
{
    static const struct word words[] = {
        {"now", SLE_REPORT_NOW}, {"stop", SLE_REPORT_STOP}, {NULL, 0}};
    struct sle_schedule *r = &l->step->report;
    unsigned value = 0;
    uint64_t cycle = 0;
    const char *text = l->words[l->at];
    if (text != NULL && *text >= '0' && *text <= '9') {
        if (!take_count(l, 0, UINT32_MAX, &cycle))
            return false;
        *r = (struct sle_schedule){.report = SLE_REPORT_PERIODIC, .cycle_s = (uint32_t)cycle};
        return true;
    }
    if (!take_word(l, words, "now, stop or seconds", &value))
        return false;
    r->report = (enum sle_report)value;
    return true;
}

static bool read_transfer(struct line *l)
{
    tick delay = 0;
    if (!take_octets(l))
        return false;
    for (;;) {
        if (is_word(l, "earliest")) {
            if (!take_when(l, &l->step->from))
                return false;
        } else if (is_word(l, "latest")) {
            if (!take_when(l, &l->step->to))
                return false;
        } else if (is_word(l, "delay")) {
            if (!take_time(l, &delay))
                return false;
            if (delay / TICK_US > UINT32_MAX)
                return refuse_word(l, l->words[l->at - 1], "at most 4294 s");
            l->step->delay_us = (uint32_t)(delay / TICK_US);
        } else if (is_word(l, "quiet")) {
            l->step->quiet = true;
        } else {
            return true;
        }
    }
}

static bool read_throw(struct line *l)
{
    uint64_t id = 0;
    if (!take_count(l, 1, UINT16_MAX, &id))
        return false;
    l->step->number = id;
    const char *text = l->words[l->at] == NULL || strcmp(l->words[l->at], "refused") == 0 ||
                               strcmp(l->words[l->at], "within") == 0
                           ? NULL
                           : l->words[l->at++];
    l->step->octets_at = l->s->octets_len;
    l->step->octets_len = settings_qualifier(text == NULL ? "0" : text,
                                             l->s->octets + l->s->octets_len, SLE_QUALIFIER_MAX);
    l->s->octets_len += l->step->octets_len;
    return l->step->octets_len > 0 || refuse_word(l, text, "a qualifier of 1 to 1024 octets");
}

static bool read_unbind(struct line *l)
{
    static const struct word words[] = {{"end", SLE_UNBIND_END},
                                        {"suspend", SLE_UNBIND_SUSPEND},
                                        {"version", SLE_UNBIND_VERSION},
                                        {"other", SLE_UNBIND_OTHER},
                                        {NULL, 0}};
    unsigned value = SLE_UNBIND_END;
    const char *text = l->words[l->at];
    if (text != NULL && strcmp(text, "within") != 0 &&
        !take_word(l, words, "end, suspend, version or other", &value))
        return false;
    l->step->reason = (enum sle_unbind)value;
    return true;
}

static const struct {
    const char *text;
    enum script_wish wish;
    unsigned value;
} wishes[] = {{"frames", SCRIPT_FRAMES, 0},
              {"loss", SCRIPT_SYNC, SLE_SYNC_LOSS},
              {"production", SCRIPT_SYNC, SLE_SYNC_PRODUCTION},
              {"backlog", SCRIPT_SYNC, SLE_SYNC_BACKLOG},
              {"end-of-data", SCRIPT_SYNC, SLE_SYNC_END},
              {"status", SCRIPT_STATUS, 0},
              {"radiated", SCRIPT_NOTIFY, SLE_ASYNC_RADIATED},
              {"expired", SCRIPT_NOTIFY, SLE_ASYNC_EXPIRED},
              {"interrupted", SCRIPT_NOTIFY, SLE_ASYNC_INTERRUPTED},
              {"halted", SCRIPT_NOTIFY, SLE_ASYNC_HALTED},
              {"operational", SCRIPT_NOTIFY, SLE_ASYNC_OPERATIONAL},
              {"buffer-empty", SCRIPT_NOTIFY, SLE_ASYNC_BUFFER_EMPTY},
              {"actions-done", SCRIPT_NOTIFY, SLE_ASYNC_ACTIONS_DONE},
              {"actions-not-done", SCRIPT_NOTIFY, SLE_ASYNC_ACTIONS_NOT_DONE},
              {"condition-false", SCRIPT_NOTIFY, SLE_ASYNC_CONDITION_FALSE},
              {"end", SCRIPT_END, 0}};

static bool read_expect(struct line *l)
{
    const char *text = l->words[l->at];
    size_t k = 0;
    while (text != NULL && k < sizeof wishes / sizeof *wishes && strcmp(wishes[k].text, text) != 0)
        k++;
    if (text == NULL || k == sizeof wishes / sizeof *wishes)
        return refuse_word(l, text,
                           "frames N, loss, production, backlog, end-of-data, status, radiated, "
                           "expired, interrupted, halted, operational, buffer-empty, actions-done, "
                           "actions-not-done, condition-false or end");
    l->at++;
    l->step->wish = wishes[k].wish;
    l->step->value = wishes[k].value;
    return l->step->wish != SCRIPT_FRAMES || take_count(l, 1, UINT64_MAX, &l->step->number);
}

static bool read_wait(struct line *l)
{
    return take_time(l, &l->step->within);
}

static const struct verb {
    const char *text;
    enum script_verb verb;
    bool (*read)(struct line *l); /* NULL: nothing follows */
    bool answered;                /* may be refused */
} verbs[] = {{"bind", SCRIPT_BIND, NULL, true},
             {"start", SCRIPT_START, read_start, true},
             {"get-parameter", SCRIPT_GET, read_get, true},
             {"report", SCRIPT_REPORT, read_report, true},
             {"transfer", SCRIPT_TRANSFER, read_transfer, true},
             {"throw", SCRIPT_THROW, read_throw, true},
             {"stop", SCRIPT_STOP, NULL, true},
             {"unbind", SCRIPT_UNBIND, read_unbind, false},
             {"abort", SCRIPT_ABORT, NULL, false},
             {"disconnect", SCRIPT_DISCONNECT, NULL, false},
             {"wait", SCRIPT_WAIT, read_wait, false},
             {"expect", SCRIPT_EXPECT, read_expect, false}};

static bool read_tail(struct line *l, const struct verb *v)
{
    uint64_t diag = 0;
    if (v->answered && is_word(l, "refused")) {
        const char *text = l->words[l->at];
        l->step->refused = true;
        l->step->diag_given = text != NULL && *text >= '0' && *text <= '9';
        if (l->step->diag_given && !take_count(l, 0, 255, &diag))
            return false;
        l->step->diag = (unsigned)diag;
    }
    if (v->verb != SCRIPT_WAIT && is_word(l, "within") && !take_time(l, &l->step->within))
        return false;
    return l->words[l->at] == NULL || refuse_word(l, l->words[l->at], "the end of the line");
}

static bool read_step(struct line *l)
{
    size_t k = 0;
    while (k < sizeof verbs / sizeof *verbs && strcmp(verbs[k].text, l->words[0]) != 0)
        k++;
    if (k == sizeof verbs / sizeof *verbs)
        return refuse_word(
            l, l->words[0],
            "bind, start, get-parameter, report, transfer, throw, stop, unbind, abort, "
            "disconnect, wait or expect");
    l->at = 1;
    l->step->verb = verbs[k].verb;
    l->step->within = SCRIPT_WITHIN;
    return (verbs[k].read == NULL || verbs[k].read(l)) && read_tail(l, &verbs[k]);
}

/* ---- lines ---- */

/* Cuts a line into its words, up to a comment. False: it cannot be. */
static bool cut_line(struct line *l, char *text)
{
    size_t n = 0;
    for (char *p = text; *p != '\0';) {
        p += strspn(p, " \t\r");
        if (*p == '\0' || *p == '#')
            break;
        if (n == SCRIPT_WORDS_MAX)
            return refuse_word(l, p, "at most 32 words");
        l->words[n++] = p;
        p += strcspn(p, " \t\r");
        if (*p != '\0')
            *p++ = '\0';
    }
    l->words[n] = NULL;
    l->at = 0;
    return true;
}

static int read_lines(struct script *s, char *text, const struct sle_start *start, unsigned *line,
                      char *why, size_t why_cap)
{
    *line = 0;
    for (char *next = text; next != NULL;) {
        char *at = next;
        struct script_step step = {.line = ++*line, .start = *start};
        struct line l = {.s = s, .step = &step, .why = why, .why_cap = why_cap};
        next = strchr(at, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (!cut_line(&l, at))
            return HELIO_EFORMAT;
        if (l.words[0] == NULL)
            continue;
        if (s->len == SCRIPT_STEPS_MAX) {
            (void)refuse_word(&l, l.words[0], "at most 4096 steps");
            return HELIO_EFORMAT;
        }
        if (!read_step(&l))
            return HELIO_EFORMAT;
        s->steps[s->len++] = step;
    }
    return 0;
}

/* Octets are at most as many as characters; of each step without a qualifier there is one more. */
int script_parse(struct script *s, struct slice text, const struct sle_start *start, unsigned *line,
                 char *why, size_t why_cap)
{
    *s = (struct script){0};
    *line = 0;
    if (text.len > SCRIPT_BYTES_MAX ||
        (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)) {
        snprintf(why, why_cap, "expected a text of at most 16 MiB");
        return HELIO_EFORMAT;
    }
    char *copy = malloc(text.len + 1);
    s->steps = calloc(SCRIPT_STEPS_MAX, sizeof *s->steps);
    s->octets = malloc(text.len + SCRIPT_STEPS_MAX + SLE_QUALIFIER_MAX);
    int e = copy == NULL || s->steps == NULL || s->octets == NULL ? HELIO_ENOMEM : 0;
    if (e == 0) {
        if (text.len > 0)
            memcpy(copy, text.data, text.len);
        copy[text.len] = '\0';
        e = read_lines(s, copy, start, line, why, why_cap);
    }
    free(copy);
    if (e < 0)
        script_free(s);
    return e;
}

void script_free(struct script *s)
{
    free(s->steps);
    free(s->octets);
    *s = (struct script){0};
}
