/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ISP1 link on one stream. With TLS no octet of the link is passed before the handshake is
 * finished and the certificate has the required name. The pump passes notices, then output, until
 * there is neither or the stream is full; then it applies the stream state that the link requests.
 * The system call gathers frames without a copy.
 *
 * What can go wrong: the stream ends, which is reported to the link. Or the peer is aborted: then
 * the urgent octet is sent, and further input is read and dropped until the stream ends or the
 * link's time expires.
 */
#include "cla/framed/isp1_conn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cla/framed/isp1_unbound.h"
#include "cla/framed/sle_digest.h"
#include "os/net/address.h"

#define ROUNDS_MAX 64          /* of writing, before others have their turn */
#define LEND_LEAST (64u << 10) /* octets of output that are large */
#define LARGE_FOR                                                                                  \
    (10 * TICK_MS) /* so long its last large output makes a connection one of those                \
                    */

static_assert(SLE_LENT_MAX == STREAM_PARTS_MAX, "what the engine lends is one write");

/* What a thread has of a connection. */
struct isp1_lending {
    struct stream_beside beside;
    struct isp1_conn *conn;
    struct sle_digests *digests;
    struct sle_lent lent;
    struct slice parts[STREAM_PARTS_MAX];
    size_t want; /* octets of them */
    bool on;
};

static tick now_of(const struct isp1_conn *c)
{
    return world_now(c->host->world);
}

/* ---- the engine's time ---- */

void isp1_host_look(struct isp1_host *h)
{
    const tick due = agenda_due(&h->isp->agenda);
    if (due != alarm_due(&h->alarm))
        alarm_set(&h->alarm, due);
}

static void on_due(void *context)
{
    struct isp1_host *h = context;
    struct isp1_link *l;
    const tick now = world_now(h->world);
    while (h->expire(h, &l, now)) {
        struct isp1_conn *c = l == NULL ? NULL : l->host;
        if (c != NULL) /* from the loop: connections freed by their pump are reported there */
            alarm_set(&c->alarm, 0);
    }
    alarm_set(&h->alarm, agenda_due(&h->isp->agenda));
}

void isp1_host_init(struct isp1_host *h, struct world *w, struct isp1 *isp,
                    bool (*expire)(struct isp1_host *h, struct isp1_link **link, tick now))
{
    *h = (struct isp1_host){.world = w, .isp = isp, .expire = expire};
    list_init(&h->large);
    alarm_init(&h->alarm, w, ALARM_LINK, on_due, h);
}

void isp1_host_fini(struct isp1_host *h)
{
    if (h->world != NULL)
        alarm_fini(&h->alarm);
    h->world = NULL;
}

static void forget_large(struct isp1_conn *c)
{
    if (list_empty(&c->large))
        return;
    list_sub(&c->large);
    assert(c->host->large_len > 0);
    c->host->large_len--;
}

static void free_conn(struct isp1_conn *c)
{
    assert(!c->pumping && c->link != NULL);
    alarm_fini(&c->alarm);
    isp1_unbound_sub(c);
    forget_large(c);
    c->host->lent -= isp1_conn_lends(c) ? 1 : 0; /* closing the stream takes it back */
    if (c->stream != NULL)
        stream_close(c->stream);
    if (c->lending != NULL)
        sle_digests_free(c->lending->digests);
    free(c->lending);
    c->user->release(c);
}

/* ---- writing in another thread ---- */

bool isp1_conn_lends(const struct isp1_conn *c)
{
    return c->lending != NULL && c->lending->on;
}

static void take_back(struct isp1_conn *c, size_t octets)
{
    struct isp1_lending *d = c->lending;
    assert(d->on && octets <= d->want && c->host->lent > 0);
    d->on = false;
    c->host->lent--;
    c->full = octets < d->want;
    isp1_wrote(c->link, octets, now_of(c));
}

/* Takes back lent slices now. */
void isp1_conn_settle(struct isp1_conn *c)
{
    if (isp1_conn_lends(c))
        take_back(c, stream_settle(c->stream));
}

/* In a thread. */
static void sign_lent(struct stream_beside *b)
{
    const struct isp1_lending *d = container_of(b, struct isp1_lending, beside);
    sle_lent_sign(&d->lent, sle_digest, d->digests);
}

static void on_written(struct stream_beside *b, size_t octets)
{
    struct isp1_conn *c = container_of(b, struct isp1_lending, beside)->conn;
    c->host->lent_writes++;
    c->host->lent_octets += octets;
    take_back(c, octets);
    if (!c->full && c->user->room != NULL)
        c->user->room(c);
    isp1_conn_pump(c);
}

static bool make_lending(struct isp1_conn *c)
{
    if (c->lending != NULL)
        return true;
    struct isp1_lending *d = calloc(1, sizeof *d);
    if (d == NULL)
        return false;
    d->conn = c;
    d->beside =
        (struct stream_beside){.parts = d->parts, .prepare = sign_lent, .written = on_written};
    d->digests = sle_digests_new();
    if (d->digests == NULL) {
        free(d);
        return false;
    }
    c->lending = d;
    return true;
}

/* The connection has large output. Connections with such output. */
static size_t count_large(struct isp1_conn *c)
{
    struct isp1_host *h = c->host;
    const tick now = now_of(c);
    forget_large(c);
    list_add_tail(&h->large, &c->large);
    h->large_len++;
    c->large_at = now;
    for (struct list *first = list_first(&h->large); first != NULL; first = list_first(&h->large)) {
        struct isp1_conn *other = container_of(first, struct isp1_conn, large);
        if (now - other->large_at < LARGE_FOR)
            break;
        forget_large(other);
    }
    return h->large_len;
}

/* When each thread has its next write already, or all others' output is lent, the loop writes. */
static bool may_lend(struct isp1_conn *c)
{
    const struct isp1_host *h = c->host;
    return h->writers > 0 && c->secure == NULL && c->link->queue_octets >= LEND_LEAST &&
           h->lent + 1 < count_large(c) && stream_waiting(c->stream) < h->writers;
}

/* False: it is to be written here. */
static bool lend_output(struct isp1_conn *c)
{
    struct isp1_host *h = c->host;
    if (!may_lend(c) || !make_lending(c))
        return false;
    struct isp1_lending *d = c->lending;
    size_t n = isp1_lend(c->link, d->parts, STREAM_PARTS_MAX, &d->lent, now_of(c));
    assert(n > 0);
    d->beside.parts_len = n;
    d->want = 0;
    for (size_t i = 0; i < n; i++)
        d->want += d->parts[i].len;
    d->on = true;
    h->lent++;
    if (!stream_write_beside(c->stream, &d->beside)) {
        sign_lent(&d->beside);
        take_back(c, stream_write(c->stream, d->parts, n));
    }
    return true;
}

/* What TLS says: known before the end is reported, so that one line of a log can have it. */
static void keep_why(struct isp1_conn *c)
{
    if (c->secure != NULL && c->why[0] == '\0' && helio_code(c->error) == HELIO_EFORMAT)
        snprintf(c->why, sizeof c->why, "%s", tls_why(c->stream));
}

static void end_conn(struct isp1_conn *c, bool reset)
{
    assert(c->stream != NULL && !c->freed);
    keep_why(c);
    if (reset)
        stream_reset(c->stream);
    else
        stream_close(c->stream);
    c->stream = NULL;
    c->user->gone(c);
    free_conn(c);
}

/* True: there were some. */
static bool tell_notices(struct isp1_conn *c)
{
    assert(!c->pumping && !c->freed);
    c->pumping = true;
    c->now = now_of(c);
    const bool any = c->user->tell(c);
    c->pumping = false;
    return any;
}

/* True: something was written. */
static bool write_output(struct isp1_conn *c)
{
    struct slice parts[STREAM_PARTS_MAX];
    size_t want = 0;
    if (c->full || c->urgent || c->over || isp1_conn_lends(c))
        return false;
    if (lend_output(c))
        return !isp1_conn_lends(c);
    size_t n = isp1_output(c->link, parts, STREAM_PARTS_MAX, now_of(c));
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    size_t got = stream_write(c->stream, parts, n);
    assert(got <= want);
    c->full = got < want;
    isp1_wrote(c->link, got, now_of(c));
    return got > 0;
}

/* Applies the stream state that the link requests. False: the connection was freed. Earlier input
 * is processed first. */
static bool settle_stream(struct isp1_conn *c)
{
    enum sle_stream want = c->link->stream;
    if (c->over && c->held)
        return false;
    if (want == SLE_STREAM_RESET || want == SLE_STREAM_CLOSE || c->over) {
        end_conn(c, want == SLE_STREAM_RESET);
        return false;
    }
    if (want == SLE_STREAM_ABORT && !c->urgent) {
        isp1_conn_settle(c);
        c->urgent = true;
        if (stream_urgent(c->stream, (uint8_t)c->link->abort) != 0) {
            end_conn(c, true);
            return false;
        }
    }
    stream_read(c->stream, c->urgent || isp1_reads(c->link));
    return true;
}

void isp1_conn_pump(struct isp1_conn *c)
{
    assert(c != NULL && !c->pumping && c->stream != NULL);
    struct isp1_host *h = c->host;
    unsigned rounds = 0;
    for (bool more = true; more && rounds < ROUNDS_MAX; rounds++) {
        more = tell_notices(c);
        if (c->freed) {
            free_conn(c);
            isp1_host_look(h);
            return;
        }
        more = write_output(c) || more;
    }
    isp1_host_look(h); /* before what settling frees */
    if (settle_stream(c) && rounds == ROUNDS_MAX)
        alarm_set(&c->alarm, 0);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct isp1_conn *c = context;
    *len = sizeof c->dropped;
    return c->urgent || !isp1_reads(c->link) ? c->dropped : isp1_space(c->link, len);
}

static void on_fed(void *context, size_t len)
{
    struct isp1_conn *c = context;
    if (c->urgent)
        return;
    isp1_fed(c->link, len, now_of(c));
    isp1_conn_pump(c);
}

static bool is_trusted(struct isp1_conn *c)
{
    const struct sle_secure *s = c->secure;
    struct address at;
    bool good = true;
    if (s->peer == SLE_TLS_HOST)
        good = tls_match_host(c->stream, s->host) == TLS_SUCCESS;
    if (s->peer == SLE_TLS_ADDRESS)
        good = stream_peer(c->stream, &at) && tls_match_address(c->stream, &at) == TLS_SUCCESS;
    if (!good)
        snprintf(c->why, sizeof c->why, "the peer's certificate does not name its %s",
                 s->peer == SLE_TLS_HOST ? "host" : "address");
    return good;
}

static void on_writable(void *context)
{
    struct isp1_conn *c = context;
    if (c->secure != NULL && !c->secured) {
        c->secured = true; /* the handshake has ended */
        if (!is_trusted(c)) {
            c->error = HELIO_EFORMAT;
            end_conn(c, true);
            return;
        }
    }
    c->full = false;
    if (c->user->room != NULL)
        c->user->room(c);
    isp1_conn_pump(c);
}

static void on_ended(void *context, int error)
{
    struct isp1_conn *c = context;
    c->error = error;
    c->over = true;
    keep_why(c);
    isp1_closed(c->link);
    isp1_conn_pump(c);
}

static void on_urgent(void *context, uint8_t octet)
{
    struct isp1_conn *c = context;
    isp1_urgent(c->link, octet, now_of(c));
    isp1_conn_pump(c);
}

void isp1_conn_hold(struct isp1_conn *c, bool on)
{
    if (c->held && !on && !c->pumping)
        alarm_set(&c->alarm, 0);
    c->held = on;
}

static void on_alarm(void *context)
{
    isp1_conn_pump(context);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

/* A stream that is still connecting takes nothing, as one that is full: TLS waits for it. */
int isp1_conn_secure(struct isp1_conn *c, const struct sle_secure *secure, bool server)
{
    assert(c->secure == NULL && !c->over);
    const struct tls_setup setup = {.server = server,
                                    .verify = secure->peer != SLE_TLS_NONE,
                                    .any_purpose = true,
                                    .host = server ? NULL : secure->host};
    struct stream *above;
    stream_on_urgent(c->stream, NULL); /* it is TLS's now, which has none */
    int e = tls_stream(&above, secure->tls, c->host->world, c->stream, &setup);
    if (e != 0)
        return e;
    c->secure = secure;
    c->stream = above;
    c->full = true; /* until the handshake has ended */
    stream_use(above, &stream_user, c);
    stream_read(above, true);
    return 0;
}

const char *isp1_conn_why(const struct isp1_conn *c)
{
    return c->why;
}

void isp1_conn_init(struct isp1_conn *c, struct isp1_host *h, struct stream *s, struct isp1_link *l,
                    const struct isp1_conn_user *user)
{
    assert(user->tell != NULL && user->gone != NULL && user->release != NULL && l->isp == h->isp);
    *c = (struct isp1_conn){.host = h, .stream = s, .link = l, .user = user};
    alarm_init(&c->alarm, h->world, ALARM_LINK, on_alarm, c);
    list_init(&c->large);
    l->host = c;
    stream_use(s, &stream_user, c);
    stream_on_urgent(s, on_urgent);
    stream_read(s, true);
    alarm_set(&c->alarm, 0); /* the first pump comes from the loop */
    assert(c->stream != NULL && c->link != NULL);
}

int isp1_conn_connect(struct isp1_host *h, const struct address *to, struct stream **out)
{
    const struct stream_place place = {.address = to};
    return stream_connect(h->world, out, &place, &stream_user, NULL);
}

void isp1_conn_wake(struct isp1_conn *c)
{
    alarm_set(&c->alarm, 0);
}

bool isp1_conn_full(const struct isp1_conn *c)
{
    return c->full || isp1_conn_lends(c);
}

uint64_t isp1_conn_unheard(const struct isp1_conn *c)
{
    return stream_unheard(c->stream);
}

int isp1_conn_congestion(struct isp1_conn *c, const char *name)
{
    return stream_congestion(c->stream, name);
}

tick isp1_conn_now(const struct isp1_conn *c)
{
    return c->now;
}

void isp1_conn_free(struct isp1_conn *c)
{
    isp1_unbound_sub(c);
    if (c->pumping)
        c->freed = true;
    else
        free_conn(c);
}
