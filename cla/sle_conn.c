/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump: notices, then output, until there is neither or the stream is full; then the stream is
 * what the link wants it to be. Frames are gathered by the system call from where they lie.
 *
 * What can go wrong: the stream ends or breaks, which the link is told; the peer is aborted: then
 * the urgent octet goes out, what still comes is read and dropped until the stream ends or the
 * link's time is over.
 */
#include "cla/sle_conn.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

#define ROUNDS_MAX 64 /* of writing, before others have their turn */

struct sle_conn {
    struct world *world;
    struct stream *stream;
    struct sle_link *link;
    const struct sle_conn_user *user;
    void *context;
    struct alarm alarm;
    bool full;    /* the stream has no room */
    bool pumping; /* a notice is being told */
    bool held;    /* notices wait */
    bool urgent;  /* our PEER-ABORT is out */
    bool freed;   /* from within a notice */
    bool over;    /* the stream has ended: error */
    int error;
    tick now;              /* when its notices were told */
    uint8_t dropped[4096]; /* where what nobody reads goes */
};

static tick now_of(const struct sle_conn *c)
{
    return world_now(c->world);
}

static void free_conn(struct sle_conn *c)
{
    assert(!c->pumping && c->link != NULL);
    alarm_fini(&c->alarm);
    if (c->stream != NULL)
        stream_close(c->stream);
    sle_link_free(c->link);
    free(c);
}

static void end_conn(struct sle_conn *c, bool reset)
{
    assert(c->stream != NULL && !c->freed);
    if (reset)
        stream_reset(c->stream);
    else
        stream_close(c->stream);
    c->stream = NULL;
    c->user->gone(c->context, c, c->error);
    free_conn(c);
}

/* True: there were some. */
static bool tell_notices(struct sle_conn *c)
{
    struct sle_notice n;
    bool any = false;
    assert(!c->pumping && !c->freed);
    c->pumping = true;
    c->now = now_of(c);
    while (!c->freed && !c->held && sle_link_poll(c->link, &n, c->now)) {
        any = true;
        c->user->notice(c->context, c, &n);
    }
    c->pumping = false;
    return any;
}

/* True: something was written. */
static bool write_output(struct sle_conn *c)
{
    struct slice parts[STREAM_PARTS_MAX];
    size_t want = 0;
    if (c->full || c->urgent || c->over)
        return false;
    size_t n = sle_link_output(c->link, parts, STREAM_PARTS_MAX, now_of(c));
    if (n == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    size_t got = stream_write(c->stream, parts, n);
    assert(got <= want);
    c->full = got < want;
    sle_link_wrote(c->link, got, now_of(c));
    return got > 0;
}

/* Brings the stream to what the link wants. False: the connection is gone. What came before its end
 * is told before that. */
static bool settle_stream(struct sle_conn *c)
{
    enum sle_stream want = sle_link_stream(c->link);
    if (c->over && c->held)
        return false;
    if (want == SLE_STREAM_RESET || want == SLE_STREAM_CLOSE || c->over) {
        end_conn(c, want == SLE_STREAM_RESET);
        return false;
    }
    if (want == SLE_STREAM_ABORT && !c->urgent) {
        c->urgent = true;
        if (stream_urgent(c->stream, sle_link_abort_octet(c->link)) != 0) {
            end_conn(c, true);
            return false;
        }
    }
    stream_read(c->stream, c->urgent || sle_link_reads(c->link));
    alarm_set(&c->alarm, sle_link_deadline(c->link));
    return true;
}

void sle_conn_pump(struct sle_conn *c)
{
    assert(c != NULL && !c->pumping && c->stream != NULL);
    unsigned rounds = 0;
    for (bool more = true; more && rounds < ROUNDS_MAX; rounds++) {
        more = tell_notices(c);
        if (c->freed) {
            free_conn(c);
            return;
        }
        more = write_output(c) || more;
    }
    if (settle_stream(c) && rounds == ROUNDS_MAX)
        alarm_set(&c->alarm, 0);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct sle_conn *c = context;
    *len = sizeof c->dropped;
    return c->urgent || !sle_link_reads(c->link) ? c->dropped : sle_link_space(c->link, len);
}

static void on_fed(void *context, size_t len)
{
    struct sle_conn *c = context;
    if (c->urgent)
        return;
    sle_link_fed(c->link, len, now_of(c));
    sle_conn_pump(c);
}

static void on_writable(void *context)
{
    struct sle_conn *c = context;
    c->full = false;
    if (c->user->room != NULL)
        c->user->room(c->context);
    sle_conn_pump(c);
}

static void on_ended(void *context, int error)
{
    struct sle_conn *c = context;
    c->error = error;
    c->over = true;
    sle_link_closed(c->link, now_of(c));
    sle_conn_pump(c);
}

static void on_urgent(void *context, uint8_t octet)
{
    struct sle_conn *c = context;
    sle_link_urgent(c->link, octet, now_of(c));
    sle_conn_pump(c);
}

void sle_conn_hold(struct sle_conn *c, bool on)
{
    if (c->held && !on && !c->pumping)
        alarm_set(&c->alarm, 0);
    c->held = on;
}

static void on_alarm(void *context)
{
    struct sle_conn *c = context;
    if (sle_link_deadline(c->link) <= now_of(c))
        sle_link_expire(c->link, now_of(c));
    sle_conn_pump(c);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

struct sle_conn *sle_conn_new(struct world *w, struct stream *s, struct sle_link *l,
                              const struct sle_conn_user *user, void *context)
{
    struct sle_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        stream_reset(s);
        sle_link_free(l);
        return NULL;
    }
    c->world = w;
    c->stream = s;
    c->link = l;
    c->user = user;
    c->context = context;
    alarm_init(&c->alarm, w, ALARM_LINK, on_alarm, c);
    stream_use(s, &stream_user, c);
    stream_on_urgent(s, on_urgent);
    stream_read(s, true);
    alarm_set(&c->alarm, 0); /* the first pump comes from the loop */
    assert(c->stream != NULL && c->link != NULL);
    return c;
}

int sle_conn_open(struct world *w, struct sle_conn **out, struct sle_instance *i,
                  const struct address *to, uint32_t buffers, const struct sle_conn_user *user,
                  void *context)
{
    struct stream *s;
    const struct stream_place place = {.address = to};
    int r = stream_connect(w, &s, &place, &stream_user, NULL);
    if (r != 0)
        return r;
    if (buffers > 0)
        stream_buffers(s, buffers);
    struct sle_link *l = sle_connect(i, world_now(w));
    if (l == NULL)
        stream_close(s);
    *out = l == NULL ? NULL : sle_conn_new(w, s, l, user, context);
    return *out == NULL ? HELIO_ENOMEM : 0;
}

struct sle_link *sle_conn_link(const struct sle_conn *c)
{
    return c->link;
}

bool sle_conn_full(const struct sle_conn *c)
{
    return c->full;
}

uint64_t sle_conn_unheard(const struct sle_conn *c)
{
    return stream_unheard(c->stream);
}

int sle_conn_congestion(struct sle_conn *c, const char *name)
{
    return stream_congestion(c->stream, name);
}

tick sle_conn_now(const struct sle_conn *c)
{
    return c->now;
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
    if (c == NULL)
        return;
    if (c->pumping)
        c->freed = true;
    else
        free_conn(c);
}
