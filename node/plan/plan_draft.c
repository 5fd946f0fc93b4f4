/* SPDX-License-Identifier: Apache-2.0 */
/* What files share: lists of contacts and ranges with their lines, and how they become a plan. They
 * go in sorted, so that a plan of a million contacts is built by appending. What can go wrong:
 * contacts that overlap, memory. */
#include "node/plan/plan_draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const char *const format_names[] = {"yaml", "ion", "hdtn"};

int plan_format_of(const char *name)
{
    for (int i = 0; i < PLAN_FORMATS; i++) {
        if (strcmp(name, format_names[i]) == 0)
            return i;
    }
    return -1;
}

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
        conf_error(e, line, "out of memory");
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
