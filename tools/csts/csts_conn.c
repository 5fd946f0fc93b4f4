/* SPDX-License-Identifier: Apache-2.0 */
/* `gone` reports what went wrong with a connection (cla/framed/isp1_conn.h). */
#include "tools/csts/csts_conn.h"

#include <stdlib.h>

#include "cla/framed/isp1_unbound.h"
#include "os/net/address.h"

struct csts_conn {
    struct isp1_conn isp;
    struct csts_link *link;
    const struct csts_conn_user *user;
    void *context;
};

static struct csts_conn *conn_of(struct isp1_conn *c)
{
    return container_of(c, struct csts_conn, isp);
}

static bool tell_notices(struct isp1_conn *isp)
{
    struct csts_conn *c = conn_of(isp);
    struct csts_notice n;
    bool any = false;
    while (isp1_conn_tells(isp) && csts_link_poll(c->link, &n, isp->now)) {
        any = true;
        if (n.kind == CSTS_TOLD_BOUND)
            isp1_unbound_sub(isp);
        if (n.kind == CSTS_TOLD_OVER)
            isp1_conn_settle(isp);
        c->user->notice(c->context, c, &n);
    }
    if (c->user->room != NULL && isp1_conn_tells(isp) && !isp1_conn_full(isp) && !isp->over)
        c->user->room(c->context, c);
    return any;
}

static void tell_gone(struct isp1_conn *isp)
{
    struct csts_conn *c = conn_of(isp);
    c->user->gone(c->context, c, isp->error);
}

static void release_conn(struct isp1_conn *isp)
{
    struct csts_conn *c = conn_of(isp);
    struct isp1_host *h = isp->host;
    csts_link_free(c->link);
    free(c);
    if (h->world != NULL)
        isp1_host_look(h);
}

static const struct isp1_conn_user conn_user = {tell_notices, tell_gone, NULL, release_conn};

static bool expire_engine(struct isp1_host *isp, struct isp1_link **link, tick now)
{
    struct csts_link *l;
    if (!csts_expire(container_of(isp, struct csts_host, isp)->engine, &l, now))
        return false;
    *link = l == NULL ? NULL : csts_link_isp1(l);
    return true;
}

void csts_host_init(struct csts_host *h, struct world *w, struct csts *engine)
{
    *h = (struct csts_host){.engine = engine};
    isp1_host_init(&h->isp, w, csts_isp1(engine), expire_engine);
}

void csts_host_fini(struct csts_host *h)
{
    isp1_host_fini(&h->isp);
}

void csts_host_wake(struct csts_host *h, struct csts_link *l)
{
    (void)h;
    if (l != NULL && csts_link_isp1(l)->host != NULL)
        isp1_conn_wake(csts_link_isp1(l)->host);
}

struct isp1_conn *csts_conn_isp1(struct csts_conn *c)
{
    return &c->isp;
}

void csts_conn_wake(struct csts_conn *c)
{
    isp1_conn_wake(&c->isp);
}

struct csts_link *csts_conn_link(const struct csts_conn *c)
{
    return c->link;
}

const char *csts_conn_why(const struct csts_conn *c)
{
    return isp1_conn_why(&c->isp);
}

void csts_conn_free(struct csts_conn *c)
{
    isp1_conn_free(&c->isp);
}

struct csts_conn *csts_conn_new(struct csts_host *h, struct stream *s, struct csts_link *l,
                                const struct csts_conn_user *user, void *context)
{
    struct csts_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        stream_reset(s);
        csts_link_free(l);
        return NULL;
    }
    c->link = l;
    c->user = user;
    c->context = context;
    const bool server = !csts_link_isp1(l)->initiator;
    isp1_conn_init(&c->isp, &h->isp, s, csts_link_isp1(l), &conn_user);
    if (h->secure == NULL || isp1_conn_secure(&c->isp, h->secure, server) == 0)
        return c;
    isp1_conn_free(&c->isp);
    return NULL;
}

int csts_conn_open(struct csts_host *h, struct csts_conn **out, const struct address *to,
                   const struct csts_user_config *config, const struct csts_conn_user *user,
                   void *context)
{
    struct stream *s;
    const int e = isp1_conn_connect(&h->isp, to, &s);
    if (e != 0)
        return e;
    struct csts_link *l = csts_connect(h->engine, config, world_now(h->isp.world));
    if (l == NULL) {
        stream_close(s);
        return HELIO_ENOMEM;
    }
    *out = csts_conn_new(h, s, l, user, context);
    return *out == NULL ? HELIO_ENOMEM : HELIO_OK;
}
