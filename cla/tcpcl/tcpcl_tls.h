/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS in TCPCL (RFC 9174 §4.4): a link's certificates, the handshake of a connection, and whether
 * the peer's certificate confirms its node ID.
 */
#ifndef CLA_TCPCL_TLS_H
#define CLA_TCPCL_TLS_H

#include "bp/codec/eid.h"
#include "cla/cla.h"
#include "os/tls/tls.h"

#define TCPCL_SHAKES_MAX 8 /* running handshakes of peers that connect from one host */

struct json_t;
struct tcpcl_config;
struct tcpcl_conn;
struct tcpcl_endpoint;
struct tcpcl_link;

/* Which of a peer's names must be in its certificate (key tls_peer). But for NONE, the certificate
 * must be valid, and if it names nodes, the peer is one of them. */
enum tcpcl_tls_peer { TCPCL_BY_NODE, TCPCL_BY_HOST, TCPCL_BY_ADDRESS, TCPCL_BY_CA, TCPCL_BY_NONE };

/* Why a peer is not trusted. */
#define TCPCL_TRUSTS(X)                                                                            \
    X(GIVEN, "it is")                                                                              \
    X(PLAIN, "it connected without TLS, which the link requires")                                  \
    X(UNVERIFIED, "its certificate is not valid")                                                  \
    X(NO_NODE, "its certificate names no node")                                                    \
    X(OTHER_NODE, "its certificate names another node")                                            \
    X(OTHER_HOST, "its certificate does not name the host")                                        \
    X(OTHER_ADDRESS, "its certificate does not name the address")
#define TCPCL_TRUST_ENUM(name, text) TCPCL_TRUST_##name,
enum tcpcl_trust { TCPCL_TRUSTS(TCPCL_TRUST_ENUM) TCPCL_TRUST_COUNT };
#undef TCPCL_TRUST_ENUM
const char *tcpcl_trust_text(enum tcpcl_trust t); /* static */

/* Of a local address, or of a link that does not listen. */
struct tcpcl_tls_counters {
    uint64_t sessions;                   /* finished handshakes */
    uint64_t plain;                      /* sessions without TLS where it was optional */
    uint64_t failed;                     /* handshakes that did not */
    uint64_t failed_by[CLA_TLS_COUNT];   /* of them, by why: CERTIFICATE, BY_PEER, HANDSHAKE */
    uint64_t turned_away;                /* that were not begun: TCPCL_SHAKES_MAX */
    uint64_t refused[TCPCL_TRUST_COUNT]; /* peers, by why */
    uint64_t reloads, reloads_failed;
};

/* A link's context as its keys say; NULL when TLS is off. load: 0, or an error with the key to
 * blame and a text. open: the text begins with the key. */
int tcpcl_tls_load(struct tls **out, const struct tcpcl_config *k, const char **key, char *why,
                   size_t why_cap);
int tcpcl_tls_open(struct tls **out, const struct tcpcl_config *k, char *why, size_t why_cap);
/* Would tcpcl_tls_open read other files? */
bool tcpcl_tls_differs(const struct tcpcl_config *a, const struct tcpcl_config *b);

/* Replaces the connection's stream by a TLS stream. Changed files are read before, in another
 * thread: LATER: the connection waits for that (c->awaits_files). NOT: it failed. In both cases the
 * stream is unchanged. */
enum tcpcl_tls_start { TCPCL_TLS_NOT, TCPCL_TLS_BEGUN, TCPCL_TLS_LATER };
enum tcpcl_tls_start tcpcl_tls_begin(struct tcpcl_conn *c);
/* Of one that waits: are its files still being read? */
bool tcpcl_tls_reading(const struct tcpcl_conn *c);
/* The handshake has finished, or failed: `error` as in stream_user.ended. Counted and logged. */
void tcpcl_tls_done(struct tcpcl_conn *c);
void tcpcl_tls_failed(struct tcpcl_conn *c, int error);

/* Why this connection's stream ended, for the operator. */
const char *tcpcl_tls_why(const struct tcpcl_conn *c);

/* May this peer, which identifies itself as `who`, use the link by its rules? A refusal is counted
 * and logged. */
bool tcpcl_tls_trusts(struct tcpcl_conn *c, struct tcpcl_link *rules, const struct eid *who);

/* Of one that is trusted: by a verified certificate? names: and by one that names this node? */
bool tcpcl_tls_verified(const struct tcpcl_conn *c);
bool tcpcl_tls_names(const struct tcpcl_conn *c, const struct tcpcl_link *rules,
                     const struct eid *who);

struct json_t *tcpcl_tls_show(const struct tcpcl_conn *c); /* of its session; null: plain */
void tcpcl_tls_put(struct json_t *o, const struct tcpcl_link *l);
void tcpcl_tls_gauges(const struct tcpcl_link *l, struct cla_gauges *out);

#endif
