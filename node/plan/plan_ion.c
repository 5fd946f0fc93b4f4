/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ION's lines (ionrc): `a contact START END FROM TO BYTES/S [CONFIDENCE]`, `a range START END FROM
 * TO SECONDS`, `d` and `c` of what is above, `@ TIME` for what +SECONDS counts from. A START of `*`
 * deletes all. A range from the higher to the lower node number is of that direction only. In a
 * file for all programs of ION, only the sections of ionadmin are read (`## begin ionadmin` to
 * `## end ionadmin`). ionadmin's other commands are not ours and are counted. Contacts by which
 * nothing can be planned are left out with a note: those of a node with itself (registrations), and
 * those of start 0, which may be discovered. What can go wrong: a line that is not one of these;
 * each is reported with its line, and reading goes on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "node/plan/plan_draft.h"

#define WORDS_MAX 9
#define WORD_CAP 48

struct ion {
    struct plan_draft *draft;
    struct conf_errors *errors;
    tick reference;
    bool foreign; /* in another program's section, or between sections */
    uint32_t line;
    const char *word[WORDS_MAX];
    size_t len[WORDS_MAX];
    size_t words;
};

/* Of one line; more words than any command has are cut off, but counted. */
static void split_line(struct ion *ion, const char *p, const char *end)
{
    ion->words = 0;
    while (p < end) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        const char *start = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
            p++;
        if (p == start)
            break;
        if (ion->words < WORDS_MAX) {
            ion->word[ion->words] = start;
            ion->len[ion->words] = (size_t)(p - start);
        }
        ion->words++;
    }
}

static bool is_word(const struct ion *ion, size_t i, const char *text)
{
    return i < ion->words && ion->len[i] == strlen(text) &&
           memcmp(ion->word[i], text, ion->len[i]) == 0;
}

/* As a text that ends, for functions that need one and for messages. */
static const char *word_text(const struct ion *ion, size_t i, char out[WORD_CAP])
{
    size_t n = ion->len[i] < WORD_CAP ? ion->len[i] : WORD_CAP - 1;
    memcpy(out, ion->word[i], n);
    out[n] = '\0';
    return out;
}

static int wrong_word(struct ion *ion, size_t i, const char *key, const char *right)
{
    char text[WORD_CAP];
    conf_error(ion->errors, ion->line, "%s: \"%s\" is not understood; write %s", key,
               word_text(ion, i, text), right);
    return -1;
}

static int read_time(struct ion *ion, size_t i, const char *key, tick *out)
{
    char text[WORD_CAP];
    tick t;
    if (ion->len[i] > 1 && ion->word[i][0] == '+' &&
        plan_seconds(ion->word[i] + 1, ion->len[i] - 1, &t) == 0 &&
        t <= TICK_NEVER - 1 - ion->reference) {
        ion->draft->since = true;
        *out = ion->reference + t;
        return 0;
    }
    if (ion->len[i] < WORD_CAP && plan_date(word_text(ion, i, text), &t) == 0) {
        ion->draft->dated = true;
        *out = t;
        return 0;
    }
    return wrong_word(ion, i, key,
                      "+SECONDS such as +0 or +3600.5, or yyyy/mm/dd-hh:mm:ss such as "
                      "2026/11/22-12:00:00");
}

/* The end of a contact; -1 is the last second that ION knows, without dates the last in digits. */
static int read_end(struct ion *ion, size_t i, tick *out)
{
    if (!is_word(ion, i, "-1"))
        return read_time(ion, i, "end", out);
    *out = (ion->draft->start > 0 ? INT32_MAX : UINT64_C(999999999)) * TICK_S;
    return 0;
}

static int read_number(struct ion *ion, size_t i, const char *key, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    for (size_t j = 0; j < ion->len[i]; j++) {
        unsigned digit = (unsigned)(ion->word[i][j] - '0');
        if (digit > 9 || n > (max - digit) / 10)
            return wrong_word(ion, i, key, "a whole number");
        n = n * 10 + digit;
    }
    *out = n;
    return 0;
}

static int read_share(struct ion *ion, size_t i, double *out)
{
    char text[WORD_CAP], *end;
    tick t;
    /* Digits and a point, as everywhere else, are what strtod is given. */
    if (ion->len[i] >= WORD_CAP || plan_seconds(ion->word[i], ion->len[i], &t) < 0)
        return wrong_word(ion, i, "confidence", "a number above 0, at most 1, such as 0.75");
    *out = strtod(word_text(ion, i, text), &end);
    return 0;
}

/* START END FROM TO of `a contact` and `a range`. */
static int read_ends(struct ion *ion, tick *start, tick *end, uint64_t *from, uint64_t *to)
{
    int rc = read_time(ion, 2, "start", start);
    rc |= read_end(ion, 3, end);
    rc |= read_number(ion, 4, "from", UINT64_MAX, from);
    rc |= read_number(ion, 5, "to", UINT64_MAX, to);
    return rc;
}

/* Contacts by which nothing can be planned. True: it is one, and was noted or is wrong. */
static bool add_vague(struct ion *ion)
{
    uint64_t from, to;
    const bool registers = is_word(ion, 2, "-1"), maybe = is_word(ion, 2, "0");
    int rc = read_number(ion, 4, "from", UINT64_MAX, &from);
    rc |= read_number(ion, 5, "to", UINT64_MAX, &to);
    if (rc != 0)
        return true;
    if (registers && from != to)
        wrong_word(ion, 5, "to", "the same node twice, since start -1 registers one");
    else if (registers)
        plan_draft_note(ion->draft, ion->line, "registers node %" PRIu64 ": no contact", from);
    else if (maybe)
        plan_draft_note(ion->draft, ion->line,
                        "contact %" PRIu64 " to %" PRIu64
                        " has no times (start 0), as one that may "
                        "be discovered: left out",
                        from, to);
    else if (from == to)
        plan_draft_note(ion->draft, ion->line,
                        "contact of node %" PRIu64 " with itself: left out, as nothing goes by it",
                        from);
    return registers || maybe || from == to;
}

static void add_contact(struct ion *ion)
{
    struct plan_contact c = {.confidence = 1};
    if (ion->words < 7 || ion->words > 8) {
        conf_error(ion->errors, ion->line,
                   "a contact: %zu words; write a contact START END FROM TO BYTES/S [CONFIDENCE]",
                   ion->words);
        return;
    }
    if (add_vague(ion))
        return;
    int rc = read_ends(ion, &c.start, &c.end, &c.from, &c.to);
    rc |= read_number(ion, 6, "rate", UINT64_MAX / 8, &c.rate);
    rc |= ion->words == 8 ? read_share(ion, 7, &c.confidence) : 0;
    c.rate *= 8;
    if (rc == 0)
        plan_draft_contact(ion->draft, &c, ion->line, "", ion->errors);
}

static void add_range(struct ion *ion)
{
    struct plan_range r = {0};
    if (ion->words != 7) {
        conf_error(ion->errors, ion->line,
                   "a range: %zu words; write a range START END FROM TO SECONDS", ion->words);
        return;
    }
    int rc = read_ends(ion, &r.start, &r.end, &r.from, &r.to);
    if (plan_seconds(ion->word[6], ion->len[6], &r.owlt) < 0)
        rc |= wrong_word(ion, 6, "light time", "seconds, such as 1 or 0.0125");
    r.one_way = r.from > r.to;
    if (rc == 0 && r.from == r.to)
        plan_draft_note(ion->draft, ion->line,
                        "range from node %" PRIu64 " to itself: left out, as nothing goes there",
                        r.from);
    else if (rc == 0)
        plan_draft_range(ion->draft, &r, ion->line, "", ion->errors);
}

/* START FROM TO of `d` and `c`. */
struct which {
    uint64_t from, to;
    tick start;
    bool all, vague; /* START is *: any; -1 or 0: one of those that are left out */
};

static int read_which(struct ion *ion, struct which *w)
{
    *w = (struct which){.all = is_word(ion, 2, "*"),
                        .vague = is_word(ion, 2, "-1") || is_word(ion, 2, "0"),
                        .start = TICK_NEVER};
    int rc = w->all || w->vague ? 0 : read_time(ion, 2, "start", &w->start);
    rc |= read_number(ion, 3, "from", UINT64_MAX, &w->from);
    rc |= read_number(ion, 4, "to", UINT64_MAX, &w->to);
    return rc;
}

static bool is_meant(const struct which *w, uint64_t from, uint64_t to, tick start)
{
    return from == w->from && to == w->to && (w->all || start == w->start);
}

static void report_none(struct ion *ion, const char *what)
{
    conf_error(ion->errors, ion->line, "%s: there is none with this start between these nodes",
               what);
}

static void delete_items(struct ion *ion, bool contacts)
{
    struct plan_draft *d = ion->draft;
    struct which w;
    size_t *len = contacts ? &d->contacts_len : &d->ranges_len, kept = 0;
    if (read_which(ion, &w) != 0)
        return;
    for (size_t i = 0; i < *len; i++) {
        const struct plan_contact *c = contacts ? &d->contacts[i].is : NULL;
        const struct plan_range *r = contacts ? NULL : &d->ranges[i].is;
        if (contacts && !is_meant(&w, c->from, c->to, c->start))
            d->contacts[kept++] = d->contacts[i];
        else if (!contacts && !is_meant(&w, r->from, r->to, r->start))
            d->ranges[kept++] = d->ranges[i];
    }
    if (kept == *len && !w.vague)
        report_none(ion, contacts ? "d contact" : "d range");
    *len = kept;
}

static void change_contact(struct ion *ion)
{
    struct plan_draft *d = ion->draft;
    struct which w;
    uint64_t rate;
    bool found = false;
    double confidence = 1;
    if (ion->words < 6 || ion->words > 7) {
        conf_error(ion->errors, ion->line,
                   "c contact: %zu words; write c contact START FROM TO BYTES/S [CONFIDENCE]",
                   ion->words);
        return;
    }
    int rc = read_which(ion, &w);
    rc |= read_number(ion, 5, "rate", UINT64_MAX / 8, &rate);
    rc |= ion->words == 7 ? read_share(ion, 6, &confidence) : 0;
    if (rc != 0)
        return;
    if (!(confidence > 0 && confidence <= 1)) {
        wrong_word(ion, 6, "confidence", "a number above 0, at most 1, such as 0.75");
        return;
    }
    for (size_t i = 0; i < d->contacts_len; i++) {
        struct plan_contact *c = &d->contacts[i].is;
        if (!is_meant(&w, c->from, c->to, c->start))
            continue;
        c->rate = rate * 8;
        c->confidence = ion->words == 7 ? confidence : c->confidence;
        found = true;
    }
    if (!found)
        report_none(ion, "c contact");
}

static void set_reference(struct ion *ion)
{
    if (ion->words != 2)
        conf_error(ion->errors, ion->line, "@: %zu words; write @ TIME", ion->words);
    else
        read_time(ion, 1, "@", &ion->reference);
}

/* Its contacts stay apart in ION. */
static void note_region(struct ion *ion)
{
    char text[WORD_CAP];
    ion->draft->skipped++;
    if (ion->words > 1)
        plan_draft_note(ion->draft, ion->line,
                        "region %s: the contacts of all regions are read as one plan",
                        word_text(ion, 1, text));
}

/* `## begin PROGRAM` and `## end PROGRAM`; false: it is another line. */
static bool mark_section(struct ion *ion)
{
    const bool begin = is_word(ion, 1, "begin");
    if (!is_word(ion, 0, "##") || ion->words < 3 || (!begin && !is_word(ion, 1, "end")))
        return false;
    ion->foreign = !begin || !is_word(ion, 2, "ionadmin");
    return true;
}

/* `a`, `d` and `c` of contacts and ranges. */
static void run_command(struct ion *ion)
{
    bool contact = is_word(ion, 1, "contact"), range = is_word(ion, 1, "range");
    char text[WORD_CAP];
    if (is_word(ion, 0, "a") && contact)
        add_contact(ion);
    else if (is_word(ion, 0, "a") && range)
        add_range(ion);
    else if (is_word(ion, 0, "d") && (contact || range) && ion->words != 5)
        conf_error(ion->errors, ion->line, "d: %zu words; write d %s START FROM TO", ion->words,
                   contact ? "contact" : "range");
    else if (is_word(ion, 0, "d") && (contact || range))
        delete_items(ion, contact);
    else if (is_word(ion, 0, "c") && contact)
        change_contact(ion);
    else if (is_word(ion, 0, "@"))
        set_reference(ion);
    else if (is_word(ion, 0, "^"))
        note_region(ion);
    else if (ion->len[0] == 1 && strchr("abeilmrsvwxhq1?!", ion->word[0][0]) != NULL &&
             !is_word(ion, 0, "a"))
        ion->draft->skipped++;
    else
        conf_error(ion->errors, ion->line,
                   "\"%s\" is not understood; write a contact, a range, d, c or @",
                   word_text(ion, 0, text));
}

int plan_ion_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e)
{
    struct ion ion = {.draft = d, .errors = e, .reference = d->start};
    size_t before = e->total;
    const char *end = text + len;
    for (const char *p = text; p < end; p++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        eol = eol == NULL ? end : eol;
        ion.line++;
        split_line(&ion, p, eol);
        const bool comment = ion.words == 0 || mark_section(&ion) || ion.word[0][0] == '#';
        if (!comment && !ion.foreign)
            run_command(&ion);
        d->skipped += !comment && ion.foreign;
        p = eol;
    }
    return e->total == before ? 0 : -1;
}
