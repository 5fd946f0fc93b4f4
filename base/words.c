/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in this order: another spelling (case, '-' for '_') or a unit behind the word (rto_ms);
 * another name of the same thing (speed: rate); a few wrong letters; a part of the word, or more
 * than the word. A word that is similar only by chance is not suggested: it misleads. */
#include "base/words.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64
#define PART_MIN 3 /* letters of a part */

static char fold_letter(char c)
{
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The letters that both begin with. */
static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && fold_letter(a[n]) == fold_letter(b[n]))
        n++;
    return n;
}

static bool is_same(const char *a, const char *b)
{
    const size_t n = common_prefix(a, b);
    return a[n] == b[n];
}

static const char *find_word(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_same(word, words[i]))
            return words[i];
    return NULL;
}

static const char *find_without_unit(const char *word, const char *const *words, size_t n)
{
    static const char *const units[] = {"_ns",  "_us",    "_ms",  "_s",    "_sec", "_seconds",
                                        "_bps", "_bytes", "_bit", "_mbps", "_kb",  "_mb"};
    char stem[WORD_MAX + 1];
    const size_t len = strlen(word);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t unit = strlen(units[i]);
        if (len > WORD_MAX || len <= unit || !is_same(word + len - unit, units[i]))
            continue;
        memcpy(stem, word, len - unit);
        stem[len - unit] = '\0';
        return find_word(stem, words, n);
    }
    return NULL;
}

static const char *find_synonym(const char *word, const char *const *words, size_t n)
{
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"speed", "rate"},
                {"bandwidth", "rate"},
                {"bitrate", "rate"},
                {"data_rate", "rate"},
                {"datarate", "rate"},
                {"throughput", "rate"},
                {"latency", "delay"},
                {"latency", "owlt"},
                {"delay", "owlt"},
                {"rtt", "delay"},
                {"rtt", "owlt"},
                {"timeout", "rto"},
                {"mtu", "segment"},
                {"type", "adapter"},
                {"protocol", "adapter"},
                {"neighbour", "peer"},
                {"neighbor", "peer"},
                {"address", "remote"},
                {"host", "remote"},
                {"connect", "remote"},
                {"listen", "local"},
                {"bind", "local"},
                {"port", "local"},
                {"eid", "node"},
                {"certificate", "tls_certificate"},
                {"ttl", "lifetime"},
                {"fec", "erasure"},
                {"loss", "losses"},
                {"loss", "erasures"},
                {"start", "up"},
                {"stop", "down"},
                {"length", "duration"},
                {"time", "duration"},
                {"size", "payload"},
                {"hosts", "nodes"},
                {"host", "node"},
                {"authentication", "auth"},
                {"key", "key_file"},
                {"secret", "key_file"},
                {"tcp", "tcpcl"},
                {"check", "lint"},
                {"set", "change"},
                {"loss", "iid"},
                {"loss", "trace"}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && found == NULL; i++)
        if (is_same(word, rows[i].typed))
            found = find_word(rows[i].meant, words, n);
    return found;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of insertions, deletions, replacements and exchanges of neighbours that lead from a to
 * b. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b), rows[3][WORD_MAX + 1];
    if (la > WORD_MAX || lb > WORD_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= la; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            row[j] = i == 0 ? j : least(row[j - 1], last[j]) + 1;
            if (i > 0)
                row[j] =
                    least(row[j], last[j - 1] + (fold_letter(a[i - 1]) != fold_letter(b[j - 1])));
            if (i > 1 && j > 1 && fold_letter(a[i - 1]) == fold_letter(b[j - 2]) &&
                fold_letter(a[i - 2]) == fold_letter(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[la % 3][lb];
}

/* More than one wrong letter only if both begin alike; among equals, one that begins alike. */
static const char *find_similar(const char *word, const char *const *words, size_t n)
{
    const char *found = NULL;
    const size_t len = strlen(word), limit = len < 2 ? 0 : len < 6 ? 1 : len < 10 ? 2 : 3;
    size_t best = limit + 1;
    for (size_t i = 0; i < n; i++) {
        const size_t d = edit_distance(word, words[i]);
        if (d > 1 && common_prefix(word, words[i]) == 0)
            continue;
        if (d < best || (found != NULL && d == best &&
                         common_prefix(word, words[i]) > common_prefix(word, found))) {
            best = d;
            found = words[i];
        }
    }
    return found;
}

static bool is_last(const char *part, const char *whole)
{
    const size_t len = strlen(part), all = strlen(whole);
    return len >= PART_MIN && len < all && whole[all - len - 1] == '_' &&
           is_same(part, whole + all - len);
}

static bool is_begun(const char *part, const char *whole)
{
    const size_t len = strlen(part);
    return len >= PART_MIN && len < strlen(whole) && common_prefix(part, whole) == len;
}

/* More than the word: rate_limit, converting; but no file such as links.yaml. */
static bool is_continued(const char *word, const char *typed)
{
    const size_t len = strlen(word);
    if (is_last(word, typed))
        return true;
    if (!is_begun(word, typed))
        return false;
    const char next = fold_letter(typed[len]);
    return next == '_' || (len > PART_MIN && next >= 'a' && next <= 'z');
}

/* The shortest word that has it, else the longest that it has. */
static const char *find_part(const char *word, const char *const *words, size_t n)
{
    const char *whole = NULL, *part = NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t len = strlen(words[i]);
        if ((is_begun(word, words[i]) || is_last(word, words[i])) &&
            (whole == NULL || len < strlen(whole)))
            whole = words[i];
        if (is_continued(words[i], word) && (part == NULL || len > strlen(part)))
            part = words[i];
    }
    return whole != NULL ? whole : part;
}

const char *words_closest(const char *word, const char *const *words, size_t n)
{
    typedef const char *finder(const char *word, const char *const *words, size_t n);
    static finder *const finders[] = {find_word, find_without_unit, find_synonym, find_similar,
                                      find_part};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof finders / sizeof *finders && found == NULL; i++)
        found = finders[i](word, words, n);
    return found;
}

const char *words_remark(const char *typed, const char *meant)
{
    if (is_same(typed, "rtt") && (is_same(meant, "delay") || is_same(meant, "owlt")))
        return " It is the time of one way, half the round trip";
    return "";
}

const char *words_list(const char *const *words, size_t n, char *out, size_t cap)
{
    static const char more[] = ", ...";
    size_t used = 0;
    assert(cap >= 8);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const size_t room = cap - used, last = i + 1 == n ? 1 : sizeof more;
        const char *comma = i > 0 ? ", " : "";
        if (strlen(comma) + strlen(words[i]) + last > room) {
            snprintf(out + used, room, "%s", more + (i > 0 ? 0 : 2));
            break;
        }
        used += (size_t)snprintf(out + used, room, "%s%s", comma, words[i]);
    }
    return out;
}
