/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator does at a given time, as `helioctl link` would: takes a link down and up again,
 * changes its keys. What can go wrong is a command that names no node or link, or keys that cannot
 * change; that is said before anything runs.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "node/config/config_link.h"
#include "tools/sim/stack.h"

#define WORD_MAX 256

static int wrong(const char *text, const char *why)
{
    fprintf(stderr, "helio-sim: --link '%s': %s\n", text, why);
    return HELIO_EFORMAT;
}

static struct stack_host *host_named(const struct stack *s, const char *name)
{
    struct eid eid;
    return eid_parse(name, &eid) < 0 ? NULL : stack_host_of(s, &eid);
}

static bool has_link(const struct stack_host *h, const char *name, size_t *index)
{
    for (*index = 0; *index < h->config.links_len; ++*index)
        if (strcmp(h->config.links[*index].name, name) == 0)
            return true;
    return false;
}

/* The link with the keys of a `set`; NULL: said. */
static struct config_link *change_link(const struct stack_switch *w, const char *keys,
                                       const struct config_link *was)
{
    struct conf_errors errors;
    conf_errors_init(&errors, "");
    struct config_link *l =
        config_link_change(was, keys, strlen(keys), &w->host->config.node, &errors);
    for (size_t i = 0; i < errors.len && l == NULL; i++)
        fprintf(stderr, "helio-sim: --link … %s set %s: %s\n", was->name, keys, errors.text[i]);
    return l;
}

/* 0, or said. */
static int read_what(struct stack_switch *w, const char *text, const char *verb, const char *rest)
{
    const struct config_link *was = &w->host->config.links[w->link];
    w->up = strcmp(verb, "up") == 0;
    w->keys = strcmp(verb, "set") == 0 ? rest : NULL;
    if ((*rest != '\0') != (w->keys != NULL))
        return wrong(text, "after up and down nothing follows, after set a map of keys, as in "
                           "'10s ipn:1.0 to-2 set {rate: 1Mbit/s}'");
    if (!w->up && w->keys == NULL && strcmp(verb, "down") != 0)
        return wrong(text, "the fourth word is up, down or set");
    if (w->keys == NULL)
        return 0;
    struct config_link *tried = change_link(w, w->keys, was);
    config_link_free(tried);
    return tried == NULL ? HELIO_EFORMAT : 0;
}

int stack_script_add(struct stack *s, const char *text)
{
    char word[4][WORD_MAX];
    int used = 0;
    struct stack_switch added = {.at = 0};
    assert(s->script_len < STACK_SCRIPT_MAX);
    if (sscanf(text, "%255s %255s %255s %255s %n", word[0], word[1], word[2], word[3], &used) != 4)
        return wrong(text,
                     "expected TIME NODE LINK up|down|set KEYS, as in '10s ipn:1.0 to-2 down'");
    if (units_duration(word[0], &added.at) != 0)
        return wrong(text, "the first word is a time, such as 10s");
    added.host = host_named(s, word[1]);
    if (added.host == NULL)
        return wrong(text, "none of the nodes has this name; it is their `node:`, such as ipn:1.0");
    if (!has_link(added.host, word[2], &added.link))
        return wrong(text, "that node has no link of this name");
    int rc = read_what(&added, text, word[3], text + used);
    if (rc < 0)
        return rc;
    size_t i = s->script_len++;
    for (; i > s->script_next && s->script[i - 1].at > added.at; i--)
        s->script[i] = s->script[i - 1];
    s->script[i] = added;
    return 0;
}

tick stack_script_due(const struct stack *s)
{
    return s->script_next < s->script_len ? s->script[s->script_next].at : TICK_NEVER;
}

/* A change that was tested at the beginning can still fail: another `set` may precede it, or there
 * is no memory. */
static void set_keys(const struct stack_switch *w)
{
    char why[512] = "";
    struct node_link *l = w->host->node.links[w->link];
    struct config_link *changed = change_link(w, w->keys, l->config);
    if (changed == NULL || node_link_set(l, changed, why, sizeof why) == 0)
        return;
    fprintf(stderr, "helio-sim: --link … %s set %s: %s\n", l->config->name, w->keys, why);
    config_link_free(changed);
}

void stack_script_step(struct stack *s)
{
    const struct stack_switch *w = &s->script[s->script_next++];
    struct cla *link = w->host->node.links[w->link]->cla;
    s->world.world.owner = w->host->index;
    if (w->keys != NULL)
        set_keys(w);
    else
        link->ops->set_link(link, w->up);
    node_wake(&w->host->node);
}
