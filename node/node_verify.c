/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bundle is measured and charged like one that a link receives as a whole. What can go wrong:
 * its link was removed, and no other one leads to its peer. Then no link is charged; the pause
 * after it remains.
 */
#include "node/node_verify.h"

#include "base/turn_size.h"
#include "node/node_hold.h"

#define VERIFY_ABSENT TICK_S /* until a bundle with an absent token is tried again */

static tick count_fair(const struct agent_verified *v)
{
    const tick whole = HOLD_BUNDLE_TIME + v->bytes * HOLD_BYTE_TIME;
    return v->passed ? whole + HOLD_SECURED_TIME + v->bytes * HOLD_SECURED_BYTE_TIME : whole;
}

static void charge_time(struct node *n, const struct agent_verified *v, tick took, tick now)
{
    struct node_link *l = v->link < 0 ? NULL : n->links[v->link];
    const tick fair = count_fair(v);
    if (l != NULL && l->cla != NULL)
        node_hold_charge(l, took, fair, now);
    if (took > fair)
        n->verify_rests = tick_add(now, tick_min(REST_SHARED * (took - fair), REST_MAX));
}

bool node_verify_next(struct node *n, tick *spent)
{
    struct agent_verified v;
    const tick now = world_now(n->world);
    n->verify_at = tick_max(now, n->verify_rests);
    if (n->verify_rests > now || *spent > TURN_TIME)
        return false;
    took_begin(&n->took, n->world, now);
    if (!agent_verify(n->agent, node_now(n), &v)) {
        n->verify_at = TICK_NEVER;
        return false;
    }
    const tick end = world_now(n->world);
    *spent += end - now;
    if (v.absent) { /* the others wait with it: the same key is likely theirs */
        n->verify_at = n->verify_rests = tick_add(end, VERIFY_ABSENT);
        return false;
    }
    charge_time(n, &v, took_end(&n->took, n->world, now, end), end);
    return true;
}
