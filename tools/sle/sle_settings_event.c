/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that users of FCLTU may throw, as the configuration has them: which qualifiers, what is
 * done. Qualifiers are octets in the PDU; people write texts and numbers.
 *
 * What can go wrong: words that mean nothing; an order without octets, or more than a CLTU has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sle/sle_settings_private.h"

size_t settings_cut(char *text, const char **out, size_t max)
{
    size_t n = 0;
    char *save = NULL;
    for (char *p = strtok_r(text, " \t", &save); p != NULL; p = strtok_r(NULL, " \t", &save), n++)
        if (n < max)
            out[n] = p;
    return n;
}

/* ---- qualifiers ---- */

static unsigned nibble_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 16;
}

/* Octets of `len` hexadecimal digits; 0: they are none, or too many. */
static size_t read_octets(const char *text, size_t len, uint8_t *out, size_t cap)
{
    if (len == 0 || len % 2 != 0 || len / 2 > cap)
        return 0;
    for (size_t i = 0; i < len; i += 2) {
        unsigned high = nibble_of(text[i]), low = nibble_of(text[i + 1]);
        if (high > 15 || low > 15)
            return 0;
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    return len / 2;
}

/* The number that the whole word is. */
static bool read_number(const char *text, size_t len, uint32_t *out)
{
    uint64_t n = 0;
    if (len == 0 || len > 10)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(text[i] - '0');
    }
    *out = (uint32_t)n;
    return n <= UINT32_MAX;
}

static size_t number_octets(uint32_t n, uint8_t *out)
{
    size_t len = n > 0xffffff ? 4 : n > 0xffff ? 3 : n > 0xff ? 2 : 1;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(n >> 8 * (len - 1 - i));
    return len;
}

static bool is_hex(const char *word, size_t len)
{
    return len > 2 && word[0] == '0' && word[1] == 'x';
}

static size_t read_qualifier(const char *word, size_t len, uint8_t *out, size_t cap)
{
    uint32_t n;
    if (is_hex(word, len))
        return read_octets(word + 2, len - 2, out, cap);
    if (cap >= 4 && read_number(word, len, &n))
        return number_octets(n, out);
    if (len > cap)
        return 0;
    memcpy(out, word, len);
    return len;
}

size_t settings_qualifier(const char *text, uint8_t *out, size_t cap)
{
    return read_qualifier(text, strlen(text), out, cap);
}

static const char *find_dots(const char *word, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++)
        if (word[i] == '.' && word[i + 1] == '.')
            return word + i;
    return NULL;
}

static bool read_range(const char *word, size_t len, uint32_t *low, uint32_t *high)
{
    const char *dots = find_dots(word, len);
    if (dots == NULL)
        return false;
    size_t before = (size_t)(dots - word);
    return read_number(word, before, low) && read_number(dots + 2, len - before - 2, high) &&
           *low <= *high;
}

static bool word_fits(const char *word, size_t len, struct slice q)
{
    uint8_t octets[SLE_QUALIFIER_MAX];
    uint32_t low, high, n = 0;
    if (read_range(word, len, &low, &high)) {
        for (size_t i = 0; i < q.len && i < 4; i++)
            n = n << 8 | q.data[i];
        return q.len <= 4 && n >= low && n <= high;
    }
    size_t have = read_qualifier(word, len, octets, sizeof octets);
    return have > 0 && have == q.len && memcmp(octets, q.data, have) == 0;
}

/* The next word, its length in *len, 0 at the end. */
static const char *next_word(const char *at, size_t *len)
{
    at += strspn(at, " \t");
    *len = strcspn(at, " \t");
    return at;
}

bool settings_event_fits(const struct settings_event *e, uint32_t id, struct slice qualifier)
{
    size_t len;
    const char *w = next_word(e->qualifiers, &len);
    bool fits = len == 0; /* any */
    for (; len > 0 && !fits; w = next_word(w + len, &len))
        fits = word_fits(w, len, qualifier);
    return fits && e->id == id;
}

/* ---- reading ---- */

static void check_qualifiers(struct reading *r, const struct conf_tree *map,
                             const struct settings_event *e)
{
    uint8_t octets[SLE_QUALIFIER_MAX];
    uint32_t low, high;
    size_t len;
    for (const char *w = next_word(e->qualifiers, &len); len > 0; w = next_word(w + len, &len)) {
        bool good = find_dots(w, len) != NULL ? read_range(w, len, &low, &high)
                                              : read_qualifier(w, len, octets, sizeof octets) > 0;
        if (!good)
            settings_wrong(r, map, "events.", "qualifiers", e->qualifiers,
                           "texts, numbers, ranges such as 1..8, octets such as 0x01ff");
    }
}

static void read_actions(struct reading *r, const struct conf_tree *map, struct settings_event *e)
{
    static const char *const words[] = {"interrupt", "halt", "resume", "radiate", "fail"};
    enum { WORDS = sizeof words / sizeof *words };
    size_t len;
    for (const char *w = next_word(e->actions_text, &len); len > 0; w = next_word(w + len, &len)) {
        int k = 0;
        while (k < WORDS && (strlen(words[k]) != len || memcmp(words[k], w, len) != 0))
            k++;
        if (k == WORDS || e->actions_len == SETTINGS_ACTIONS_MAX) {
            settings_wrong(r, map, "events.", "actions", e->actions_text,
                           "up to 8 of interrupt, halt, resume, radiate, fail");
            return;
        }
        e->actions[e->actions_len++] = (enum event_action)k;
    }
}

static void read_order(struct reading *r, const struct conf_tree *map, struct settings_event *e)
{
    size_t len = strlen(e->order_text) / 2;
    bool wanted = false;
    for (size_t k = 0; k < e->actions_len; k++)
        wanted = wanted || e->actions[k] == EVENT_RADIATE;
    if (!wanted && *e->order_text == '\0')
        return;
    e->order = len > 0 && len <= SLE_CLTU_MAX ? buf_new(0, len) : NULL;
    uint8_t *p = e->order == NULL ? NULL : buf_append(e->order, len);
    if (p == NULL || read_octets(e->order_text, strlen(e->order_text), p, len) == 0)
        settings_wrong(r, map, "events.", "order", e->order_text,
                       "1 to 4096 octets, two hexadecimal digits each, for the action radiate");
}

void settings_read_event(struct reading *r, const struct conf_tree *map, void *item)
{
    struct settings_event *e = item;
    check_qualifiers(r, map, e);
    read_actions(r, map, e);
    read_order(r, map, e);
}

void settings_free_events(struct settings_instance *i)
{
    for (size_t k = 0; k < i->events_len; k++) {
        buf_drop(i->events[k].order);
        conf_options_free(settings_events, &i->events[k]);
    }
    free(i->events);
}
