/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of TLS streams: a client and a server over a wire, in virtual time. */
#ifndef TESTS_UNIT_TLS_SCENE_H
#define TESTS_UNIT_TLS_SCENE_H

#include "base/err.h"
#include "base/rng.h"
#include "os/net/address.h"
#include "os/tls/tls.h"
#include "sim/virtual.h"
#include "tests/unit/tls_help.h"

UNUSED_HERE static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

/* One end of TLS: it may have something to write, and counts what comes. */
struct side {
    struct tls *tls;
    struct stream *stream; /* NULL: closed */
    size_t to_write, written, come, room_len;
    size_t close_at; /* it closes when so much has come; 0: never */
    size_t part;     /* bytes of a write; 0: many */
    unsigned writable, ended;
    bool wrong, close_when_writable, cut;
    int error;
    char why[TLS_WHY_MAX];
    uint8_t room[20000];
};

struct scene {
    struct virtual_world v;
    struct rng rng;
    struct folder folder;
    struct pair ca, server_cert, client_cert;
    struct wire_end a, b; /* the client's and the server's */
    struct side client, server;
};

UNUSED_HERE static void close_side(struct side *e)
{
    if (e->stream != NULL)
        stream_close(e->stream);
    e->stream = NULL;
}

UNUSED_HERE static void write_more(struct side *e)
{
    static uint8_t bytes[50000];
    while (e->stream != NULL && e->written < e->to_write) {
        size_t want = e->to_write - e->written, most = e->part > 0 ? e->part : sizeof bytes;
        want = want < most ? want : most;
        for (size_t i = 0; i < want; i++)
            bytes[i] = byte_at(e->written + i);
        struct slice parts[4] = {slice_of(bytes, want / 7), slice_of(NULL, 0),
                                 slice_of(bytes + want / 7, want / 2 - want / 7),
                                 slice_of(bytes + want / 2, want - want / 2)};
        size_t got = stream_write(e->stream, parts, 4);
        ck_assert_uint_le(got, want);
        e->written += got;
        if (got < want)
            return;
    }
}

UNUSED_HERE static uint8_t *space(void *context, size_t *len)
{
    struct side *e = context;
    *len = e->room_len;
    return e->room;
}

UNUSED_HERE static void fed(void *context, size_t len)
{
    struct side *e = context;
    ck_assert(e->stream != NULL && len >= 1 && len <= e->room_len && e->writable > 0);
    for (size_t i = 0; i < len; i++)
        e->wrong = e->wrong || e->room[i] != byte_at(e->come + i);
    e->come += len;
    if (e->close_at > 0 && e->come >= e->close_at)
        close_side(e);
}

UNUSED_HERE static void writable(void *context)
{
    struct side *e = context;
    ck_assert_ptr_nonnull(e->stream);
    e->writable++;
    if (e->close_when_writable)
        close_side(e);
    write_more(e);
}

UNUSED_HERE static void ended(void *context, int error)
{
    struct side *e = context;
    ck_assert_ptr_nonnull(e->stream);
    e->ended++;
    e->error = error;
    e->cut = tls_cut(e->stream);
    snprintf(e->why, sizeof e->why, "%s", tls_why(e->stream));
    close_side(e);
}

UNUSED_HERE static const struct stream_user user = {space, fed, writable, ended};

UNUSED_HERE static void use_stream(struct side *e, struct stream *s)
{
    e->stream = s;
    e->room_len = e->room_len == 0 ? sizeof e->room : e->room_len;
    stream_use(s, &user, e);
    stream_read(s, true);
    ck_assert(!tls_peer(s, &(struct tls_peer){.version = NULL}));
}

UNUSED_HERE static struct tls *tls_of(struct scene *s, const struct pair *own,
                                      const struct pair *trusted)
{
    unsigned file = 9;
    char why[TLS_WHY_MAX] = "";
    struct tls *t = NULL;
    struct tls_files files = {
        .certificate = own == NULL ? NULL : write_cert(&s->folder, "own.pem", own->cert),
        .key = own == NULL ? NULL : write_key(&s->folder, "own.key", own->key),
        .ca = trusted == NULL ? NULL : write_cert(&s->folder, "ca.pem", trusted->cert),
    };
    ck_assert_msg(tls_new(&t, &files, &file, why) == 0, "%u: %s", file, why);
    return t;
}

UNUSED_HERE static void scene_init(struct scene *s, const struct wish *server,
                                   const struct wish *client)
{
    memset(s, 0, sizeof *s);
    rng_init(&s->rng, 1);
    virtual_init(&s->v, (uint64_t)NOW * TICK_S, &s->rng, 0);
    folder_init(&s->folder);
    s->ca = make_pair("the CA", &(struct wish){.ca = true});
    struct wish of_server = *server, of_client = *client;
    of_server.by = of_server.by == NULL ? &s->ca : of_server.by;
    of_client.by = of_client.by == NULL ? &s->ca : of_client.by;
    s->server_cert = make_pair("server", &of_server);
    s->client_cert = make_pair("client", &of_client);
    wire_init(&s->a, &s->b);
}

UNUSED_HERE static const struct wish of_two = {
    .names = EID_NAME "ipn:2.0," EID_NAME "dtn://two/,DNS:two.example,IP:10.0.0.2,"
                      "IP:2001:db8::2,URI:ipn:9.0",
    .purpose = "1.3.6.1.5.5.7.3.35",
    .use = "digitalSignature"};
UNUSED_HERE static const struct wish of_one = {.names = EID_NAME "ipn:1.0"};

/* Both sides with the usual; `verify` for both. */
UNUSED_HERE static void begin_both(struct scene *s, struct tls_setup setup)
{
    struct stream *out;
    if (s->server.tls == NULL)
        s->server.tls = tls_of(s, &s->server_cert, &s->ca);
    if (s->client.tls == NULL)
        s->client.tls = tls_of(s, &s->client_cert, &s->ca);
    setup.server = false;
    ck_assert_int_eq(tls_stream(&out, s->client.tls, &s->v.world, &s->a.base, &setup), 0);
    use_stream(&s->client, out);
    setup.server = true;
    setup.host = NULL;
    ck_assert_int_eq(tls_stream(&out, s->server.tls, &s->v.world, &s->b.base, &setup), 0);
    use_stream(&s->server, out);
}

/* Until nothing happens any more. */
UNUSED_HERE static void run_scene(struct scene *s)
{
    for (bool more = true; more;) {
        more = false;
        if (virtual_due(&s->v) <= world_now(&s->v.world)) {
            virtual_fire(&s->v);
            more = true;
        }
        more = wire_carry(&s->a) || more;
        more = wire_carry(&s->b) || more;
    }
    ck_assert(virtual_due(&s->v) == TICK_NEVER);
}

UNUSED_HERE static void scene_fini(struct scene *s)
{
    close_side(&s->client);
    close_side(&s->server);
    tls_free(s->client.tls);
    tls_free(s->server.tls);
    wire_fini(&s->a);
    drop_pair(&s->server_cert);
    drop_pair(&s->client_cert);
    drop_pair(&s->ca);
    folder_fini(&s->folder);
    virtual_fini(&s->v);
}

UNUSED_HERE static const struct tls_setup strict = {.verify = true};

#endif
