/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of Space Link Extension on streams. Used by the frames of a link (frame_wire_sle.c) and by
 * helio-sle. All but the notices is cla/framed/isp1_conn.h, with its threads.
 */
#ifndef CLA_SLE_CONN_H
#define CLA_SLE_CONN_H

#include "cla/framed/isp1_conn.h"

struct sle_conn;

/* One for each engine; lies in its user's memory, and outlives the engine's connections. */
struct sle_host {
    struct isp1_host isp;
    struct sle *engine;
    /* A deadline of an unbound instance has passed (struct sle_due); NULL: not needed. */
    void (*due)(void *context, struct sle_instance *i);
    void *context;
};
void sle_host_init(struct sle_host *h, struct world *w, struct sle *engine);
void sle_host_fini(struct sle_host *h); /* also after {0} */
/* After a call into the engine without a connection to pump: its deadline may have changed. */
void sle_host_look(struct sle_host *h);

struct sle_conn_user {
    /* A notice. The engine may be called within it, but not sle_conn_pump. */
    void (*notice)(void *context, struct sle_conn *c, const struct sle_notice *n);
    /* The stream is closed; the link and c are freed after this call. `error`: HELIO_E* of the
     * stream, 0: none. Not called after sle_conn_free. */
    void (*gone)(void *context, struct sle_conn *c, int error);
    /* The stream was full and has room; pending output is written after this call, which must not
     * call the engine. NULL: not needed. */
    void (*room)(void *context);
};

/* Takes the stream, which it closes, and the link, which it frees. NULL: memory is out, both are
 * freed. `user` outlives it. */
struct sle_conn *sle_conn_new(struct sle_host *h, struct stream *s, struct sle_link *l,
                              const struct sle_conn_user *user, void *context);

/* The same with a new connection to `to`, for an instance that binds; buffers: octets of the
 * socket's buffers, 0: default. Later failures are reported by `gone`. Returns 0; HELIO_E* of the
 * connection; HELIO_ENOMEM: memory, or the instance has a link. */
int sle_conn_open(struct sle_host *h, struct sle_conn **out, struct sle_instance *i,
                  const struct address *to, uint32_t buffers, const struct sle_conn_user *user,
                  void *context);

/* After a call into the link: passes its notices and output. It may end in `gone`, except within
 * `notice`: then c is freed. */
void sle_conn_pump(struct sle_conn *c);

/* Right after sle_conn_new (server: true) or sle_conn_open: nothing is read or written but through
 * TLS. PEER-ABORT is then the end of the connection: TLS has no urgent data. 0, or HELIO_E* of
 * tls_stream: free the connection. */
int sle_conn_secure(struct sle_conn *c, const struct sle_secure *secure, bool server);
/* In `gone`: the TLS failure, for the operator; "" if there was none. */
const char *sle_conn_why(const struct sle_conn *c);

struct sle_link *sle_conn_link(const struct sle_conn *c);
/* For isp1_unbound_add; it leaves its place there with SLE_BOUND. */
struct isp1_conn *sle_conn_isp1(struct sle_conn *c);
/* Has the stream no room now, or is a thread writing? */
bool sle_conn_full(const struct sle_conn *c);
/* Is a thread writing? Then `room` is called soon, unless the stream is full. */
bool sle_conn_lends(const struct sle_conn *c);
/* Octets that were written and that the peer's system has not acknowledged yet. */
uint64_t sle_conn_unheard(const struct sle_conn *c);
/* TCP's congestion control (stream_congestion). 0 or HELIO_E*. */
int sle_conn_congestion(struct sle_conn *c, const char *name);
/* In `notice`: the time of the notice, read once for all simultaneous notices. */
tick sle_conn_now(const struct sle_conn *c);
/* While it holds, notices wait, and with them the peer (back-pressure); also from `notice`. The end
 * of the stream waits, too. */
void sle_conn_hold(struct sle_conn *c, bool on);
/* Of SLE_OVER: why, beyond sle_end_text; "" when that says it all. */
const char *sle_conn_reason(const struct sle_notice *over);
/* At once, without a word to the peer. */
void sle_conn_free(struct sle_conn *c);

#endif
