/* SPDX-License-Identifier: Apache-2.0 */
/* The notices of Space Link Extension, around cla/framed/isp1_conn.h. */
#include "cla/framed/sle_conn.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "cla/framed/isp1_unbound.h"
#include "os/net/address.h"

struct sle_conn {
    struct isp1_conn isp;
    struct sle_link *link;
    const struct sle_conn_user *user;
    void *context;
};

static struct sle_conn *conn_of(struct isp1_conn *c)
{
    return container_of(c, struct sle_conn, isp);
}

static bool tell_notices(struct isp1_conn *isp)
{
    struct sle_conn *c = conn_of(isp);
    struct sle_notice n;
    bool any = false;
    while (isp1_conn_tells(isp) && sle_link_poll(c->link, &n, isp->now)) {
        any = true;
        if (n.kind == SLE_BOUND)
            isp1_unbound_sub(isp);
        if (n.kind == SLE_OVER)
            isp1_conn_settle(isp);
        c->user->notice(c->context, c, &n);
    }
    return any;
}

static void tell_gone(struct isp1_conn *isp)
{
    struct sle_conn *c = conn_of(isp);
    c->user->gone(c->context, c, isp->error);
}

static void tell_room(struct isp1_conn *isp)
{
    struct sle_conn *c = conn_of(isp);
    if (c->user->room != NULL)
        c->user->room(c->context);
}

static void release_conn(struct isp1_conn *isp)
{
    struct sle_conn *c = conn_of(isp);
    assert(isp->link == sle_link_isp1(c->link) && !isp->pumping);
    sle_link_free(c->link);
    free(c);
}

static const struct isp1_conn_user conn_user = {tell_notices, tell_gone, tell_room, release_conn};

static bool expire_engine(struct isp1_host *isp, struct isp1_link **link, tick now)
{
    struct sle_host *h = container_of(isp, struct sle_host, isp);
    struct sle_due d;
    if (!sle_expire(h->engine, &d, now))
        return false;
    *link = d.link == NULL ? NULL : sle_link_isp1(d.link);
    if (d.link == NULL && h->due != NULL)
        h->due(h->context, d.instance);
    return true;
}

void sle_host_init(struct sle_host *h, struct world *w, struct sle *engine)
{
    *h = (struct sle_host){.engine = engine};
    isp1_host_init(&h->isp, w, sle_isp1(engine), expire_engine);
}

void sle_host_fini(struct sle_host *h)
{
    isp1_host_fini(&h->isp);
}

void sle_host_look(struct sle_host *h)
{
    isp1_host_look(&h->isp);
}

struct sle_conn *sle_conn_new(struct sle_host *h, struct stream *s, struct sle_link *l,
                              const struct sle_conn_user *user, void *context)
{
    struct sle_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        stream_reset(s);
        sle_link_free(l);
        return NULL;
    }
    assert(user->notice != NULL && user->gone != NULL);
    c->link = l;
    c->user = user;
    c->context = context;
    isp1_conn_init(&c->isp, &h->isp, s, sle_link_isp1(l), &conn_user);
    return c;
}

int sle_conn_open(struct sle_host *h, struct sle_conn **out, struct sle_instance *i,
                  const struct address *to, uint32_t buffers, const struct sle_conn_user *user,
                  void *context)
{
    struct stream *s;
    const int r = isp1_conn_connect(&h->isp, to, &s);
    if (r != 0)
        return r;
    if (buffers > 0)
        stream_buffers(s, buffers);
    struct sle_link *l = sle_connect(i, world_now(h->isp.world));
    if (l == NULL)
        stream_close(s);
    *out = l == NULL ? NULL : sle_conn_new(h, s, l, user, context);
    return *out == NULL ? HELIO_ENOMEM : 0;
}

struct isp1_conn *sle_conn_isp1(struct sle_conn *c)
{
    return &c->isp;
}

void sle_conn_pump(struct sle_conn *c)
{
    isp1_conn_pump(&c->isp);
}

int sle_conn_secure(struct sle_conn *c, const struct sle_secure *secure, bool server)
{
    return isp1_conn_secure(&c->isp, secure, server);
}

const char *sle_conn_why(const struct sle_conn *c)
{
    return isp1_conn_why(&c->isp);
}

struct sle_link *sle_conn_link(const struct sle_conn *c)
{
    return c->link;
}

bool sle_conn_full(const struct sle_conn *c)
{
    return isp1_conn_full(&c->isp);
}

bool sle_conn_lends(const struct sle_conn *c)
{
    return isp1_conn_lends(&c->isp);
}

uint64_t sle_conn_unheard(const struct sle_conn *c)
{
    return isp1_conn_unheard(&c->isp);
}

int sle_conn_congestion(struct sle_conn *c, const char *name)
{
    return isp1_conn_congestion(&c->isp, name);
}

tick sle_conn_now(const struct sle_conn *c)
{
    return isp1_conn_now(&c->isp);
}

void sle_conn_hold(struct sle_conn *c, bool on)
{
    isp1_conn_hold(&c->isp, on);
}

const char *sle_conn_reason(const struct sle_notice *over)
{
    assert(over->kind == SLE_OVER);
    if (over->end == SLE_END_REFUSED)
        return sle_bind_text(over->bind_diag);
    return over->end == SLE_END_ABORTED || over->end == SLE_END_PEER_ABORT ||
                   over->end == SLE_END_TML
               ? sle_abort_text(over->abort)
               : "";
}

void sle_conn_free(struct sle_conn *c)
{
    if (c != NULL)
        isp1_conn_free(&c->isp);
}
