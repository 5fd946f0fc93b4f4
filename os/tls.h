/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 and 1.2 over any stream (os/stream.h), as client or server: what is written to the stream
 * of tls_stream goes encrypted through the one below it, in either world. RFC 9174 §4.4 says how
 * convergence layers use it.
 *
 * A struct tls holds a certificate, its key and the trusted CAs as read from files, which can be
 * read again while streams live. No session is resumed, nothing is sent before the handshake is
 * over, nothing is renegotiated, and no time is kept: how long a handshake may take is the user's
 * affair.
 */
#ifndef OS_TLS_H
#define OS_TLS_H

#include "os/world.h"

struct address;
struct tls;

#define TLS_WHY_MAX 256      /* characters of a text about what went wrong, with its end */
#define TLS_NAMES_MAX 64     /* of a peer's certificate; one with more is not accepted */
#define TLS_NAME_MAX 1024    /* characters of one; longer ones do not count */
#define TLS_HELD_MAX 1048576 /* bytes of memory that a stream takes, at most */
#define TLS_REKEY_BYTES (UINT64_C(1) << 37) /* half of what AES-GCM allows: RFC 8446 §5.5 */

/* ---- certificate, key, CAs ---- */

/* Names of PEM files, borrowed for the call of tls_new. */
struct tls_files {
    const char *certificate; /* this end's and those between it and the CA's; NULL: none, then only
                                a client can be without it */
    const char *key;         /* its private key, without a passphrase; NULL as above */
    const char *ca; /* who is trusted, also a peer's own certificate; NULL: nobody, then no peer can
                       be verified */
};

/* What this end shows others. */
struct tls_own {
    int64_t not_before; /* begin and end of the certificate, s since 1970 UTC; 0: there is none */
    int64_t not_after;
    uint32_t loads; /* how often the files were read with success */
};

/* 0, or HELIO_ENOMEM, or HELIO_EINVAL with the `file` to blame (0 certificate, 1 key, 2 ca) and in
 * why[TLS_WHY_MAX] what is wrong with it and what would be right. */
int tls_new(struct tls **out, const struct tls_files *files, unsigned *file, char *why);
/* One owner more, who calls tls_free. */
void tls_keep(struct tls *t);
/* Streams live on. NULL is allowed. */
void tls_free(struct tls *t);

/* Reads the files again; streams that begin later use them, all of them or none. On failure (as
 * tls_new) everything stays as it was. */
int tls_reload(struct tls *t, unsigned *file, char *why);
/* The same in another thread (os/work_pool.h), since many CAs take seconds: `done` is called from
 * the world's loop, later than this call, with what tls_reload returns; why[TLS_WHY_MAX] is
 * borrowed for that call. At the world's end it may be HELIO_ESTOPPED: they were not read. Until
 * then streams begin with what was read before. One at a time. False: there are no threads, or no
 * memory, and nothing follows: tls_reload does it. */
typedef void tls_reloaded(void *context, int error, unsigned file, const char *why);
bool tls_reload_later(struct tls *t, struct world *w, tls_reloaded *done, void *context);
bool tls_reloading(const struct tls *t);
/* Nothing follows any more, and nothing changes. Before `context` goes; else no harm. */
void tls_reload_forget(struct tls *t);
/* Have the files changed since they were last read, with success or without? */
bool tls_changed(const struct tls *t);

void tls_own(const struct tls *t, struct tls_own *out);
/* Is the certificate over, not yet valid, or over within 14 days at `now` (s since 1970 UTC)? Then
 * why[TLS_WHY_MAX] has its file, the date, and what would be right. */
bool tls_own_warning(const struct tls *t, int64_t now, char *why);
/* The i-th node of our certificate (a NODE-ID of RFC 9174 §4.4.1), as in its file; with its zero
 * at most TLS_NAME_MAX + 1 bytes. False: there are no more, or no memory. */
bool tls_own_node(const struct tls *t, size_t i, char out[TLS_NAME_MAX + 1]);

/* ---- a stream ---- */

struct tls_setup {
    bool server; /* else client: who speaks first */
    /* The peer must show a certificate that leads to a CA, is valid at this time and may be used
     * (any_purpose); else the handshake fails, on both sides. False: it may; whether it did is in
     * tls_peer. */
    bool verify;
    /* RFC 9174 §4.4.5: a certificate that says what it is for must say id-kp-bundleSecurity. True:
     * whatever it says will do. */
    bool any_purpose;
    /* A certificate that names a node (a NODE-ID of RFC 9174 §4.4.1, or an ipn: or dtn: URI) is
     * that node's alone, also one that is trusted itself and whose basic constraints say CA: what
     * it issued is not accepted. True: it may have issued others. */
    bool nodes_issue;
    const char *host;     /* of a client: the name that was resolved, for the server; NULL: none */
    struct slice early;   /* what came from the peer already, before the lower stream was given */
    uint64_t rekey_bytes; /* new keys after so many bytes of ours (TLS 1.3); 0: TLS_REKEY_BYTES */
};

/* Wraps `lower`, which is connected or connecting and is the new stream's from now on, and begins
 * the handshake.
 * 0, or HELIO_ENOMEM, HELIO_EINVAL (a server without certificate, `verify` without a CA): then
 * `lower` is the caller's still.
 *
 * The stream is as any other, with these rules:
 *  - its user is given by stream_use before the next return to the world's loop;
 *  - `writable` comes once when the handshake is over; until then a write takes nothing, and
 *    nothing is read, but what the handshake needs is, whatever stream_read says;
 *  - ended(0) is the peer's close_notify, or the end of the lower stream (tls_cut tells which);
 *    after it, nothing can be written either: TLS streams are not half-closed;
 *  - ended(HELIO_EFORMAT) is a failure of TLS, in the handshake or after it, tls_why has a text;
 *    other errors are those of the lower stream. A client can learn after `writable` that its own
 *    certificate was refused;
 *  - a write may have been taken and wait here for the lower stream; it goes on by itself, but
 *    stream_close gives it up, after it has offered the lower stream what waits and the
 *    close_notify once;
 *  - when its user does not read, the lower stream is not read either, beyond a buffer. */
int tls_stream(struct stream **out, struct tls *t, struct world *w, struct stream *lower,
               const struct tls_setup *setup);

/* ---- what came of it ---- */

enum tls_name_kind { TLS_BUNDLE_EID, TLS_DNS, TLS_IP };

/* A name of the peer's certificate (subjectAltName). */
struct tls_name {
    enum tls_name_kind kind;
    const char *text; /* an EID, a DNS name, a numeric address */
};

/* Of a stream whose handshake is over; pointers live as long as it does. */
struct tls_peer {
    const char *version;          /* "TLSv1.3", "TLSv1.2" */
    const char *cipher;           /* "TLS_AES_128_GCM_SHA256", … */
    bool certificate;             /* it showed one */
    bool verified;                /* and it is as `verify` requires, whether that was set or not */
    const char *unverified;       /* why it is not; NULL: it is */
    const char *subject;          /* of the certificate, for the operator; "" if it is empty */
    const struct tls_name *names; /* of a verified certificate only: others prove nothing */
    size_t names_len;
};

/* False: the handshake is not over. */
bool tls_peer(const struct stream *s, struct tls_peer *out);

/* RFC 9174 §4.4.4: does a verified certificate name this? */
enum tls_match {
    TLS_ABSENT,  /* it has no name of that kind, or is not verified */
    TLS_SUCCESS, /* one of its names of that kind is this */
    TLS_FAILURE  /* it has some, none is */
};
const char *tls_match_text(enum tls_match m); /* "absent", "success", "failure"; static */
enum tls_match tls_match_host(const struct stream *s, const char *host);
enum tls_match tls_match_address(const struct stream *s, const struct address *a); /* its port is
                                                                                      ignored */

/* What ended it, for the operator: "the peer refuses: …", "the peer's certificate: …"; "" when
 * nothing did. Lives as long as the stream. */
const char *tls_why(const struct stream *s);
/* The lower stream ended without the peer's close_notify: what came last may be missing. */
bool tls_cut(const struct stream *s);

#endif
