/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of ingress and egress as an operator sees them: each with what it allowed and what its
 * limits refused, and what was refused in each direction, by reason. */
#include <jansson.h>

#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/node.h"
#include "os/process/users.h"

const char *control_permit_way(enum permit_way way)
{
    static const char *const words[PERMIT_WAYS] = {"in", "out", "application"};
    return words[way];
}

static void set_limit(json_t *o, const char *key, uint64_t v)
{
    if (v != 0)
        json_put_number(o, key, v);
}

static void set_user(json_t *o, uint64_t user)
{
    char text[USERS_TEXT_MAX] = "any";
    if (user != 0)
        users_text((unsigned)(user - 1), text);
    json_object_set_new(o, "user", json_string(text));
}

static json_t *describe_rule(enum permit_way way, const struct permit *p)
{
    json_t *o = json_object();
    json_put_number(o, "line", p->line);
    json_object_set_new(o, "way", json_string(control_permit_way(way)));
    if (way == PERMIT_APP)
        set_user(o, p->user);
    control_set_patterns(o, way == PERMIT_APP ? "at" : "peer", &p->party);
    if (way != PERMIT_APP)
        control_set_patterns(o, "from", &p->from);
    control_set_patterns(o, "to", &p->to);
    json_object_set_new(o, "priority", json_string(bundle_priority_word(p->priority)));
    set_limit(o, "size_max", p->size_max);
    set_limit(o, "rate", p->rate);
    set_limit(o, "burst", p->burst);
    set_limit(o, "data_rate", p->data_rate);
    set_limit(o, "data_burst", p->data_rate != 0 ? p->data_burst : 0);
    set_limit(o, "bundles", p->bundles_max);
    set_limit(o, "bytes", p->bytes_max);
    return o;
}

void control_rules(struct node *n, const struct json_t *in, struct json_t *out)
{
    json_t *rules = json_array(), *counters = json_object();
    (void)in;
    for (int w = 0; w < PERMIT_WAYS; w++) {
        const enum permit_way way = (enum permit_way)w;
        const struct permits *p = agent_permits(n->agent, way);
        const struct permit_counters *c = permits_counters(p);
        const struct permit *rule;
        uint64_t allowed, limited;
        for (size_t i = 0; (rule = permits_at(p, i, &allowed, &limited)) != NULL; i++) {
            json_t *o = describe_rule(way, rule);
            json_put_number(o, "allowed", allowed);
            json_put_number(o, "limited", limited);
            json_array_append_new(rules, o);
        }
        json_t *of = json_object();
        json_put_number(of, "allowed", c->allowed);
        for (int v = PERMIT_GOOD + 1; v < PERMIT_VERDICT_COUNT; v++)
            json_put_number(of, permit_verdict_word((enum permit_verdict)v), c->refused[v]);
        json_object_set_new(counters, control_permit_way(way), of);
    }
    json_object_set_new(out, "rules", rules);
    json_object_set_new(out, "counters", counters);
}
