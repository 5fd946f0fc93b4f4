/* SPDX-License-Identifier: Apache-2.0 */
/* The table of adapters: a new one is its folder, and a line here. Outcomes and reasons in words;
 * what all links tell their node.
 * What can go wrong: a number that is no reason, which is a mistake of an adapter. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/cla.h"

extern const struct cla_ops bibe_link_ops, ltp_link_ops, streamcl_mtcp_ops, streamcl_stcp_ops,
    tcpcl_ops, udpcl_ops;

static const struct cla_ops *const table[] = {
    &ltp_link_ops, &tcpcl_ops, &udpcl_ops, &streamcl_stcp_ops, &streamcl_mtcp_ops, &bibe_link_ops,
};

const struct cla_ops *cla_at(size_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const struct cla_ops *cla_find(const char *name)
{
    for (size_t i = 0; cla_at(i) != NULL; i++)
        if (strcmp(cla_at(i)->name, name) == 0)
            return cla_at(i);
    return NULL;
}

const char *cla_reason_text(enum cla_reason r)
{
#define REASON_TEXT(name, text) [CLA_REASON_##name] = text,
    static const char *const texts[CLA_REASON_COUNT] = {CLA_REASONS(REASON_TEXT)};
#undef REASON_TEXT
    assert((unsigned)r < CLA_REASON_COUNT);
    return texts[r];
}

bool cla_outcome_is_good(enum cla_outcome o)
{
    assert((unsigned)o < CLA_OUTCOME_COUNT);
    return o == CLA_DELIVERED || o == CLA_HANDED_OVER;
}

void cla_init(struct cla *c, const struct cla_ops *ops, const struct cla_events *events)
{
    c->ops = ops;
    c->events = events;
    list_init(&c->node);
}

void cla_say_args(struct cla *c, int level, const char *format, va_list args)
{
    char text[512];
    if (c->events->say == NULL)
        return;
    vsnprintf(text, sizeof text, format, args);
    c->events->say(c->events->context, c, level, text);
}

void cla_say(struct cla *c, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cla_say_args(c, level, format, args);
    va_end(args);
}

void cla_tell_link(struct cla *c, bool up)
{
    assert(c->closed == NULL);
    if (c->told && c->told_up == up)
        return;
    c->told = true;
    c->told_up = up;
    if (c->events->link != NULL)
        c->events->link(c->events->context, c, up);
}

void cla_tell_limits(struct cla *c)
{
    assert(c->closed == NULL && c->limits.window >= 1);
    if (c->events->limits != NULL)
        c->events->limits(c->events->context, c);
}

void cla_closing(struct cla *c, void (*closed)(void *context), void *context)
{
    assert(c->closed == NULL && closed != NULL);
    c->closed = closed;
    c->closed_context = context;
}

void cla_end(struct cla *c)
{
    void (*closed)(void *context) = c->closed;
    void *context = c->closed_context;
    assert(closed != NULL && list_empty(&c->node));
    free(c); /* the first member of the adapter's struct */
    closed(context);
}
