/* SPDX-License-Identifier: Apache-2.0 */
/* What files share: lists of contacts and ranges with their lines, and how they become a plan. They
 * go in sorted, so that a plan of a million contacts is built by appending. What can go wrong:
 * contacts that overlap, memory. */
#include "node/plan/plan_draft.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const char *const format_names[] = {"yaml", "ion", "hdtn"};

const char *plan_format_name(enum plan_format format)
{
    return format_names[format];
}

void plan_draft_init(struct plan_draft *d, tick start)
{
    *d = (struct plan_draft){.start = start};
}

void plan_draft_fini(struct plan_draft *d)
{
    free(d->contacts);
    free(d->ranges);
    *d = (struct plan_draft){0};
}

void plan_draft_note(struct plan_draft *d, uint32_t line, const char *format, ...)
{
    char text[CONF_ERROR_CAP];
    va_list args;
    if (d->notes == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    conf_error(d->notes, line, "%s", text);
}

/* Room for one more. */
static int grow_list(void **list, size_t len, size_t *cap, size_t size, uint32_t line,
                     struct conf_errors *e)
{
    if (len >= PLAN_ITEMS_MAX) {
        conf_error(e, line, "more than %d contacts or ranges", PLAN_ITEMS_MAX);
        return -1;
    }
    if (len < *cap)
        return 0;
    size_t more = *cap == 0 ? 64 : *cap * 2;
    void *grown = realloc(*list, more * size);
    if (grown == NULL) {
        conf_no_memory(e, line);
        return -1;
    }
    *list = grown;
    *cap = more;
    return 0;
}

/* Where the same things are wrong of contacts and ranges. */
static int check_ends(const struct plan_draft *d, uint64_t from, uint64_t to, tick start, tick end,
                      uint32_t line, const char *where, struct conf_errors *e)
{
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    if (from == to) {
        conf_error(e, line, "%sto: it leads from node %" PRIu64 " to itself; write another node",
                   where, from);
        return -1;
    }
    if (start >= end) {
        conf_error(e, line, "%send: %s is not after its start, %s", where,
                   plan_time_text(end, d->start, a), plan_time_text(start, d->start, b));
        return -1;
    }
    return 0;
}

int plan_draft_contact(struct plan_draft *d, const struct plan_contact *c, uint32_t line,
                       const char *where, struct conf_errors *e)
{
    if (check_ends(d, c->from, c->to, c->start, c->end, line, where, e) < 0)
        return -1;
    if (!(c->confidence > 0 && c->confidence <= 1)) {
        conf_error(e, line, "%sconfidence: %g is out of range; write one above 0, at most 1", where,
                   c->confidence);
        return -1;
    }
    if (grow_list((void **)&d->contacts, d->contacts_len, &d->contacts_cap, sizeof *d->contacts,
                  line, e) < 0)
        return -1;
    d->contacts[d->contacts_len++] = (struct plan_draft_contact){*c, line};
    return 0;
}

int plan_draft_range(struct plan_draft *d, const struct plan_range *r, uint32_t line,
                     const char *where, struct conf_errors *e)
{
    if (check_ends(d, r->from, r->to, r->start, r->end, line, where, e) < 0)
        return -1;
    if (grow_list((void **)&d->ranges, d->ranges_len, &d->ranges_cap, sizeof *d->ranges, line, e) <
        0)
        return -1;
    d->ranges[d->ranges_len++] = (struct plan_draft_range){*r, line};
    return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_contacts(const void *a, const void *b)
{
    const struct plan_draft_contact *x = a, *y = b;
    int rc = compare_numbers(x->is.from, y->is.from);
    rc = rc != 0 ? rc : compare_numbers(x->is.to, y->is.to);
    rc = rc != 0 ? rc : compare_numbers(x->is.start, y->is.start);
    return rc != 0 ? rc : compare_numbers(x->line, y->line);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct plan_draft_range *x = a, *y = b;
    int rc = compare_numbers(x->is.from, y->is.from);
    rc = rc != 0 ? rc : compare_numbers(x->is.to, y->is.to);
    rc = rc != 0 ? rc : compare_numbers(x->is.start, y->is.start);
    return rc != 0 ? rc : compare_numbers(x->line, y->line);
}

/* `other` is the line of the one in the plan, since those before it in the order are. */
static void report_item(int rc, const char *what, uint64_t from, uint64_t to, uint32_t line,
                        uint32_t other, struct conf_errors *e)
{
    if (rc == HELIO_EEXIST)
        conf_error(e, line,
                   "%s %" PRIu64 " to %" PRIu64 ": overlaps that of line %u; let one end before "
                   "the other starts",
                   what, from, to, other);
    else
        conf_error(e, line, "%s %" PRIu64 " to %" PRIu64 ": %s", what, from, to,
                   helio_strerror(rc));
    e->no_memory = e->no_memory || rc == HELIO_ENOMEM;
}

/* Of two that start together the longer one is first, then the faster one. */
static int compare_trimmed(const void *a, const void *b)
{
    const struct plan_draft_contact *x = a, *y = b;
    int rc = compare_numbers(x->is.from, y->is.from);
    rc = rc != 0 ? rc : compare_numbers(x->is.to, y->is.to);
    rc = rc != 0 ? rc : compare_numbers(x->is.start, y->is.start);
    rc = rc != 0 ? rc : compare_numbers(y->is.end, x->is.end);
    rc = rc != 0 ? rc : compare_numbers(y->is.rate - 1, x->is.rate - 1); /* 0 is no limit */
    return rc != 0 ? rc : compare_numbers(x->line, y->line);
}

/* The same order; of two for the same time the shorter one is first. */
static int compare_trimmed_ranges(const void *a, const void *b)
{
    const struct plan_draft_range *x = a, *y = b;
    int rc = compare_numbers(x->is.from, y->is.from);
    rc = rc != 0 ? rc : compare_numbers(x->is.to, y->is.to);
    rc = rc != 0 ? rc : compare_numbers(x->is.start, y->is.start);
    rc = rc != 0 ? rc : compare_numbers(y->is.end, x->is.end);
    return rc != 0 ? rc : compare_numbers(x->is.owlt, y->is.owlt);
}

static void note_trimmed(struct plan_draft *d, const struct plan_draft_contact *c,
                         const struct plan_draft_contact *before)
{
    char a[PLAN_TIME_CAP];
    const bool gone = c->is.end <= before->is.end;
    plan_draft_note(d, c->line,
                    "contact %" PRIu64 " to %" PRIu64 ": overlaps that of line %u, which holds "
                    "until %s; %s",
                    c->is.from, c->is.to, before->line, plan_time_text(before->is.end, d->start, a),
                    gone ? "left out" : "it begins then");
}

static void trim_contacts(struct plan_draft *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->contacts_len; i++) {
        struct plan_draft_contact c = d->contacts[i];
        const struct plan_draft_contact *before = kept > 0 ? &d->contacts[kept - 1] : NULL;
        if (before != NULL && before->is.from == c.is.from && before->is.to == c.is.to &&
            before->is.end > c.is.start) {
            note_trimmed(d, &c, before);
            c.is.start = before->is.end;
        }
        if (c.is.start < c.is.end)
            d->contacts[kept++] = c;
    }
    d->contacts_len = kept;
}

static void trim_ranges(struct plan_draft *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->ranges_len; i++) {
        struct plan_draft_range r = d->ranges[i];
        const struct plan_range *before = kept > 0 ? &d->ranges[kept - 1].is : NULL;
        if (before != NULL && before->from == r.is.from && before->to == r.is.to &&
            before->end > r.is.start)
            r.is.start = before->end;
        if (r.is.start < r.is.end)
            d->ranges[kept++] = r;
    }
    d->ranges_len = kept;
}

void plan_draft_trim(struct plan_draft *d)
{
    if (d->contacts_len > 0)
        qsort(d->contacts, d->contacts_len, sizeof *d->contacts, compare_trimmed);
    if (d->ranges_len > 0)
        qsort(d->ranges, d->ranges_len, sizeof *d->ranges, compare_trimmed_ranges);
    trim_contacts(d);
    trim_ranges(d);
}

/* Of a range of one direction, where none is known for the other one. */
static void note_one_way(struct plan_draft *d, const struct plan *p)
{
    for (size_t i = 0; i < d->ranges_len && d->notes != NULL; i++) {
        const struct plan_range *r = &d->ranges[i].is;
        struct plan_range back;
        if (r->one_way &&
            (plan_range_at(p, r->to, r->from, r->start, &back) < 0 || back.start > r->start))
            plan_draft_note(d, d->ranges[i].line,
                            "range %" PRIu64 " to %" PRIu64 ": of this direction only; there is no "
                            "light time from %" PRIu64 " to %" PRIu64 " then",
                            r->from, r->to, r->to, r->from);
    }
}

int plan_draft_build(struct plan_draft *d, struct plan *p, struct conf_errors *e)
{
    size_t before = e->total;
    uint32_t other = 0;
    uint64_t id;
    if (d->contacts_len > 0)
        qsort(d->contacts, d->contacts_len, sizeof *d->contacts, compare_contacts);
    if (d->ranges_len > 0)
        qsort(d->ranges, d->ranges_len, sizeof *d->ranges, compare_ranges);
    for (size_t i = 0; i < d->contacts_len; i++) {
        const struct plan_draft_contact *c = &d->contacts[i];
        int rc = plan_add(p, &c->is, &id);
        if (rc < 0)
            report_item(rc, "contact", c->is.from, c->is.to, c->line, other, e);
        else
            other = c->line;
    }
    for (size_t i = 0; i < d->ranges_len; i++) {
        const struct plan_draft_range *r = &d->ranges[i];
        int rc = plan_add_range(p, &r->is);
        if (rc < 0)
            report_item(rc, "range", r->is.from, r->is.to, r->line, other, e);
        else
            other = r->line;
    }
    note_one_way(d, p);
    return e->total == before ? 0 : -1;
}

static void tell_contact(const struct plan *p, const struct plan_contact *c, int rc, tick start,
                         struct conf_errors *e)
{
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    const struct plan_contact *other = plan_get(p, plan_at(p, c->from, c->to, c->start));
    if (rc == HELIO_EEXIST && other != NULL)
        conf_error(e, 0,
                   "contact %" PRIu64 " to %" PRIu64 ": overlaps the one from %s to %s; remove "
                   "that first, or write other times",
                   c->from, c->to, plan_time_text(other->start, start, a),
                   plan_time_text(other->end, start, b));
    else
        conf_error(e, 0, "contact %" PRIu64 " to %" PRIu64 ": %s", c->from, c->to,
                   helio_strerror(rc));
    e->no_memory = e->no_memory || rc == HELIO_ENOMEM;
}

static void tell_range(const struct plan *p, const struct plan_range *r, int rc, tick start,
                       struct conf_errors *e)
{
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    struct plan_range other;
    if (rc == HELIO_EEXIST && plan_range_at(p, r->from, r->to, r->start, &other) == 0)
        conf_error(e, 0,
                   "range %" PRIu64 " to %" PRIu64 ": overlaps the one from %s to %s; remove "
                   "that first, or write other times",
                   r->from, r->to, plan_time_text(other.start, start, a),
                   plan_time_text(other.end, start, b));
    else
        conf_error(e, 0, "range %" PRIu64 " to %" PRIu64 ": %s", r->from, r->to,
                   helio_strerror(rc));
    e->no_memory = e->no_memory || rc == HELIO_ENOMEM;
}

/* Takes the first ones out again; they are what their nodes and starts name. */
static void undo_add(const struct plan_draft *d, struct plan *p, size_t contacts, size_t ranges)
{
    for (size_t i = 0; i < contacts; i++) {
        const struct plan_contact *c = &d->contacts[i].is;
        (void)plan_remove(p, plan_find(p, c->from, c->to, c->start));
    }
    for (size_t i = 0; i < ranges; i++) {
        const struct plan_range *r = &d->ranges[i].is;
        (void)plan_remove_range(p, r->from, r->to, r->start);
    }
}

int plan_draft_add(const struct plan_draft *d, struct plan *p, tick start, struct conf_errors *e)
{
    size_t contacts = 0, ranges = 0;
    int rc = 0;
    uint64_t id;
    for (; contacts < d->contacts_len && rc == 0; contacts += rc == 0) {
        rc = plan_add(p, &d->contacts[contacts].is, &id);
        if (rc < 0)
            tell_contact(p, &d->contacts[contacts].is, rc, start, e);
    }
    for (; ranges < d->ranges_len && rc == 0; ranges += rc == 0) {
        rc = plan_add_range(p, &d->ranges[ranges].is);
        if (rc < 0)
            tell_range(p, &d->ranges[ranges].is, rc, start, e);
    }
    if (rc < 0)
        undo_add(d, p, contacts, ranges);
    return rc < 0 ? -1 : 0;
}
