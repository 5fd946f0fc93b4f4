/* SPDX-License-Identifier: Apache-2.0 */
/* One table per configuration, but that of a span is ltp/options.h; the units are those of
 * base/units.h. */
#include "tests/sim/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "channel-emu/chan/chan.h"
#include "ltp/options.h"

#define ENGINE(field) offsetof(struct ltp_config, field)
const struct option_key options_engine[] = {{"seed", COUNT, ENGINE(seed)},
                                            {"imports_all", COUNT32, ENGINE(import_sessions)},
                                            {"held", SIZE, ENGINE(held_bytes)},
                                            {"closed", COUNT32, ENGINE(closed_memory)},
                                            {"closed_time", TIME, ENGINE(closed_time)},
                                            {0}};

#define SPAN(field) offsetof(struct ltp_span, field)
static const struct option_key span_only[] = {{"confirm", FLAG, SPAN(confirm_import)},
                                              {"orange_deaf", FLAG, SPAN(orange_deaf)},
                                              {"sessions_auto", FLAG, SPAN(recovery.sessions_auto)},
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

int options_span(struct ltp_span *span, const char *key, const char *value)
{
    const struct ltp_option *o = ltp_option_find(key);
    if (o == NULL)
        return options_set(span_only, span, key, value);
    return ltp_option_set(o, span, value) == 0 ? 1 : -1;
}
