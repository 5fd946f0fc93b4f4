/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a modem, from any octets: the first octet says which check value they have, then each
 * frame is behind its length. */
#include <assert.h>

#include "tools/sle/station/sle_station.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 1)
        return 0;
    struct settings_source config = {
        .kind = SOURCE_TCP, .vc_counts = true, .fecf = 2 * (data[0] % 3u)};
    struct source x = {.config = &config};
    if (judge_open(&x) != 0)
        return 0;
    for (size_t at = 1; at < len; at += 1 + (size_t)data[at]) {
        const size_t n = data[at] < len - at - 1 ? data[at] : len - at - 1;
        if (n == 0)
            continue;
        x.frame = (struct sle_frame){.data = slice_of(data + at + 1, n)};
        judge_frame(&x);
        assert(x.frame.continuity >= 0 && x.frame.continuity <= CONTINUITY_MAX);
        assert(x.frame.quality <= SLE_UNDETERMINED);
    }
    judge_end(&x);
    return 0;
}
