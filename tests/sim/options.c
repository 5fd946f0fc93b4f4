/* SPDX-License-Identifier: Apache-2.0 */
/* One table per configuration; the units are those of base/units.h. */
#include "tests/sim/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "channel-emu/chan/chan.h"
#include "ltp/ltp.h"

#define ENGINE(field) offsetof(struct ltp_config, field)
const struct option_key options_engine[] = {{"seed", COUNT, ENGINE(seed)},
                                            {"imports_all", COUNT32, ENGINE(import_sessions)},
                                            {"held", SIZE, ENGINE(held_bytes)},
                                            {"closed", COUNT32, ENGINE(closed_memory)},
                                            {"closed_time", TIME, ENGINE(closed_time)},
                                            {0}};

#define SPAN(field) offsetof(struct ltp_span, field)
const struct option_key options_span[] = {
    {"segment", COUNT32, SPAN(segment_max)},
    {"checkpoint_extra", COUNT32, SPAN(checkpoint_extra)},
    {"exports", COUNT32, SPAN(export_sessions)},
    {"imports", COUNT32, SPAN(import_sessions)},
    {"block", SIZE, SPAN(block_max)},
    {"ranges", COUNT32, SPAN(ranges_max)},
    {"claims", COUNT32, SPAN(claims_max)},
    {"rto", TIME, SPAN(rto)},
    {"retries", COUNT32, SPAN(retries_max)},
    {"report_delay", TIME, SPAN(report_delay)},
    {"report_defer", TIME, SPAN(report_defer)},
    {"cycles", COUNT32, SPAN(cycles_max)},
    {"idle", TIME, SPAN(idle_timeout)},
    {"confirm", FLAG, SPAN(confirm_import)},
    {"orange_wait", TIME, SPAN(orange_wait)},
    {"orange_answer", TIME, SPAN(orange_answer)},
    {"orange_deaf", FLAG, SPAN(orange_deaf)},
    {"rto_auto", FLAG, SPAN(recovery.rto_auto)},
    {"rto_min", TIME, SPAN(recovery.rto_min)},
    {"rto_max", TIME, SPAN(recovery.rto_max)},
    {"closing", COUNT32, SPAN(recovery.closing_bytes)},
    {"copies", COUNT32, SPAN(recovery.copies)},
    {"report_copies", COUNT32, SPAN(recovery.report_copies)},
    {"copy_spacing", TIME, SPAN(recovery.copy_spacing)},
    {"checkpoint_segments", COUNT32, SPAN(recovery.checkpoint_segments)},
    {"checkpoint_time", TIME, SPAN(recovery.checkpoint_time)},
    {"resend_wait", TIME, SPAN(recovery.resend_wait)},
    {"merge_claims", FLAG, SPAN(recovery.merge_claims)},
    {"oldest_first", FLAG, SPAN(recovery.oldest_first)},
    {"sessions_auto", FLAG, SPAN(recovery.sessions_auto)},
    {"sessions_bytes", SIZE, SPAN(recovery.sessions_bytes)},
    {"sessions_age", TIME, SPAN(recovery.sessions_age)},
    {0}};

#define LINE(field) offsetof(struct chan_config, field)
const struct option_key options_line[] = {{"rate", RATE, LINE(rate_bps)},
                                          {"overhead", COUNT32, LINE(overhead)},
                                          {"delay", TIME, LINE(delay)},
                                          {"jitter", TIME, LINE(jitter)},
                                          {"loss", SHARE, LINE(loss)},
                                          {"duplicate", SHARE, LINE(duplicate)},
                                          {"corrupt", SHARE, LINE(corrupt)},
                                          {"line_seed", COUNT, LINE(seed)},
                                          {0}};

static int store(const struct option_key *k, void *at, const char *value)
{
    uint64_t number = 0;
    char *end;
    int rc = 0;
    switch (k->kind) {
    case TIME:
        return units_duration(value, at);
    case RATE:
        return units_rate(value, at);
    case SIZE:
        return units_size(value, at);
    case COUNT:
        return units_count(value, UINT64_MAX, at);
    case COUNT32:
        rc = units_count(value, UINT32_MAX, &number);
        if (rc == 0)
            *(uint32_t *)at = (uint32_t)number;
        return rc;
    case FLAG:
        *(bool *)at = strcmp(value, "yes") == 0;
        return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 ? 0 : HELIO_EFORMAT;
    case SHARE:
        *(double *)at = strtod(value, &end);
        return *end == '\0' && end != value ? 0 : HELIO_EFORMAT;
    }
    return HELIO_EINVAL;
}

int options_set(const struct option_key *keys, void *config, const char *key, const char *value)
{
    for (const struct option_key *k = keys; k->name != NULL; k++) {
        if (strcmp(k->name, key) == 0)
            return store(k, (char *)config + k->at, value) == 0 ? 1 : -1;
    }
    return 0;
}
