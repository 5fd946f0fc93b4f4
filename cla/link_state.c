/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule is the table in link_state.h, line by line. Nothing can fail: a time that lies ahead of
 * `now`, of another thread's clock reading, counts as now.
 */
#include "cla/link_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_LEAST (2 * TICK_S)
#define PATIENCE_SHORT (60 * TICK_S) /* as long as 10 timers are waited for */
#define TIMERS_SHORT 10
#define TIMERS_LONG 3

static tick times(tick t, unsigned n)
{
    return t > TICK_NEVER / n ? TICK_NEVER : n * t;
}

static tick later_of(tick a, tick b)
{
    return a > b ? a : b;
}

tick link_patience(tick rto)
{
    tick most = tick_min(times(rto, TIMERS_SHORT), PATIENCE_SHORT);
    most = later_of(later_of(most, times(rto, TIMERS_LONG)), PATIENCE_LEAST);
    assert(most >= PATIENCE_LEAST);
    return most;
}

static tick time_since(const struct link_facts *f, tick then)
{
    return f->now > then ? f->now - then : 0;
}

static bool is_due(const struct link_facts *f)
{
    return f->asked != TICK_NEVER;
}

/* While it was not open nothing could be heard. */
static tick time_owed(const struct link_facts *f)
{
    return is_due(f) ? time_since(f, later_of(f->asked, f->opened)) : 0;
}

/* Heard since the link opened? */
static bool was_heard(const struct link_facts *f)
{
    return f->heard != TICK_NEVER && f->heard >= f->opened;
}

static enum link_state state_of_closed(const struct link_facts *f)
{
    if (f->off)
        return LINK_STATE_DOWN;
    if (f->planned && !f->contact)
        return f->next != TICK_NEVER ? LINK_STATE_WAITING : LINK_STATE_DOWN;
    return f->refused ? LINK_STATE_REFUSED : LINK_STATE_DOWN;
}

enum link_state link_state_of(const struct link_facts *f)
{
    tick patience = link_patience(f->rto);
    assert(!f->open || f->opened <= f->now);
    assert(f->planned || !f->contact);
    if (!f->open)
        return state_of_closed(f);
    if (f->given_up || time_owed(f) > patience)
        return LINK_STATE_SILENT;
    if (f->session)
        return LINK_STATE_UP;
    bool lately = was_heard(f) && time_since(f, f->heard) <= later_of(LINK_RECENT, patience);
    return lately ? LINK_STATE_UP : LINK_STATE_UNHEARD;
}

bool link_state_one_way(const struct link_facts *f)
{
    return f->open && f->unconfirmed != 0 && f->unconfirmed >= f->opened && was_heard(f) &&
           time_since(f, f->unconfirmed) > link_patience(f->rto) &&
           time_since(f, f->heard) <= later_of(LINK_RECENT, link_patience(f->rto));
}

const char *link_state_word(enum link_state s)
{
#define STATE_WORD(name, word) [LINK_STATE_##name] = word,
    static const char *const words[LINK_STATE_COUNT] = {LINK_STATES(STATE_WORD)};
#undef STATE_WORD
    assert((unsigned)s < LINK_STATE_COUNT);
    return words[s];
}

/* ---- in words ---- */

const char *link_span_text(tick t, char out[LINK_SPAN_MAX])
{
    double s = (double)t / 1e9;
    if (t < TICK_S)
        snprintf(out, LINK_SPAN_MAX, "%.0f ms", s * 1e3);
    else if (t < 120 * TICK_S)
        snprintf(out, LINK_SPAN_MAX, "%.3g s", s);
    else if (t < 7200 * TICK_S)
        snprintf(out, LINK_SPAN_MAX, "%.0f min", s / 60);
    else
        snprintf(out, LINK_SPAN_MAX, "%.1f h", s / 3600);
    return out;
}

static const char *heard_text(const struct link_facts *f, char out[LINK_WHY_MAX / 2])
{
    char span[LINK_SPAN_MAX];
    if (was_heard(f))
        snprintf(out, LINK_WHY_MAX / 2, "last heard %s ago",
                 link_span_text(time_since(f, f->heard), span));
    else
        snprintf(out, LINK_WHY_MAX / 2, "never heard since it opened %s ago",
                 link_span_text(time_since(f, f->opened), span));
    return out;
}

static void why_one_way(const struct link_facts *f, char *out)
{
    char span[LINK_SPAN_MAX];
    link_span_text(time_since(f, f->unconfirmed), span);
    if (f->answers_short)
        snprintf(out, LINK_WHY_MAX,
                 "the peer answers short segments, but has answered no long ones for %s: long "
                 "datagrams do "
                 "not reach it (MTU: lower segment)",
                 span);
    else
        snprintf(
            out, LINK_WHY_MAX,
            "the peer is heard, but has answered none of this node's segments for %s: datagrams do "
            "not reach it (remote, port, NAT), or only short ones do (MTU: lower segment)",
            span);
}

/* Something in the peer's name arrives, and is not taken for the peer's. */
static void add_refusal(const struct link_facts *f, char *out)
{
    const size_t len = strlen(out);
    if (f->refusal == NULL || f->refused_at < f->opened ||
        (was_heard(f) && f->refused_at <= f->heard))
        return;
    snprintf(out + len, LINK_WHY_MAX - len, "; datagrams in its name are refused here: %s",
             f->refusal);
}

static const char *why_open(const struct link_facts *f, enum link_state state, char *out)
{
    char heard[LINK_WHY_MAX / 2], span[LINK_SPAN_MAX];
    tick patience = link_patience(f->rto), owed = time_owed(f);
    heard_text(f, heard);
    if (link_state_one_way(f))
        why_one_way(f, out);
    else if (state == LINK_STATE_UP && f->session)
        snprintf(out, LINK_WHY_MAX, "a session is established");
    else if (state == LINK_STATE_UP)
        snprintf(out, LINK_WHY_MAX, "%s", heard);
    else if (state == LINK_STATE_SILENT && owed > 0)
        snprintf(out, LINK_WHY_MAX, "no answer for %s; %s", link_span_text(owed, span), heard);
    else if (state == LINK_STATE_SILENT)
        snprintf(out, LINK_WHY_MAX, "no answer to the last exchange; %s", heard);
    else if (is_due(f))
        snprintf(out, LINK_WHY_MAX, "%s; silent if no answer comes within %s", heard,
                 link_span_text(patience - owed, span));
    else
        snprintf(out, LINK_WHY_MAX, "%s; no answer is due", heard);
    if (state != LINK_STATE_UP)
        add_refusal(f, out);
    return out;
}

const char *link_state_why(const struct link_facts *f, char *out)
{
    char span[LINK_SPAN_MAX];
    enum link_state state = link_state_of(f);
    assert(out != NULL);
    if (f->open)
        return why_open(f, state, out);
    if (f->off)
        snprintf(out, LINK_WHY_MAX, "it is set to down; helioctl link NAME up changes that");
    else if (state == LINK_STATE_WAITING)
        snprintf(out, LINK_WHY_MAX, "its next contact begins in %s",
                 link_span_text(time_since(&(struct link_facts){.now = f->next}, f->now), span));
    else if (f->planned && !f->contact)
        snprintf(out, LINK_WHY_MAX, "the contact plan has no further contact of this link");
    else
        *out = '\0';
    return out;
}
