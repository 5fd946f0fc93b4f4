/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one source brought leaves in its order, also when the source proves itself meanwhile and has
 * turns of its own from then on.
 */
#include "bp_agent_help.h"

#define COME 60   /* bundles */
#define BEFORE 20 /* of these, before the source proves itself */
#define ALONE 40  /* up to here they are of that source, but for: */
#define ODD 12    /* one of another source, as those behind */

static bool of_other(uint64_t sequence)
{
    return sequence > ALONE || sequence == ODD;
}

/* The id of the bundle that the application has next; it confirms the one before, if any. */
static uint64_t deliver_next(struct binder *n, struct agent_action *given)
{
    struct agent_action x;
    if (given->key != 0)
        agent_delivered(n->a, given->key, true, n->now);
    while (agent_poll(n->a, &x)) {
        n->len = 0;
        if (x.kind == AGENT_DELIVER)
            *given = x;
        do_action(n, &x);
    }
    return given->id.sequence;
}

static void bring(struct binder *n, uint64_t sequence)
{
    struct bundle b = peer_bundle(of_other(sequence) ? "ipn:8.4" : "ipn:7.4", "ipn:2.9", sequence);
    ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
}

/* Those of others that came before go first, too; with later ones it takes turns. */
START_TEST(who_proves_itself_stays_in_order)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_action given = {.key = 0};
    struct eid here = eid_of("ipn:2.9");
    uint64_t rank[2] = {0}, last[2] = {0};
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    for (uint64_t i = 1; i <= COME; i++) {
        bring(&n, i);
        if (i == 1 || i == BEFORE) /* the first one is confirmed: 7.4 has proved itself */
            ck_assert_uint_eq(deliver_next(&n, &given), i == 1 ? 1 : 2);
        skip(&n);
    }
    for (uint64_t i = 3; i <= COME; i++) {
        const uint64_t sequence = deliver_next(&n, &given);
        const bool other = of_other(sequence);
        ck_assert_uint_gt(sequence, last[other]);
        last[other] = sequence;
        rank[other] = i;
        ck_assert(i > BEFORE || sequence == i);
    }
    ck_assert(last[0] == ALONE && last[1] == COME);
    ck_assert(rank[0] >= COME - 4 && rank[1] >= COME - 4); /* as many each, in turns */
    binder_fini(&n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent order");
    TCase *t = tcase_create("all");
    tcase_add_test(t, who_proves_itself_stays_in_order);
    suite_add_tcase(s, t);
    return run_suite(s);
}
