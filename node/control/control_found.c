/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours that discovery found, and what it counted. What can go wrong: it is off. */
#include <jansson.h>

#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/found/found.h"

static size_t place_of(const struct found *f, uint64_t id)
{
    for (size_t i = 0; i < f->node->config->discovery.links_max; i++)
        if (f->places[i].id == id)
            return i;
    return SIZE_MAX;
}

static json_t *neighbour_json(const struct found *f, const struct discovery_neighbour *n, tick now)
{
    char text[ADDRESS_TEXT_MAX];
    uint16_t port = 0;
    json_t *o = json_object();
    control_put_eid(f->node, o, "node", &n->node);
    (void)found_template(f->node, n->format, n->services, n->services_len, &port);
    json_put_text(o, "address", found_address(f, n, port, text));
    json_put_text(o, "format", discovery_format_text(n->format));
    json_put_text(o, "state", n->usable ? discovery_state_text(n->state) : "no link fits");
    const size_t place = place_of(f, n->id);
    const struct node_link *l = place == SIZE_MAX ? NULL : found_link_at(f, place);
    if (l != NULL)
        json_put_text(o, "link", l->config->name);
    json_put_number(o, "heard_ns", now - n->last);
    json_put_number(o, "known_ns", now - n->first);
    json_put_number(o, "beacons", n->beacons);
    json_put_number(o, "tries", n->tries);
    return o;
}

void control_neighbours(struct node *n, const struct json_t *in, struct json_t *out)
{
    const struct found *f = n->found;
    const struct discovery_neighbour *at;
    struct discovery_totals t;
    (void)in;
    if (f == NULL) {
        control_refuse(out, false,
                       "discovery is off; write discovery: {interface: …} in the configuration");
        return;
    }
    json_t *list = json_array(), *counts = json_object();
    for (size_t i = 0; (at = discovery_at(f->engine, i)) != NULL; i++)
        json_array_append_new(list, neighbour_json(f, at, world_now(n->world)));
    json_object_set_new(out, "neighbours", list);
    discovery_totals(f->engine, &t);
    for (int v = 0; v < DISCOVERY_VERDICTS; v++)
        json_put_number(counts, discovery_verdict_text((enum discovery_verdict)v), t.verdicts[v]);
    json_put_number(counts, "displaced", t.displaced);
    json_put_number(counts, "contested", t.contested);
    json_put_number(counts, "silent", t.silent);
    json_put_number(counts, "gave_way", t.gave_way);
    json_put_number(counts, "sent", t.sent);
    json_put_number(counts, "unsent", f->unsent);
    json_put_number(counts, "failed", f->failed);
    json_object_set_new(out, "beacons", counts);
}
