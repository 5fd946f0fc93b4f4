/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads that say which they are, so that losses and errors behind a link can be counted. */
#include <assert.h>

#include "frames/pn.h"
#include "tools/frames/helio_frames.h"

enum { NUMBER = 8 };

static uint8_t expected_octet(uint64_t n, size_t i)
{
    uint64_t octet = i < NUMBER ? n >> (8 * (NUMBER - 1 - i)) : n + i;
    return (uint8_t)(octet & 0xff);
}

void frames_numbered_fill(uint64_t n, bool prbs, uint8_t *out, size_t len)
{
    assert(len >= NUMBER);
    for (size_t i = 0; i < (prbs ? NUMBER : len); i++)
        out[i] = expected_octet(n, i);
    if (prbs)
        pn_fill(PN_TM, out + NUMBER, len - NUMBER);
}

static bool is_whole(uint64_t n, bool prbs, struct slice payload)
{
    static const uint8_t zeros[256];
    uint8_t got[256];
    size_t start = prbs ? NUMBER : payload.len;
    for (size_t i = 0; i < start; i++)
        if (payload.data[i] != expected_octet(n, i))
            return false;
    /* The sequence repeats after 255 octets. */
    for (size_t at = start; at < payload.len; at += 255) {
        size_t len = payload.len - at < 255 ? payload.len - at : 255;
        pn_apply(PN_TM, payload.data + at, got, len);
        if (memcmp(got, zeros, len) != 0)
            return false;
    }
    return true;
}

void numbered_check(struct numbered *c, bool prbs, struct slice payload)
{
    uint64_t n = 0;
    c->packets++;
    for (size_t i = 0; i < NUMBER && payload.len >= NUMBER; i++)
        n = n << 8 | payload.data[i];
    if (payload.len < NUMBER || !is_whole(n, prbs, payload)) {
        c->damaged++;
        return;
    }
    c->missing += n > c->next ? n - c->next : 0;
    c->next = n + 1;
}
