/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator does at a given time, as `helioctl link` would: takes a link down and up again.
 * What can go wrong is a command that names no node or link, or is not understood; that is said.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
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

int stack_script_add(struct stack *s, const char *text)
{
    char word[4][WORD_MAX], more;
    struct stack_switch added = {.at = 0};
    assert(s->script_len < STACK_SCRIPT_MAX);
    if (sscanf(text, "%255s %255s %255s %255s %c", word[0], word[1], word[2], word[3], &more) != 4)
        return wrong(text, "expected TIME NODE LINK up|down, as in '10s ipn:1.0 to-2 down'");
    if (units_duration(word[0], &added.at) != 0)
        return wrong(text, "the first word is a time, such as 10s");
    added.host = host_named(s, word[1]);
    if (added.host == NULL)
        return wrong(text, "none of the nodes has this name; it is their `node:`, such as ipn:1.0");
    if (!has_link(added.host, word[2], &added.link))
        return wrong(text, "that node has no link of this name");
    added.up = strcmp(word[3], "up") == 0;
    if (!added.up && strcmp(word[3], "down") != 0)
        return wrong(text, "the last word is up or down");
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

void stack_script_step(struct stack *s)
{
    const struct stack_switch *w = &s->script[s->script_next++];
    struct cla *link = w->host->node.links[w->link]->cla;
    s->world.world.owner = w->host->index;
    link->ops->set_link(link, w->up);
    node_wake(&w->host->node);
}
