/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many export sessions a peer may have. By itself the limit grows when it was what left the
 * link idle: all permitted sessions are open and none has anything to send. It shrinks by age, so
 * that one bad hour does not hold memory for ever; only when a session closes, so that who has just
 * been told of room finds it. Blocks may get longer, so the bytes that are open are looked at
 * besides. Nothing can fail.
 */
#include "ltp/engine.h"

#include <assert.h>

#define LIMIT_LEAST 2

uint32_t ltp_limit(const struct peer *p)
{
    uint32_t most = p->span.export_sessions;
    if (!p->span.recovery.sessions_auto)
        return most;
    uint32_t limit = p->limit < LIMIT_LEAST ? LIMIT_LEAST : p->limit;
    assert(most > 0);
    return limit < most ? limit : most;
}

bool ltp_limit_reached(const struct peer *p)
{
    const struct ltp_recovery *k = &p->span.recovery;
    bool full =
        k->sessions_auto && p->exports >= LIMIT_LEAST && p->export_bytes >= k->sessions_bytes;
    return full || p->exports >= ltp_limit(p);
}

void ltp_limit_opened(struct peer *p, uint64_t bytes)
{
    p->export_bytes += bytes;
}

void ltp_limit_closed(struct peer *p, uint64_t bytes, tick now)
{
    assert(p->export_bytes >= bytes);
    p->export_bytes -= bytes;
    const struct ltp_recovery *k = &p->span.recovery;
    if (!k->sessions_auto || p->limit <= LIMIT_LEAST || now - p->limit_short < k->sessions_age)
        return;
    p->limit--;
    p->limit_short = now;
}

void ltp_limit_idle(struct peer *p, tick now)
{
    const struct ltp_recovery *k = &p->span.recovery;
    uint32_t limit = ltp_limit(p);
    if (!k->sessions_auto || p->exports < limit)
        return;
    p->limit_short = now;
    assert(p->exports > 0);
    uint64_t one_more = p->export_bytes + p->export_bytes / p->exports;
    if (limit < p->span.export_sessions && one_more <= k->sessions_bytes)
        p->limit = limit + 1;
}
