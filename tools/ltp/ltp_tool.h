/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-ltp: files as LTP blocks over UDP, without bundles. What its parts share: the port (one
 * engine, one socket, one clock) and the two directions.
 */
#ifndef TOOLS_LTP_TOOL_H
#define TOOLS_LTP_TOOL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/bucket.h"
#include "cla/seglog.h"
#include "ltp/ltp.h"
#include "os/udp_io.h"
#include "tools/ltp/ltp_tool_options.h"

struct port {
    struct ltp *engine;
    struct udp_io *io;
    struct udp_peer to;
    bool known;  /* `to` is */
    bool follow; /* `to` is where the peer's segments come from */
    tick heard;  /* when the latest of them came from there */
    tick rto;
    struct bucket bucket;
    uint64_t peer;
    uint32_t segment, overhead;
    struct seglog *log;
    int signals;  /* a descriptor */
    bool stopped; /* by SIGINT or SIGTERM */
    bool behind;  /* a turn's work was not enough */
    tick now, flushed;
};

/* Binds, makes the engine and its one span with `exports` sessions. 0, or -1 after a message. */
int port_open(struct port *p, const struct ltp_tool_options *o, uint32_t exports);
void port_close(struct port *p);

/* Hands to the socket what the engine has and the rate allows. Makes notices. */
void port_output(struct port *p);

/* Waits until something arrives, a timer runs out or `until` comes; takes what arrived. Makes
 * notices. */
void port_wait(struct port *p, tick until);

/* Answers what the peer still repeats, until the engine has been idle for `quiet`, at most for
 * `most`. Notices are dropped. */
void port_linger(struct port *p, tick quiet, tick most);

/* What went through the engine, for --json. */
json_t *port_counters(const struct port *p);

/* The word of a cancel reason (RFC 5326 §3.2.4), static. */
const char *port_reason(enum ltp_reason reason);

/* Exit codes. */
int ltp_tool_send(const struct ltp_tool_options *o);
int ltp_tool_receive(const struct ltp_tool_options *o);

#endif
