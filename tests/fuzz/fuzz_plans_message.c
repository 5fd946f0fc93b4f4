/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the plan service is refused with a reason, or is written again as the same octets;
 * both ends take each message, and their invariants hold. */
#include <assert.h>
#include <stdlib.h>

#include "plans/plans_follower.h"
#include "plans/plans_owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void assert_same(const struct plans_message *m, const uint8_t *data, size_t len)
{
    uint8_t head[PLANS_HEAD_MAX], state[PLANS_STATE_MAX];
    if (m->kind == PLANS_STATE) {
        const size_t n = plans_state_write(&m->state, state);
        assert(n == len && memcmp(state, data, n) == 0);
        return;
    }
    const size_t n = plans_message_head(&m->version, m->contents.len, head);
    assert(n + m->contents.len == len && memcmp(head, data, n) == 0);
    assert(m->contents.data + m->contents.len == data + len);
}

static void try_follower(const struct eid *owner, struct slice in)
{
    struct plans_follower f;
    struct plans_message m;
    struct plans_state s;
    const char *why;
    plans_follower_init(&f, owner, TICK_S, 0, 0);
    for (int i = 0; i < 2; i++)
        if (plans_follower_input(&f, owner, in, TICK_S, TICK_S, &m, &why) == PLANS_TAKEN)
            plans_follower_hold(&f, &m.version);
    (void)plans_follower_expire(&f, TICK_S, UINT64_MAX);
    (void)plans_follower_poll(&f, TICK_S, &s);
    assert(plans_follower_deadline(&f, TICK_S, 0, true) > 0 || f.in_force != 0);
    plans_follower_check(&f);
}

static void try_owner(const struct eid *follower, struct slice in)
{
    struct plans_owner o;
    struct plans_push p;
    const struct plans_version v = {.number = 2};
    const char *why;
    size_t peer;
    if (plans_owner_init(&o, follower, 1, false, TICK_S, TICK_S) != 0)
        return;
    (void)plans_owner_publish(&o, &v, TICK_S, TICK_S);
    for (int i = 0; i < 2; i++)
        (void)plans_owner_input(&o, follower, in, TICK_S, &peer, &why);
    while (plans_owner_poll(&o, TICK_S, TICK_S, &p))
        assert(p.peer == 0 && p.number == 2);
    plans_owner_check(&o);
    plans_owner_fini(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct eid eid = eid_ipn(0, 1, 70);
    struct plans_message m;
    const char *why;
    if (plans_message_parse(slice_of(data, len), &m, &why))
        assert_same(&m, data, len);
    else
        assert(why != NULL);
    try_follower(&eid, slice_of(data, len));
    try_owner(&eid, slice_of(data, len));
    return 0;
}
