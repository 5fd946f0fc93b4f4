/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of os/tls/tls.h share: the context, the stream's memory, and the one include of
 * OpenSSL. */
#ifndef OS_TLS_PRIVATE_H
#define OS_TLS_PRIVATE_H

#include <assert.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "os/tls/tls.h"
#include "os/tls/tls_certificate.h"
#include "os/work_pool.h"

#define TLS_RECORD 16384u      /* plain bytes of a record, at most: RFC 8446 §5.1 */
#define TLS_RECORD_ROOM 16709u /* on the wire, with the maximum of RFC 5246 §6.2.3 */
#define TLS_HELLO_MAX 16384u   /* bytes that a client may send before the server has answered */
#define TLS_IN 131072u         /* received encrypted bytes that are not yet read */
#define TLS_OUT 131072u        /* encrypted bytes that wait, when nothing is added any more */
/* Additions to TLS_OUT: the record that crossed the limit, and answers to the peer's requests.
 * Reading stops at this size, and the answers are no larger than the requests: */
#define TLS_OUT_PAUSE (TLS_OUT + 4 * TLS_RECORD_ROOM)
#define TLS_OUT_ROOM (TLS_OUT_PAUSE + TLS_IN + 4 * TLS_RECORD_ROOM)

enum { TLS_CERTIFICATE, TLS_KEY, TLS_CA, TLS_FILES };

struct tls {
    unsigned refs;      /* its user and each stream */
    SSL_CTX *context;   /* each stream keeps the one that it began with */
    BIO_METHOD *method; /* a stream's buffers, as OpenSSL sees them */
    char *paths[TLS_FILES];
    struct stat seen[TLS_FILES]; /* when they were last read; st_ino 0: were not there */
    struct tls_own own;
    struct tls_reading *reading; /* NULL: no other thread reads them */
};

enum tls_state { TLS_SHAKING, TLS_OPEN, TLS_OVER };

struct tls_stream {
    struct stream base, *lower;
    struct tls *tls;
    SSL *ssl;
    struct alarm alarm; /* what is due, but not from within the user's call */
    enum tls_state state;
    bool verify, any_purpose, nodes_issue;
    bool reading, full;             /* as its user wants; a write took less */
    bool announced;                 /* `writable` after the handshake */
    bool told, closed;              /* `ended` was called; stream_close was called */
    bool busy;                      /* in a call of its user: it may close */
    bool below_reading, below_full; /* the same of the lower stream */
    bool below_over, cut;
    int error, below_error;
    /* A step of the handshake is done by another thread, which has `ssl` and the buffers until
     * then: */
    struct world *world;
    struct work step;
    bool working, begun;      /* begun: the first one */
    bool answered;            /* OpenSSL has written something */
    size_t hello;             /* bytes received before that */
    int shaken, shaken_error; /* what SSL_do_handshake returned, and SSL_get_error */
    uint64_t rekey, since;    /* bytes until and since the last change of our keys */
    int alert;                /* that the peer sent; -1: none */
    const char *unverified;
    bool untrusted; /* it leads to no trusted certificate */
    X509 *peer;
    char subject[256], why[TLS_WHY_MAX];
    struct tls_names names;
    size_t in_head, in_tail;   /* [head, tail) of `in` has come and is not read */
    size_t out_head, out_tail; /* [head, tail) of `out` waits */
    uint8_t in[TLS_IN];
    uint8_t record[TLS_RECORD]; /* small parts of a write together */
    uint8_t out[TLS_OUT_ROOM];
};

static_assert(sizeof(struct tls_stream) + 100000 <= TLS_HELD_MAX, "with what OpenSSL takes");

struct tls_stream *tls_stream_of(struct stream *s);

/* The buffers of a stream as a source and sink of bytes; NULL: no memory. */
BIO_METHOD *tls_method_new(void);

/* As SSL_verify_cb: this stream's rules for certificates. */
int tls_verify(int ok, X509_STORE_CTX *x);
/* After the handshake: reads the peer's identity. False, with `why`: no memory, or too many
 * names. */
bool tls_look_at_peer(struct tls_stream *s);
void tls_forget_peer(struct tls_stream *s);

#endif
