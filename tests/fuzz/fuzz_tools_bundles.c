/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as rows of bundle logs: what is accepted has what its kind must have, and lies in the
 * line; the lives that it makes add up. */
#include <stdlib.h>
#include <string.h>

#include "tools/analyze/bundles/lives.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
    if (!true_always)
        abort();
}

static void check_text(struct bundle_text t, const char *line, size_t len)
{
    must(t.at >= line && t.at + t.len <= line + len);
}

static void check_row(const struct bundle_row *r, const char *line, size_t len)
{
    must(r->kind < BUNDLE_EVENT_COUNT && r->from <= BUNDLE_FROM_LINK && r->now != TICK_NEVER);
    check_text(r->node, line, len);
    check_text(r->source, line, len);
    check_text(r->destination, line, len);
    check_text(r->link, line, len);
    check_text(r->peer, line, len);
    check_text(r->reason, line, len);
    must(!r->key.known || (r->source.len > 0 && r->sequence.known));
}

static void check_stay(const struct stay *s)
{
    tick sum = 0;
    for (int i = 0; i < LIFE_PARTS; i++)
        sum += s->spent[i];
    must(!stay_is_known(s) || sum == s->ended - s->begun);
    must(s->next == NULL || (s->next->begun >= s->sent && s->next->node == s->peer_out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_columns columns = bundle_columns_all(), named;
    struct lives l;
    struct bundle_row row;
    if (lives_init(&l) != 0)
        return 0;
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        const char *line = (const char *)data;
        if (bundle_row_is_header(line, n) && bundle_columns_parse(line, n, &named) == NULL)
            columns = named;
        else if (bundle_row_parse(&columns, line, n, &row) == NULL) {
            check_row(&row, line, n);
            must(lives_row(&l, &row) == 0);
        }
        n += end != NULL;
        data += n;
        size -= n;
    }
    lives_end(&l);
    for (size_t i = 0; i < l.len; i++)
        check_stay(l.stays[i]);
    lives_fini(&l);
    return 0;
}
