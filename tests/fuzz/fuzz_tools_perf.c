/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a payload that helio-perf receives. */
#include <stdlib.h>

#include "tools/perf/perf_request.h"
#include "tools/perf/perf_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf_head h;
    struct perf_report r;
    struct slice body;
    char name[PERF_NAME_MAX + 1];
    if (perf_parse(slice_of(data, size), &h, &body) == PERF_FOREIGN)
        return 0;
    if (body.data + body.len != data + size || h.name.len > PERF_NAME_MAX)
        abort();
    perf_safe_name(h.name, name);
    for (const char *p = name; *p != '\0'; p++)
        if (*p == '/')
            abort();
    (void)perf_parse_report(body, &r);
    struct perf_options o = {0}, again = {0};
    uint8_t out[PERF_REQUEST_LEN];
    if (perf_request_parse(body, &o)) { /* what is taken can be written, and means the same */
        perf_request_write(&o, out);
        if (!perf_request_parse(slice_of(out, sizeof out), &again) || again.time != o.time ||
            again.data != o.data || again.payload != o.payload || again.window != o.window)
            abort();
    }
    return 0;
}
