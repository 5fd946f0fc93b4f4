/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates from files: what is wrong with them is told, new ones are taken whole or not at all,
 * sessions live on with the old ones, the loop goes on while they are read; and TLS over the
 * kernel's sockets. */
#include "base/err.h"
#include "os/tls/tls.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"
#include "tests/unit/tls_help.h"

struct fixture {
    struct folder folder;
    struct pair ca, own, other;
    struct tls_files files;
    unsigned file;
    char why[TLS_WHY_MAX];
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    folder_init(&f->folder);
    f->ca = make_pair("the CA", &(struct wish){.ca = true});
    f->own = make_pair("own", &(struct wish){.by = &f->ca});
    f->other = make_pair("other", &(struct wish){.by = &f->ca, .from = -1, .until = 100});
    f->files.certificate = write_cert(&f->folder, "own.pem", f->own.cert);
    f->files.key = write_key(&f->folder, "own.key", f->own.key);
    f->files.ca = write_cert(&f->folder, "ca.pem", f->ca.cert);
}

static void fixture_fini(struct fixture *f)
{
    drop_pair(&f->ca);
    drop_pair(&f->own);
    drop_pair(&f->other);
    folder_fini(&f->folder);
}

static void fill(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    ck_assert_int_eq(fchmod(fileno(to), 0600), 0); /* it may be a private key */
    ck_assert(to != NULL && fputs(text, to) >= 0);
    fclose(to);
}

/* Files as they should not be: each is blamed by its number and named. */
START_TEST(bad_files)
{
    struct fixture f;
    struct tls *t = NULL;
    fixture_init(&f);
    const char *missing = file_in(&f.folder, "missing"), *text = file_in(&f.folder, "text");
    fill(text, "this is no certificate\n");
    const struct {
        struct tls_files files;
        unsigned file;
        const char *says;
    } tries[] = {
        {{missing, f.files.key, f.files.ca}, 0, "missing: No such file or directory"},
        {{f.files.certificate, missing, f.files.ca}, 1, "missing: No such file or directory"},
        {{f.files.certificate, f.files.key, missing}, 2, "missing: No such file or directory"},
        {{text, f.files.key, f.files.ca}, 0, "it should hold this node's certificate"},
        {{f.files.certificate, text, f.files.ca},
         1,
         "it should hold the certificate's private key"},
        {{f.files.certificate, f.files.key, text}, 2, "it should hold the certificates of those"},
        {{f.files.certificate, write_key(&f.folder, "x.key", f.other.key), NULL},
         1,
         "is not the key"},
        {{f.files.certificate, NULL, NULL}, 1, "go together"},
        {{NULL, f.files.key, NULL}, 0, "go together"},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        ck_assert_int_eq(tls_new(&t, &tries[i].files, &f.file, f.why), HELIO_EINVAL);
        ck_assert_uint_eq(f.file, tries[i].file);
        ck_assert_msg(strstr(f.why, tries[i].says) != NULL, "%zu: %s", i, f.why);
    }
    fixture_fini(&f);
}
END_TEST

/* A certificate is replaced, then its key: between the two everything stays as it was. */
START_TEST(loaded_again)
{
    struct fixture f;
    struct tls *t = NULL;
    struct tls_own own;
    fixture_init(&f);
    ck_assert_int_eq(tls_new(&t, &f.files, &f.file, f.why), 0);
    tls_own(t, &own);
    ck_assert(own.loads == 1 && own.not_after == NOW + 365 * DAY);
    ck_assert_int_gt(own.ca_not_after, NOW);
    ck_assert(!tls_changed(t));
    write_cert(&f.folder, "own.pem", f.other.cert);
    ck_assert(tls_changed(t));
    ck_assert_int_eq(tls_reload(t, &f.file, f.why), HELIO_EINVAL);
    ck_assert_msg(f.file == 1 && strstr(f.why, "is not the key of") != NULL, "%s", f.why);
    tls_own(t, &own);
    ck_assert(own.loads == 1 && own.not_after == NOW + 365 * DAY);
    ck_assert(!tls_changed(t)); /* told once */
    write_key(&f.folder, "own.key", f.other.key);
    ck_assert(tls_changed(t));
    ck_assert_int_eq(tls_reload(t, &f.file, f.why), 0);
    tls_own(t, &own);
    ck_assert(own.loads == 2 && own.not_after == NOW + 100 * DAY);
    ck_assert_int_eq(unlink(f.files.ca), 0);
    ck_assert(tls_changed(t));
    ck_assert_int_eq(tls_reload(t, &f.file, f.why), HELIO_EINVAL);
    ck_assert_uint_eq(f.file, 2);
    tls_own(t, &own);
    ck_assert_uint_eq(own.loads, 2);
    tls_free(t);
    tls_free(NULL);
    fixture_fini(&f);
}
END_TEST

/* ---- over the kernel's sockets ---- */

#define MANY (8u << 20)

struct live {
    struct world *world;
    struct tls *tls;
    struct stream_listener *listener;
    struct stream *client, *server;
    size_t written, come;
    unsigned round;
    bool wrong;
    char subject[2][64];
    uint8_t room[65536];
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static void next_round(struct live *l);

static void write_more(struct live *l)
{
    static uint8_t bytes[100000];
    while (l->written < MANY) {
        size_t want = MANY - l->written < sizeof bytes ? MANY - l->written : sizeof bytes;
        for (size_t i = 0; i < want; i++)
            bytes[i] = byte_at(l->written + i);
        struct slice all = slice_of(bytes, want);
        size_t got = stream_write(l->client, &all, 1);
        l->written += got;
        if (got < want)
            return;
    }
}

static uint8_t *live_space(void *context, size_t *len)
{
    struct live *l = context;
    *len = sizeof l->room;
    return l->room;
}

static void live_fed(void *context, size_t len)
{
    struct live *l = context;
    for (size_t i = 0; i < len; i++)
        l->wrong = l->wrong || l->room[i] != byte_at(l->come + i);
    l->come += len;
    if (l->come == MANY)
        next_round(l);
}

static void client_writable(void *context)
{
    struct live *l = context;
    struct tls_peer p;
    ck_assert(tls_peer(l->client, &p) && p.verified);
    snprintf(l->subject[l->round], sizeof l->subject[0], "%s", p.subject);
    write_more(l);
}

static void server_writable(void *context)
{
    (void)context;
}

static void live_ended(void *context, int error)
{
    (void)context;
    ck_abort_msg("%s", helio_strerror(error));
}

static const struct stream_user client_user = {live_space, live_fed, client_writable, live_ended};
static const struct stream_user server_user = {live_space, live_fed, server_writable, live_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct live *l = context;
    const struct tls_setup setup = {.server = true, .verify = true};
    ck_assert_int_eq(tls_stream(&l->server, l->tls, l->world, s, &setup), 0);
    stream_use(l->server, &server_user, l);
    stream_read(l->server, true);
}

static void below_writable(void *context)
{
    struct live *l = context;
    struct stream *lower = l->client;
    const struct tls_setup setup = {.verify = true};
    ck_assert_int_eq(tls_stream(&l->client, l->tls, l->world, lower, &setup), 0);
    stream_use(l->client, &client_user, l);
    stream_read(l->client, true);
}

static const struct stream_user below_user = {live_space, live_fed, below_writable, live_ended};

static char live_path[96];

static void begin_round(struct live *l)
{
    l->written = l->come = 0;
    const struct stream_place at = {.path = live_path};
    ck_assert_int_eq(stream_connect(l->world, &l->client, &at, &below_user, l), 0);
    below_writable(l); /* UNIX sockets are connected at once */
}

static struct fixture live_files;

/* All has come: the files are others, and a new pair of streams has the new certificate, while the
 * first pair is still there. */
static void next_round(struct live *l)
{
    static struct stream *first[2];
    if (l->round++ == 0) {
        first[0] = l->client;
        first[1] = l->server;
        write_cert(&live_files.folder, "own.pem", live_files.other.cert);
        write_key(&live_files.folder, "own.key", live_files.other.key);
        ck_assert(tls_changed(l->tls));
        ck_assert_int_eq(tls_reload(l->tls, &live_files.file, live_files.why), 0);
        begin_round(l);
        return;
    }
    for (int i = 0; i < 2; i++)
        stream_close(first[i]);
    stream_close(l->client);
    stream_close(l->server);
    stream_unlisten(l->listener);
    uv_world_end(l->world);
}

START_TEST(over_sockets)
{
    static struct live l;
    struct fixture *f = &live_files;
    fixture_init(f);
    /* the kernel's clock is not the test's */
    drop_pair(&f->own);
    drop_pair(&f->other);
    drop_pair(&f->ca);
    const long far = 36500;
    f->ca = make_pair("the CA", &(struct wish){.ca = true, .from = -far / 3, .until = far});
    f->own = make_pair("own", &(struct wish){.by = &f->ca, .from = -far / 3, .until = far});
    f->other = make_pair("other", &(struct wish){.by = &f->ca, .from = -far / 3, .until = far});
    write_cert(&f->folder, "own.pem", f->own.cert);
    write_key(&f->folder, "own.key", f->own.key);
    write_cert(&f->folder, "ca.pem", f->ca.cert);
    ck_assert_int_eq(tls_new(&l.tls, &f->files, &f->file, f->why), 0);
    ck_assert_int_eq(uv_world_open(&l.world), 0);
    snprintf(live_path, sizeof live_path, "%.60s/socket", f->folder.path);
    const struct stream_place at = {.path = live_path};
    ck_assert_int_eq(stream_listen(l.world, &l.listener, &at, on_accepted, &l), 0);
    begin_round(&l);
    uv_world_run(l.world);
    ck_assert_int_eq(uv_world_free(l.world), 0);
    ck_assert(!l.wrong && l.round == 2);
    ck_assert_str_eq(l.subject[0], "/CN=own");
    ck_assert_str_eq(l.subject[1], "/CN=other");
    tls_free(l.tls);
    fixture_fini(f);
}
END_TEST

/* ---- in another thread ---- */

#define MANY_CAS 5000

/* What happens, in its order: t the loop's turns, one of several; d the files are read. */
struct order {
    struct world *world;
    struct tls *tls;
    struct alarm alarm;
    char seen[8];
    size_t len;
    int error;
    bool ending;
};

static void see(struct order *o, char what)
{
    if (o->len < sizeof o->seen - 1 && (o->len == 0 || o->seen[o->len - 1] != what))
        o->seen[o->len++] = what;
}

static void end_world(void *context)
{
    struct order *o = context;
    if (o->ending)
        return;
    o->ending = true;
    alarm_fini(&o->alarm);
    uv_world_end(o->world);
}

static void on_files(void *context, int error, unsigned file, const char *why)
{
    struct order *o = context;
    see(o, 'd');
    o->error = error;
    if (error != 0 && error != HELIO_ESTOPPED)
        ck_assert(file == 2 && strstr(why, "ca.pem") != NULL);
    end_world(o);
}

static void on_turn(void *context)
{
    struct order *o = context;
    see(o, 't');
    alarm_set(&o->alarm, world_now(o->world) + TICK_MS);
}

/* Many certificates: the same one again and again takes as long to read. */
static void write_many(const char *path, X509 *cert)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < MANY_CAS; i++)
        ck_assert_int_eq(PEM_write_X509(f, cert), 1);
    fclose(f);
}

static void begin_order(struct order *o, struct fixture *f)
{
    fixture_init(f);
    *o = (struct order){.error = 1};
    ck_assert_int_eq(tls_new(&o->tls, &f->files, &f->file, f->why), 0);
    ck_assert_int_eq(uv_world_open(&o->world), 0);
    alarm_init(&o->alarm, o->world, ALARM_NODE, on_turn, o);
    alarm_set(&o->alarm, 0);
}

static void end_order(struct order *o, struct fixture *f)
{
    ck_assert_int_eq(uv_world_free(o->world), 0);
    tls_free(o->tls);
    fixture_fini(f);
}

/* The loop turns while they are read; they are taken whole, or not at all. */
START_TEST(loop_goes_on)
{
    struct fixture f;
    struct order o;
    struct tls_own own;
    begin_order(&o, &f);
    write_many(f.files.ca, f.ca.cert);
    if (_i == 1)
        fill(f.files.ca, "this is no certificate\n");
    ck_assert(tls_changed(o.tls));
    ck_assert(tls_reload_later(o.tls, o.world, on_files, &o));
    ck_assert(tls_reloading(o.tls));
    uv_world_run(o.world);
    ck_assert(!tls_reloading(o.tls) && !tls_changed(o.tls));
    if (_i == 0)
        ck_assert_str_eq(o.seen, "td");
    ck_assert_int_eq(o.error, _i == 0 ? 0 : HELIO_EINVAL);
    tls_own(o.tls, &own);
    ck_assert_uint_eq(own.loads, _i == 0 ? 2 : 1);
    end_order(&o, &f);
}
END_TEST

/* Who asked forgets it, before it begins or while they are read; or the world ends meanwhile. */
START_TEST(nobody_waits)
{
    struct fixture f;
    struct order o;
    begin_order(&o, &f);
    write_many(f.files.ca, f.ca.cert);
    alarm_fini(&o.alarm);
    alarm_init(&o.alarm, o.world, ALARM_NODE, end_world, &o);
    alarm_set(&o.alarm, world_now(o.world) + (tick)_i * TICK_MS);
    ck_assert(tls_reload_later(o.tls, o.world, on_files, &o));
    tls_reload_forget(o.tls);
    ck_assert(!tls_reloading(o.tls) && tls_changed(o.tls));
    ck_assert(tls_reload_later(o.tls, o.world, on_files, &o)); /* beside the first, perhaps */
    if (_i > 0)
        tls_reload_forget(o.tls);
    uv_world_run(o.world);
    ck_assert_str_eq(o.seen, _i > 0 ? "" : "d");
    end_order(&o, &f);
}
END_TEST

SUITE(os_tls_files, t)
{
    tcase_add_test(t, bad_files);
    tcase_add_test(t, loaded_again);
    tcase_add_test(t, over_sockets);
    tcase_add_loop_test(t, loop_goes_on, 0, 2);
    tcase_add_loop_test(t, nobody_waits, 0, 3);
}
