/* SPDX-License-Identifier: Apache-2.0 */
/* Status reports and refusals that a client receives for its bundles beside acknowledgements, and
 * the hint that they give a user whose bundles do not arrive. */
#ifndef TOOLS_PERF_HINT_H
#define TOOLS_PERF_HINT_H

#include <jansson.h>
#include <stdio.h>

#include "bp/codec/admin.h"

#define PERF_HINT_TEXT 384

struct perf_hint {
    uint64_t reports[STATUS_ITEMS]; /* status reports that we received */
    char deleted_by[EID_TEXT_MAX];  /* the last one that deleted a bundle; empty: none */
    uint64_t deleted_why;           /* its reason */
    char seen_by[EID_TEXT_MAX];     /* the last node that reported something else; empty: none */
    enum status_item seen;          /* and what */
    uint64_t refused;               /* times that our own node took a bundle not */
    char refusal[PERF_HINT_TEXT];   /* why, the last time */
};

/* A status report of node `source` about a bundle of ours. False: it is none. */
bool perf_hint_report(struct perf_hint *h, const char *source, struct slice payload);

void perf_hint_refused(struct perf_hint *h, const char *why);

/* Why nothing is known to have arrived at `destination`, as far as is known: a line for a person.
 */
void perf_hint_print(const struct perf_hint *h, const char *destination, FILE *f);

/* {received, forwarded, delivered, deleted} */
json_t *perf_hint_json(const struct perf_hint *h);

#endif
