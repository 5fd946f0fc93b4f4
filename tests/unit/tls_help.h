/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of TLS: certificates that are made when they are needed, a wire between two ends whose
 * pieces, room and end a test chooses, and a peer that is OpenSSL itself. */
#ifndef TESTS_UNIT_TLS_HELP_H
#define TESTS_UNIT_TLS_HELP_H

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "os/stream.h"
#include "tests/unit/suite.h"

#define UNUSED_HERE __attribute__((unused))

/* ---- certificates ---- */

#define DAY 86400L
#define NOW 1790000000L /* s since 1970: the test's wall clock */
#define EID_NAME "otherName:1.3.6.1.5.5.7.8.11;IA5:"

struct pair {
    EVP_PKEY *key;
    X509 *cert;
};

/* What is asked of a certificate; NULL or 0: the usual. */
struct wish {
    const char *names; /* subjectAltName */
    const char *use, *purpose;
    const struct pair *by; /* NULL: by itself */
    long from, until;      /* days from NOW; both 0: -1, +365 */
    bool ca, version1;
};

UNUSED_HERE static void add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX x;
    X509V3_set_ctx_nodb(&x);
    X509V3_set_ctx(&x, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &x, nid, value);
    ck_assert_msg(e != NULL, "%s", value);
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
}

UNUSED_HERE static struct pair make_pair(const char *subject, const struct wish *w)
{
    struct pair p = {EVP_EC_gen("P-256"), X509_new()};
    const struct pair *by = w->by == NULL ? &p : w->by;
    static long serial;
    X509_set_version(p.cert, w->version1 ? X509_VERSION_1 : X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(p.cert), ++serial);
    bool given = w->from != 0 || w->until != 0;
    ASN1_TIME_set(X509_getm_notBefore(p.cert), NOW + (given ? w->from : -1) * DAY);
    ASN1_TIME_set(X509_getm_notAfter(p.cert), NOW + (given ? w->until : 365) * DAY);
    X509_set_pubkey(p.cert, p.key);
    X509_NAME *name = X509_NAME_new();
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)subject, -1, -1, 0);
    X509_set_subject_name(p.cert, name);
    X509_NAME_free(name);
    X509_set_issuer_name(p.cert, X509_get_subject_name(by->cert));
    if (w->ca)
        add_extension(p.cert, NID_basic_constraints, "critical,CA:TRUE");
    if (w->names != NULL)
        add_extension(p.cert, NID_subject_alt_name, w->names);
    if (w->use != NULL)
        add_extension(p.cert, NID_key_usage, w->use);
    if (w->purpose != NULL)
        add_extension(p.cert, NID_ext_key_usage, w->purpose);
    ck_assert_int_gt(X509_sign(p.cert, by->key, EVP_sha256()), 0);
    return p;
}

UNUSED_HERE static void drop_pair(struct pair *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
}

/* A folder of PEM files that goes with the test. */
struct folder {
    char path[64];
    char name[8][96];
    unsigned len;
};

UNUSED_HERE static void folder_init(struct folder *f)
{
    f->len = 0;
    snprintf(f->path, sizeof f->path, "/tmp/unit-tls-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->path));
}

UNUSED_HERE static const char *file_in(struct folder *f, const char *name)
{
    char *path = f->name[f->len++ % 8];
    char text[sizeof f->name[0]];
    snprintf(text, sizeof text, "%.60s/%.30s", f->path, name);
    memcpy(path, text, sizeof text);
    return path;
}

/* Each file is of another time than the one before it, however fast they are written. */
UNUSED_HERE static void end_file(FILE *f)
{
    static time_t age;
    const struct timespec times[2] = {{.tv_sec = NOW}, {.tv_sec = NOW - ++age}};
    ck_assert_int_eq(fflush(f), 0);
    ck_assert_int_eq(futimens(fileno(f), times), 0);
    fclose(f);
}

UNUSED_HERE static const char *write_cert(struct folder *f, const char *name, const X509 *cert)
{
    const char *path = file_in(f, name);
    FILE *to = fopen(path, "w");
    ck_assert_int_eq(fchmod(fileno(to), 0600), 0); /* it may be a private key */
    ck_assert(to != NULL && PEM_write_X509(to, cert) == 1);
    end_file(to);
    return path;
}

UNUSED_HERE static const char *write_key(struct folder *f, const char *name, const EVP_PKEY *key)
{
    const char *path = file_in(f, name);
    FILE *to = fopen(path, "w");
    ck_assert_int_eq(fchmod(fileno(to), 0600), 0); /* it may be a private key */
    ck_assert(to != NULL && PEM_write_PrivateKey(to, key, NULL, NULL, 0, NULL, NULL) == 1);
    end_file(to);
    return path;
}

/* The test's files have these names. */
UNUSED_HERE static void folder_fini(const struct folder *f)
{
    static const char *const names[] = {"own.pem", "own.key", "ca.pem", "x.key", "text", "missing"};
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.60s/%.30s", f->path, names[i]);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(f->path), 0);
}

/* ---- a wire ---- */

/* One end of it. Bytes written here lie in `sent` until wire_carry brings them to the other. */
struct wire_end {
    struct stream base;
    struct wire_end *other;
    uint8_t *sent;
    size_t sent_len, sent_cap, carried; /* [carried, sent_len) are under way */
    size_t room;                        /* what a write may leave under way, at most */
    size_t piece;                       /* bytes that arrive at once, at most */
    size_t cut;                         /* so many bytes leave here in all, then the wire ends */
    bool reading, full, closed, told;
};

UNUSED_HERE static struct wire_end *wire_of(struct stream *s)
{
    return container_of(s, struct wire_end, base);
}

UNUSED_HERE static void wire_read(struct stream *s, bool on)
{
    wire_of(s)->reading = on;
}

UNUSED_HERE static size_t wire_write(struct stream *s, const struct slice *parts, size_t n)
{
    struct wire_end *e = wire_of(s);
    size_t got = 0, want = 0;
    ck_assert(!e->closed);
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    for (size_t i = 0; i < n && !e->full; i++) {
        size_t room = e->room - (e->sent_len - e->carried);
        size_t take = parts[i].len < room ? parts[i].len : room;
        if (e->sent_len + take > e->sent_cap) {
            e->sent_cap = 2 * (e->sent_len + take);
            e->sent = realloc(e->sent, e->sent_cap);
        }
        memcpy(e->sent + e->sent_len, parts[i].data, take);
        e->sent_len += take;
        got += take;
        if (take < parts[i].len)
            break;
    }
    e->full = got < want;
    return got;
}

UNUSED_HERE static void wire_buffers(struct stream *s, uint32_t bytes)
{
    wire_of(s)->room = bytes;
}

UNUSED_HERE static void wire_close(struct stream *s)
{
    ck_assert(!wire_of(s)->closed);
    wire_of(s)->closed = true;
}

UNUSED_HERE static const struct stream_ops wire_ops = {
    .read = wire_read, .write = wire_write, .buffers = wire_buffers, .close = wire_close};

UNUSED_HERE static void wire_init(struct wire_end *a, struct wire_end *b)
{
    *a = (struct wire_end){.base.ops = &wire_ops, .other = b, .room = 1 << 20, .piece = 1 << 20};
    *b = *a;
    b->other = a;
    a->cut = b->cut = SIZE_MAX;
}

UNUSED_HERE static void wire_fini(struct wire_end *a)
{
    free(a->sent);
    free(a->other->sent);
}

/* One thing from `from` to the other end; false: there is nothing to do. */
UNUSED_HERE static bool wire_carry(struct wire_end *from)
{
    struct wire_end *to = from->other;
    size_t last = from->sent_len < from->cut ? from->sent_len : from->cut;
    size_t len = last > from->carried ? last - from->carried : 0, room = 0;
    if (!to->closed && to->reading && len > 0) {
        uint8_t *at = to->base.user->space(to->base.context, &room);
        ck_assert(at != NULL && room > 0);
        len = len < room ? len : room;
        len = len < from->piece ? len : from->piece;
        memcpy(at, from->sent + from->carried, len);
        from->carried += len;
        to->base.user->fed(to->base.context, len);
        return true;
    }
    bool over = from->closed || from->carried >= from->cut;
    if (!to->closed && !to->told && over && len == 0 && (to->reading || to->full)) {
        to->told = true;
        to->base.user->ended(to->base.context, 0);
        return true;
    }
    if (!from->closed && from->full && from->sent_len - from->carried <= from->room / 2) {
        from->full = false;
        from->base.user->writable(from->base.context);
        return true;
    }
    return false;
}

/* ---- OpenSSL itself as the peer at a wire's end ---- */

struct raw {
    struct wire_end *end;
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
    size_t come;
    unsigned key_updates; /* that the other side sent */
    int result;           /* of the last call that failed: SSL_get_error */
    bool shaken, over;
    uint8_t room[16384];
};

UNUSED_HERE static uint8_t *raw_space(void *context, size_t *len)
{
    struct raw *r = context;
    *len = sizeof r->room;
    return r->room;
}

/* What OpenSSL wants to send is written; the wire has room for it. */
UNUSED_HERE static void raw_flush(struct raw *r)
{
    char *at = NULL;
    long len = BIO_get_mem_data(r->out, &at);
    if (len <= 0 || r->end->closed)
        return;
    struct slice all = slice_of(at, (size_t)len);
    ck_assert_uint_eq(stream_write(&r->end->base, &all, 1), (size_t)len);
    (void)BIO_reset(r->out);
}

UNUSED_HERE static void raw_advance(struct raw *r)
{
    ERR_clear_error();
    if (!r->shaken) {
        int done = SSL_do_handshake(r->ssl);
        r->shaken = done == 1;
        r->result = done == 1 ? 0 : SSL_get_error(r->ssl, done);
    }
    for (char bytes[16384]; r->shaken && !r->over;) {
        int n = SSL_read(r->ssl, bytes, sizeof bytes);
        if (n > 0) {
            r->come += (size_t)n;
            continue;
        }
        r->result = SSL_get_error(r->ssl, n);
        r->over = r->result != SSL_ERROR_WANT_READ;
        break;
    }
    raw_flush(r);
}

UNUSED_HERE static void raw_fed(void *context, size_t len)
{
    struct raw *r = context;
    ck_assert_int_eq(BIO_write(r->in, r->room, (int)len), (int)len);
    raw_advance(r);
}

UNUSED_HERE static void raw_writable(void *context)
{
    raw_flush(context);
}

UNUSED_HERE static void raw_ended(void *context, int error)
{
    struct raw *r = context;
    (void)error;
    r->over = true;
}

UNUSED_HERE static const struct stream_user raw_user = {raw_space, raw_fed, raw_writable,
                                                        raw_ended};

UNUSED_HERE static void count_updates(int write, int version, int type, const void *bytes,
                                      size_t len, SSL *ssl, void *context)
{
    struct raw *r = context;
    (void)version;
    (void)ssl;
    if (write == 0 && type == SSL3_RT_HANDSHAKE && len > 0 &&
        *(const uint8_t *)bytes == SSL3_MT_KEY_UPDATE)
        r->key_updates++;
}

/* `own` NULL: no certificate; versions 0: whatever there is. */
UNUSED_HERE static void raw_init(struct raw *r, struct wire_end *end, bool server,
                                 const struct pair *own, int version_min, int version_max)
{
    *r = (struct raw){.end = end, .context = SSL_CTX_new(TLS_method())};
    SSL_CTX_set_security_level(r->context, 0); /* old versions, too */
    SSL_CTX_set_min_proto_version(r->context, version_min);
    SSL_CTX_set_max_proto_version(r->context, version_max);
    if (own != NULL) {
        ck_assert_int_eq(SSL_CTX_use_certificate(r->context, own->cert), 1);
        ck_assert_int_eq(SSL_CTX_use_PrivateKey(r->context, own->key), 1);
    }
    r->ssl = SSL_new(r->context);
    r->in = BIO_new(BIO_s_mem());
    r->out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(r->in, -1);
    SSL_set_bio(r->ssl, r->in, r->out);
    SSL_set_msg_callback(r->ssl, count_updates);
    SSL_set_msg_callback_arg(r->ssl, r);
    if (server)
        SSL_set_accept_state(r->ssl);
    else
        SSL_set_connect_state(r->ssl);
    stream_use(&end->base, &raw_user, r);
    stream_read(&end->base, true);
    raw_advance(r);
}

UNUSED_HERE static void raw_fini(struct raw *r)
{
    SSL_free(r->ssl);
    SSL_CTX_free(r->context);
    if (!r->end->closed)
        stream_close(&r->end->base);
}

#endif
