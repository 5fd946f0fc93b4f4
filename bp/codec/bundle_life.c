/* SPDX-License-Identifier: Apache-2.0 */
/* How old a bundle is, by all that is known (RFC 9171 §4.2.6, §5.5). */
#include "bp/codec/bundle.h"

/* It is as old as its age block says, at least; and, where both clocks exist, as the time since its
 * creation. So a bundle whose creation lies in the future of this clock stays for its lifetime and
 * not longer. */
uint64_t bundle_life_left(const struct bundle *b, uint64_t dtn_ms)
{
    if (b->lifetime_ms == UINT64_MAX)
        return UINT64_MAX;
    uint64_t age = b->has_age ? b->age_ms : 0;
    if (b->id.time_ms != 0 && dtn_ms > b->id.time_ms && dtn_ms - b->id.time_ms > age)
        age = dtn_ms - b->id.time_ms;
    return age < b->lifetime_ms ? b->lifetime_ms - age : 0;
}
