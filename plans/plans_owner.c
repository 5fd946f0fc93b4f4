/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A version is published, pushed to all followers, and acknowledged by their states. What can go
 * wrong: a push or a state is lost (it is pushed again after a while), a follower was away (it
 * asks), a follower asks too often (one answer for all its questions), other sources (counted).
 */
#include "plans/plans_owner.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

int plans_owner_init(struct plans_owner *o, const struct eid *followers, size_t len, bool group,
                     tick again, tick pause)
{
    assert(len <= PLANS_FOLLOWERS_MAX && again > 0);
    *o = (struct plans_owner){.again = again, .pause = pause, .group = group, .peers_len = len};
    o->peers = calloc(len + 1, sizeof *o->peers);
    if (o->peers == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < len; i++)
        o->peers[i].eid = followers[i];
    return 0;
}

void plans_owner_fini(struct plans_owner *o)
{
    free(o->peers);
    o->peers = NULL;
    o->peers_len = 0;
}

/* ---- versions ---- */

static void remove_first(struct plans_owner *o, size_t n)
{
    o->versions_len -= n;
    for (size_t i = 0; i < o->versions_len; i++) {
        o->versions[i] = o->versions[i + n];
        o->group_due[i] = o->group_due[i + n];
    }
    for (size_t k = 0; k < o->peers_len; k++)
        for (size_t i = 0; i < o->versions_len; i++) {
            o->peers[k].again_at[i] = o->peers[k].again_at[i + n];
            o->peers[k].sent_at[i] = o->peers[k].sent_at[i + n];
            o->peers[k].wait[i] = o->peers[k].wait[i + n];
        }
}

/* The first version is the one in force, if any is. */
static void drop_replaced(struct plans_owner *o, uint64_t wall)
{
    for (size_t i = o->versions_len; i-- > 1;)
        if (plans_version_begun(&o->versions[i], wall)) {
            remove_first(o, i);
            return;
        }
}

static void insert_version(struct plans_owner *o, const struct plans_version *v, size_t at,
                           tick now)
{
    for (size_t i = o->versions_len; i > at; i--) {
        o->versions[i] = o->versions[i - 1];
        o->group_due[i] = o->group_due[i - 1];
    }
    o->versions[at] = *v;
    o->group_due[at] = o->group;
    for (size_t k = 0; k < o->peers_len; k++) {
        tick *again_at = o->peers[k].again_at, *sent_at = o->peers[k].sent_at;
        tick *wait = o->peers[k].wait;
        for (size_t i = o->versions_len; i > at; i--) {
            again_at[i] = again_at[i - 1];
            sent_at[i] = sent_at[i - 1];
            wait[i] = wait[i - 1];
        }
        sent_at[at] = TICK_NEVER;
        wait[at] = o->pause;
        again_at[at] = o->group ? tick_add(now, o->again) : 0;
    }
    o->versions_len++;
}

bool plans_owner_publish(struct plans_owner *o, const struct plans_version *v, tick now,
                         uint64_t wall)
{
    assert(v->number > 0 && v->number <= PLANS_NUMBER_MAX);
    drop_replaced(o, wall);
    size_t at = o->versions_len;
    while (at > 0 && o->versions[at - 1].number > v->number)
        at--;
    if (at > 0 && o->versions[at - 1].number == v->number)
        return false;
    if (at == 0 && o->versions_len > 0 && plans_version_begun(&o->versions[0], wall))
        return false;
    if (o->versions_len == PLANS_LISTED_MAX ||
        (o->versions_len > PLANS_LATER_MAX && !plans_version_begun(v, wall)))
        return false;
    insert_version(o, v, at, now);
    drop_replaced(o, wall);
    return true;
}

/* ---- what arrives ---- */

bool plans_owner_lacks(const struct plans_owner *o, const struct plans_peer *p, size_t version)
{
    const uint64_t number = o->versions[version].number;
    if (!p->heard)
        return true;
    for (size_t i = 0; i < p->state.len; i++)
        if (p->state.held[i].number == number)
            return false;
    /* the follower can do nothing with it, until it is another program: then it has forgotten that
     */
    if (p->state.refused == number && p->state.reason == PLANS_UNREADABLE)
        return false;
    /* what the follower has in force replaces all below it */
    return number > p->state.applied;
}

static bool is_ahead(const struct plans_owner *o, const struct plans_state *s)
{
    const uint64_t last = o->versions_len > 0 ? o->versions[o->versions_len - 1].number : 0;
    return s->applied > last || (s->len > 0 && s->held[s->len - 1].number > last);
}

bool plans_owner_conflicts(const struct plans_owner *o, const struct plans_peer *p, size_t version)
{
    const struct plans_version *v = &o->versions[version];
    for (size_t i = 0; i < p->state.len; i++)
        if (p->state.held[i].number == v->number && p->state.held[i].check != v->check)
            return true;
    return false;
}

static bool is_other(const struct plans_owner *o, const struct plans_peer *p)
{
    for (size_t i = 0; i < o->versions_len; i++)
        if (plans_owner_conflicts(o, p, i))
            return true;
    return false;
}

bool plans_owner_early(const struct plans_owner *o, const struct plans_peer *p, uint64_t wall)
{
    for (size_t i = 0; i < o->versions_len; i++)
        if (o->versions[i].number == p->state.applied)
            return !plans_version_begun(&o->versions[i], wall);
    return false;
}

/* All that it lacks: now, or after the pause. True: now. */
static bool answer_peer(struct plans_owner *o, struct plans_peer *p, tick now)
{
    const bool early = now < p->answer_at;
    const tick at = early ? p->answer_at : now;
    for (size_t i = 0; i < o->versions_len; i++) {
        const tick sent = p->sent_at[i] == TICK_NEVER ? 0 : tick_add(p->sent_at[i], p->wait[i]);
        p->again_at[i] = tick_min(p->again_at[i], at > sent ? at : sent);
    }
    if (!early)
        p->answer_at = tick_add(now, o->pause);
    return !early;
}

enum plans_verdict plans_owner_input(struct plans_owner *o, const struct eid *source,
                                     struct slice in, tick now, size_t *peer, const char **why)
{
    struct plans_message m;
    enum plans_verdict v = PLANS_FOREIGN;
    *why = NULL;
    for (*peer = 0; *peer < o->peers_len; ++*peer)
        if (eid_equal(&o->peers[*peer].eid, source))
            break;
    if (*peer < o->peers_len) {
        struct plans_peer *p = &o->peers[*peer];
        v = plans_message_parse(in, &m, why) && m.kind == PLANS_STATE ? PLANS_TAKEN
                                                                      : PLANS_MALFORMED;
        if (v == PLANS_TAKEN) {
            p->heard = true;
            p->heard_at = now;
            p->state = m.state;
            if (m.state.asks && !answer_peer(o, p, now))
                v = PLANS_EARLY;
            else if (is_other(o, p))
                v = PLANS_CONFLICT;
            else if (is_ahead(o, &m.state))
                v = PLANS_AHEAD;
        }
    }
    o->counts[v]++;
    return v;
}

/* ---- what is sent ---- */

/* States are not always signed: a forged question must not fill the network. */
static tick lengthen_wait(const struct plans_owner *o, tick wait)
{
    const tick most = o->again > o->pause ? o->again : o->pause;
    return tick_min(wait > 0 ? 2 * wait : TICK_S, most);
}

static bool poll_peer(struct plans_owner *o, size_t index, tick now, struct plans_push *out)
{
    struct plans_peer *p = &o->peers[index];
    for (size_t i = 0; i < o->versions_len; i++) {
        if (now < p->again_at[i] || !plans_owner_lacks(o, p, i))
            continue;
        p->again_at[i] = tick_add(now, o->again);
        if (p->sent_at[i] != TICK_NEVER)
            p->wait[i] = lengthen_wait(o, p->wait[i]);
        p->sent_at[i] = now;
        p->pushes++;
        *out = (struct plans_push){index, o->versions[i].number};
        return true;
    }
    return false;
}

static bool poll_group(struct plans_owner *o, tick now, struct plans_push *out)
{
    for (size_t i = 0; i < o->versions_len; i++) {
        if (!o->group_due[i])
            continue;
        o->group_due[i] = false;
        for (size_t k = 0; k < o->peers_len; k++)
            o->peers[k].sent_at[i] = now;
        *out = (struct plans_push){PLANS_GROUP, o->versions[i].number};
        return true;
    }
    return false;
}

bool plans_owner_poll(struct plans_owner *o, tick now, uint64_t wall, struct plans_push *out)
{
    drop_replaced(o, wall);
    if (poll_group(o, now, out))
        return true;
    for (size_t n = 0; n < o->peers_len; n++) {
        const size_t index = (o->turn + n) % o->peers_len;
        if (!poll_peer(o, index, now, out))
            continue;
        o->turn = (index + 1) % o->peers_len;
        return true;
    }
    return false;
}

/* What the group does not get, each follower gets by itself later. */
void plans_owner_refused(struct plans_owner *o, const struct plans_push *p, tick now)
{
    for (size_t i = 0; i < o->versions_len && p->peer != PLANS_GROUP; i++)
        if (o->versions[i].number == p->number)
            o->peers[p->peer].again_at[i] = tick_add(now, tick_min(o->again, PLANS_REFUSED_PAUSE));
}

tick plans_owner_deadline(const struct plans_owner *o)
{
    tick next = TICK_NEVER;
    for (size_t i = 0; i < o->versions_len; i++)
        next = o->group_due[i] ? 0 : next;
    for (size_t k = 0; k < o->peers_len; k++)
        for (size_t i = 0; i < o->versions_len; i++)
            if (o->peers[k].again_at[i] < next && plans_owner_lacks(o, &o->peers[k], i))
                next = o->peers[k].again_at[i];
    return next;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void plans_owner_check(const struct plans_owner *o)
{
    assert(o->versions_len <= PLANS_LISTED_MAX && o->peers_len <= PLANS_FOLLOWERS_MAX);
    assert(o->peers_len == 0 || o->turn < o->peers_len);
    for (size_t i = 1; i < o->versions_len; i++)
        assert(o->versions[i].number > o->versions[i - 1].number);
}
