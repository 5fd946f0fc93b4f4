/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of associations. A provider has a list of addresses: when one cannot be bound the
 * next is tried, each once. With --reconnect an association that did not end in order begins again
 * after a while, and goes on behind the last frame.
 *
 * Where the provider binds, this side listens, and the BIND says which instance a connection is
 * for.
 *
 * What can go wrong: nobody listens at any address; the provider refuses, or goes: reported, and
 * the result says so. A connection whose BIND is for none of ours is ended by the engine.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sle/user/sle_user_run.h"

/* A connection of a provider. */
struct caller {
    struct user *user;
    struct association *association; /* NULL: it has not bound */
    struct sle_conn *conn;
    struct list node;
};

static size_t places_of(const struct user *u)
{
    return 1 + u->options->more_len;
}

static const struct address *place_of(const struct association *a)
{
    const struct user_options *o = a->user->options;
    return a->place == 0 ? &o->to : &o->more[a->place - 1];
}

/* Is there another try? *wait: how long until then. */
static bool plan_again(struct association *a, tick *wait)
{
    const struct user_options *o = a->user->options;
    *wait = o->reconnect;
    if (a->stopping || a->done)
        return false;
    if (a->bound_now || o->listen)
        return o->reconnect > 0;
    a->place = (a->place + 1) % places_of(a->user);
    a->failed_places++;
    if (a->failed_places % places_of(a->user) != 0) {
        *wait = 0;
        return true;
    }
    return o->reconnect > 0;
}

/* What the next association begins with. */
static void begin_anew(struct association *a)
{
    a->started = a->stop_later = a->ended_data = a->bound_now = a->restarting = false;
    live_reset(a);
    a->asked = a->asking = 0;
    a->resuming = a->measure.frames > 0 && strstr(a->id, "=onlc") != NULL;
}

static void try_again_or_end(struct association *a)
{
    struct user *u = a->user;
    char text[ADDRESS_TEXT_MAX];
    tick wait;
    if (a->unbound || a->failed || !plan_again(a, &wait)) {
        if (!a->unbound && !a->failed)
            association_fail(a, "%s", a->why);
        association_over(a);
        return;
    }
    say(&u->log, LEVEL_WARNING, "%s: %s: %s in %.1f s", a->id, a->why,
        u->options->listen ? "its provider may bind" : address_write(place_of(a), text),
        (double)wait / (double)TICK_S);
    a->reconnects += a->bound_now;
    begin_anew(a);
    if (!u->options->listen)
        alarm_set(&a->again, world_now(u->world) + wait);
}

void links_gone(struct association *a, struct sle_conn *c, int error)
{
    a->conn = NULL;
    if (*sle_conn_why(c) != '\0')
        snprintf(a->why, sizeof a->why, "TLS: %s", sle_conn_why(c));
    if (*a->why == '\0')
        snprintf(a->why, sizeof a->why, "the connection has ended%s%s", error < 0 ? ": " : "",
                 error < 0 ? helio_strerror(error) : "");
    if (a->script == NULL || !script_gone(a))
        try_again_or_end(a);
}

/* ---- connections that we make ---- */

static int open_conn(struct association *a)
{
    struct user *u = a->user;
    int e = sle_conn_open(&u->host, &a->conn, a->sle, place_of(a), (uint32_t)u->options->tcp_buffer,
                          &association_user, a);
    if (e < 0) {
        char text[ADDRESS_TEXT_MAX];
        a->conn = NULL;
        snprintf(a->why, sizeof a->why, "%s: %s", address_write(place_of(a), text),
                 helio_strerror(e));
        return e;
    }
    e = u->secure.tls != NULL ? sle_conn_secure(a->conn, &u->secure, false) : 0;
    if (e < 0) {
        sle_conn_free(a->conn);
        a->conn = NULL;
        snprintf(a->why, sizeof a->why, "no TLS: %s", helio_strerror(e));
    }
    return e;
}

static void connect_association(struct association *a)
{
    struct user *u = a->user;
    *a->why = '\0';
    if (open_conn(a) < 0) {
        try_again_or_end(a);
        return;
    }
    const char *name = u->options->congestion;
    const int e = name == NULL ? 0 : sle_conn_congestion(a->conn, name);
    if (e < 0)
        say(&u->log, LEVEL_WARNING, "congestion: %s: %s", name, helio_strerror(e));
}

int links_bind(struct association *a)
{
    *a->why = '\0';
    return open_conn(a);
}

static void on_again(void *context)
{
    struct association *a = context;
    if (a->done)
        return;
    if (a->conn != NULL)
        association_start(a);
    else if (a->stopping)
        association_over(a);
    else
        connect_association(a);
}

/* ---- connections that providers make ---- */

/* Unbound in order: the provider closes the connection, which nobody waits for. The UNBIND return
 * is written after this notice. */
static void leave_caller(struct caller *k)
{
    struct association *a = k->association;
    k->association = NULL;
    a->conn = NULL;
    a->stopping = true;
    alarm_set(&a->again, 0);
}

static void on_caller_notice(void *context, struct sle_conn *c, const struct sle_notice *n)
{
    struct caller *k = context;
    struct user *u = k->user;
    if (n->kind == SLE_BOUND)
        for (size_t i = 0; i < u->len; i++)
            if (u->all[i].sle == sle_link_instance(sle_conn_link(c)) && !u->all[i].done) {
                k->association = &u->all[i];
                k->association->conn = c;
            }
    if (k->association != NULL)
        association_user.notice(k->association, c, n);
    if (k->association != NULL && n->kind == SLE_OVER && k->association->unbound)
        leave_caller(k);
    else if (k->association == NULL && n->kind == SLE_OVER)
        say(&u->log, LEVEL_WARNING, "%s", sle_end_text(n->end));
}

static void on_caller_gone(void *context, struct sle_conn *c, int error)
{
    struct caller *k = context;
    list_sub(&k->node);
    if (k->association != NULL)
        links_gone(k->association, c, error);
    free(k);
}

static const struct sle_conn_user caller_user = {on_caller_notice, on_caller_gone, NULL};

static void on_accepted(void *context, struct stream *s)
{
    struct user *u = context;
    struct caller *k = calloc(1, sizeof *k);
    struct sle_link *l = k == NULL ? NULL : sle_accept(u->sle, world_now(u->world));
    if (l == NULL) {
        free(k);
        stream_reset(s);
        return;
    }
    k->user = u;
    k->conn = sle_conn_new(&u->host, s, l, &caller_user, k);
    if (k->conn == NULL) {
        free(k);
        return;
    }
    list_add_tail(&u->callers, &k->node);
    const int e = u->secure.tls != NULL ? sle_conn_secure(k->conn, &u->secure, true) : 0;
    if (e == 0)
        return;
    say(&u->log, LEVEL_ERROR, "no TLS: %s", helio_strerror(e));
    sle_conn_free(k->conn);
    list_sub(&k->node);
    free(k);
}

/* ---- all of them ---- */

static void listen_or_end(struct user *u)
{
    char text[ADDRESS_TEXT_MAX];
    const int e = stream_listen(u->world, &u->listener,
                                &(struct stream_place){.address = &u->options->to}, on_accepted, u);
    for (size_t i = 0; e < 0 && i < u->len; i++) {
        association_fail(&u->all[i], "%s: %s", address_write(&u->options->to, text),
                         helio_strerror(e));
        association_over(&u->all[i]);
    }
}

void links_begin(struct user *u)
{
    list_init(&u->callers);
    for (size_t i = 0; i < u->len; i++)
        alarm_init(&u->all[i].again, u->world, ALARM_APP, on_again, &u->all[i]);
    if (u->options->listen)
        listen_or_end(u);
    for (size_t i = 0; !u->options->listen && i < u->len; i++)
        if (u->all[i].script != NULL)
            script_begin(&u->all[i]);
        else
            connect_association(&u->all[i]);
}

void links_end(struct user *u)
{
    if (u->listener != NULL)
        stream_unlisten(u->listener);
    u->listener = NULL;
    for (size_t i = 0; i < u->len; i++)
        alarm_fini(&u->all[i].again);
    for (size_t i = 0; i < u->len; i++)
        if (u->all[i].script != NULL)
            script_end(&u->all[i]);
    while (!list_empty(&u->callers)) {
        struct caller *k = container_of(list_first(&u->callers), struct caller, node);
        sle_conn_free(k->conn);
        list_sub(&k->node);
        free(k);
    }
}
