/* SPDX-License-Identifier: Apache-2.0 */
/* A change in mid-run of several links: each name with its own. What can go wrong: a name that is
 * not there, and what is wrong in the change of one; then nothing changes anywhere. */
#include <stdio.h>

#include "base/err.h"
#include "channel-emu/scenario/scenario_links.h"

#define RATE_MAX UINT64_C(1000000000000)

static const struct conf_option rate_table[] = {
    {"rate", OPTION_RATE, offsetof(struct scenario_links_change, rate_bps), NULL, 1, RATE_MAX, NULL,
     "a rate such as 100Mbit/s"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

/* What of it is not the link's to change. */
static void check_link(const struct scenario_link *l, const struct conf_tree *t,
                       struct conf_errors *errors)
{
    if (l->over_count > 0)
        conf_error(errors, t->line, "%s: is handed over; write the links that it goes over",
                   l->name);
}

static void read_one(struct scenario_links_change *out, const struct scenario_links *s,
                     const struct conf_tree *t, struct conf_errors *errors)
{
    char where[64];
    *out = (struct scenario_links_change){.link = scenario_links_find(s, t->key),
                                          .shared = scenario_links_find_shared(s, t->key)};
    snprintf(where, sizeof where, "%.40s.", t->key);
    if (out->link < 0 && out->shared < 0) {
        conf_error(errors, t->line, "%.40s: there is no link of this name; write the name of one",
                   t->key);
    } else if (t->kind != CONF_MAP) {
        conf_error(errors, t->line, "%.40s: %s is not expected here; write a map such as %s",
                   t->key, conf_kind_name(t->kind), "{forward: {rate: 5Mbit/s}}");
    } else if (out->shared >= 0) {
        const struct conf_part part = {.options = rate_table, .base = out};
        conf_section_read(t, where, &part, 1, NULL, errors);
    } else {
        const struct scenario_link *l = &s->link[out->link];
        check_link(l, t, errors);
        scenario_change_tree(&out->of_link, &l->scenario, t, where, errors);
    }
}

int scenario_links_change_read(struct scenario_links_change out[SCENARIO_LINKS_CHANGES_MAX],
                               const struct scenario_links *s, const char *data, size_t len,
                               struct conf_errors *errors)
{
    static const char right[] = "write a map such as NAME: {forward: {rate: 5Mbit/s}}";
    size_t n = 0;
    struct conf_tree *root = conf_tree_parse(data, len, right, errors);
    if (root != NULL && root->kind != CONF_MAP)
        conf_error(errors, root->line, "%s is not expected here; %s", conf_kind_name(root->kind),
                   right);
    for (const struct conf_tree *t = root == NULL || root->kind != CONF_MAP ? NULL : root->first;
         t != NULL; t = t->next) {
        if (n == SCENARIO_LINKS_CHANGES_MAX) {
            conf_error(errors, t->line, "more than %u names; write less at once",
                       SCENARIO_LINKS_CHANGES_MAX);
            break;
        }
        read_one(&out[n++], s, t, errors);
    }
    conf_tree_free(root);
    if (errors->total == 0 && n == 0)
        conf_error(errors, 0, "nothing changes; %s", right);
    return errors->total == 0 ? (int)n : HELIO_EFORMAT;
}
