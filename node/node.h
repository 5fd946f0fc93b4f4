/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node: one bundle agent, bound to its links, its store, its applications and its operator.
 * Everything but the storage thread runs in one loop. Each event is passed to the agent, then
 * node_wake; before the loop sleeps, node_pump does what the agent asks for.
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include "base/crowd_room.h"
#include "base/rest.h"
#include "bp/agent/agent.h"
#include "node/app/echo.h"
#include "node/config/config.h"
#include "node/node_clock.h"
#include "node/node_watch.h"
#include "os/log/say.h"
#include "os/took.h"
#include "os/world.h"
#include "route/plan_router.h"

struct uv_loop_s;
struct apps;
struct node_plan;
struct found;
struct node_security;
struct node_backlog;
struct http;
struct control;
struct storage;
struct node_handles;
struct log_writer;
struct memory_guard;
struct seglog;

/* Rates of the last 5 minutes, and of the last hour: bit/s, each the mean of a step. Those of the
 * links are kept while somebody may look (http.listen). */
enum meter_span { METER_MINUTES, METER_HOUR, METER_SPANS };
extern const unsigned meter_step_s[METER_SPANS];
#define METER_PAST 60 /* steps of a span */
struct meter_past {
    unsigned first, len; /* a ring */
    uint64_t tx_bytes, rx_bytes;
    tick at; /* when these were, at the end of the last step */
    float tx[METER_PAST], rx[METER_PAST];
};

/* Rates of the last second, and the counters that they were made of. */
struct link_meter {
    tick at; /* 0: not yet */
    uint64_t tx_bytes, rx_bytes, resent_bytes;
    uint64_t tx_bps, rx_bps, resent_bps;
    struct meter_past *past; /* METER_SPANS of them; NULL: not kept */
};

struct node_link {
    struct node *node;
    const struct config_link *config;
    struct config_link *own; /* the same, unless it is the file's; goes with the link */
    struct cla *cla;         /* NULL: not open */
    uint32_t index;          /* of the agent */
    uint64_t life;           /* number of all that had an index */
    bool listens;            /* an endpoint of this node is its own (node_self.h) */
    uint32_t window;         /* that the agent knows */
    uint64_t bundle_max;     /* likewise */
    bool up;                 /* bundles may be sent over it */
    tick opened;             /* since when, if it is up */
    uint64_t sent, failed, received;
    uint64_t received_bytes; /* of those bundles */
    struct list held;        /* node_hold.h: bundles that wait for room, or for the end of a rest */
    struct list given;       /* likewise, of cla_ops.last_copy: with the agent, without an answer */
    uint64_t probes;         /* of these, that try whether the store takes one again */
    bool hold_paused;        /* nothing more is read, as far as the adapter can do that */
    uint64_t held_len, held_bytes, held_total;
    struct rest rest;                    /* of a link whose adapter has none of its own */
    uint64_t rests;                      /* that it has begun */
    uint64_t rest_refused;               /* bundles that found no room while it rested */
    uint64_t failures[CLA_REASON_COUNT]; /* of `failed`, by reason */
    struct node_link
        *host; /* its peer connected to that one; NULL: it is of the file, or an operator's */
    uint64_t peers, peers_refused; /* that connected to it: now; refused */
    bool planned;                  /* a contact plan says something of it: */
    struct cla_contact contact;    /* this */
    tick contact_next;             /* when its next contact begins; TICK_NEVER: there is none */
    tick heard_since;              /* it has no contact any more, but the peer; TICK_NEVER: else */
    bool given_up;                 /* it has none, and unfinished bundles take another route */
    bool gives_back;               /* that is asked for, in steps: */
    struct plan_router_walk back;
    bool over;               /* its peer connected by itself and has gone: to be removed */
    bool unconfigured;       /* its peer connected to another link; also when that one is removed */
    struct link_meter meter; /* node_meter.h */
    struct link_watch watch;
};

/* What the agent's actions ask of applications and of the store. */
struct node_ops {
    void (*deliver)(struct apps *apps, const struct agent_action *a);
    void (*recall)(struct apps *apps, const struct agent_action *a);
    void (*answer)(struct apps *apps, const struct agent_action *a);
    void (*flush)(struct apps *apps);
    int (*put)(struct storage *s, const struct agent_action *a);
    int (*get)(struct storage *s, uint64_t key);
    int (*remove)(struct storage *s, const struct agent_action *a);
    void (*submit)(struct storage *s);
};
extern const struct node_ops node_ops; /* apps.h, storage.h */

struct node {
    const struct config *config;
    const char *path;    /* of its file; NULL: it has none */
    struct config *file; /* the file as it was read last; NULL: as config */
    uint64_t plan_stamp; /* of the plan's file, when it was read */
    const struct node_ops *ops;
    struct say say;
    struct agent *agent;
    uint64_t seed; /* of hashes of what peers name */
    struct world *world;
    struct memory_guard *memory; /* NULL: it has none */
    struct alarm deadline;       /* of the agent, of node_verify.h, and of node_hold.h: */
    tick hold_at,
        hold_pause; /* the next try, TICK_NEVER: nothing is held; before the one after it */
    size_t hold_turn;
    tick rest_at;      /* the next turn of bundles whose link rested; TICK_NEVER: none waits */
    tick verify_at;    /* the next turn of node_verify.h; TICK_NEVER: no bundle waits for it */
    tick verify_rests; /* none before that */
    struct rests rests;
    struct crowd_room room; /* of the connections that peers opened */
    struct took took;
    struct round_end round;
    struct uv_loop_s *loop;               /* of the kernel's world; NULL in virtual time */
    struct node_handles *handles;         /* timers and signals, of uv_node.c */
    struct node_link **links;             /* by the agent's index; NULL: there is none */
    size_t links_len;                     /* places; node_links_count: links */
    size_t open_links;                    /* not closed yet */
    uint64_t lives;                       /* of node_link.life, the last */
    void (*links_closed)(struct node *n); /* of node_links_close */
    void **anchors;                       /* one per adapter: what its links share */
    struct storage *storage;              /* NULL with durability none */
    struct node_plan *plan;               /* NULL: none */
    struct found *found;                  /* node/found/; NULL: discovery is off */
    struct node_security *security;       /* node_security.h; NULL: there are no rules */
    struct apps *apps;
    struct control *control;
    struct {
        uint64_t all, told; /* `told`: logged since `since` */
        tick since;
    } refusals;                     /* of changes that readers asked for */
    struct seglog *segments;        /* NULL: not written */
    struct log_writer *bundle_log;  /* likewise */
    uint64_t log_epoch;             /* of both */
    tick log_quiet;                 /* until then no trouble with them is said */
    bundle_event_sink *bundle_sink; /* of the agent; NULL: none */
    void *bundle_sink_context;
    event_sink *sink; /* of the links' engines; NULL: none */
    void *sink_context;
    bool has_echo;
    struct eid echo;
    struct echo_state echo_state;
    uint64_t echoed, echo_refused; /* refused: they might begin a loop */
    struct {
        uint64_t count;
        enum agent_refusal why; /* of the latest one, */
        struct eid to;          /* to this endpoint */
    } echo_unsent;              /* answers that the agent did not take */
    uint64_t restored;          /* bundles that the store gave back at start */
    uint64_t store_failures;
    struct node_medium {
        bool known, told; /* fits; and that it is below store.limit was logged */
        uint64_t fits, told_fits;
        struct watch_pace pace;
    } medium; /* node_medium.h */
    struct {
        uint64_t gave_way, refused, reports, too_late, kept,
            dropped; /* counters at the last log line */
        tick after;
        bool displaced; /* it was said */
    } shortage;
    tick trouble_after; /* until then the store's trouble is not said again */
    tick started;
    struct node_clock clock;
    struct node_watch watch;
    struct meter_past *past;      /* of all links, as in struct link_meter */
    struct http *http;            /* NULL: it is off */
    _Atomic uint64_t http_cut;    /* its connections that were closed for later ones */
    struct node_backlog *backlog; /* node_backlog.h; NULL: nobody has asked */
    struct node_events *events;   /* node_events.h; NULL: nobody watches */
    bool earlier_life;            /* the store has been this node's before */
    struct list changes;          /* node_change.h: the first one is being made */
    size_t changes_len;           /* 0: the list was never begun, or is empty */
    bool changing;
    bool awake;         /* the agent may have actions */
    bool names_changed; /* node_names.h */
    bool links_route;   /* node_router_use */
    bool stopping;      /* no new work */
    bool failed;        /* it could not start: stopping, with the parts that there are */
    bool misconfigured; /* the contact plan has errors */
};

#define NODE_REG_ECHO UINT64_C(1) /* registrations of applications have higher numbers */
#define NODE_TOKEN_ECHO UINT64_C(1)
#define NODE_FIRST UINT64_C(16)

/* The world's clocks. */
struct agent_now node_now(const struct node *n);

/* The agent got an event: pump before the loop sleeps. */
static inline void node_wake(struct node *n)
{
    n->awake = true;
}

/* Tells the agent when the link's limits are others now. */
void node_limits(struct node_link *l);

/* The outcome of a bundle on the link: counted, and passed to the agent. */
void node_link_done(struct node_link *l, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason);

/* Deletes a bundle; when it is on a link, its transmission is cancelled there, so far as that can
 * be. 0 or HELIO_ENOENT. */
int node_delete(struct node *n, uint64_t key);

/* Drains the agent's actions, then sets its alarm. Never called from within an agent call or an
 * adapter's event. */
void node_pump(struct node *n);

/* Begins: the agent as configured, in a world that was set as config, ops and say were;
 * memory_only: nothing is stored beside what it holds. 0, or HELIO_ENOMEM, which was said. Then
 * the caller gives the node its store, applications, log and operator, as far as it has them.
 */
int node_open(struct node *n, bool memory_only);
/* … then links, routes and the echo endpoint, and it is awake. 0, or an error that was said. */
int node_start(struct node *n);
/* Asserts its own invariants and those of its agent and links: for simulators, after each step. */
void node_check(const struct node *n);
/* The world does not wake it up any more. */
void node_rest(struct node *n);
/* Its agent ends; its links are closed. For a node that was opened, or of which that failed. */
void node_close(struct node *n);

/* Logs, at intervals, what was refused or deleted for lack of room. */
void node_tell_shortage(struct node *n);

/* node_links.c. All links and routes of the file: 0, or an error that was said. */
int node_open_links(struct node *n);
size_t node_links_count(const struct node *n);
struct node_link *node_link_find(const struct node *n, const char *name); /* NULL: there is none */
/* A link of its own configuration, which is the node's in any case, with the files that were read
 * of it, if any. 0, or an error with its text. */
int node_link_add(struct node *n, struct config_link *own, char *why, size_t why_cap);
/* The link ends; queued bundles, and those in transmission, take another route or wait for one. */
void node_link_remove(struct node_link *l);
/* Other values for keys that can change (config_link_change); `changed` is the node's on success,
 * with the files that were read of it, if any. 0, or an error with its text. */
int node_link_set(struct node_link *l, struct config_link *changed, char *why, size_t why_cap);
/* node_router.c: links whose adapters know what they reach are asked where static routes lead
 * nowhere, from now on. */
void node_router_use(struct node *n);
struct router node_router(struct node *n); /* that router */
/* Removes the links of unconfigured peers that have gone. Never called from within an adapter's
 * event. */
void node_links_tidy(struct node *n);
/* All links end; `closed` is called when none is left, now or later. */
void node_links_close(struct node *n, void (*closed)(struct node *n));
void node_links_free(struct node *n); /* their memory: when no world calls them any more */

/* Registers the echo endpoint, if the configuration has one. 0, or an error of agent_register. */
int echo_open(struct node *n);

/* Returns a bundle for the echo endpoint to its source. */
void echo_deliver(struct node *n, const struct agent_action *a);

/*
 * Runs a node until SIGTERM or SIGINT; with SIGHUP it reads `path` again (node_reload.h). Returns
 * 0, or 1 when it could not start (the reason was said).
 */
int node_run(const struct config *config, const char *path);

#endif
