/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificate, key and CAs become an OpenSSL context. Reading them again makes a new context, which
 * replaces the old one only when it is complete; existing streams keep theirs. What can go wrong: a
 * file cannot be read, has other content, or the key does not belong to the certificate; the text
 * names the file. If a certificate was replaced before its key, this is logged once, and the files
 * are read again when the key has changed. Another thread reads them into a separate struct tls;
 * the loop takes over its content.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "os/input_file.h"
#include "os/secret.h"
#include "os/tls/tls_private.h"

#define CHAIN_MAX 65536 /* bytes of the certificates that a peer shows */
#define DEPTH_MAX 8     /* certificates between the peer's and the CA's */

/* AES-128 first: BCP 195 has it first, too, and it is the fastest where the processor helps. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define SUITES_12 "ECDHE+AESGCM:ECDHE+CHACHA20"

struct complaint {
    unsigned *file;
    char *why;
};

static const char *const holds[TLS_FILES] = {
    "this node's certificate and those above it (PEM)",
    "the certificate's private key (PEM, no passphrase)",
    "the certificates of those who are trusted (PEM)",
};

__attribute__((format(printf, 3, 4))) static int wrong(const struct complaint *c, unsigned file,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, TLS_WHY_MAX, format, args);
    va_end(args);
    *c->file = file;
    return HELIO_EINVAL;
}

/* What OpenSSL said first of the last call. */
static const char *reason_text(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());
    return text != NULL ? text : "not understood";
}

/* No question on a terminal: keys are not under a passphrase here. */
static int no_passphrase(char *buf, int size, int rw, void *context)
{
    (void)buf;
    (void)size;
    (void)rw;
    (void)context;
    return -1;
}

static int check_readable(const struct tls *t, unsigned file, const struct complaint *c)
{
    char why[512];
    FILE *f = file == TLS_KEY ? secret_file_open(t->paths[file], why, sizeof why)
                              : input_file_regular(t->paths[file], why, sizeof why);
    if (f == NULL && file == TLS_KEY)
        return wrong(c, file, "%.400s; it should hold %s", why, holds[file]);
    if (f == NULL)
        return wrong(c, file, "%.100s: %.60s; it should hold %s", t->paths[file], why, holds[file]);
    fclose(f);
    return 0;
}

static bool take_file(SSL_CTX *x, unsigned file, const char *path)
{
    ERR_clear_error();
    switch (file) {
    case TLS_CERTIFICATE:
        return SSL_CTX_use_certificate_chain_file(x, path) == 1;
    case TLS_KEY:
        return SSL_CTX_use_PrivateKey_file(x, path, SSL_FILETYPE_PEM) == 1;
    default:
        return SSL_CTX_load_verify_file(x, path) == 1;
    }
}

static int load_files(const struct tls *t, SSL_CTX *x, const struct complaint *c)
{
    for (unsigned file = 0; file < TLS_FILES; file++) {
        const char *path = t->paths[file];
        if (path == NULL)
            continue;
        int r = check_readable(t, file, c);
        if (r != 0)
            return r;
        if (take_file(x, file, path))
            continue;
        /* OpenSSL sees that a key is not the certificate's already when it takes the key */
        if (ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH)
            return wrong(c, file, "%.100s: is not the key of the certificate %.100s", path,
                         t->paths[TLS_CERTIFICATE]);
        return wrong(c, file, "%.100s: %.60s; it should hold %s", path, reason_text(), holds[file]);
    }
    return 0;
}

static SSL_CTX *context_new(void)
{
    SSL_CTX *x = SSL_CTX_new(TLS_method());
    if (x == NULL)
        return NULL;
    SSL_CTX_set_options(x, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(x, SSL_MODE_NO_AUTO_CHAIN); /* what the file has; the CA's own is known */
    SSL_CTX_set_default_passwd_cb(x, no_passphrase);
    SSL_CTX_set_max_cert_list(x, CHAIN_MAX);
    SSL_CTX_set_verify_depth(x, DEPTH_MAX);
    X509_VERIFY_PARAM *p = SSL_CTX_get0_param(x);
    /* What a certificate is for is judged by RFC 9174's rule (tls_verify), not by that for the web;
     * a peer's own certificate may be what is trusted. */
    bool ok = X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_ANY) == 1 &&
              X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
              SSL_CTX_set_num_tickets(x, 0) == 1 &&
              SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(x, SUITES) == 1 &&
              SSL_CTX_set_cipher_list(x, SUITES_12) == 1;
    if (ok)
        return x;
    SSL_CTX_free(x);
    return NULL;
}

static void see_files(const struct tls *t, struct stat *seen)
{
    for (unsigned i = 0; i < TLS_FILES; i++) {
        memset(&seen[i], 0, sizeof seen[i]);
        if (t->paths[i] != NULL && stat(t->paths[i], &seen[i]) != 0)
            memset(&seen[i], 0, sizeof seen[i]);
    }
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int64_t seconds_of(const ASN1_TIME *t)
{
    struct tm tm;
    return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

/* Of the trusted certificates, the first end. */
static int64_t first_end(const SSL_CTX *x)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(x));
    int64_t first = 0;
    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        const X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
        const int64_t end = one == NULL ? 0 : seconds_of(X509_get0_notAfter(one));
        first = end > 0 && (first == 0 || end < first) ? end : first;
    }
    return first;
}

static void see_times(const SSL_CTX *x, struct tls_own *out)
{
    const X509 *own = SSL_CTX_get0_certificate(x);
    out->not_before = own == NULL ? 0 : seconds_of(X509_get0_notBefore(own));
    out->not_after = own == NULL ? 0 : seconds_of(X509_get0_notAfter(own));
    out->ca_not_after = first_end(x);
}

int tls_reload(struct tls *t, unsigned *file, char *why)
{
    const struct complaint c = {file, why};
    /* First, so that a change while they are read is not missed. */
    see_files(t, t->seen);
    SSL_CTX *x = context_new();
    if (x == NULL)
        return HELIO_ENOMEM;
    int r = load_files(t, x, &c);
    if (r == 0 && t->paths[TLS_CERTIFICATE] != NULL && SSL_CTX_check_private_key(x) != 1)
        r = wrong(&c, TLS_KEY, "%.100s: is not the key of the certificate %.100s",
                  t->paths[TLS_KEY], t->paths[TLS_CERTIFICATE]);
    if (r != 0) {
        SSL_CTX_free(x);
        return r;
    }
    SSL_CTX_free(t->context);
    t->context = x;
    see_times(x, &t->own);
    t->own.loads++;
    return 0;
}

bool tls_changed(const struct tls *t)
{
    struct stat now[TLS_FILES];
    see_files(t, now);
    for (unsigned i = 0; i < TLS_FILES; i++)
        if (!same_file(&now[i], &t->seen[i]))
            return true;
    return false;
}

void tls_own(const struct tls *t, struct tls_own *out)
{
    *out = t->own;
}

bool tls_own_node(const struct tls *t, size_t i, char out[TLS_NAME_MAX + 1])
{
    X509 *own = SSL_CTX_get0_certificate(t->context);
    struct tls_names names = {.len = 0};
    size_t nodes = 0;
    bool found = false;
    if (own == NULL || !certificate_names(own, &names))
        return false;
    for (size_t n = 0; n < names.len && !found; n++) {
        found = names.at[n].kind == TLS_BUNDLE_EID && nodes++ == i;
        if (found)
            snprintf(out, TLS_NAME_MAX + 1, "%s", names.at[n].text);
    }
    certificate_forget(&names);
    return found;
}

bool tls_own_trusted_only(const struct tls *t)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(t->context));
    const X509 *own = SSL_CTX_get0_certificate(t->context);
    int same = 0;
    for (int i = 0; own != NULL && i < sk_X509_OBJECT_num(all); i++) {
        const X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
        if (one != NULL && X509_cmp(one, own) != 0)
            return false;
        same += one != NULL;
    }
    return same > 0;
}

static bool keep_path(struct tls *t, unsigned file, const char *path)
{
    if (path == NULL || path[0] == '\0')
        return true;
    t->paths[file] = strdup(path);
    return t->paths[file] != NULL;
}

bool tls_own_warning(const struct tls *t, int64_t now, char *why)
{
    const int64_t soon = 14 * 86400;
    const bool early = now < t->own.not_before;
    const time_t at = (time_t)(early ? t->own.not_before : t->own.not_after);
    struct tm tm;
    char date[32];
    if (t->own.not_after == 0 || (!early && now <= t->own.not_after - soon) ||
        gmtime_r(&at, &tm) == NULL || strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return false;
    snprintf(why, TLS_WHY_MAX, "%.100s: %s", t->paths[TLS_CERTIFICATE],
             early                    ? "the certificate is not valid before "
             : now > t->own.not_after ? "the certificate ended at "
                                      : "the certificate ends at ");
    const size_t n = strlen(why);
    snprintf(why + n, TLS_WHY_MAX - n, "%s%s", date,
             early                    ? ", and peers refuse it until then; is the clock right?"
             : now > t->own.not_after ? ", and peers refuse it; write a new one"
                                      : "; write a new one until then");
    return true;
}

/* Nothing is read yet; NULL: no memory. */
static struct tls *tls_empty(const struct tls_files *files)
{
    struct tls *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->refs = 1;
    t->method = tls_method_new();
    if (t->method != NULL && keep_path(t, TLS_CERTIFICATE, files->certificate) &&
        keep_path(t, TLS_KEY, files->key) && keep_path(t, TLS_CA, files->ca))
        return t;
    tls_free(t);
    return NULL;
}

int tls_new(struct tls **out, const struct tls_files *files, unsigned *file, char *why)
{
    const struct complaint c = {file, why};
    struct tls *t = tls_empty(files);
    if (t == NULL)
        return HELIO_ENOMEM;
    int r = 0;
    if ((t->paths[TLS_CERTIFICATE] == NULL) != (t->paths[TLS_KEY] == NULL))
        r = wrong(&c, t->paths[TLS_KEY] == NULL ? TLS_KEY : TLS_CERTIFICATE,
                  "is not given; a certificate and its key go together");
    if (r == 0)
        r = tls_reload(t, file, why);
    if (r != 0)
        tls_free(t);
    else
        *out = t;
    return r;
}

void tls_keep(struct tls *t)
{
    assert(t->refs > 0);
    t->refs++;
}

void tls_free(struct tls *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    for (unsigned i = 0; i < TLS_FILES; i++)
        free(t->paths[i]);
    assert(t->reading == NULL);
    SSL_CTX_free(t->context);
    BIO_meth_free(t->method);
    free(t);
}

/* ---- in another thread ---- */

struct tls_reading {
    struct work work;
    struct world *world;
    struct tls *tls;   /* owner of the files; NULL: the reload was cancelled */
    struct tls *fresh; /* of the same files; the thread's until it is done */
    int error;         /* HELIO_ESTOPPED: the thread never began */
    unsigned file;
    char why[TLS_WHY_MAX];
    tls_reloaded *done;
    void *context;
};

static void free_reading(struct tls_reading *r)
{
    tls_free(r->fresh);
    free(r);
}

static void read_files(struct work *w)
{
    struct tls_reading *r = container_of(w, struct tls_reading, work);
    r->error = tls_reload(r->fresh, &r->file, r->why);
}

/* Replaces the old context by the new one, or records that the files were read without success. */
static void take_over(struct tls *t, struct tls *fresh)
{
    SSL_CTX *was = t->context;
    memcpy(t->seen, fresh->seen, sizeof t->seen);
    if (fresh->context == NULL)
        return;
    t->context = fresh->context;
    fresh->context = was;
    fresh->own.loads += t->own.loads;
    t->own = fresh->own;
}

static void end_reading(struct work *w)
{
    struct tls_reading *r = container_of(w, struct tls_reading, work);
    struct tls *t = r->tls;
    if (t != NULL) {
        assert(t->reading == r && (r->error == 0) == (r->fresh->context != NULL));
        if (r->error != HELIO_ESTOPPED)
            take_over(t, r->fresh);
        t->reading = NULL;
        r->done(r->context, r->error, r->file, r->why);
    }
    free_reading(r);
}

bool tls_reload_later(struct tls *t, struct world *w, tls_reloaded *done, void *context)
{
    const struct tls_files files = {t->paths[TLS_CERTIFICATE], t->paths[TLS_KEY], t->paths[TLS_CA]};
    struct tls_reading *r = calloc(1, sizeof *r);
    assert(t->reading == NULL);
    if (r == NULL)
        return false;
    r->work = (struct work){.run = read_files, .done = end_reading};
    r->world = w;
    r->tls = t;
    r->error = HELIO_ESTOPPED;
    r->done = done;
    r->context = context;
    r->fresh = tls_empty(&files);
    if (r->fresh != NULL && world_work(w, &r->work)) {
        t->reading = r;
        return true;
    }
    free_reading(r);
    return false;
}

bool tls_reloading(const struct tls *t)
{
    return t->reading != NULL;
}

void tls_reload_forget(struct tls *t)
{
    struct tls_reading *r = t == NULL ? NULL : t->reading;
    if (r == NULL)
        return;
    t->reading = NULL;
    r->tls = NULL;
    if (world_take_back(r->world, &r->work))
        free_reading(r); /* else it is freed when it is done */
}
