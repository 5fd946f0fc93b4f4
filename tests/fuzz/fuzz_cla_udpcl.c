/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a datagram holds has a verdict, and what is a bundle by it ends where the datagram does.
 */
#include <assert.h>

#include "bp/codec/bundle.h"
#include "cla/udp/udpcl_verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bundle b;
    enum udpcl_verdict v = udpcl_judge(slice_of(data, len));
    assert(v < UDPCL_VERDICT_COUNT && udpcl_verdict_name(v)[0] != '\0');
    assert(v != UDPCL_KEEPALIVE || len == 4);
    if (bundle_decode(data, len, BUNDLE_LENIENT, &b, NULL) == 0)
        assert(v == UDPCL_BUNDLE);
    return 0;
}
