/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a rule is cut at ':', then at '+' and ','. Two tables hold the words. What can go
 * wrong is the text; the message says which part, and what would be right.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/words.h"
#include "channel-emu/scenario/ltp_rules.h"
#include "ltp/segment.h"

#define WORD_CAP 32
#define BIT(type) (uint16_t)(1u << (type))
#define CHECKPOINTS (uint16_t)(BIT(LTP_RED_CP) | BIT(LTP_RED_CP_EORP) | BIT(LTP_RED_CP_EOB))
#define GREEN (uint16_t)(BIT(LTP_GREEN_DATA) | BIT(LTP_GREEN_EOB))

static const struct {
    const char *name;
    uint16_t types;
} kinds[] = {{"data", BIT(LTP_RED) | GREEN},
             {"red", BIT(LTP_RED)},
             {"green", GREEN},
             {"checkpoint", CHECKPOINTS},
             {"report", BIT(LTP_RS)},
             {"ack", BIT(LTP_RA)},
             {"cancel", BIT(LTP_CS) | BIT(LTP_CR)},
             {"cancel-ack", BIT(LTP_CAS) | BIT(LTP_CAR)},
             {"any", UINT16_MAX}};

static const char kind_hint[] =
    "data, red, green, checkpoint, report, ack, cancel, cancel-ack or any, joined by +";
static const char key_hint[] =
    "first=N, every=N, range=N-M, list=N+M, originator=N, session=N, per=session or per=all";
static const char number_hint[] = "a whole number from 1";

struct reading {
    struct ltp_rule *rule;
    char *error;
    const char *text;
};

static int fail_part(const struct reading *r, struct slice part, const char *right)
{
    int shown = part.len < 40 ? (int)part.len : 40;
    const bool whole = part.len == strlen(r->text);
    snprintf(r->error, LTP_RULE_ERROR_MAX, "%s%.60s%s\"%.*s\" is not understood; write %.119s",
             whole ? "" : "\"", whole ? "" : r->text, whole ? "" : "\": ", shown,
             (const char *)part.data, right);
    return HELIO_EFORMAT;
}

/* Of a word that no table has: the nearest one is named, too. */
static int fail_word(const struct reading *r, struct slice part, const char *const *words, size_t n,
                     const char *right)
{
    char word[WORD_CAP], more[256];
    const size_t len = part.len < sizeof word ? part.len : sizeof word - 1;
    snprintf(word, sizeof word, "%.*s", (int)len, (const char *)part.data);
    word[strcspn(word, "=")] = '\0';
    const char *closest = words_closest(word, words, n);
    if (closest == NULL)
        return fail_part(r, part, right);
    snprintf(more, sizeof more, "%s (did you mean %s?)", right, closest);
    return fail_part(r, part, more);
}

static bool is_word(struct slice s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.data, word, s.len) == 0;
}

/* Takes what stands before the mark off *rest. Without a mark that is all of it, and *rest becomes
 * NULL; what follows a last mark is empty, which no table holds. */
static struct slice cut_part(struct slice *rest, char mark)
{
    const uint8_t *at = rest->len > 0 ? memchr(rest->data, mark, rest->len) : NULL;
    struct slice all = *rest;
    if (at == NULL) {
        *rest = slice_of(NULL, 0);
        return all;
    }
    size_t len = (size_t)(at - all.data);
    *rest = slice_of(at + 1, all.len - len - 1);
    return slice_of(all.data, len);
}

static bool parse_number(struct slice s, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        uint64_t digit = (uint64_t)(s.data[i] - '0');
        if (s.data[i] < '0' || s.data[i] > '9' || v > (UINT64_MAX - 1 - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return s.len > 0;
}

static bool parse_ordinal(struct slice s, uint64_t *out)
{
    return parse_number(s, out) && *out > 0;
}

static int read_list(const struct reading *r, struct slice value)
{
    struct ltp_rule *rule = r->rule;
    struct slice rest = value;
    rule->list_len = 0;
    do {
        if (rule->list_len == LTP_RULE_LIST_MAX)
            return fail_part(r, value, "a list of at most 64 numbers");
        if (!parse_ordinal(cut_part(&rest, '+'), &rule->list[rule->list_len]))
            return fail_part(r, value, "list=N+M: whole numbers from 1, as in list=1+3");
        rule->list_len++;
    } while (rest.data != NULL);
    return 0;
}

static int read_range(const struct reading *r, struct slice value)
{
    struct slice rest = value;
    struct slice from = cut_part(&rest, '-');
    bool open = rest.data != NULL && rest.len == 0;
    r->rule->last = EVENT_NONE;
    if (!parse_ordinal(from, &r->rule->first) || (!open && !parse_ordinal(rest, &r->rule->last)) ||
        r->rule->last < r->rule->first)
        return fail_part(r, value, "range=N-M or range=N-, as in range=3-5");
    return 0;
}

static int read_key(const struct reading *r, struct slice part)
{
    struct slice value = part;
    struct slice key = cut_part(&value, '=');
    struct ltp_rule *rule = r->rule;
    if (is_word(key, "list"))
        return read_list(r, value);
    if (is_word(key, "range"))
        return read_range(r, value);
    if (is_word(key, "per")) {
        rule->per_session = is_word(value, "session");
        return rule->per_session || is_word(value, "all") ? 0 : fail_part(r, part, key_hint);
    }
    if (is_word(key, "first")) {
        rule->first = 1;
        return parse_ordinal(value, &rule->last) ? 0 : fail_part(r, part, number_hint);
    }
    if (is_word(key, "every"))
        return parse_ordinal(value, &rule->every) ? 0 : fail_part(r, part, number_hint);
    if (is_word(key, "originator"))
        return parse_number(value, &rule->originator) ? 0 : fail_part(r, part, "an engine number");
    if (is_word(key, "session"))
        return parse_number(value, &rule->session) ? 0 : fail_part(r, part, "a session number");
    static const char *const keys[] = {"first",      "every",   "range", "list",
                                       "originator", "session", "per"};
    return fail_word(r, part, keys, sizeof keys / sizeof *keys, key_hint);
}

static int refuse_kind(const struct reading *r, struct slice word)
{
    const char *names[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        names[i] = kinds[i].name;
    return fail_word(r, word, names, sizeof kinds / sizeof *kinds, kind_hint);
}

static int read_kinds(const struct reading *r, struct slice all)
{
    do {
        struct slice word = cut_part(&all, '+');
        uint16_t types = 0;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            types = is_word(word, kinds[i].name) ? kinds[i].types : types;
        if (types == 0)
            return refuse_kind(r, word);
        r->rule->types |= types;
    } while (all.data != NULL);
    return 0;
}

int ltp_rule_parse(struct ltp_rule *rule, const char *text, char error[LTP_RULE_ERROR_MAX])
{
    struct reading r = {rule, error, text};
    struct slice rest = slice_of((const uint8_t *)text, strlen(text));
    *rule = (struct ltp_rule){.originator = EVENT_NONE,
                              .session = EVENT_NONE,
                              .first = 1,
                              .last = EVENT_NONE,
                              .every = 1};
    error[0] = '\0';
    int rc = read_kinds(&r, cut_part(&rest, ':'));
    while (rc == 0 && rest.data != NULL)
        rc = read_key(&r, cut_part(&rest, ','));
    return rc;
}
