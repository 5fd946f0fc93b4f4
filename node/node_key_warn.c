/* SPDX-License-Identifier: Apache-2.0 */
/* The warnings are computed when they are asked for, so that no state of theirs is wrong after a
 * reload. Who logs them remembers which threshold it has logged. */
#include "node/node_key_warn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bp/codec/security/security_key.h"

#define DAY_MS UINT64_C(86400000)
#define HOUR_MS UINT64_C(3600000)

static bool same_peers(const struct security_key *a, const struct security_key *b)
{
    bool same = a->peers.len == b->peers.len;
    for (size_t i = 0; same && i < a->peers.len; i++)
        same = eid_patterns_have(&b->peers, &a->peers.at[i]);
    return same;
}

static bool is_replaced(const struct security_ring *ring, const struct security_key *k)
{
    for (size_t i = 0; i < ring->len; i++) {
        const struct security_key *other = &ring->at[i];
        if (other != k && strcmp(other->id, k->id) == 0 &&
            security_algorithm_services(other->algorithm) ==
                security_algorithm_services(k->algorithm) &&
            other->from_ms <= k->until_ms && other->until_ms > k->until_ms && same_peers(other, k))
            return true;
    }
    return false;
}

static uint8_t time_level(const struct security_ring *ring, const struct security_key *k,
                          uint64_t now)
{
    if (k->until_ms == UINT64_MAX || now == 0 || is_replaced(ring, k))
        return 0;
    const uint64_t left = k->until_ms > now ? k->until_ms - now : 0;
    return left == 0 ? 3 : left <= DAY_MS ? 2 : left <= 14 * DAY_MS;
}

/* uses_max is 2^32 at most. */
static uint8_t uses_level(const struct security_key *k)
{
    if (k->uses >= k->uses_max)
        return 3;
    return k->uses * 100 >= k->uses_max * 95 ? 2 : k->uses * 100 >= k->uses_max * 80;
}

struct key_warning key_warning_of(const struct security_ring *ring, size_t i, uint64_t dtn_ms)
{
    const struct security_key *k = &ring->at[i];
    return (struct key_warning){.time = time_level(ring, k, dtn_ms), .uses = uses_level(k)};
}

static void write_time(const struct security_key *k, uint8_t level, uint64_t now, char *text,
                       size_t cap)
{
    const uint64_t left = level < 3 ? k->until_ms - now : now - k->until_ms;
    const uint64_t unit = left >= 2 * DAY_MS ? DAY_MS : HOUR_MS;
    const char *word = unit == DAY_MS ? "days" : "hours";
    if (level < 3)
        snprintf(text, cap, "it ends in %" PRIu64 " %s", left / unit, word);
    else
        snprintf(text, cap, "it ended %" PRIu64 " %s ago", left / unit, word);
}

bool key_warning_text(const struct security_ring *ring, size_t i, uint64_t dtn_ms,
                      char text[KEY_WARN_TEXT])
{
    const struct security_key *k = &ring->at[i];
    const struct key_warning w = key_warning_of(ring, i, dtn_ms);
    static const char *const uses[] = {"", "80 % of its uses are made", "95 % of its uses are made",
                                       "it is used up"};
    text[0] = '\0';
    if (w.time > 0)
        write_time(k, w.time, dtn_ms, text, KEY_WARN_TEXT);
    if (w.uses > 0) {
        const size_t len = strlen(text);
        snprintf(text + len, KEY_WARN_TEXT - len, "%s%s", len > 0 ? "; " : "", uses[w.uses]);
    }
    return text[0] != '\0';
}
