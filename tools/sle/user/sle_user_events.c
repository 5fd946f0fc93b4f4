/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are thrown once the service has started: the provider is asked which number it expects,
 * then each event waits for the one before it, so that what is thrown happens in order and a
 * refused one, which uses up no number, does no harm to those behind it.
 *
 * What can go wrong: an event is refused (its return is in the result), or the provider does not
 * report the result of its actions: then the time that a user waits for what does not come ends it.
 */
#include <assert.h>
#include <stdlib.h>

#include "tools/sle/user/sle_user_run.h"

int events_open(struct association *a)
{
    size_t len = a->user->options->events_len;
    if (len == 0)
        return 0;
    a->events.list = calloc(len, sizeof *a->events.list);
    return a->events.list == NULL ? HELIO_ENOMEM : 0;
}

void events_free(struct association *a)
{
    free(a->events.list);
}

bool events_done(const struct association *a)
{
    return a->events.next == a->user->options->events_len;
}

bool events_awaited(const struct association *a)
{
    const struct throwing *e = &a->events;
    return e->under_way && !e->list[e->next].answered;
}

void events_throw(struct association *a, tick now)
{
    struct throwing *e = &a->events;
    uint8_t octets[SLE_QUALIFIER_MAX];
    if (events_done(a) || e->under_way || a->stopping)
        return;
    if (!e->known) {
        if (!e->asked)
            e->asked = sle_user_get(a->sle, SLE_PAR_EXPECTED_EVENT, now) == 0;
        return;
    }
    const struct user_event *u = &a->user->options->events[e->next];
    size_t len = settings_qualifier(u->qualifier, octets, sizeof octets);
    struct sle_event event = {e->invocation, u->id, slice_of(octets, len)};
    assert(len > 0); /* as the command line was read */
    if (sle_user_event(a->sle, &event, now) != 0)
        return;
    e->list[e->next] = (struct thrown_event){.invocation = e->invocation, .outcome = -1};
    e->under_way = true;
}

void events_parameter(struct association *a, const struct sle_notice *n)
{
    struct throwing *e = &a->events;
    if (!e->asked || e->known ||
        (n->diag == SLE_OK && n->u.value.parameter != SLE_PAR_EXPECTED_EVENT))
        return;
    e->known = true;
    e->invocation = n->diag == SLE_OK ? n->u.value.number : 0;
}

static void go_on(struct throwing *e)
{
    const struct thrown_event *t = &e->list[e->next];
    if (!t->answered || (t->diag == SLE_OK && t->outcome < 0))
        return;
    e->under_way = false;
    e->next++;
}

void events_answer(struct association *a, const struct sle_notice *n)
{
    struct throwing *e = &a->events;
    if (!e->under_way)
        return;
    struct thrown_event *t = &e->list[e->next];
    assert(!t->answered);
    t->answered = true;
    t->diag = n->diag;
    e->invocation = n->u.event_return.next_invocation;
    go_on(e);
}

void events_notified(struct association *a, const struct sle_async *n)
{
    struct throwing *e = &a->events;
    if (!e->under_way || n->notification < SLE_ASYNC_ACTIONS_DONE ||
        n->invocation != e->list[e->next].invocation)
        return;
    e->list[e->next].outcome = (int)n->notification;
    go_on(e);
}

const char *events_words(const struct thrown_event *t)
{
    if (!t->answered)
        return "not answered";
    switch (t->diag) {
    case SLE_OK:
        return "accepted";
    case SLE_EVENT_NOT_SUPPORTED:
        return "operation not supported";
    case SLE_EVENT_OUT_OF_SEQUENCE:
        return "invocation out of sequence";
    case SLE_EVENT_UNKNOWN:
        return "no such event";
    case SLE_DUPLICATE_INVOKE_ID:
        return "duplicate invoke id";
    default:
        return "refused for another reason";
    }
}
