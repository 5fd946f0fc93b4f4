/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/csts/csts_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *csts_time_text(struct sle_time t, char out[CSTS_TIME_TEXT])
{
    struct tm utc;
    const uint64_t ns = sle_time_unix(t);
    const time_t seconds = (time_t)(ns / TICK_S);
    char text[32];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out, CSTS_TIME_TEXT, "%s.%06" PRIu64 "Z", text, ns % TICK_S / 1000);
    return out;
}

const char *csts_refusal_text(const struct csts_diagnostic *d, char *out, size_t cap)
{
    static const char *const lists[] = {"unknown functional resource",
                                        "unknown functional resource type",
                                        "unknown parameter or event",
                                        "unknown list",
                                        "there is no default list",
                                        "unknown procedure type",
                                        "unknown procedure"};
    struct csts_refusal r;
    snprintf(out, cap, "refused");
    if (d->kind == CSTS_DIAGNOSTIC_EXTENSION && csts_refusal_read(&d->pdv, &r))
        snprintf(out, cap, "%.*s", r.kind == CSTS_REFUSED_LIST ? 100 : (int)r.text.len,
                 r.kind == CSTS_REFUSED_LIST ? lists[r.list.kind] : (const char *)r.text.data);
    else if (d->kind != CSTS_DIAGNOSTIC_EXTENSION && d->text.len > 0)
        snprintf(out, cap, "%.*s", (int)d->text.len, (const char *)d->text.data);
    return out;
}
