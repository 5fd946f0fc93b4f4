/* SPDX-License-Identifier: Apache-2.0 */
/* A status report that can be read can be written and read again. */
#include <stdlib.h>

#include "bp/codec/admin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct status_report r, again;
    uint8_t out[512];
    if (status_report_decode(data, size, &r) != 0)
        return 0;
    int len = status_report_encode(&r, out, sizeof out);
    if (len < 0 || status_report_decode(out, (size_t)len, &again) != 0 ||
        again.reason != r.reason || !eid_equal(&again.subject.source, &r.subject.source))
        abort();
    return 0;
}
