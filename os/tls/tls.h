/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 and 1.2 over any stream (os/stream.h), as client or server. Data written to a TLS stream
 * is encrypted and written to the stream below it, in both worlds. RFC 9174 §4.4 specifies the use
 * by convergence layers. A struct tls contains a certificate, its key and the trusted CAs from
 * files, which can be read again while streams exist. There is no session resumption, no early
 * data, no renegotiation and no timer: the user limits the time of a handshake.
 */
#ifndef OS_TLS_H
#define OS_TLS_H

#include "os/world.h"

struct address;
struct tls;

#define TLS_WHY_MAX 256      /* longest text of an error, with its terminating zero */
#define TLS_NAMES_MAX 64     /* of a peer's certificate; one with more is not accepted */
#define TLS_NAME_MAX 1024    /* characters of one; longer ones do not count */
#define TLS_HELD_MAX 1048576 /* bytes of memory that a stream takes, at most */
#define TLS_REKEY_BYTES (UINT64_C(1) << 37) /* half of what AES-GCM allows: RFC 8446 §5.5 */

/* ---- certificate, key, CAs ---- */

/* Names of PEM files, borrowed for the call of tls_new. */
struct tls_files {
    /* this end's and those between it and the CA's; NULL: none, then only a client can be without
     * it */
    const char *certificate;
    const char *key; /* its private key, without a passphrase; NULL as above */
    /* Trusted certificates: CAs, or a peer's own certificate. NULL: none; then no peer can be
     * verified. */
    const char *ca;
};

/* What this end shows others. */
struct tls_own {
    int64_t not_before; /* begin and end of the certificate, s since 1970 UTC; 0: there is none */
    int64_t not_after;
    int64_t ca_not_after; /* of the trusted certificates, the first end; 0: there are none */
    uint32_t loads;       /* how often the files were read with success */
};

/* Returns 0, HELIO_ENOMEM, or HELIO_EINVAL with the faulty `file` (0 certificate, 1 key, 2 ca) and
 * a text in why[TLS_WHY_MAX]: what is wrong and what would be right. */
int tls_new(struct tls **out, const struct tls_files *files, unsigned *file, char *why);
/* Adds an owner, who must call tls_free. */
void tls_keep(struct tls *t);
/* Streams stay valid. NULL is allowed. */
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
/* Cancels the reload: no call follows, and nothing changes. Required before `context` becomes
 * invalid; else harmless. */
void tls_reload_forget(struct tls *t);
/* Have the files changed since they were last read, with success or without? */
bool tls_changed(const struct tls *t);

void tls_own(const struct tls *t, struct tls_own *out);
/* Has the certificate expired, is it not yet valid, or will it expire within 14 days of `now` (s
 * since 1970 UTC)? Then why[TLS_WHY_MAX] has its file, the date, and what would be right. */
bool tls_own_warning(const struct tls *t, int64_t now, char *why);
/* The i-th node of our certificate (a NODE-ID of RFC 9174 §4.4.1), as in its file; with its zero
 * at most TLS_NAME_MAX + 1 bytes. False: there are no more, or no memory. */
bool tls_own_node(const struct tls *t, size_t i, char out[TLS_NAME_MAX + 1]);
/* Is our certificate the only trusted one? */
bool tls_own_trusted_only(const struct tls *t);

/* ---- a stream ---- */

struct tls_setup {
    bool server; /* it waits for the ClientHello; else client */
    /* The peer must show a certificate that leads to a CA, is valid at this time and may be used
     * (any_purpose); else the handshake fails, on both sides. False: it may; whether it did is in
     * tls_peer. */
    bool verify;
    /* RFC 9174 §4.4.5: a certificate that says what it is for must say id-kp-bundleSecurity. True:
     * whatever it says will do. */
    bool any_purpose;
    /* May a certificate that names a node (a NODE-ID of RFC 9174 §4.4.1, or an ipn: or dtn: URI)
     * issue others? If not, certificates that it issued are refused, even if it is trusted and its
     * basic constraints have the CA flag. */
    bool nodes_issue;
    const char *host;     /* of a client: the name that was resolved, for the server; NULL: none */
    struct slice early;   /* data received from the peer before `lower` was passed */
    uint64_t rekey_bytes; /* new keys after so many bytes of ours (TLS 1.3); 0: TLS_REKEY_BYTES */
};

/*
 * Makes a TLS stream over `lower`, which is connected or connecting, and begins the handshake. On
 * success the new stream owns `lower`. Returns 0, HELIO_ENOMEM, HELIO_EINVAL (a server without
 * certificate, `verify` without a CA): then the caller still owns `lower`.
 *
 * The result behaves like any stream, with these rules:
 * - Its user must be set by stream_use before the next return to the world's loop.
 * - `writable` is called once when the handshake is finished. Until then a write accepts nothing.
 *   The handshake reads what it needs, whatever stream_read says.
 * - ended(0) is the peer's close_notify, or the end of the lower stream (see tls_cut). After it
 *   nothing can be written: TLS streams are not half-closed.
 * - ended(HELIO_EFORMAT) is a TLS failure, in the handshake or later; tls_why has a text. Other
 *   errors are those of the lower stream. A client may learn after `writable` that its certificate
 *   was refused.
 * - Accepted data may be buffered here until the lower stream has room. stream_close discards it
 *   after one attempt to write it and the close_notify.
 * - If its user does not read, the lower stream is not read either, beyond a buffer.
 */
int tls_stream(struct stream **out, struct tls *t, struct world *w, struct stream *lower,
               const struct tls_setup *setup);

/* ---- results ---- */

enum tls_name_kind { TLS_BUNDLE_EID, TLS_DNS, TLS_IP };

/* A name of the peer's certificate (subjectAltName). */
struct tls_name {
    enum tls_name_kind kind;
    const char *text; /* an EID, a DNS name, a numeric address */
};

/* For a stream with a finished handshake. Pointers are valid as long as the stream. */
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

/* False: the handshake is not finished. */
bool tls_peer(const struct stream *s, struct tls_peer *out);

/* RFC 9174 §4.4.4: does a verified certificate name this? */
enum tls_match {
    TLS_ABSENT,  /* it has no name of that kind, or is not verified */
    TLS_SUCCESS, /* one of its names of that kind is this */
    TLS_FAILURE  /* it has some, none is */
};
const char *tls_match_text(enum tls_match m); /* "absent", "success", "failure"; static */
enum tls_match tls_match_host(const struct stream *s, const char *host);
/* its port is ignored */
enum tls_match tls_match_address(const struct stream *s, const struct address *a);

/* Why it ended, for the operator: "the peer refuses: …", "the peer's certificate: …"; "" without a
 * failure. Valid as long as the stream. */
const char *tls_why(const struct stream *s);
/* The same in classes, for counters. */
enum tls_fault {
    TLS_FAULT_NONE,
    TLS_FAULT_CERTIFICATE, /* the peer's is not valid */
    TLS_FAULT_BY_PEER,     /* the peer refuses */
    TLS_FAULT_OTHER        /* no TLS, another version, no common cipher, the end of the stream */
};
enum tls_fault tls_fault(const struct stream *s);
/* The lower stream ended without the peer's close_notify: the last data may be missing. */
bool tls_cut(const struct stream *s);

#endif
