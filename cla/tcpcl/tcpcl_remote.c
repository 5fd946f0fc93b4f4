/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts to connect to the link's remote. A host name is looked up anew with each of them; of its
 * addresses each attempt takes the next one. An attempt waits for the answer only when none is
 * known. What can go wrong: the name cannot be resolved, which counts as a failed attempt, unless
 * an earlier look-up had an answer; the answer says that the name has moved, away from the address
 * of the attempt.
 */
#include <assert.h>
#include <stdio.h>

#include "cla/tcpcl/tcpcl_link.h"

const char *tcpcl_remote_text(const struct tcpcl_link *l, char text[TCPCL_PLACE_MAX])
{
    const char *path = l->config->remote_path;
    if (path != NULL && *path != '\0')
        snprintf(text, TCPCL_PLACE_MAX, "%s", path);
    else
        remote_name_write(&l->remote, text);
    return text;
}

/* Nothing to do when a session is there: its end brings the next attempt. */
static bool wants_to_connect(const struct tcpcl_link *l)
{
    return l->wanted && !tcpcl_claimed(l) && tcpcl_connects(l->config);
}

void tcpcl_remote_connect(struct tcpcl_link *l)
{
    if (!wants_to_connect(l))
        return;
    const bool is_name = remote_name_is_name(&l->remote);
    if (is_name)
        remote_name_ask(&l->remote);
    if (!is_name || l->remote.found_len > 0)
        tcpcl_conn_begin(l);
}

static void fail_attempt(struct tcpcl_link *l)
{
    char text[TCPCL_PLACE_MAX];
    assert(l->remote.failed && l->remote.found_len == 0);
    tcpcl_down(l, 1, "cannot connect to %s: %s", tcpcl_remote_text(l, text), l->remote.why);
    l->connects_failed++;
    tcpcl_retry_later(l, true);
}

static void say_failure(struct tcpcl_link *l)
{
    char text[REMOTE_NAME_SAY_MAX];
    remote_name_failure(&l->remote, text);
    if (text[0] != '\0')
        cla_say(&l->cla, 1, "%s", text);
}

/* The running attempt that is not answered yet. */
static struct tcpcl_conn *find_unanswered(const struct tcpcl_link *l)
{
    list_for_each (it, &l->conns) {
        struct tcpcl_conn *c = container_of(it, struct tcpcl_conn, node);
        if (c->active && c->n.rx[0] == 0)
            return c;
    }
    return NULL;
}

/* The last attempt used an address that is no longer the peer's. If it has failed, the next one
 * needs no pause; if it is unanswered, it ends. */
static void follow_name(struct tcpcl_link *l)
{
    char text[TCPCL_PLACE_MAX];
    struct tcpcl_conn *c = find_unanswered(l);
    if (c != NULL) {
        l->connects_failed++;
        tcpcl_conn_drop(c);
    }
    if (!wants_to_connect(l))
        return;
    l->retry_at = TICK_NEVER;
    tcpcl_conn_begin(l);
    tcpcl_say(l, 2, "remote has moved: connects to %s", tcpcl_remote_text(l, text));
}

void tcpcl_remote_resolved(void *link)
{
    struct tcpcl_link *l = link;
    const struct remote_name *r = &l->remote;
    assert(remote_name_is_name(r) && (r->failed || r->found_len > 0));
    if (r->failed && r->found_len > 0)
        say_failure(l);
    else if (remote_name_moved(r) && l->wanted)
        follow_name(l);
    else if (r->failed && wants_to_connect(l))
        fail_attempt(l);
    else if (!address_given(&r->current) && wants_to_connect(l))
        tcpcl_conn_begin(l);
}
