/* SPDX-License-Identifier: Apache-2.0 */
/* Day-segmented times. A day has 86,400 s, and one more second when a leap second ends it: such a
 * time is read and kept, and as Unix time it is the first second of the next day. */
#include <assert.h>

#include "sle/pdu_private.h"

#define DAY_MS UINT32_C(86400000)
#define MS_PS UINT32_C(1000000000)
#define US_PS UINT32_C(1000000)

struct sle_time sle_time_of(uint64_t unix_ns)
{
    uint64_t ms = unix_ns / TICK_MS;
    return (struct sle_time){
        .day = (uint16_t)(SLE_TIME_UNIX_DAY + ms / DAY_MS),
        .ms = (uint32_t)(ms % DAY_MS),
        .ps = (uint32_t)(unix_ns % TICK_MS / 1000) * US_PS,
    };
}

uint64_t sle_time_unix(struct sle_time t)
{
    if (t.day < SLE_TIME_UNIX_DAY)
        return 0;
    uint64_t ms = (uint64_t)(t.day - SLE_TIME_UNIX_DAY) * DAY_MS + t.ms;
    return ms * TICK_MS + t.ps / 1000;
}

int sle_time_compare(struct sle_time a, struct sle_time b)
{
    if (a.day != b.day)
        return a.day < b.day ? -1 : 1;
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.ps == b.ps ? 0 : a.ps < b.ps ? -1 : 1;
}

static void put_be(uint8_t *out, uint32_t v, unsigned octets)
{
    for (unsigned i = 0; i < octets; i++)
        out[i] = (uint8_t)(v >> 8 * (octets - 1 - i));
}

static uint32_t get_be(const uint8_t *in, unsigned octets)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < octets; i++)
        v = v << 8 | in[i];
    return v;
}

size_t sle_time_put(struct sle_time t, uint8_t *out)
{
    assert(t.ps < MS_PS && t.ms < DAY_MS + 1000);
    put_be(out, t.day, 2);
    put_be(out + 2, t.ms, 4);
    put_be(out + 6, t.pico ? t.ps : t.ps / US_PS, t.pico ? 4 : 2);
    return t.pico ? TIME_PICO_OCTETS : TIME_OCTETS;
}

bool sle_time_get(struct slice in, struct sle_time *out)
{
    if (in.len != TIME_OCTETS && in.len != TIME_PICO_OCTETS)
        return false;
    struct sle_time t = {.day = (uint16_t)get_be(in.data, 2), .ms = get_be(in.data + 2, 4)};
    t.pico = in.len == TIME_PICO_OCTETS;
    t.ps = t.pico ? get_be(in.data + 6, 4) : get_be(in.data + 6, 2) * US_PS;
    if (t.ms >= DAY_MS + 1000 || t.ps >= MS_PS || (!t.pico && get_be(in.data + 6, 2) >= 1000))
        return false;
    *out = t;
    return true;
}
