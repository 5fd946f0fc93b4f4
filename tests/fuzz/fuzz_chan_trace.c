/* SPDX-License-Identifier: Apache-2.0 */
/* Any text either is a trace whose runs add up, or an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/chan/chan_text.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace t;
    struct trace_text p;
    int rc = 0;
    trace_init(&t, TRACE_STEP_DEFAULT);
    trace_text_init(&p, &t);
    while (size > 0 && rc == 0) {
        const uint8_t *feed = memchr(data, '\n', size);
        size_t len = feed == NULL ? size : (size_t)(feed - data);
        rc = trace_text_line(&p, (const char *)data, len);
        data += feed == NULL ? len : len + 1;
        size -= feed == NULL ? len : len + 1;
    }
    if (rc == 0)
        rc = trace_text_end(&p);
    must(rc == 0 || p.error[0] != '\0');
    uint64_t sum = 0;
    for (size_t i = 0; i < t.len; i++) {
        must(t.runs[i].steps > 0 && (i == 0 || t.runs[i].bad != t.runs[i - 1].bad));
        sum += t.runs[i].steps;
    }
    must(sum == t.steps && t.step > 0 && sum <= UINT64_MAX / t.step);
    if (rc == 0) {
        struct trace_clock c;
        trace_clock_init(&c, &t, 1000, 7);
        trace_clock_bad(&c, 5000, 900000);
    }
    trace_fini(&t);
    return 0;
}
