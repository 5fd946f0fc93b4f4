/* SPDX-License-Identifier: Apache-2.0 */
/* Any frame: it is cut into parts that hold together its payload, or refused; looking for a
 * checksum that was left out reads nothing beyond it. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_cut.h"
#include "channel-emu/emu/emu_ether.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t part[EMU_CUT_MAX];
    struct emu_cut c;
    if (size < 2 || size > EMU_CUT_MAX)
        return 0;
    size_t segment = (size_t)data[0] << 8 | data[1], sum = 0, n;
    data += 2;
    size -= 2;
    (void)emu_ether_sum_missing(data, size);
    if (!emu_cut_begin(&c, data, size, segment))
        return 0;
    while ((n = emu_cut_next(&c, part)) > 0) {
        require(n >= c.payload && n - c.payload <= segment && n <= size);
        require(memcmp(part + c.payload, data + c.payload + sum, n - c.payload) == 0);
        sum += n - c.payload;
    }
    require(sum == c.end - c.payload);
    return 0;
}
