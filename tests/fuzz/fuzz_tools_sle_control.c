/* SPDX-License-Identifier: Apache-2.0 */
/* A line for a provider's control socket. */
#include <assert.h>
#include <string.h>

#include "tools/sle/sle_control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct control_order o;
    char why[64] = "";
    if (!control_parse(slice_of(data, len), &o, why, sizeof why)) {
        assert(*why != '\0' && strlen(why) < sizeof why);
        return 0;
    }
    assert(*o.name != '\0' && o.what <= CONTROL_END && o.value <= SLE_LOCK_UNKNOWN);
    assert((strchr(o.name, '=') != NULL) ==
           (o.what == CONTROL_UPLINK || o.what == CONTROL_UPLINK_PRODUCTION));
    return 0;
}
