/* SPDX-License-Identifier: Apache-2.0 */
/* Octets of a modem's connection, read one unit behind the other: each that is read can be written
 * again, with the same octets. */
#include <assert.h>
#include <string.h>

#include "tools/sle/sle_modem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    enum { FRAME_MAX = 2048 };
    uint8_t front[MODEM_FRONT_MAX];
    struct modem_unit u;
    size_t used = 0;
    for (size_t at = 0; at < len; at += used) {
        const struct slice rest = slice_of(data + at, len - at);
        if (modem_read(rest, FRAME_MAX, &u, &used) != MODEM_OK)
            break;
        assert(used <= rest.len && used >= MODEM_HEAD && u.data.len <= FRAME_MAX);
        assert((u.data.len > 0) == (u.kind == MODEM_FRAME));
        const size_t n = modem_write(&u, front);
        assert(n + u.data.len == used && memcmp(front, rest.data, n) == 0);
    }
    return 0;
}
