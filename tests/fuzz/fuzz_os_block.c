/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a recording: heads, records and index entries of any octets stay in their bounds. */
#include <stdlib.h>

#include "os/log/recording_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct block_head h;
    struct block_index x;
    struct block_record e;
    if (size >= BLOCK_INDEX && block_index_parse(data, &x) && x.length > BLOCK_MAX)
        abort();
    if (size < BLOCK_HEAD || size > BLOCK_MAX)
        return 0;
    if (block_head_parse(data, &h) && h.length <= size)
        (void)block_intact(data, &h);
    size_t sum = 0;
    for (uint32_t at = BLOCK_HEAD; block_next(data, (uint32_t)size, &at, &e);) {
        sum += e.data.len + BLOCK_RECORD;
        if (e.data.data < data || e.data.data + e.data.len > data + size)
            abort();
    }
    if (sum > size)
        abort();
    return 0;
}
