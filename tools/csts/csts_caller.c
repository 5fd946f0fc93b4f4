/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection is made when the loop begins. Its end sets the alarm, which ends the loop: the
 * engine's host is still in use while `gone` is called. What can go wrong: nobody listens, TLS, the
 * BIND is refused, the provider aborts, closes or is silent: said, and `failed`.
 */
#include "tools/csts/csts_caller.h"

#include <signal.h>
#include <stdio.h>

#include "cla/framed/sle_digest.h"
#include "os/uv_world.h"

tick caller_now(const struct csts_caller *c)
{
    return world_now(c->world);
}

void caller_fail(struct csts_caller *c, const char *what, const char *why)
{
    if (!c->failed)
        fprintf(stderr, "helio-csts: %s: %s\n", what, why);
    c->failed = true;
}

void caller_abort(struct csts_caller *c, const char *why)
{
    caller_fail(c, "the provider", why);
    csts_link_abort(csts_conn_link(c->conn), CSTS_ABORT_OTHER, caller_now(c));
    csts_conn_wake(c->conn);
    alarm_set(&c->alarm, TICK_NEVER);
}

static void end_all(struct csts_caller *c)
{
    if (c->ended)
        return;
    c->ended = true;
    alarm_fini(&c->alarm);
    if (c->ops->end != NULL)
        c->ops->end(c->self);
    csts_host_fini(&c->host);
    uv_signals_close(c->signals);
    uv_world_end(c->world);
}

static void on_notice(void *context, struct csts_conn *conn, const struct csts_notice *n)
{
    struct csts_caller *c = context;
    char words[128];
    (void)conn;
    if (n->kind == CSTS_TOLD_OVER) {
        c->over = n->end;
        if (n->end != SLE_END_UNBOUND && n->end != SLE_END_CLOSED)
            caller_fail(c, "the association", csts_end_words(n, words, sizeof words));
    }
    c->ops->notice(c->self, n);
}

static void on_gone(void *context, struct csts_conn *conn, int error)
{
    struct csts_caller *c = context;
    c->conn = NULL;
    if (csts_conn_why(conn)[0] != '\0')
        caller_fail(c, "TLS", csts_conn_why(conn));
    if (c->over == SLE_END_CLOSED)
        caller_fail(c, "the connection",
                    error < 0 ? helio_strerror(error) : "the provider closed it");
    alarm_set(&c->alarm, 0);
}

static void on_room(void *context, struct csts_conn *conn)
{
    const struct csts_caller *c = context;
    (void)conn;
    if (c->ops->room != NULL)
        c->ops->room(c->self);
}

static void on_alarm(void *context)
{
    struct csts_caller *c = context;
    if (c->conn == NULL)
        end_all(c);
    else
        c->ops->late(c->self);
}

static void on_signal(void *context, int number)
{
    struct csts_caller *c = context;
    (void)number;
    if (c->ops->signal(c->self)) {
        csts_conn_wake(c->conn);
        return;
    }
    if (c->conn != NULL)
        csts_conn_free(c->conn);
    c->conn = NULL;
    end_all(c);
}

static int connect_provider(struct csts_caller *c)
{
    static const struct csts_conn_user user = {on_notice, on_gone, on_room};
    struct csts_user_config config = {.id = c->terms->instance, .version = c->terms->version};
    char text[ADDRESS_TEXT_MAX];
    snprintf(config.responder, sizeof config.responder, "%s", c->terms->peer);
    snprintf(config.port, sizeof config.port, "%s", c->terms->port);
    const int e = csts_conn_open(&c->host, &c->conn, c->to, &config, &user, c);
    if (e < 0)
        caller_fail(c, address_write(c->to, text), helio_strerror(e));
    return e;
}

int caller_open(struct csts_caller *c)
{
    if (!csts_secure_of(c->terms, &c->secure))
        return 2;
    c->digests = sle_digests_new();
    if (c->digests == NULL || uv_world_open(&c->world) < 0) {
        fprintf(stderr, "helio-csts: the event loop cannot begin\n");
        sle_digests_free(c->digests);
        tls_free(c->secure.tls);
        return 1;
    }
    c->csts = csts_engine_of(c->terms, c->digests, world_random(c->world),
                             world_wall(c->world) - world_now(c->world));
    return 0;
}

bool caller_run(struct csts_caller *c, tick wait)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    if (c->csts == NULL) {
        caller_fail(c, "the engine", "out of memory");
        uv_world_end(c->world);
        uv_world_run(c->world);
        return false;
    }
    c->signals = uv_signals_open(c->world, numbers, 2, on_signal, c);
    csts_host_init(&c->host, c->world, c->csts);
    c->host.secure = c->secure.tls == NULL ? NULL : &c->secure;
    alarm_init(&c->alarm, c->world, ALARM_APP, on_alarm, c);
    if (c->signals == NULL)
        caller_fail(c, "the event loop", "no signals");
    if (c->ops->begin(c->self) < 0 || c->signals == NULL || connect_provider(c) < 0)
        end_all(c);
    else
        alarm_set(&c->alarm, tick_add(caller_now(c), wait));
    uv_world_run(c->world);
    return true;
}

void caller_close(struct csts_caller *c)
{
    csts_free(c->csts);
    if (uv_world_free(c->world) < 0)
        c->failed = true;
    sle_digests_free(c->digests);
    tls_free(c->secure.tls);
}
