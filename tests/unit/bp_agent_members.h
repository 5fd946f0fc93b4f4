/* SPDX-License-Identifier: Apache-2.0 */
/* Links to members of a group, and shared endpoints, for tests of bundles with several routes. */
#ifndef BP_AGENT_MEMBERS_H
#define BP_AGENT_MEMBERS_H

#include "bp_agent_help.h"

static inline void add_route(struct binder *n, const char *pattern, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

static inline void add_link(struct binder *n, uint32_t link, const char *peer)
{
    struct eid e = eid_of(peer);
    ck_assert_int_eq(agent_link_add(n->a, link, &e, 2), 0);
    agent_link(n->a, link, true, n->now);
}

/* Links 0, 1, 2 to nodes 1, 3, 4, members of group 5. */
static inline void add_members(struct binder *n)
{
    static const char *const peers[] = {"ipn:1.0", "ipn:3.0", "ipn:4.0"};
    for (uint32_t i = 0; i < 3; i++) {
        struct eid e = eid_of(peers[i]);
        ck_assert_int_eq(agent_link_add(n->a, i, &e, 2), 0);
        add_route(n, "imc:5.*", i);
    }
    for (uint32_t i = 0; i < 3; i++)
        agent_link(n->a, i, true, n->now);
}

static inline void start(struct binder *n)
{
    struct agent_config c = config_of("ipn:2.0");
    binder_init(n, &c);
    add_members(n);
}

static inline void send_to(struct binder *n, const char *to, uint64_t token)
{
    struct agent_request q = request_of("ipn:2.7", to, token);
    ck_assert_int_eq(app_send(n, &q, "x"), REFUSE_NONE);
}

static inline void share(struct binder *n, const char *pattern, enum agent_sharing how)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_share_endpoints(n->a, &p, how), 0);
}

static inline int reg(struct binder *n, uint64_t number, const char *endpoint, uint32_t window)
{
    struct eid e = eid_of(endpoint);
    return agent_register(n->a, number, &e, window, n->now);
}

#endif
