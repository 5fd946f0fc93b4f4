/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each function finds one kind of mistake that is not an error: a limit without effect, an unused
 * folder, a rule that matches no bundle. A correct file has no notes.
 */
#include "node/config/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "node/config/config_permit.h"
#include "node/config/config_tables.h"
#include "os/net/address.h"

#define DATA_BURST UINT64_C(1000000) /* bytes: unless data_burst is given */

struct notes {
    const struct config *config;
    config_note *note;
    void *context;
};

__attribute__((format(printf, 3, 4))) static void note_line(const struct notes *n, uint32_t line,
                                                            const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    n->note(n->context, line, text);
}

/* May a link other than this one lead to the endpoint? For contact plans and unconfigured peers
 * this is unknown. */
static bool may_lead(const struct config *c, size_t but, const struct eid *to)
{
    bool may = *c->plan != '\0';
    for (size_t i = 0; i < c->links_len; i++)
        may |= i != but && (c->links[i].peers > 0 || eid_same_node(&c->links[i].peer, to));
    for (size_t i = 0; i < c->routes_len; i++)
        may |= c->routes[i].link != but && eid_patterns_match(&c->routes[i].patterns, to);
    return may;
}

/* Tunnels whose encapsulating bundles have no route. */
static void note_tunnels(const struct notes *n)
{
    const struct config *c = n->config;
    for (size_t i = 0; i < c->links_len; i++) {
        const struct config_link *l = &c->links[i];
        struct cla_tunnel t;
        char text[EID_TEXT_MAX];
        if (!cla_tunnel(l->ops, l->settings, &t))
            continue;
        eid_text(&t.far_end, text);
        if (!may_lead(c, i, &t.far_end))
            note_line(n, l->line,
                      "links[%.64s].%s: no other link leads to %.300s, so all bundles of this link "
                      "wait; write a route: routes: [{to: %.300s, via: LINK}]",
                      l->name, t.far_key, text, text);
    }
}

/* A limit that does not count. */
static void note_total(const struct notes *n)
{
    const struct config *c = n->config;
    if (c->lines.total != 0 && c->store.durability == STORE_NONE)
        note_line(n, c->lines.total,
                  "bundles.total: does nothing with durability: none; write store.limit, which "
                  "counts all memory of the bundles then");
}

/* The status page and the metrics, at an address that other machines reach. */
static void note_http(const struct notes *n)
{
    const struct config *c = n->config;
    struct address at;
    uint64_t port;
    const char *listen = c->http.listen;
    if (*listen == '\0' || *c->http.token != '\0' || units_count(listen, 65535, &port) == 0 ||
        address_parse(listen, &at) != 0 || address_is_loopback(&at))
        return;
    note_line(n, c->lines.http,
              "http.listen: %s is not a loopback address, and there is no token: any host that "
              "reaches it can read the node's state; write http.token",
              listen);
}

static void note_keys(const struct notes *n)
{
    const struct config *c = n->config;
    if (c->security_len > 0)
        return;
    if (c->lines.security != 0)
        note_line(n, c->lines.security,
                  "security: has no rules, so no bundle is signed, encrypted or verified; write "
                  "the rules, or remove this key");
    if (c->security_keys != NULL && *c->security_keys != '\0')
        note_line(n, c->lines.security_keys,
                  "security_keys: no rule uses the keys; write rules at security, or remove this "
                  "key");
}

/* A pattern of all endpoints of the node. */
static struct eid_pattern own_endpoints(const struct eid *node)
{
    char text[EID_TEXT_MAX + 1];
    struct eid_pattern p;
    const size_t len = eid_text(node, text);
    snprintf(node->scheme == EID_IPN ? strrchr(text, '.') + 1 : text + len, 2, "*");
    const int r = eid_pattern_parse(text, &p);
    assert(r == 0); /* it is the id of a node */
    (void)r;
    return p;
}

/* Bundles without a source begin here, too. */
static bool fits_own_sources(const struct eid_patterns *from, const struct eid_pattern *own)
{
    const struct eid none = eid_none();
    bool fits = eid_patterns_match(from, &none);
    for (size_t i = 0; i < from->len; i++)
        fits |= eid_pattern_meet(&from->at[i], own);
    return fits;
}

/* Only bundles that begin here get operations of this node. */
static void note_sources(const struct notes *n)
{
    const struct config *c = n->config;
    const struct config_security *s = c->security;
    const struct eid_pattern own = own_endpoints(&c->node);
    char text[EID_TEXT_MAX];
    eid_pattern_text(&own, text);
    for (size_t i = 0; i < c->security_len; i++)
        if (s[i].rule.role == SECURITY_ROLE_SOURCE && !fits_own_sources(&s[i].rule.from, &own))
            note_line(n, s[i].rule.line,
                      "security.from: \"%.300s\" is no endpoint of this node, so the rule adds "
                      "nothing; write one of %.300s, or another role",
                      s[i].from, text);
}

/* What is allowed at once counts only where something is limited. */
static void note_burst(const struct notes *n, const char *list, const struct permit *p)
{
    if (p->burst != 0 && p->rate == 0)
        note_line(n, p->line,
                  "%s.burst: does nothing without rate; write that, too, or remove this key", list);
    if (p->data_burst != DATA_BURST && p->data_rate == 0)
        note_line(n, p->line,
                  "%s.data_burst: does nothing without data_rate; write that, too, or remove this "
                  "key",
                  list);
}

/* A node's id is only one of its endpoints. */
static void note_routes(const struct notes *n)
{
    for (size_t i = 0; i < n->config->routes_len; i++) {
        const struct config_route *r = &n->config->routes[i];
        for (size_t k = 0; k < r->patterns.len; k++) {
            const struct eid_pattern *p = &r->patterns.at[k];
            char text[EID_TEXT_MAX], all[EID_TEXT_MAX];
            if (p->any || p->any_node || p->any_service || p->ranges || !eid_is_node(&p->eid))
                continue;
            const struct eid_pattern whole = own_endpoints(&p->eid);
            eid_text(&p->eid, text);
            eid_pattern_text(&whole, all);
            note_line(n, r->line,
                      "routes.to: %.300s is one endpoint of that node, and its applications have "
                      "others; write %.300s",
                      text, all);
        }
    }
}

void config_notes(const struct config *c, config_note *note, void *context)
{
    const struct notes n = {c, note, context};
    const struct config_rule *r = c->rules;
    const struct config_user *u = c->applications;
    note_tunnels(&n);
    note_total(&n);
    note_http(&n);
    note_keys(&n);
    note_sources(&n);
    note_routes(&n);
    for (size_t i = 0; i < c->rules_len; i++)
        note_burst(&n, "rules", &r[i].permit);
    for (size_t i = 0; i < c->applications_len; i++)
        note_burst(&n, "applications", &u[i].permit);
}
