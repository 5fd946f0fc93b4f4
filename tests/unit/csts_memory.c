/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of an association fails once, at either end: BIND, a query, reports, an event,
 * a refusal, STOP and UNBIND. Whatever it was: nothing crashes or leaks, and the engines' own
 * checks hold after each step.
 */
#include "tests/unit/csts_pair.h"
#include "tests/unit/failing_memory.h"

static const struct csts_list all = {.kind = CSTS_LIST_DEFAULT};
static const struct csts_list none = {.kind = CSTS_LIST_NAMED, .text = {(const uint8_t *)"x", 1}};

static void use_link(struct pair *p, struct csts_link *l)
{
    const struct csts_list events = {.kind = CSTS_LIST_RESOURCE_TYPE, .oid = oid_of(RESOURCE)};
    (void)csts_get(l, &all, p->now);
    (void)csts_get(l, &none, p->now);
    pump(p);
    (void)csts_start_report(l, 0, 200, true, &all, p->now);
    (void)csts_start_events(l, 1, &events, p->now);
    pump(p);
    (void)csts_event_raise(p->service, 0, slice_of(NULL, 0), p->now);
    run_until(p, p->now + TICK_S);
    if (csts_link_state(l) != CSTS_BOUND)
        return;
    (void)csts_stop_report(l, 0, p->now);
    pump(p);
    (void)csts_unbind(l, p->now);
    pump(p);
}

/* True: memory failed. */
static bool run_session(long countdown)
{
    struct csts_user_config c = {.responder = "STATION", .port = "MD", .id = instance_of(1)};
    struct pair p = new_pair(SLE_AUTH_ALL);
    memory.failed = 0;
    memory.countdown = countdown;
    p.user.link = csts_connect(p.user.csts, &c, p.now);
    p.provider.link = p.user.link == NULL ? NULL : csts_accept(p.provider.csts, p.now);
    pump(&p);
    if (p.provider.link != NULL)
        use_link(&p, p.user.link);
    run_until(&p, p.now + 400 * TICK_S); /* what hangs ends by its time */
    memory.countdown = -1;
    ck_assert_msg(countdown >= 0 || p.user.last.end == SLE_END_UNBOUND, "%s",
                  csts_abort_text(p.user.last.abort));
    free_pair(&p);
    return memory.failed > 0;
}

START_TEST(each_allocation)
{
    long n = 0;
    (void)run_session(-1);
    while (run_session(n))
        n++;
    ck_assert_int_gt(n, 30);
}
END_TEST

SUITE(csts_memory, t)
{
    tcase_add_test(t, each_allocation);
}
