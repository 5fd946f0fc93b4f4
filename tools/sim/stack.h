/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole stack in virtual time: nodes with their configuration, traffic generators, and channels
 * between them, under one clock. Nodes, links, applications and the streams between them are those
 * of heliod and helio-perf. Their world is virtual.c, and stack_net.c transmits its datagrams.
 * stack_host.c replaces uv_node.c.
 *
 * The clock advances to the earliest of: an operator's command, a datagram's arrival, a local
 * endpoint's alarm, an agent's deadline, an application's turn. Equal times are processed in this
 * order, then in the order of creation.
 */
#ifndef TOOLS_STACK_H
#define TOOLS_STACK_H

#include <signal.h>

#include "base/list.h"
#include "base/rng.h"
#include "channel-emu/emu/emu_relay_options.h"
#include "channel-emu/scenario/scenario_links_run.h"
#include "node/app/apps.h"
#include "os/log/log_writer.h"
#include "sim/virtual.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_reverse.h"
#include "tools/perf/perf_server.h"
#include "tools/ping/ping.h"
#include "tools/sle/station.h"

#define STACK_NODES_MAX 32
#define STACK_STATIONS_MAX 8
#define STACK_CHANNELS_MAX 512 /* beside the links of a file; half of them relays */
#define STACK_FLOWS_MAX 64     /* peers of one relay */
#define STACK_SCRIPT_MAX 16384
#define STACK_WIRE TICK_US               /* from socket to socket, without a channel */
#define STACK_APP_DELAY TICK_US          /* from a node to its application */
#define STACK_START UINT64_C(1767225600) /* time zero, in seconds since 1970: 2026-01-01 */

struct stack;

/* A node of the stack. */
struct stack_host {
    struct node node;
    struct stack *stack;
    struct config config;
    const char *file; /* of the configuration */
    size_t index;
    char *place; /* where its applications connect: no other node's, whatever the files say */
    struct log_writer *log, *bundle_log; /* of segments, of bundles; NULL: none */
    size_t closing;                      /* links that have not closed yet */
};

/* A ground station of the stack. */
struct stack_station {
    struct stack *stack;
    const char *file; /* of the configuration */
    struct settings settings;
    struct station *station; /* NULL: not open */
};

/* One direction of a channel, which begins with its first frame. */
struct stack_direction {
    struct chan *chan;
    struct ltp_rules *rules;
    uint64_t no_peer;         /* arrived without a destination */
    uint64_t gone;            /* left the channel, but no socket has the address */
    tick origin, first, last; /* on the channels' clock */
};

/* A channel between sockets: a relay with addresses of its own, all traffic between two nodes, or a
 * channel for links that are handed over. */
enum stack_channel_kind { STACK_BETWEEN, STACK_RELAY, STACK_BARE };

/* The links of a file of `helio-emu links`. */
struct stack_links {
    const char *path; /* borrowed */
    struct scenario_links file;
    struct links_run between;
    size_t first; /* where they begin among the stack's channels */
    tick bias;    /* of all of them */
};

struct stack_channel {
    struct stack *stack;
    enum stack_channel_kind kind;
    char **words;              /* of its command line, owned; NULL: it is of a file's links: */
    struct stack_links *links; /* borrowed; NULL: it is not */
    size_t link;               /* which of them */
    struct emu_relay_options options; /* what it borrows is of links->file, if that is there */
    size_t ends[2]; /* between nodes: the owners, nodes and stations behind them; forward is from
                       the first to the second */
    struct address flows[STACK_FLOWS_MAX]; /* relay: the peers that send forward */
    size_t flows_len;
    struct stack_direction directions[2];
    tick bias; /* the channels' clock is so far before the world's */
    struct log_writer *drops;
    struct log_writer *capture[2]; /* of what enters it, of what leaves it; NULL: none */
};

enum stack_kind { STACK_CLIENT, STACK_REVERSE, STACK_SERVER, STACK_PING };

struct stack_app {
    struct list node; /* of stack->apps */
    struct stack *stack;
    struct stack_host *host;
    enum stack_kind kind;
    char **words; /* of its command line, owned */
    tick start;   /* clients and pings: when they begin */
    struct alarm begin;
    struct perf_options options;
    struct ping_options ping_options;
    char *destination; /* of a ping, owned */
    union {
        struct perf_client client;
        struct perf_reverse reverse; /* a client that receives */
        struct perf_server server;
        struct ping ping;
    };
    bool open, done;
};

/* A link is taken down or up, or keys of it are changed. */
struct stack_switch {
    tick at;
    struct stack_host *host;
    size_t link;
    bool up;
    const char *keys; /* a YAML map, as it was given; NULL: down or up */
};

struct stack {
    struct virtual_world world;
    tick until; /* the end in any case */
    tick least; /* it does not end before, unless nothing is left to do */
    uint64_t steps;
    struct rng rng;
    struct stack_host *hosts[STACK_NODES_MAX];
    size_t hosts_len;
    struct stack_station *stations[STACK_STATIONS_MAX];
    size_t stations_len;
    struct stack_channel *channels[STACK_CHANNELS_MAX + SCENARIO_LINKS_MAX];
    size_t channels_len, channel_next;            /* the one whose frame is the next to arrive */
    struct stack_links *links;                    /* owned; NULL: no file of them */
    struct stack_switch script[STACK_SCRIPT_MAX]; /* by time */
    size_t script_len, script_next;
    struct pipe_wire wire;
    struct list flying; /* datagrams on no channel, in the order of their arrival */
    uint8_t frame[UDP_DATAGRAM_MAX];
    struct list apps;
    uint64_t unreachable; /* datagrams to an address without a socket */
    const char *log_dir;  /* NULL: no logs */
    bool gzip;
    bool check; /* all invariants, after each step */
    bool interrupted;
    int signals; /* from open to the end of the run; -1: none */
    sigset_t mask_before;
};

/* stack_net.c: datagrams that are on no channel arrive at `due`, one at each step. */
void stack_net_init(struct stack *s);
void stack_net_fini(struct stack *s);
tick stack_net_due(const struct stack *s);
void stack_net_step(struct stack *s);
/* Is there a port, a listener for streams, or a relay's listening address? */
bool stack_net_reaches(const struct stack *s, const struct address *remote);
/* The port with this address; NULL: none. */
struct virtual_port *stack_port(const struct stack *s, const struct address *to);

/* stack_channel.c. How far the channels' clock begins before the world's when something has this
 * `start`: 0, or, when that is before time zero, all of the time since 1970. */
tick stack_channel_bias(const struct scenario_direction *w);
/* 0, or an error that was said. */
int stack_channel_open(struct stack_channel *c, size_t number);
void stack_channel_free(struct stack_channel *c);
/* 1: the datagram is in the channel; 0: it does not belong to this channel. */
int stack_channel_input(struct stack_channel *c, const struct virtual_port *from,
                        const struct address *to, const uint8_t *data, size_t len);
/* Of a stream between two nodes. Has it a channel? Its frame is on it. */
bool stack_channel_between(const struct stack *s, size_t from, size_t to);
void stack_channel_stream(struct stack *s, size_t from, size_t to, struct slice frame);
tick stack_channel_due(const struct stack_channel *c);
void stack_channel_step(struct stack_channel *c);
/* The relay that listens there; NULL: none. */
struct stack_channel *stack_relay_at(const struct stack *s, const struct address *listen);

/* Opens the channel's captures. number: of the channel, part of the files' identity. Returns 0, or
 * HELIO_EIO, which was reported on standard error. put: a datagram enters the channel now, or
 * leaves it (after). */
int stack_capture_open(struct stack_channel *c, size_t number);
void stack_capture_put(struct stack_channel *c, bool after, int dir, const struct address *from,
                       const struct address *to, struct slice frame);

/* stack_links.c: their channels come behind all others. 0, or an error that was said. */
int stack_links_add(struct stack *s, const char *path);
void stack_links_free(struct stack *s); /* after the channels */
/* With all nodes open, are the addresses of a relay right? 0, or an error that was said. */
int stack_channel_check(const struct stack_channel *c);
json_t *stack_links_json(const struct stack *s); /* {links, shared} */
void stack_links_print(const struct stack *s);

/* stack_host.c. Errors of a configuration are said and end in HELIO_EFORMAT. */
int stack_host_new(struct stack *s, const char *file);
int stack_host_open(struct stack_host *h);
int stack_host_check(const struct stack_host *h); /* each remote address has a socket */
void stack_host_free(struct stack_host *h);
struct stack_host *stack_host_of(const struct stack *s, const struct eid *eid); /* NULL: none */

/* stack_station.c. The same; its number, as an owner's of ports and streams, is behind the nodes'.
 */
int stack_station_new(struct stack *s, const char *file);
int stack_station_open(struct stack_station *t);
size_t stack_station_owner(const struct stack_station *t);
void stack_station_free(struct stack_station *t);

/* stack_script.c. add: "TIME NODE LINK up|down|set KEYS", STACK_SCRIPT_MAX of them; 0, or an error
 * that was said. */
int stack_script_add(struct stack *s, const char *text);
tick stack_script_due(const struct stack *s);
void stack_script_step(struct stack *s);

/* stack_perf.c: the applications. open: its options are read; with all nodes open, at time zero; 0,
 * or an error that was said. What begins later (`start`) finds its endpoint taken, if it is, then.
 */
int stack_app_open(struct stack_app *a);
void stack_app_end(struct stack_app *a); /* there will be no more */
void stack_app_free(struct stack_app *a);
uint64_t stack_app_missing(const struct stack_app *a);
void stack_app_assert(const struct stack_app *a);

/* stack.c */
void stack_init(struct stack *s, uint64_t seed);
int stack_open(struct stack *s);
/* Until all clients are done, or `until`, or a signal. progress: on the standard error. */
void stack_run(struct stack *s, bool progress);
/* Does the next thing before this time; false: there is none. */
bool stack_step(struct stack *s, tick before);
/* 0, or HELIO_EIO: a log could not be written, which was said. */
int stack_finish_logs(struct stack *s);
void stack_fini(struct stack *s);

/* stack_report.c: exit code 0 or 1. One direction of a channel, for it and stack_links.c. */
int stack_report(const struct stack *s, bool json);
json_t *stack_direction_json(const struct stack_channel *c, int dir);
void stack_direction_print(const struct stack_channel *c, int dir, const char *name);

/* stack_main.c: is it a command line for the whole stack? Then its exit code. */
bool stack_wanted(int argc, char **argv);
int stack_main(int argc, char **argv);

#endif
