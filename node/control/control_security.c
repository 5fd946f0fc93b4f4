/* SPDX-License-Identifier: Apache-2.0 */
/* Bundle security as an operator sees it: counters by reason, rules, keys without their secrets,
 * and the last failures. */
#include <jansson.h>
#include <stdio.h>

#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/node_security.h"
#include "node/node_values.h"
#include "os/crypto/token_keys.h"

void control_security_counters(const struct node *n, const struct node_sample *sample,
                               struct json_t *out)
{
    if (n->security == NULL)
        return;
    json_t *o = json_object(), *failed = json_object();
    for (int r = 0; r < SECURITY_REASON_COUNT; r++)
        json_put_number(failed, security_reason_word((enum security_reason)r),
                        sample->security->failed[r]);
    node_values_put(sample, IN_SECURITY, o);
    json_object_set_new(o, "failed", failed);
    json_object_set_new(out, "security", o);
}

/* "ipn:1.*|ipn:7.*" */
void control_set_patterns(struct json_t *o, const char *key, const struct eid_patterns *p)
{
    char text[EID_PATTERNS_MAX * (EID_TEXT_MAX + 1) + 2] = "*";
    size_t used = 0;
    for (size_t i = 0; i < p->len; i++) {
        if (i > 0)
            text[used++] = '|';
        used += eid_pattern_text(&p->at[i], text + used);
    }
    json_put_text(o, key, text);
}

static void set_target(json_t *o, uint64_t target)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)target);
    json_put_text(o, "target", target == 0 ? "primary" : target == 1 ? "payload" : text);
}

static json_t *list_rules(const struct security_policy *p)
{
    static const char *const roles[] = {"source", "verifier", "acceptor"};
    static const char *const contexts[2][2] = {{"bib-hmac-sha2", "bcb-aes-gcm"},
                                               {"bib-cose", "bcb-cose"}};
    struct security_rule r;
    uint64_t good, failed;
    json_t *list = json_array();
    for (size_t i = 0; security_policy_rule(p, i, &r, &good, &failed); i++) {
        json_t *o = json_object();
        json_put_number(o, "line", r.line);
        json_put_text(o, "role", roles[r.role]);
        control_set_patterns(o, "from", &r.from);
        control_set_patterns(o, "to", &r.to);
        set_target(o, r.target);
        json_put_text(o, "context", contexts[r.cose][r.type == SECURITY_BCB]);
        json_put_text(o, "key", r.key);
        json_put_number(o, "good", good);
        json_put_number(o, "failed", failed);
        json_object_set_new(o, "dry_run", json_boolean(r.dry_run));
        json_array_append_new(list, o);
    }
    return list;
}

static const char *state_of(const struct security_key *k, const struct token_keys *tokens,
                            uint64_t now)
{
    if (!token_keys_answers(tokens, slice_of(k->secret, k->secret_len)))
        return "no token";
    if (now < k->from_ms)
        return "later";
    if (k->until_ms != UINT64_MAX && (now == 0 || now >= k->until_ms))
        return now == 0 ? "no clock" : "expired";
    return k->uses >= k->uses_max ? "used up" : "valid";
}

static json_t *list_keys(const struct node_security *s, uint64_t now)
{
    const struct security_ring *ring = s->ring;
    char warning[KEY_WARN_TEXT];
    json_t *list = json_array();
    for (size_t i = 0; i < ring->len; i++) {
        const struct security_key *k = &ring->at[i];
        json_t *o = json_object();
        json_put_text(o, "id", k->id);
        json_put_text(o, "algorithm", security_algorithm_text(k->algorithm));
        json_put_text(o, "state", state_of(k, s->tokens, now));
        if (k->from_ms != 0)
            json_put_number(o, "from_ms", k->from_ms);
        if (k->until_ms != UINT64_MAX)
            json_put_number(o, "until_ms", k->until_ms);
        control_set_patterns(o, "peers", &k->peers);
        json_put_number(o, "uses", k->uses);
        json_put_number(o, "uses_max", k->uses_max);
        if (key_warning_text(ring, i, now, warning))
            json_put_text(o, "warning", warning);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *list_failures(const struct node *n)
{
    struct security_failure f;
    json_t *list = json_array();
    for (size_t i = 0; security_policy_failure(n->security->policy, i, &f); i++) {
        json_t *o = json_object();
        json_put_number(o, "number", f.number);
        json_put_number(o, "time_ms", f.dtn_ms);
        json_put_number(o, "line", f.line);
        json_put_text(o, "reason", security_reason_word(f.reason));
        control_put_eid(n, o, "source", &f.id.source);
        control_put_eid(n, o, "destination", &f.destination);
        json_put_number(o, "created_ms", f.id.time_ms);
        json_put_number(o, "sequence", f.id.sequence);
        json_object_set_new(o, "passed", json_boolean(f.passed));
        json_array_append_new(list, o);
    }
    return list;
}

void control_security(struct node *n, const struct json_t *in, struct json_t *out)
{
    (void)in;
    if (n->security == NULL) {
        control_refuse(out, false,
                       "this node has no rules of bundle security; write security: and "
                       "security_keys: in its configuration, and reload");
        return;
    }
    struct node_sample sample;
    node_sample_take(n, &sample);
    control_security_counters(n, &sample, out);
    json_object_set_new(out, "rules", list_rules(n->security->policy));
    json_object_set_new(out, "keys", list_keys(n->security, node_now(n).dtn_ms));
    json_object_set_new(out, "failures", list_failures(n));
}
