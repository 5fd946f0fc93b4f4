/* SPDX-License-Identifier: Apache-2.0 */
/* The most reliable evidence comes first: a deletion, then a refusal, then the last node that
 * reported the bundle. Without any of these the hint is a question. */
#include "tools/perf/perf_hint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

bool perf_hint_report(struct perf_hint *h, const char *source, struct slice payload)
{
    struct status_report r;
    if (status_report_decode(payload.data, payload.len, &r) != 0)
        return false;
    for (int i = 0; i < STATUS_ITEMS; i++) {
        h->reports[i] += r.asserted[i];
        if (!r.asserted[i] || i == STATUS_DELETED)
            continue;
        snprintf(h->seen_by, sizeof h->seen_by, "%s", source);
        h->seen = (enum status_item)i;
    }
    if (r.asserted[STATUS_DELETED]) {
        snprintf(h->deleted_by, sizeof h->deleted_by, "%s", source);
        h->deleted_why = r.reason;
    }
    return true;
}

void perf_hint_refused(struct perf_hint *h, const char *why)
{
    h->refused++;
    snprintf(h->refusal, sizeof h->refusal, "%s", *why != '\0' ? why : "no reason given");
}

static bool is_node_of(const char *node, const char *destination)
{
    struct eid a, b;
    return eid_parse(node, &a) == 0 && eid_parse(destination, &b) == 0 && eid_same_node(&a, &b);
}

static void print_seen(const struct perf_hint *h, const char *destination, FILE *f)
{
    if (h->seen == STATUS_DELIVERED)
        fprintf(f, "%s delivered a bundle, but no answer arrived; does it have a route back?\n",
                h->seen_by);
    else if (h->seen == STATUS_RECEIVED && is_node_of(h->seen_by, destination))
        fprintf(f, "%s has a bundle for %s, and nobody takes it there: is a server registered?\n",
                h->seen_by, destination);
    else if (h->seen == STATUS_RECEIVED)
        fprintf(f, "%s received a bundle; nothing is known of it from then on\n", h->seen_by);
    else
        fprintf(f, "%s forwarded a bundle towards %s; nothing is known of it from then on\n",
                h->seen_by, destination);
}

void perf_hint_print(const struct perf_hint *h, const char *destination, FILE *f)
{
    assert(h->seen < STATUS_ITEMS);
    if (h->deleted_by[0] != '\0')
        fprintf(f, "%s deleted %" PRIu64 " bundle%s: %s\n", h->deleted_by,
                h->reports[STATUS_DELETED], h->reports[STATUS_DELETED] == 1 ? "" : "s",
                status_reason_text(h->deleted_why));
    else if (h->refused > 0)
        fprintf(f, "our own node refused bundles %" PRIu64 " time%s: %s\n", h->refused,
                h->refused == 1 ? "" : "s", h->refusal);
    else if (h->seen_by[0] != '\0')
        print_seen(h, destination, f);
    else
        fprintf(f,
                "no acknowledgement from %s: is a server registered there, and has its node a "
                "route back?\n",
                destination);
}

json_t *perf_hint_json(const struct perf_hint *h)
{
    return json_pack("{s:I,s:I,s:I,s:I}", "received", (json_int_t)h->reports[STATUS_RECEIVED],
                     "forwarded", (json_int_t)h->reports[STATUS_FORWARDED], "delivered",
                     (json_int_t)h->reports[STATUS_DELIVERED], "deleted",
                     (json_int_t)h->reports[STATUS_DELETED]);
}
