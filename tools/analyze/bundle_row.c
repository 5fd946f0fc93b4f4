/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns in their order. What can go wrong is everything, since logs are cut by crashes and
 * edited by people: each number is checked for its digits and its range, each word against its
 * list, and each kind of row for what it must have.
 */
#include "tools/analyze/bundle_row.h"

#include <string.h>

#include "tools/analyze/csv_fields.h"

static struct bundle_number read_number(struct fields *f, bool last)
{
    struct bundle_number n = {0};
    for (; f->p < f->end && *f->p >= '0' && *f->p <= '9'; f->p++) {
        uint64_t digit = (uint64_t)(*f->p - '0');
        if (n.value > (UINT64_MAX - digit) / 10) {
            fields_fail(f, "a number above 2^64 - 1");
            return (struct bundle_number){0};
        }
        n.value = n.value * 10 + digit;
        n.known = true;
    }
    fields_next(f, last);
    return n;
}

/* Up to the comma behind it; in quotes, within which a quote is two. */
static struct bundle_text read_text(struct fields *f, bool last)
{
    struct bundle_text t = {.at = f->p};
    if (f->p < f->end && *f->p == '"') {
        for (f->p++; f->p < f->end; f->p++) {
            if (*f->p != '"')
                continue;
            if (f->p + 1 == f->end || f->p[1] != '"')
                break;
            f->p++;
        }
        if (f->p == f->end) {
            fields_fail(f, "a quote without its end");
            return t;
        }
        f->p++;
    } else {
        while (f->p < f->end && *f->p != ',')
            f->p++;
    }
    t.len = (size_t)(f->p - t.at);
    fields_next(f, last);
    return t;
}

static int find_event(struct word w)
{
    for (int i = 0; i < BUNDLE_EVENT_COUNT; i++)
        if (word_is(w, bundle_event_word((enum bundle_event_kind)i)))
            return i;
    return -1;
}

static void read_event(struct fields *f, struct bundle_row *r)
{
    int kind = find_event(fields_word(f));
    if (kind < 0)
        fields_fail(f, "an unknown word in `event`");
    r->kind = kind < 0 ? BUNDLE_ENDED : (enum bundle_event_kind)kind;
}

static void read_from(struct fields *f, struct bundle_row *r)
{
    struct word w = fields_word(f);
    for (int i = 0; i <= BUNDLE_FROM_LINK; i++) {
        if (word_is(w, bundle_origin_word((enum bundle_origin)i))) {
            r->from = (enum bundle_origin)i;
            return;
        }
    }
    fields_fail(f, "an unknown word in `from`");
}

/* What every row of its kind has. */
static void check_required(struct fields *f, const struct bundle_row *r)
{
    bool has_id = r->source.len > 0 && r->created_ms.known && r->sequence.known &&
                  r->destination.len > 0 && r->fragment_offset.known == r->adu_length.known;
    bool keyless =
        r->kind == BUNDLE_REFUSED || r->kind == BUNDLE_CONSUMED || r->kind == BUNDLE_REPORTED;
    if (r->now == TICK_NEVER || r->node.len == 0)
        fields_fail(f, "no time or no node");
    else if (!keyless && (!r->key.known || r->key.value == 0))
        fields_fail(f, "no key");
    else if (r->key.known && !has_id)
        fields_fail(f, "no bundle");
    else if (r->kind == BUNDLE_CARRIED && !(r->originator.known && r->session.known))
        fields_fail(f, "no session");
    else if ((r->kind == BUNDLE_ENDED || r->kind == BUNDLE_REFUSED) && r->reason.len == 0)
        fields_fail(f, "no reason");
}

const char *bundle_row_parse(const char *line, size_t len, struct bundle_row *out)
{
    struct fields f = {.p = line, .end = line + len};
    if (len > BUNDLE_LINE_MAX)
        return "a line longer than 4096 bytes";
    struct bundle_number now = read_number(&f, false);
    out->now = now.known ? now.value : TICK_NEVER;
    read_event(&f, out);
    out->node = read_text(&f, false);
    out->key = read_number(&f, false);
    out->source = read_text(&f, false);
    out->created_ms = read_number(&f, false);
    out->sequence = read_number(&f, false);
    out->fragment_offset = read_number(&f, false);
    out->adu_length = read_number(&f, false);
    out->destination = read_text(&f, false);
    out->bytes = read_number(&f, false);
    out->payload = read_number(&f, false);
    out->lifetime_ms = read_number(&f, false);
    read_from(&f, out);
    out->link = read_text(&f, false);
    out->peer = read_text(&f, false);
    out->registration = read_number(&f, false);
    out->originator = read_number(&f, false);
    out->session = read_number(&f, false);
    out->reason = read_text(&f, true);
    if (f.bad == NULL)
        check_required(&f, out);
    return f.bad;
}

bool bundle_row_is_header(const char *line, size_t len)
{
    return len + 1 == strlen(bundle_event_csv_header) &&
           memcmp(line, bundle_event_csv_header, len) == 0;
}
