/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-ltp: files as LTP blocks over UDP, without bundles. What its parts share: one engine at one
 * port of a world (os/world.h), and the two directions.
 */
#ifndef TOOLS_LTP_TOOL_H
#define TOOLS_LTP_TOOL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/bucket.h"
#include "cla/seglog.h"
#include "ltp/ltp.h"
#include "os/net/udp_io.h"
#include "os/world.h"
#include "tools/ltp/ltp_tool_options.h"

struct uv_signals;

/* What a direction does in a turn. */
struct tool_user {
    bool (*take)(void *context); /* the engine's notices; true when there were any */
    tick (*next)(void *context); /* the latest time of the next turn; TOOL_END: finished */
};

#define TOOL_END 0u

struct tool {
    const struct ltp_tool_options *options;
    struct ltp *engine;
    struct world *world;
    struct port *port;
    struct alarm alarm;
    struct uv_signals *signals;
    const struct tool_user *user;
    void *context;
    struct udp_peer to;
    bool known;   /* `to` is */
    bool follow;  /* `to` is the source address of the peer's segments */
    bool refused; /* datagrams from elsewhere were, and that was said */
    tick heard;   /* when the latest of them arrived from there */
    struct bucket bucket;
    struct seglog *log;
    bool stopped; /* by SIGINT or SIGTERM */
    bool over;    /* nothing is open in the world any more */
    bool behind;  /* a turn's work was not enough */
    tick now, due, flushed;
    tick calm, end;            /* of tool_linger */
    struct udp_counters count; /* of the port, after it was closed */
};

/* Binds, creates the engine and its one span with `exports` sessions. 0, or -1 after a message. */
int tool_open(struct tool *t, const struct ltp_tool_options *o, uint32_t exports);
void tool_close(struct tool *t);

/* Runs turns, each with what arrived and which timers expired, until the user has finished. */
void tool_run(struct tool *t, const struct tool_user *user, void *context);

/* To be returned by the user's `next`: it is done, but what the peer still repeats is answered,
 * until the engine has been idle for `quiet`, at most for `most`. Notices are dropped. */
tick tool_linger(struct tool *t, tick quiet, tick most);

/* The engine's counters, for --json; after tool_run. */
json_t *tool_counters(const struct tool *t);

/* The word of a cancel reason (RFC 5326 §3.2.4), static. */
const char *tool_reason(enum ltp_reason reason);

/* Exit codes. */
int ltp_tool_send(const struct ltp_tool_options *o);
int ltp_tool_receive(const struct ltp_tool_options *o);

#endif
