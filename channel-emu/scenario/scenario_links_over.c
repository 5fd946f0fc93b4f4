/* SPDX-License-Identifier: Apache-2.0 */
/* The hand-overs of a link. What can go wrong: a link that is not there, times that do not rise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/scenario/scenario_links.h"

#define TIME_MAX (86400 * TICK_S * 366)

struct over {
    tick at, gap;
    char *link;
    int in_flight;
};

#define AT(field) offsetof(struct over, field)
static const struct conf_option over_table[] = {
    {"at", OPTION_DURATION, AT(at), NULL, 0, TIME_MAX, NULL, "a time such as 0 or 30s"},
    {"gap", OPTION_DURATION, AT(gap), "0", 0, TIME_MAX, NULL, NULL},
    {"link", OPTION_TEXT, AT(link), NULL, 0, 0, NULL, "a link, or none"},
    {"in_flight", OPTION_CHOICE, AT(in_flight), "arrives", 0, 0, "arrives|lost", NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

static void take_over(const struct scenario_links *s, const struct scenario_link *l,
                      const struct over *o, const struct conf_tree *t, const char *where,
                      struct chan_handover *out, struct conf_errors *errors)
{
    *out = (struct chan_handover){
        .at = o->at, .gap = o->gap, .to = CHAN_NOWHERE, .drop = o->in_flight == 1};
    if (strcmp(o->link, "none") == 0)
        return;
    int to = scenario_links_find(s, o->link);
    if (to < 0)
        conf_error(errors, t->line, "%slink: there is no link \"%.40s\"; write the name of one",
                   where, o->link);
    else if (&s->link[to] == l)
        conf_error(errors, t->line, "%slink: is this link itself; write another one", where);
    out->to = to < 0 ? 0 : (uint32_t)to;
}

static void read_over(const struct scenario_links *s, const struct scenario_link *l,
                      const struct conf_tree *t, const char *where, struct chan_handover *out,
                      struct conf_errors *errors)
{
    struct over o = {.at = 0};
    const struct conf_part part = {.options = over_table, .base = &o};
    size_t before = errors->total;
    if (conf_options_default(over_table, &o, conf_option_set) < 0)
        conf_no_memory(errors, 0);
    conf_section_read(t, where, &part, 1, NULL, errors);
    if (errors->total == before)
        take_over(s, l, &o, t, where, out, errors);
    conf_options_free(over_table, &o);
}

/* Whether one follows the other. */
static void check_order(const struct chan_handover *o, size_t i, uint32_t line, const char *where,
                        struct conf_errors *errors)
{
    if (i == 0 && o[0].drop)
        conf_error(errors, line, "%sin_flight: there is nothing before the first; remove it",
                   where);
    if (i > 0 && o[i].at <= o[i - 1].at)
        conf_error(errors, line, "%sat: not later than the one before; write them in order of time",
                   where);
    else if (i > 0 && o[i - 1].gap > o[i].at - o[i - 1].at)
        conf_error(errors, line,
                   "%sat: lies in the gap of the one before; write a later time, or a shorter gap",
                   where);
}

/* What it cannot have beside it; `link` of the file may say it of all. */
static void refuse_channel(const struct conf_tree *map, const char *where,
                           struct conf_errors *errors)
{
    static const char *const keys[] = {"forward", "return", "both", "scenario"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct conf_tree *t = conf_child(map, keys[i]);
        if (t != NULL)
            conf_error(errors, t->line,
                       "%s%s: what is handed over has no channel of its own; write it at the links "
                       "that it goes over",
                       where, keys[i]);
    }
}

void scenario_links_over(struct scenario_links *s, struct scenario_link *l,
                         const struct conf_tree *map, struct conf_errors *errors)
{
    char where[96];
    size_t n = 0, i = 0, before = errors->total;
    const struct conf_tree *list = conf_child(map, "handover");
    if (list == NULL)
        return;
    snprintf(where, sizeof where, "links.%s.", l->name);
    refuse_channel(map, where, errors);
    const struct conf_tree *t =
        conf_list(map, where, "handover", SCENARIO_HANDOVERS_MAX, &n, errors);
    if (t == NULL) {
        if (errors->total == before)
            conf_error(errors, list->line,
                       "%shandover: is empty; write a list such as [{at: 0, link: NAME}]", where);
        return;
    }
    l->overs = calloc(n, sizeof *l->overs);
    if (l->overs == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    l->over_count = n;
    for (; t != NULL && errors->total == before; t = t->next, i++) {
        snprintf(where, sizeof where, "links.%s.handover[%zu].", l->name, i + 1);
        read_over(s, l, t, where, &l->overs[i], errors);
        if (errors->total == before)
            check_order(l->overs, i, t->line, where, errors);
    }
}
