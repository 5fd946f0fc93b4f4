/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to `status`: transactions, remote entities and counters. Only memory can be out. */
#include <inttypes.h>

#include "conf/json_number.h"
#include "tools/cfdp/cfdp_daemon.h"

static json_t *status_of(const struct cfdp_transaction *t)
{
    struct cfdp_status s;
    cfdp_status_of(t, &s);
    json_t *o = json_object();
    json_object_set_new(o, "id", json_sprintf("%" PRIu64 ":%" PRIu64, s.id.source, s.id.sequence));
    json_put_text(o, "role", s.is_sender ? "sender" : "receiver");
    json_put_number(o, "entity", s.remote);
    json_object_set_new(o, "class", json_integer((json_int_t)s.class_));
    json_put_text(o, "phase", cfdp_phase_text(s.phase));
    json_object_set_new(o, "suspended", json_boolean(s.suspended));
    json_object_set_new(o, "frozen", json_boolean(s.frozen));
    json_put_text(o, "condition", cfdp_condition_text(s.condition));
    json_put_number(o, "octets", s.progress);
    json_put_number(o, "size", s.size);
    json_put_text(o, "source", s.source_name);
    json_put_text(o, "name", s.destination_name);
    return o;
}

static json_t *counts_of(const struct daemon *d)
{
    const struct cfdp_counts *c = cfdp_counts(d->entity);
    json_t *o = json_object(), *verdicts = json_object(), *malformed = json_object();
#define PUT_COUNT(name, text) json_put_number(o, #name, c->name);
    CFDP_COUNTS(PUT_COUNT)
#undef PUT_COUNT
    for (unsigned v = 0; v < CFDP_VERDICT_COUNT; v++)
        json_put_number(verdicts, cfdp_verdict_text((enum cfdp_verdict)v), c->verdicts[v]);
    for (unsigned m = 1; m < CFDP_PDU_RESULT_COUNT; m++)
        json_put_number(malformed, cfdp_pdu_result_text((enum cfdp_pdu_result)m), c->malformed[m]);
    json_put_number(o, "unknown_senders", d->foreign);
    json_put_number(o, "bundles_refused", d->bundles_refused);
    json_object_set_new(o, "verdicts", verdicts);
    json_object_set_new(o, "malformed", malformed);
    return o;
}

json_t *desk_status(const struct daemon *d)
{
    json_t *o = json_object(), *all = json_array(), *remotes = json_array();
    for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(d->entity, t)) != NULL;)
        json_array_append_new(all, status_of(t));
    for (size_t i = 0; i < d->routes_len; i++) {
        json_t *r = json_object();
        json_put_number(r, "entity", d->routes[i].config->entity);
        json_object_set_new(r, "up", json_boolean(!d->routes[i].down));
        json_array_append_new(remotes, r);
    }
    json_put_number(o, "entity", d->settings->entity);
    json_object_set_new(o, "transactions", all);
    json_object_set_new(o, "remotes", remotes);
    json_object_set_new(o, "counts", counts_of(d));
    json_object_set_new(o, "done", json_true());
    return o;
}
