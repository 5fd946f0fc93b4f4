/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump: notices, then output, until there is neither or the stream is full; then the stream is
 * what the link wants it to be.
 *
 * What can go wrong: the stream ends or breaks, which the link is told; the peer is aborted: then
 * the urgent octet goes out, what still comes is read and dropped until the stream ends or the
 * link's time is over.
 */
#include "tools/csts/csts_conn.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 64, PARTS_MAX = 64 }; /* of writing, before others have their turn */

struct csts_conn {
    struct csts_host *host;
    struct stream *stream;
    struct csts_link *link;
    const struct csts_conn_user *user;
    void *context;
    struct alarm alarm; /* to pump from the loop */
    bool full;          /* the stream has no room */
    bool urgent;        /* our PEER-ABORT is out */
    bool over;          /* the stream has ended: error */
    int error;
    uint8_t dropped[1024]; /* where what nobody reads goes */
};

static tick now_of(const struct csts_conn *c)
{
    return world_now(c->host->world);
}

static void look_at_time(struct csts_host *h)
{
    const tick due = csts_deadline(h->engine);
    if (due != alarm_due(&h->alarm))
        alarm_set(&h->alarm, due);
}

static void on_due(void *context)
{
    struct csts_host *h = context;
    struct csts_link *l;
    const tick now = world_now(h->world);
    while (csts_expire(h->engine, &l, now))
        csts_host_wake(h, l);
    alarm_set(&h->alarm, csts_deadline(h->engine));
}

void csts_host_init(struct csts_host *h, struct world *w, struct csts *engine)
{
    *h = (struct csts_host){.world = w, .engine = engine};
    alarm_init(&h->alarm, w, ALARM_LINK, on_due, h);
}

void csts_host_fini(struct csts_host *h)
{
    if (h->world != NULL)
        alarm_fini(&h->alarm);
    h->world = NULL;
}

void csts_host_wake(struct csts_host *h, struct csts_link *l)
{
    struct csts_conn *c = l == NULL ? NULL : csts_link_host(l);
    (void)h;
    if (c != NULL)
        csts_conn_wake(c);
}

void csts_conn_wake(struct csts_conn *c)
{
    alarm_set(&c->alarm, 0);
}

struct csts_link *csts_conn_link(const struct csts_conn *c)
{
    return c->link;
}

static void free_conn(struct csts_conn *c)
{
    alarm_fini(&c->alarm);
    if (c->stream != NULL)
        stream_close(c->stream);
    csts_link_free(c->link);
    free(c);
}

void csts_conn_free(struct csts_conn *c)
{
    struct csts_host *h = c->host;
    free_conn(c);
    look_at_time(h);
}

static void end_conn(struct csts_conn *c, bool reset)
{
    if (reset)
        stream_reset(c->stream);
    else
        stream_close(c->stream);
    c->stream = NULL;
    c->user->gone(c->context, c, c->error);
    csts_conn_free(c);
}

/* True: there were some. */
static bool tell_notices(struct csts_conn *c)
{
    struct csts_notice n;
    bool any = false;
    while (csts_link_poll(c->link, &n, now_of(c))) {
        any = true;
        c->user->notice(c->context, c, &n);
    }
    return any;
}

/* True: something was written. */
static bool write_output(struct csts_conn *c)
{
    struct slice parts[PARTS_MAX];
    size_t want = 0;
    if (c->full || c->urgent || c->over)
        return false;
    const size_t n = csts_link_output(c->link, parts, PARTS_MAX, now_of(c));
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    const size_t got = stream_write(c->stream, parts, n);
    c->full = got < want;
    csts_link_wrote(c->link, got, now_of(c));
    return got > 0;
}

/* Brings the stream to what the link wants. */
static void settle_stream(struct csts_conn *c)
{
    const enum sle_stream want = csts_link_stream(c->link);
    if (want == SLE_STREAM_RESET || want == SLE_STREAM_CLOSE || c->over) {
        end_conn(c, want == SLE_STREAM_RESET);
        return;
    }
    if (want == SLE_STREAM_ABORT && !c->urgent) {
        c->urgent = true;
        if (stream_urgent(c->stream, csts_link_abort_octet(c->link)) != 0) {
            end_conn(c, true);
            return;
        }
    }
    stream_read(c->stream, c->urgent || csts_link_reads(c->link));
}

static void pump_conn(struct csts_conn *c)
{
    unsigned rounds = 0;
    for (bool more = true; more && rounds < ROUNDS_MAX; rounds++) {
        more = tell_notices(c);
        more = write_output(c) || more;
        if (c->user->room != NULL && !c->full && !c->over)
            c->user->room(c->context, c);
    }
    if (rounds == ROUNDS_MAX)
        csts_conn_wake(c);
    look_at_time(c->host); /* before what settling frees */
    settle_stream(c);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct csts_conn *c = context;
    *len = sizeof c->dropped;
    return c->urgent || !csts_link_reads(c->link) ? c->dropped : csts_link_space(c->link, len);
}

static void on_fed(void *context, size_t len)
{
    struct csts_conn *c = context;
    if (c->urgent)
        return;
    csts_link_fed(c->link, len, now_of(c));
    pump_conn(c);
}

static void on_writable(void *context)
{
    struct csts_conn *c = context;
    c->full = false;
    pump_conn(c);
}

static void on_ended(void *context, int error)
{
    struct csts_conn *c = context;
    c->error = error;
    c->over = true;
    csts_link_closed(c->link, now_of(c));
    pump_conn(c);
}

static void on_urgent(void *context, uint8_t octet)
{
    struct csts_conn *c = context;
    csts_link_urgent(c->link, octet, now_of(c));
    pump_conn(c);
}

static void on_alarm(void *context)
{
    pump_conn(context);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

struct csts_conn *csts_conn_new(struct csts_host *h, struct stream *s, struct csts_link *l,
                                const struct csts_conn_user *user, void *context)
{
    struct csts_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        stream_reset(s);
        csts_link_free(l);
        return NULL;
    }
    c->host = h;
    c->stream = s;
    c->link = l;
    c->user = user;
    c->context = context;
    alarm_init(&c->alarm, h->world, ALARM_LINK, on_alarm, c);
    csts_link_use(l, c);
    stream_use(s, &stream_user, c);
    stream_on_urgent(s, on_urgent);
    stream_read(s, true);
    csts_conn_wake(c); /* the first pump comes from the loop */
    return c;
}

int csts_conn_open(struct csts_host *h, struct csts_conn **out, const struct address *to,
                   const struct csts_user_config *config, const struct csts_conn_user *user,
                   void *context)
{
    struct stream *s;
    const struct stream_place place = {.address = to};
    const int e = stream_connect(h->world, &s, &place, &stream_user, NULL);
    if (e != 0)
        return e;
    struct csts_link *l = csts_connect(h->engine, config, world_now(h->world));
    if (l == NULL) {
        stream_close(s);
        return HELIO_ENOMEM;
    }
    *out = csts_conn_new(h, s, l, user, context);
    return *out == NULL ? HELIO_ENOMEM : HELIO_OK;
}
