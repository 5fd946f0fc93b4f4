/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links over ISP1 in a world, whatever the service (sle/isp1.h): an engine's deadline (struct
 * isp1_host), and one of its links on one stream (struct isp1_conn): input, output, notices to the
 * service, TLS, and the end. Used by cla/framed/sle_conn.h and tools/csts/csts_conn.h.
 *
 * Threads. In a world with writing threads (uv_world_writers), these and the loop share large
 * output. A thread that has a connection's output computes its credentials and writes to the
 * socket. Only the loop does everything else: engine, production, recording, control socket,
 * metrics, and input.
 *
 *   loop                                              thread
 *   isp1_lend: up to 128 slices; queues them      sle_lent_sign, sendmsg; queues the result
 *   isp1_wrote, notices, the next output
 *
 * - A connection has one write in progress. Until its result is there the connection is full
 *   (isp1_conn_full), and its production waits.
 * - A thread has the slices, the places of the credentials, the descriptor, and the connection's
 *   own hash context. It uses neither the engine nor references of buffers. The only lock is that
 *   of the queues, taken when a write is queued and when it is done.
 * - A link that ends keeps the data that a thread has. Before the end is reported to the user, and
 *   before the stream is closed or aborted, the loop waits for the thread, which does not block.
 *   Written octets are counted, and nothing is written after the end.
 * - The loop also writes when each thread has its next write already, so that at full load no
 *   thread sleeps and must be woken. The loop has at least one of the connections with large
 *   output, so a single one is always the loop's. So are TLS, and output of less than 64 KiB.
 */
#ifndef CLA_ISP1_CONN_H
#define CLA_ISP1_CONN_H

#include "base/crowd.h"
#include "os/tls/tls.h"
#include "os/world.h"
#include "sle/isp1.h"

struct isp1_conn;
struct isp1_lending;
struct isp1_unbound;

/* What the peer's certificate must name; but for NONE it must be valid and lead to a CA. */
enum sle_tls_peer { SLE_TLS_CA, SLE_TLS_HOST, SLE_TLS_ADDRESS, SLE_TLS_NONE };

/* TLS below the transport mapping; outlives the connections. */
struct sle_secure {
    struct tls *tls;
    enum sle_tls_peer peer;
    /* required with SLE_TLS_HOST; sent to the server by the connecting side. NULL: none */
    const char *host;
};

/* One for each engine; lies in its user's memory, and outlives the engine's connections. */
struct isp1_host {
    struct world *world;
    struct isp1 *isp;
    /* Serves one time that is due; *link: whose it was, NULL: of none. False: there is none. */
    bool (*expire)(struct isp1_host *h, struct isp1_link **link, tick now);
    struct alarm alarm;
    unsigned writers; /* threads for large output; set before there are connections */
    /* its own: */
    size_t lent;       /* writes that they have */
    struct list large; /* connections with large output, the latest last */
    size_t large_len;
    uint64_t lent_writes, lent_octets; /* that threads have written */
};
void isp1_host_init(struct isp1_host *h, struct world *w, struct isp1 *isp,
                    bool (*expire)(struct isp1_host *h, struct isp1_link **link, tick now));
void isp1_host_fini(struct isp1_host *h); /* also after {0} */
/* After a call into the engine without a connection to pump: its deadline may have changed. */
void isp1_host_look(struct isp1_host *h);

/* The service's part of a connection. */
struct isp1_conn_user {
    /* Polls notices and reports them, as long as isp1_conn_tells says so; false: there were none.
     * Before it reports the end of the link it calls isp1_conn_settle. */
    bool (*tell)(struct isp1_conn *c);
    /* The stream is closed; c->error: HELIO_E* of it, 0: none. `release` follows. */
    void (*gone)(struct isp1_conn *c);
    /* The stream was full and has room; it must not call the engine. NULL: not needed. */
    void (*room)(struct isp1_conn *c);
    /* Frees the link, and then the memory in which c lies. */
    void (*release)(struct isp1_conn *c);
};

struct isp1_conn {
    struct isp1_host *host;
    struct stream *stream;
    struct isp1_link *link;
    const struct isp1_conn_user *user;
    struct alarm alarm;           /* to pump from the loop */
    struct isp1_lending *lending; /* NULL: nothing was lent yet */
    struct list large;            /* in host.large */
    tick large_at;                /* its last large output */
    bool full;                    /* the stream has no room */
    bool pumping;                 /* a notice is being reported */
    bool held;                    /* notices wait */
    bool urgent;                  /* our PEER-ABORT is out */
    bool freed;                   /* from within a notice */
    bool over;                    /* the stream has ended: error */
    int error;
    /* its place before the BIND (isp1_unbound.h); NULL: none */
    struct isp1_unbound *unbound;
    struct crowd_member waiting;
    /* TLS */
    const struct sle_secure *secure; /* NULL: none */
    bool secured;                    /* its handshake has ended */
    char why[TLS_WHY_MAX];
    tick now;              /* the time of its notices */
    uint8_t dropped[4096]; /* destination of dropped input */
};

/* May another notice be reported? */
static inline bool isp1_conn_tells(const struct isp1_conn *c)
{
    return !c->freed && !c->held;
}
/* Takes the stream, which it closes. */
void isp1_conn_init(struct isp1_conn *c, struct isp1_host *h, struct stream *s, struct isp1_link *l,
                    const struct isp1_conn_user *user);
/* Begins a connection, for isp1_conn_init. Later failures are reported by `gone`. */
int isp1_conn_connect(struct isp1_host *h, const struct address *to, struct stream **out);
/* After a call into the link: passes its notices and output. It may end in `gone`, except within
 * `tell`: then c is freed. */
void isp1_conn_pump(struct isp1_conn *c);
void isp1_conn_wake(struct isp1_conn *c); /* the same, soon, from the loop */
/* Right after isp1_conn_init: nothing is read or written but through TLS. PEER-ABORT is then the
 * end of the connection: TLS has no urgent data. 0, or HELIO_E* of tls_stream: free it. */
int isp1_conn_secure(struct isp1_conn *c, const struct sle_secure *secure, bool server);
/* In `gone`: the TLS failure, for the operator; "" if there was none. */
const char *isp1_conn_why(const struct isp1_conn *c);
void isp1_conn_settle(struct isp1_conn *c);     /* takes back lent slices now */
bool isp1_conn_full(const struct isp1_conn *c); /* no room now, or a thread is writing */
bool isp1_conn_lends(const struct isp1_conn *c);
uint64_t isp1_conn_unheard(const struct isp1_conn *c);
int isp1_conn_congestion(struct isp1_conn *c, const char *name);
tick isp1_conn_now(const struct isp1_conn *c);
void isp1_conn_hold(struct isp1_conn *c, bool on);
/* At once, without a word to the peer, and without `gone`; from within `tell` it is done later. */
void isp1_conn_free(struct isp1_conn *c);

#endif
