/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule is read by its table, then made into a struct permit. What can go wrong is the user's:
 * a pattern, a user that the system does not know, a rate for what leaves.
 */
#include "node/config/config_permit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_tables.h"
#include "os/process/users.h"

#define RATE_MAX UINT64_C(1000000)

#define AT_RULE(field) offsetof(struct config_rule, field)
#define AT_USER(field) offsetof(struct config_user, field)

#define PERMIT_OPTIONS(AT)                                                                         \
    {.key = "priority",                                                                            \
     .type = OPTION_CHOICE,                                                                        \
     .offset = AT(priority),                                                                       \
     .choices = "bulk|normal|expedited",                                                           \
     .initial = "normal",                                                                          \
     .help = "the highest priority of their bundles; one without a priority block is normal"},     \
        {.key = "size_max",                                                                        \
         .type = OPTION_SIZE,                                                                      \
         .offset = AT(permit.size_max),                                                            \
         .initial = "0",                                                                           \
         .help = "longest payload of a bundle; 0: any"},                                           \
        {.key = "rate",                                                                            \
         .type = OPTION_COUNT,                                                                     \
         .offset = AT(permit.rate),                                                                \
         .initial = "0",                                                                           \
         .max = RATE_MAX,                                                                          \
         .help = "bundles a second of each neighbour or user; 0: any number"},                     \
        {.key = "burst",                                                                           \
         .type = OPTION_COUNT,                                                                     \
         .offset = AT(permit.burst),                                                               \
         .initial = "0",                                                                           \
         .max = 1000000000,                                                                        \
         .help = "bundles at once, with rate; 0: as many as in a second"},                         \
        {.key = "data_rate",                                                                       \
         .type = OPTION_RATE,                                                                      \
         .offset = AT(permit.data_rate),                                                           \
         .initial = "unlimited",                                                                   \
         .min = 1,                                                                                 \
         .max = UINT64_C(1000000000000),                                                           \
         .choices = "unlimited",                                                                   \
         .help = "their bytes, of each neighbour or user"},                                        \
    {                                                                                              \
        .key = "data_burst", .type = OPTION_SIZE, .offset = AT(permit.data_burst),                 \
        .initial = "1MB", .min = 1, .max = UINT64_C(1) << 40,                                      \
        .help = "bytes at once, with data_rate; a bundle alone may be longer"                      \
    }

const struct conf_option config_rule_options[] = {
    {.key = "peer",
     .type = OPTION_TEXT,
     .offset = AT_RULE(peer),
     .initial = "*",
     .help = "node ids of the neighbours: ipn:2.0, ipn:[2-5].*, dtn://name/*, or *"},
    {.key = "way",
     .type = OPTION_CHOICE,
     .offset = AT_RULE(way),
     .choices = "in|out",
     .help = "in: bundles that they bring; out: bundles that leave to them"},
    {.key = "from",
     .type = OPTION_TEXT,
     .offset = AT_RULE(from),
     .initial = "*",
     .help = "sources of these bundles, likewise"},
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = AT_RULE(to),
     .initial = "*",
     .help = "their destinations, likewise"},
    PERMIT_OPTIONS(AT_RULE),
    {.key = NULL},
};

const struct conf_option config_user_options[] = {
    {.key = "user",
     .type = OPTION_TEXT,
     .offset = AT_USER(user),
     .help = "whose applications: a user of the system by name or number, or any"},
    {.key = "at",
     .type = OPTION_TEXT,
     .offset = AT_USER(at),
     .initial = "*",
     .help = "endpoints that they may register and send from: ipn:1.7, ipn:1.[100-199], or *"},
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = AT_USER(to),
     .initial = "*",
     .help = "destinations of their bundles, likewise"},
    {.key = "bundles",
     .type = OPTION_COUNT,
     .offset = AT_USER(permit.bundles_max),
     .initial = "0",
     .help = "their bundles at the node at once, of each user; 0: any number"},
    {.key = "bytes",
     .type = OPTION_SIZE,
     .offset = AT_USER(permit.bytes_max),
     .initial = "0",
     .help = "the bytes of these; 0: any"},
    PERMIT_OPTIONS(AT_USER),
    {.key = NULL},
};

static void complete_permit(struct permit *p, int priority)
{
    p->priority = (enum bundle_priority)priority;
    if (p->burst == 0)
        p->burst = p->rate;
}

/* A neighbour is identified by its node id. A pattern that matches no node id would make the rule
 * ineffective. */
static int check_neighbour(const struct eid_patterns *p, char *why, size_t cap)
{
    char text[EID_TEXT_MAX];
    for (size_t i = 0; i < p->len; i++) {
        if (eid_pattern_has_node(&p->at[i]))
            continue;
        eid_pattern_text(&p->at[i], text);
        snprintf(why, cap,
                 "\"%.64s\" is no node, so it names no neighbour; write the node's id, such as "
                 "ipn:2.0 or dtn://name/",
                 text);
        return HELIO_EINVAL;
    }
    return 0;
}

static int check_rule(void *item, const char **key, char *why, size_t cap)
{
    struct config_rule *r = item;
    struct permit *p = &r->permit;
    if (config_patterns(key, "peer", r->peer, &p->party, why, cap) != 0 ||
        config_patterns(key, "from", r->from, &p->from, why, cap) != 0 ||
        config_patterns(key, "to", r->to, &p->to, why, cap) != 0)
        return HELIO_EINVAL;
    if (check_neighbour(&p->party, why, cap) != 0) {
        *key = "peer";
        return HELIO_EINVAL;
    }
    complete_permit(p, r->priority);
    if (r->way != PERMIT_OUT || (p->rate == 0 && p->data_rate == 0))
        return 0;
    *key = p->rate != 0 ? "rate" : "data_rate";
    snprintf(why, cap,
             "a rule with way: out has no rate; write way: in, or the rate of the link that leads "
             "there");
    return HELIO_EINVAL;
}

static int check_user(void *item, const char **key, char *why, size_t cap)
{
    struct config_user *u = item;
    struct permit *p = &u->permit;
    unsigned uid = 0;
    const bool any = strcmp(u->user, "any") == 0;
    if (!any && users_find_user(u->user, &uid) < 0) {
        *key = "user";
        snprintf(why, cap,
                 "there is no user \"%.64s\"; write the name or number of a user of this system, "
                 "or any",
                 u->user);
        return HELIO_EINVAL;
    }
    p->user = any ? 0 : (uint64_t)uid + 1;
    p->from.len = 1;
    p->from.at[0].any = true; /* the endpoint is the source */
    if (config_patterns(key, "at", u->at, &p->party, why, cap) != 0 ||
        config_patterns(key, "to", u->to, &p->to, why, cap) != 0)
        return HELIO_EINVAL;
    complete_permit(p, u->priority);
    return 0;
}

const struct cla_list config_permit_lists[] = {
    {.key = "rules",
     .options = config_rule_options,
     .item_size = sizeof(struct config_rule),
     .max = PERMITS_MAX,
     .items = offsetof(struct config, rules),
     .count = offsetof(struct config, rules_len),
     .check = check_rule},
    {.key = "applications",
     .options = config_user_options,
     .item_size = sizeof(struct config_user),
     .max = PERMITS_MAX,
     .items = offsetof(struct config, applications),
     .count = offsetof(struct config, applications_len),
     .check = check_user},
    {.key = NULL},
};

void config_permit_lines(struct config *c, const struct conf_tree *root)
{
    const struct conf_tree *list = conf_child(root, "rules");
    const struct conf_tree *t = list != NULL ? list->first : NULL;
    struct config_rule *r = c->rules;
    for (size_t i = 0; i < c->rules_len && t != NULL; i++, t = t->next)
        r[i].permit.line = t->line;
    list = conf_child(root, "applications");
    t = list != NULL ? list->first : NULL;
    struct config_user *u = c->applications;
    for (size_t i = 0; i < c->applications_len && t != NULL; i++, t = t->next)
        u[i].permit.line = t->line;
}

struct permit *config_permits(const struct config *c, enum permit_way way, size_t *len)
{
    const struct config_rule *r = c->rules;
    const struct config_user *u = c->applications;
    const size_t most = way == PERMIT_APP ? c->applications_len : c->rules_len;
    struct permit *list = calloc(most + 1, sizeof *list);
    *len = 0;
    for (size_t i = 0; list != NULL && i < most; i++)
        if (way == PERMIT_APP || r[i].way == (int)way)
            list[(*len)++] = way == PERMIT_APP ? u[i].permit : r[i].permit;
    return list;
}
