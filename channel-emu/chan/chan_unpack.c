/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is read line by line in its fixed order, so that each header has one form; then the
 * checksum is compared, then the runs are decoded. What can go wrong: memory, and every part of the
 * file; each has its message.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc.h"
#include "base/err.h"
#include "channel-emu/chan/chan_bits.h"
#include "channel-emu/chan/chan_pack.h"

#define STEP_MAX (3600 * TICK_S)

struct unpack {
    struct slice rest;
    unsigned line;
    char *error;
    const char *value; /* of the present line, a copy in `text` */
    char text[TRACE_PARAMETERS_MAX + 64];
};

static int fail_at(struct unpack *u, const char *what)
{
    snprintf(u->error, TRACE_PACK_ERROR_MAX, "line %u: %s", u->line, what);
    return HELIO_EFORMAT;
}

static bool is_printable(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] < ' ' || s[i] > '~')
            return false;
    }
    return true;
}

/* The next line must begin with the key and a space; its value is what follows. */
static int take_value(struct unpack *u, const char *key)
{
    char what[96];
    size_t n = strlen(key);
    u->line++;
    const uint8_t *feed = u->rest.len == 0 ? NULL : memchr(u->rest.data, '\n', u->rest.len);
    size_t len = feed == NULL ? u->rest.len : (size_t)(feed - u->rest.data);
    snprintf(what, sizeof what, "the line '%s …' of the header is missing", key);
    if (feed == NULL || len >= sizeof u->text || len <= n + 1)
        return fail_at(u, what);
    memcpy(u->text, u->rest.data, len);
    u->text[len] = '\0';
    if (!is_printable(u->text, len) || memcmp(u->text, key, n) != 0 || u->text[n] != ' ')
        return fail_at(u, what);
    u->value = u->text + n + 1;
    u->rest = slice_of(feed + 1, u->rest.len - len - 1);
    return 0;
}

/* Digits without leading zeros, at most max; moves *p behind them. */
static bool parse_number(const char **p, uint64_t max, uint64_t *out)
{
    const char *s = *p;
    uint64_t v = 0;
    if (*s == '0' && s[1] >= '0' && s[1] <= '9')
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    bool any = s > *p;
    *p = s;
    return any && v <= max;
}

static int take_number(struct unpack *u, const char *key, uint64_t min, uint64_t max, uint64_t *out)
{
    assert(min <= max);
    char what[96];
    int rc = take_value(u, key);
    if (rc < 0)
        return rc;
    const char *p = u->value;
    if (parse_number(&p, max, out) && *p == '\0' && *out >= min)
        return 0;
    snprintf(what, sizeof what, "%s must be a whole number from %" PRIu64 " to %" PRIu64, key, min,
             max);
    return fail_at(u, what);
}

static int take_text(struct unpack *u, const char *key, char *out, size_t room)
{
    int rc = take_value(u, key);
    if (rc < 0)
        return rc;
    if (strlen(u->value) >= room)
        return fail_at(u, "the text is too long");
    if (strcmp(u->value, "-") == 0)
        u->value = "";
    memcpy(out, u->value, strlen(u->value) + 1);
    return 0;
}

static int take_about(struct unpack *u, struct trace_about *a)
{
    int rc = take_text(u, "generator", a->generator, sizeof a->generator);
    if (rc == 0 && strchr(a->generator, ' ') != NULL)
        return fail_at(u, "the generator must be one word");
    if (rc == 0)
        rc = take_text(u, "parameters", a->parameters, sizeof a->parameters);
    if (rc == 0)
        rc = take_value(u, "seed");
    if (rc < 0 || strcmp(u->value, "-") == 0)
        return rc;
    const char *p = u->value;
    a->seeded = parse_number(&p, UINT64_MAX, &a->seed) && *p == '\0';
    return a->seeded ? 0 : fail_at(u, "the seed must be a whole number, or -");
}

static bool skip_word(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return false;
    *p += n;
    return true;
}

struct header {
    uint64_t step, steps, runs, k[2], bytes;
    bool first_bad;
};

static int take_rice(struct unpack *u, struct header *h)
{
    int rc = take_value(u, "rice");
    if (rc < 0)
        return rc;
    const char *p = u->value;
    bool ok = skip_word(&p, "good=") && parse_number(&p, RICE_K_MAX, &h->k[0]) &&
              skip_word(&p, " bad=") && parse_number(&p, RICE_K_MAX, &h->k[1]) &&
              skip_word(&p, " bytes=") && parse_number(&p, UINT64_MAX, &h->bytes) && *p == '\0';
    return ok ? 0 : fail_at(u, "right is 'rice good=K bad=K bytes=N', K from 0 to 57");
}

static int take_header(struct unpack *u, struct header *h, struct trace_about *a)
{
    uint64_t version;
    int rc = take_value(u, "helio-trace");
    if (rc < 0)
        return rc;
    const char *p = u->value;
    if (!parse_number(&p, 1, &version) || *p != '\0' || version != 1)
        return fail_at(u, "this version of the format is unknown; 1 is known");
    rc = take_number(u, "step_ns", 1, STEP_MAX, &h->step);
    if (rc == 0)
        rc = take_number(u, "steps", 1, UINT64_MAX, &h->steps);
    if (rc == 0)
        rc = take_number(u, "runs", 1, UINT64_MAX, &h->runs);
    if (rc == 0)
        rc = take_value(u, "first");
    if (rc < 0)
        return rc;
    h->first_bad = strcmp(u->value, "bad") == 0;
    if (!h->first_bad && strcmp(u->value, "good") != 0)
        return fail_at(u, "first must be good or bad");
    rc = take_about(u, a);
    if (rc == 0)
        rc = take_value(u, "bad");
    if (rc == 0)
        rc = take_value(u, "good");
    if (rc == 0)
        rc = take_rice(u, h);
    if (rc < 0)
        return rc;
    u->line++;
    if (u->rest.len == 0 || u->rest.data[0] != '\n')
        return fail_at(u, "an empty line must end the header");
    u->rest = slice_of(u->rest.data + 1, u->rest.len - 1);
    return 0;
}

static int say_where(char *error, size_t offset, const char *what)
{
    snprintf(error, TRACE_PACK_ERROR_MAX, "offset %zu: %s", offset, what);
    return HELIO_EFORMAT;
}

static int read_runs(struct trace *t, const struct header *h, struct slice data, size_t at,
                     char *error)
{
    assert(h->k[0] <= RICE_K_MAX && h->k[1] <= RICE_K_MAX);
    struct bits b = {.data = data.data, .end = 8 * data.len};
    bool bad = h->first_bad;
    for (uint64_t i = 0; i < h->runs; i++, bad = !bad) {
        uint64_t v = rice_get(&b, (unsigned)h->k[bad]);
        if (b.bad)
            return say_where(error, at + b.place / 8,
                             "the runs end early, or are not in shortest form");
        int rc = v == UINT64_MAX ? HELIO_EINVAL : trace_add(t, bad, v + 1);
        if (rc == HELIO_EINVAL)
            return say_where(error, at + b.place / 8, "the trace becomes longer than 584 years");
        if (rc < 0)
            return rc;
    }
    if (b.end - b.place >= 8 ||
        (b.place % 8 != 0 && (data.data[data.len - 1] << b.place % 8 & 255)))
        return say_where(error, at + b.place / 8, "something follows the last run");
    if (t->steps != h->steps)
        return say_where(error, at, "the runs do not add up to the header's steps");
    return 0;
}

static uint32_t read_crc(const uint8_t *at)
{
    uint32_t crc = 0;
    for (int i = 0; i < 4; i++)
        crc = crc << 8 | at[i];
    return crc;
}

int trace_unpack(struct trace *t, struct trace_about *about, struct slice file, bool step_fixed,
                 char *error)
{
    struct unpack u = {.rest = file, .error = error};
    struct header h = {0};
    struct trace_about a = {0};
    int rc = take_header(&u, &h, &a);
    if (rc < 0)
        return rc;
    size_t at = file.len - u.rest.len;
    if (u.rest.len < 4 || h.bytes != u.rest.len - 4)
        return say_where(error, at, "the file is cut off, or longer than its header says");
    if (crc32c(0, file.data, file.len - 4) != read_crc(file.data + file.len - 4))
        return say_where(error, file.len - 4, "the checksum does not fit: the file is damaged");
    if (!step_fixed)
        t->step = h.step;
    rc = read_runs(t, &h, slice_of(u.rest.data, u.rest.len - 4), at, error);
    if (rc == 0 && about != NULL)
        *about = a;
    return rc;
}
