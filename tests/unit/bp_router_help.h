/* SPDX-License-Identifier: Apache-2.0 */
/* A router that the test plays: it gives the answer that the test wrote, and its notes stand in the
 * same trace as the agent's actions. */
#ifndef BP_ROUTER_HELP_H
#define BP_ROUTER_HELP_H

#include "bp_agent_help.h"

#define T0 TICK_S /* the clock when a test begins */

struct oracle {
    struct binder *n;
    struct router_answer answer; /* to everything, until the test changes it */
    struct router_query last;    /* without its pointers */
    struct eid destination;
    struct router_link link[2]; /* as the last query showed them */
    unsigned asked;
    bool names; /* each answer with a link gets a booking of its own, unless there is one */
    uint64_t bookings;
    tick deadline;
    bool news; /* what expire and changed return */
    int changes;
};

static inline struct router_answer ask_oracle(void *router, const struct router_query *q)
{
    struct oracle *o = router;
    o->asked++;
    o->last = *q;
    o->destination = *q->destination;
    for (uint32_t i = 0; i < 2; i++)
        o->link[i] = q->links->at(q->links->context, i);
    ck_assert(!q->links->at(q->links->context, 2).used);
    ck_assert(!q->links->at(q->links->context, 1000000).used);
    struct router_answer answer = o->answer;
    if (o->names && answer.verdict == ROUTER_LINK)
        answer.booking = q->booking != 0 ? q->booking : ++o->bookings;
    return answer;
}

static inline void note_oracle(void *router, const struct router_note *n)
{
    static const char *const words[] = {"placed", "taken back", "sent", "failed"};
    struct oracle *o = router;
    char line[128];
    snprintf(line, sizeof line, "%s: booking %llu, bundle %llu, %llu bytes, link %u",
             words[n->kind], (unsigned long long)n->booking, (unsigned long long)n->key,
             (unsigned long long)(n->bytes > 0), n->link);
    ck_assert_uint_eq(n->now, o->n->now.now);
    note(o->n, line);
}

static inline bool changed_oracle(void *router, uint32_t link, const struct router_link *state,
                                  tick now)
{
    struct oracle *o = router;
    o->changes += link == 1 && state->used && state->up && now == o->n->now.now;
    return o->news;
}

static inline tick deadline_oracle(const void *router)
{
    return ((const struct oracle *)router)->deadline;
}

static inline bool expire_oracle(void *router, tick now)
{
    struct oracle *o = router;
    ck_assert_uint_le(o->deadline, now);
    o->deadline = TICK_NEVER;
    return o->news;
}

static const struct router_ops plain = {.ask = ask_oracle,
                                        .changed = changed_oracle,
                                        .deadline = deadline_oracle,
                                        .expire = expire_oracle};
static const struct router_ops booking = {.ask = ask_oracle,
                                          .note = note_oracle,
                                          .changed = changed_oracle,
                                          .deadline = deadline_oracle,
                                          .expire = expire_oracle};

static inline struct router_answer to_link(uint32_t link)
{
    return (struct router_answer){.verdict = ROUTER_LINK, .link = link};
}

static inline struct router_answer wait_until(tick until)
{
    return (struct router_answer){.verdict = ROUTER_WAIT, .until = until};
}

/* A node with two links that are up (0 from ipn:1, 1 to ipn:3), and no routes. */
static inline void start(struct binder *n, struct oracle *o, const struct router_ops *ops,
                         const struct agent_config *c)
{
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0");
    binder_init(n, c);
    *o = (struct oracle){.n = n, .answer = to_link(1), .deadline = TICK_NEVER};
    ck_assert_int_eq(agent_link_add(n->a, 0, &one, 2), 0);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 2), 0);
    const struct router router = {.ops = ops, .state = o};
    agent_router(n->a, &router);
    agent_link(n->a, 0, true, n->now);
    agent_link(n->a, 1, true, n->now);
}

static inline void app(struct binder *n, const char *to)
{
    struct agent_request q = request_of("ipn:2.7", to, 5);
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

#endif
