/* SPDX-License-Identifier: Apache-2.0 */
#include "bp/agent/agent_service.h"

#define EPOCH TICK_S

void service_init(struct service *s, tick now)
{
    *s = (struct service){.shortest = TICK_NEVER, .since = now};
}

void service_begin(struct service *s, uint64_t key, tick now)
{
    if (s->timed != 0)
        return;
    s->timed = key;
    s->given = now;
}

static void take_rate(struct service *s, tick now)
{
    const double took = (double)(now - s->since);
    const double rate = (double)s->done * (double)TICK_S / took;
    const uint64_t kept = s->rate - s->rate / 8;
    const double most = (double)(UINT64_C(1) << 50);
    s->rate = rate < (double)kept ? kept : rate < most ? (uint64_t)rate : UINT64_C(1) << 50;
    s->done = 0;
    s->since = now;
}

void service_end(struct service *s, uint64_t key, uint64_t bytes, tick now)
{
    if (s->timed == key) {
        const tick took = now - s->given + 1;
        s->shortest = took < s->shortest ? took : s->shortest;
        s->timed = 0;
    }
    s->done += bytes;
    if (now - s->since >= EPOCH)
        take_rate(s, now);
}

void service_forget(struct service *s, uint64_t key)
{
    if (s->timed == key)
        s->timed = 0;
}

uint64_t service_octets(const struct service *s)
{
    if (s->shortest == TICK_NEVER || s->rate == 0)
        return 0;
    const double octets = 2 * (double)s->rate * (double)s->shortest / (double)TICK_S;
    const double most = (double)(UINT64_C(1) << 60);
    const uint64_t known = octets < most ? (uint64_t)octets : UINT64_C(1) << 60;
    return known < SERVICE_LEAST ? SERVICE_LEAST : known;
}
