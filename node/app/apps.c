/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of applications. Bytes are read straight to where they belong: a payload into the
 * buffer that becomes the bundle. Messages and payloads are gathered into one write. Reading stops
 * while a connection has enough unanswered requests, or the node enough unstored bytes.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "node/app/app.h"
#include "node/app/app_message.h"
#include "os/world.h"

#define BUFFER_BYTES (4 << 20)
#define GATHER_MAX (STREAM_PARTS_MAX / 2) /* messages of one write, each with its payload */

struct conn {
    struct app app;
    struct stream *stream;
    struct app_out *begun; /* written in part; NULL: none */
    size_t done;           /* bytes of it that are written */
    bool reading;
};

static struct conn *conn_of(struct app *c)
{
    return container_of(c, struct conn, app);
}

static void close_conn(struct conn *c)
{
    message_free(c->begun);
    app_fini(&c->app);
    stream_close(c->stream);
    free(c);
}

/* ---- reading ---- */

static uint8_t *find_space(void *context, size_t *len)
{
    struct conn *c = context;
    uint8_t *at = aap2_reader_space(&c->app.reader, len);
    if (*len > APP_READ_FULL && app_memory_full(c->app.apps))
        *len = APP_READ_FULL;
    return at;
}

static void set_reading(struct conn *c, bool on)
{
    if (c->reading == on)
        return;
    stream_read(c->stream, on);
    c->reading = on;
    c->app.apps->counters.pauses += !on && !c->app.yields;
}

static void on_fed(void *context, size_t len)
{
    struct conn *c = context;
    app_fed(&c->app, len);
    if (!app_may_read(&c->app))
        set_reading(c, false);
}

static void on_ended(void *context, int error)
{
    (void)error; /* whichever end it was: the application is gone */
    close_conn(context);
}

static void on_writable(void *context)
{
    struct conn *c = context;
    app_touch(&c->app);
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

/* ---- writing ---- */

static size_t out_bytes(const struct app_out *o)
{
    return o->len + o->payload.len;
}

/* Parts of one write, and the buffers that they lie in. */
struct gathered {
    struct slice parts[STREAM_PARTS_MAX];
    struct buf *owners[STREAM_PARTS_MAX];
    size_t len, bytes;
};

static void add_part(struct gathered *g, struct slice part, struct buf *owner)
{
    assert(g->len < STREAM_PARTS_MAX);
    g->parts[g->len] = part;
    g->owners[g->len++] = owner;
    g->bytes += part.len;
}

/* What of o is not written yet. */
static void add_parts(struct gathered *g, const struct app_out *o, size_t done)
{
    if (done < o->len)
        add_part(g, slice_of(o->bytes + done, o->len - done), NULL);
    size_t at = done < o->len ? 0 : done - o->len;
    if (at < o->payload.len)
        add_part(g, slice_of(o->payload.data + at, o->payload.len - at), o->bundle);
}

static void gather_parts(const struct conn *c, struct gathered *g)
{
    size_t messages = 0;
    g->len = g->bytes = 0;
    if (c->begun != NULL) {
        add_parts(g, c->begun, c->done);
        messages = 1;
    }
    list_for_each (l, &c->app.out) {
        if (messages++ == GATHER_MAX)
            break;
        add_parts(g, container_of(l, struct app_out, node), 0);
    }
}

/* So many bytes of what waits have been written. */
static void drop_written(struct conn *c, size_t n)
{
    while (n > 0) {
        if (c->begun == NULL) {
            c->begun = container_of(list_first(&c->app.out), struct app_out, node);
            c->done = 0;
            list_sub(&c->begun->node);
        }
        size_t left = out_bytes(c->begun) - c->done;
        if (n < left) {
            c->done += n;
            return;
        }
        n -= left;
        c->app.out_bytes -= c->begun->len;
        message_free(c->begun);
        c->begun = NULL;
    }
}

static bool all_written(const struct conn *c)
{
    return c->begun == NULL && list_empty(&c->app.out);
}

static void write_out(struct conn *c)
{
    struct gathered g;
    while (!all_written(c)) {
        gather_parts(c, &g);
        size_t got = stream_write_kept(c->stream, g.parts, g.owners, g.len);
        drop_written(c, got);
        if (got < g.bytes)
            return;
    }
}

static bool flush_conn(struct app *app)
{
    struct conn *c = conn_of(app);
    write_out(c);
    if (app->failed) {
        set_reading(c, false);
        if (app->dead || all_written(c))
            close_conn(c);
        return false;
    }
    const bool yielded = app->yields;
    app->yields = false;
    if (c->reading)
        return false;
    if (!app_may_read(app)) {
        app->apps->counters.pauses += yielded; /* a limit holds it now, not its turn */
        return false;
    }
    const bool late = app_had_turn(app);
    app_fed(app, 0);
    if (app_may_read(app))
        set_reading(c, true);
    return late;
}

void apps_flush(struct apps *a)
{
    app_go_on(a, flush_conn);
}

/* ---- the whole ---- */

static void on_accepted(void *context, struct stream *s)
{
    struct apps *a = context;
    struct stream_peer who;
    const uint64_t id = stream_user_of(s, &who) ? (uint64_t)who.uid + 1 : 0;
    struct app_user *user_of = a->stopped ? NULL : app_user_join(a, id);
    struct app_out *welcome = user_of != NULL ? message_welcome(&a->node->config->node) : NULL;
    struct conn *c = welcome != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        a->counters.refused_connections++;
        a->counters.refused_user = id;
        message_free(welcome);
        if (user_of != NULL)
            app_user_leave(user_of);
        stream_close(s);
        return;
    }
    c->stream = s;
    stream_use(s, &user, c);
    stream_buffers(s, BUFFER_BYTES);
    app_init(&c->app, a, user_of);
    app_put_out(&c->app, welcome);
}

int apps_open(struct apps **out, struct node *n, const struct stream_place *at, char *why,
              size_t why_cap)
{
    struct apps *a = calloc(1, sizeof *a);
    if (a == NULL || hash_init(&a->requests, n->started) < 0) {
        snprintf(why, why_cap, "out of memory");
        free(a);
        return HELIO_ENOMEM;
    }
    a->node = n;
    a->next_token = a->next_reg = NODE_FIRST;
    list_init(&a->all);
    list_init(&a->endpoints);
    app_turns_init(a);
    int r = stream_listen(n->world, &a->server, at, on_accepted, a);
    if (r < 0) {
        snprintf(why, why_cap, "%s: %s", at->path, helio_strerror(r));
        app_turns_fini(a);
        hash_fini(&a->requests);
        free(a);
        return HELIO_EIO;
    }
    *out = a;
    return 0;
}

void apps_tick(struct apps *a, tick now)
{
    list_for_each_safe (l, &a->all)
        app_keepalive(container_of(l, struct app, node), now);
}

const struct apps_counters *apps_counters(const struct apps *a)
{
    return &a->counters;
}

void apps_stop(struct apps *a)
{
    if (a->stopped)
        return;
    a->stopped = true;
    stream_unlisten(a->server);
    list_for_each (l, &a->all)
        set_reading(conn_of(container_of(l, struct app, node)), false);
}

void apps_close(struct apps *a)
{
    app_turn(a, flush_conn); /* of all, those that yielded, too */
    list_for_each_safe (l, &a->all)
        close_conn(conn_of(container_of(l, struct app, node)));
    app_turns_fini(a);
}

void apps_free(struct apps *a)
{
    if (a == NULL)
        return;
    struct hash_node *next;
    for (struct hash_node *h = hash_walk(&a->requests, NULL); h != NULL; h = next) {
        next = hash_walk(&a->requests, h);
        free(container_of(h, struct app_request, by_token));
    }
    hash_fini(&a->requests);
    free(a);
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

static void check_conn(const struct conn *c)
{
    size_t waiting = c->begun == NULL ? 0 : c->begun->len, requests = 0;
    list_for_each (l, &c->app.out)
        waiting += container_of(l, struct app_out, node)->len;
    list_for_each (l, &c->app.requests)
        requests++;
    assert(waiting == c->app.out_bytes);
    assert(requests == c->app.requests_len && requests <= APP_REQUESTS_MAX);
    assert(c->begun == NULL || (c->done > 0 && c->done < out_bytes(c->begun)));
    assert(!c->app.subscriber || (c->app.endpoint != NULL && c->app.reg >= NODE_FIRST));
}

void apps_check(const struct apps *a)
{
    uint64_t conns = 0, reading = 0, users = 0;
    bool turn = false;
    if (a == NULL)
        return;
    list_for_each (l, &a->all) {
        const struct app *c = container_of(l, struct app, node);
        check_conn(container_of(l, struct conn, app.node));
        conns++;
        reading += c->reading;
        users += c->endpoint != NULL;
        turn = turn || a->turn == c;
    }
    list_for_each (l, &a->endpoints) {
        const struct app_endpoint *e = container_of(l, struct app_endpoint, node);
        assert(e->users >= 1 && users >= e->users);
        users -= e->users;
    }
    assert(users == 0 && conns == a->counters.connections && reading == a->counters.reading_bytes);
    assert(a->turn == NULL ? !turn : turn && a->turn->reading > 0);
    assert(a->counters.unanswered == a->requests.len);
}
