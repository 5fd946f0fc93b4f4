/* SPDX-License-Identifier: Apache-2.0 */
/* Any configuration and any frames: the channel does what a second computation says. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/chan_oracle.h"

struct source {
    const uint8_t *data;
    size_t len;
};

/* After the end of the input all picks are 0. */
static uint64_t pick(struct source *s, uint64_t n)
{
    uint64_t v = 0;
    for (uint64_t room = n - 1; room > 0 && s->len > 0; room >>= 8, s->len--)
        v = v << 8 | *s->data++;
    return v % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct oracle o;
    struct source s = {data, size};
    size_t frames = size < 64 ? 16 : size / 4;
    const char *wrong = oracle_play(&o, &s, frames);
    if (wrong != NULL) {
        fprintf(stderr, "frame %zu: %s\n", o.frames, wrong);
        abort();
    }
    return 0;
}
