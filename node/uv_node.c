/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's loop: its timers and signals, and the order in which parts begin and end. After every
 * round of events the agent is pumped once, outside of any other call.
 *
 * Begin: store, what it held, applications, operator, links. End: no more requests; the links; then
 * the store finishes what it was given and the last answers go out; then everything is closed. What
 * can go wrong at the start (a store in use, a socket in use, an address in use) is said, and
 * undone in reverse.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "node/app/apps.h"
#include "node/control/control.h"
#include "node/http/http_text.h"
#include "node/http/node_http.h"
#include "node/http/uv_http.h"
#include "node/node.h"
#include "node/node_log.h"
#include "node/node_medium.h"
#include "node/node_meter.h"
#include "node/node_reload.h"
#include "node/node_sandbox.h"
#include "node/node_security.h"
#include "node/plan/node_plan.h"
#include "node/storage.h"
#include "os/clock.h"
#include "os/net/local_socket.h"
#include "os/process/memory_guard.h"
#include "os/process/priority.h"
#include "os/process/process.h"
#include "os/process/users.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "store/store_lmdb.h"
#include "store/store_record.h"

#define SEQUENCE_RANDOM (UINT64_C(1) << 30) /* some peers keep 32 bits */
#define TROUBLE_PAUSE (10 * TICK_S)
#define TIDY_EVERY 5 /* seconds between removals of old marks, and flushes of the store */
#define LOG_FLUSH (250 * TICK_MS)
/* Above half of the room for bundles plus this, freed memory is returned to the kernel: early,
 * because a long bundle that reuses freed blocks keeps their pages. 64 MiB above the room are
 * documented (RssAnon). */
#define MEMORY_BESIDE (UINT64_C(24) << 20)

struct node_handles {
    const char *manager; /* the service manager's socket (os/process/process.h); NULL: none */
    bool watched;        /* it expects a notification every few seconds that the loop is running */
    struct alarm second, log_flush;
    struct uv_signals *signals;
    uint64_t seconds;
    struct memory_guard memory;
    struct round_end look; /* at the memory, after each round */
    struct round_end turn; /* attached while the loop has real-time priority, or had it */
    struct priority_bound bound;
    bool bound_told;
};

static void on_log_flush(void *context)
{
    struct node *n = context;
    node_log_flush(n);
    alarm_set(&n->handles->log_flush, world_now(n->world) + LOG_FLUSH);
}

static void on_second(void *context)
{
    struct node *n = context;
    struct node_handles *h = n->handles;
    h->seconds++;
    alarm_set(&h->second, world_now(n->world) + TICK_S);
    apps_tick(n->apps, node_now(n).now);
    node_clock_tick(n);
    node_plan_tick(n);
    node_meter_tick(n);
    node_watch_tick(n);
    node_security_tick(n);
    if (h->watched)
        (void)notify_send(h->manager, "WATCHDOG=1");
    node_tell_shortage(n);
    node_medium_watch(n);
    if (n->storage != NULL && h->seconds % TIDY_EVERY == 0)
        storage_tidy(n->storage, agent_life_ms(n->agent, node_now(n)));
}

/* ---- store ---- */

static void on_stored(void *context, uint64_t key, int error)
{
    struct node *n = context;
    n->store_failures += error < 0;
    if (error < 0)
        n->watch.store_error = error;
    agent_stored(n->agent, key, error == 0, node_now(n));
    node_wake(n);
}

static void on_loaded(void *context, uint64_t key, struct buf *bundle)
{
    struct node *n = context;
    agent_loaded(n->agent, key, bundle, node_now(n));
    node_wake(n);
}

static void on_trouble(void *context, const char *text)
{
    struct node *n = context;
    tick now = node_now(n).now;
    if (now < n->trouble_after)
        return; /* it is counted */
    n->trouble_after = now + TROUBLE_PAUSE;
    say(&n->say, LEVEL_ERROR, "store: %s", text);
}

static void on_fits(void *context, uint64_t bytes)
{
    node_medium_fits(context, bytes);
}

static int restore_bundle(void *context, uint64_t key, struct slice head, uint64_t bytes)
{
    struct node *n = context;
    int err = agent_restore(n->agent, key, head, bytes);
    if (err == HELIO_EFORMAT) {
        say(&n->say, LEVEL_ERROR, "store: the head of bundle %llu is damaged; it is left out",
            (unsigned long long)key);
        return 0;
    }
    n->restored += err == 0;
    return err;
}

static int restore_mark(void *context, struct slice id, uint64_t until_ms)
{
    struct node *n = context;
    int err = agent_restore_mark(n->agent, id, until_ms);
    return err == HELIO_EFORMAT ? 0 : err;
}

/* The first sequence number of this run. Without a clock and without a note (a new store, or none)
 * it is random: from 0 the bundles would have the ids of an earlier run. */
static void restore_sequence(struct node *n)
{
    uint8_t value[STORE_NOTE_MAX];
    size_t len = 0;
    struct store *s = n->storage == NULL ? NULL : storage_store(n->storage);
    if (s != NULL && s->ops->recall(s, STORAGE_SEQUENCE, value, &len) == 0 && len == 8)
        agent_restore_sequence(n->agent, store_number_read(value));
    else if (node_now(n).dtn_ms == 0)
        agent_restore_sequence(n->agent, world_random(n->world) % SEQUENCE_RANDOM);
}

static int open_store(struct node *n)
{
    const struct config *c = n->config;
    char why[512] = "";
    struct store_options o = {.path = c->store.path,
                              .limit_bytes = c->store.limit,
                              .durability = (enum store_durability)c->store.durability};
    if (c->store.durability == STORE_NONE) {
        node_clock_begin(n);
        return 0;
    }
    int err = storage_open(&n->storage, &store_lmdb, &o, why, sizeof why);
    if (err < 0) {
        say(&n->say, LEVEL_ERROR, "store: %s", *why != '\0' ? why : helio_strerror(err));
        return err;
    }
    struct store *s = storage_store(n->storage);
    node_clock_begin(n);
    err = s->ops->each(s, restore_bundle, n);
    if (err == 0)
        err = s->ops->marks(s, restore_mark, n);
    agent_restore_key(n->agent, s->ops->last_key(s));
    if (s->ops->damaged(s) > 0)
        say(&n->say, LEVEL_ERROR,
            "store: %llu damaged bundles are set aside; helio-store shows and saves them",
            (unsigned long long)s->ops->damaged(s));
    struct storage_events events = {n, on_stored, on_loaded, on_trouble, on_fits};
    struct storage_status status;
    storage_status(n->storage, &status);
    node_medium_fits(n, status.fits);
    node_medium_watch(n);
    if (err == 0)
        err = storage_start(n->storage, n->loop, &events);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "store: %s: %s", c->store.path, helio_strerror(err));
    if (n->restored > 0)
        say(&n->say, LEVEL_INFO, "store: %llu bundles were waiting",
            (unsigned long long)n->restored);
    return err;
}

/* ---- the end ---- */

/* The links are closed: finished work of the store is answered, then nothing is left to do. After a
 * failed start this closes all existing parts in reverse order; no answers are due then. */
static void finish_node(struct node *n)
{
    struct node_handles *h = n->handles;
    node_clock_note(n);
    if (n->storage != NULL)
        storage_finish(n->storage);
    if (n->apps != NULL) {
        if (!n->failed)
            node_pump(n);
        apps_stop(n->apps);
        apps_close(n->apps);
    }
    if (n->control != NULL)
        control_close(n->control);
    http_close(n->http);
    uv_signals_close(h->signals);
    alarm_fini(&h->second);
    alarm_fini(&h->log_flush);
    node_rest(n);
    uv_world_end(n->world);
}

static void stop_node(struct node *n)
{
    if (n->stopping)
        return;
    n->stopping = true;
    if (n->apps != NULL)
        apps_stop(n->apps);
    node_links_close(n, finish_node);
}

/* Ends a failed start, wherever it failed: no turn and no alarm calls missing parts, and existing
 * ones end as usual. */
static void abandon_node(struct node *n)
{
    n->failed = true;
    node_rest(n);
    stop_node(n);
}

static void on_signal(void *context, int number)
{
    struct node *n = context;
    if (number == SIGHUP) {
        node_log_reopen(n);
        (void)node_reload(n, NULL, NULL); /* it is logged */
        return;
    }
    (void)notify_send(n->handles->manager, "STOPPING=1");
    say(&n->say, LEVEL_INFO, "stopping");
    stop_node(n);
}

/* ---- the beginning ---- */

static int open_signals(struct node *n)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    n->handles->signals = uv_signals_open(n->world, numbers, 3, on_signal, n);
    if (n->handles->signals == NULL)
        say(&n->say, LEVEL_ERROR, "signals: out of memory or descriptors");
    return n->handles->signals == NULL ? HELIO_ENOMEM : 0;
}

/* What is done each second, and each time the logs are flushed, needs all parts. */
static void begin_alarms(struct node *n)
{
    struct node_handles *h = n->handles;
    alarm_set(&h->second, world_now(n->world) + TICK_S);
    if (node_log_any(n))
        alarm_set(&h->log_flush, world_now(n->world) + LOG_FLUSH);
}

/* Checks the sockets' owners before the links use addresses, so that a second node with one
 * configuration reports the first one. */
static int claim_sockets(struct node *n)
{
    const struct config *c = n->config;
    char why[512] = "";
    int err = local_socket_claim(c->socket, why, sizeof why);
    if (err == 0)
        err = local_socket_claim(c->control, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "%s", why);
    return err;
}

/* false: said. */
static bool fill_place(struct node *n, const char *key, const char *path,
                       const struct config_access *a, struct stream_place *out)
{
    *out = (struct stream_place){.path = path, .mode = a->mode, .has_group = *a->group != '\0'};
    if (!out->has_group || users_find_group(a->group, &out->group) == 0)
        return true;
    say(&n->say, LEVEL_ERROR, "%s_group: there is no group %.64s", key, a->group);
    return false;
}

/* After everything else, the applications' socket last: a client that can connect reaches a
 * complete node. */
static int open_sockets(struct node *n)
{
    const struct config *c = n->config;
    char why[512] = "";
    struct stream_place control, socket;
    if (!fill_place(n, "control", c->control, &c->control_access, &control) ||
        !fill_place(n, "socket", c->socket, &c->socket_access, &socket))
        return HELIO_ENOENT;
    int err = control_open(&n->control, n, &control, why, sizeof why);
    if (err == 0)
        err = apps_open(&n->apps, n, &socket, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "%s", why);
    return err;
}

static int open_http(struct node *n)
{
    char why[256] = "";
    struct address at;
    const struct http_config http = {.listen = n->config->http.listen,
                                     .hosts = n->config->http.hosts,
                                     .token = n->config->http.token,
                                     .change_token = n->config->http.change_token,
                                     .network = n->config->http.network,
                                     .origins = n->config->http.origins,
                                     .page = node_http_page(),
                                     .network_page = node_http_network_page(),
                                     .cut = &n->http_cut,
                                     .loop = n->loop,
                                     .make = node_http_answer,
                                     .context = n};
    int err = http_open(&n->http, &http, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "%s", why);
    else if (n->http != NULL && *n->config->http.token == '\0' &&
             http_listen_parse(n->config->http.listen, &at) == 0 && !address_is_loopback(&at))
        say(&n->say, LEVEL_WARNING,
            "http.listen: %s is not a loopback address, and there is no token: any host that "
            "reaches it can read the node's state",
            n->config->http.listen);
    return err;
}

static bool on_look(void *context)
{
    struct node *n = context;
    (void)memory_guard_look(n->memory, world_now(n->world));
    return false;
}

static int open_guard(struct node *n)
{
    const struct config *c = n->config;
    struct node_handles *h = n->handles;
    const bool none = c->store.durability == STORE_NONE;
    const uint64_t most = none ? c->store.limit : c->bundles.total;
    if (none && c->lines.total != 0)
        say(&n->say, LEVEL_WARNING,
            "bundles.total does nothing with durability: none; store.limit counts all memory");
    int err = memory_guard_open(&h->memory, most / 2 + MEMORY_BESIDE);
    if (err < 0) {
        say(&n->say, LEVEL_ERROR, "/proc/self/statm: %s", helio_strerror(err));
        return err;
    }
    n->memory = &h->memory;
    h->look = (struct round_end){.run = on_look, .context = n};
    world_attach(n->world, &h->look);
    return 0;
}

static int begin_node(struct node *n)
{
    int err = node_log_open(n);
    if (err == 0)
        err = open_guard(n);
    if (err == 0)
        err = node_open(n, n->config->store.durability == STORE_NONE);
    if (err == 0)
        err = open_signals(n);
    if (err == 0)
        err = node_security_open(n);
    if (err == 0)
        err = open_store(n);
    if (err == 0)
        err = node_security_begin(n);
    if (err == 0) {
        restore_sequence(n);
        node_clock_note(n);
    }
    if (err == 0)
        err = claim_sockets(n);
    if (err == 0)
        err = node_start(n);
    if (err == 0)
        err = open_http(n);
    return err == 0 ? open_sockets(n) : err;
}

static void end_node(struct node *n)
{
    uv_world_run(n->world);
    if (uv_world_free(n->world) < 0)
        say(&n->say, LEVEL_WARNING, "a handle was left open at the end");
    apps_free(n->apps);
    control_free(n->control);
    http_free(n->http);
    storage_close(n->storage);
    node_close(n);
    node_security_free(n);
    node_reload_free(n);
    memory_guard_close(&n->handles->memory);
    node_log_close(n);
}

/* ---- priority ---- */

static void tell_not_permitted(struct node *n, const char *priority, int error)
{
    say(&n->say, LEVEL_WARNING,
        "priority: %s is not permitted here (%s; CAP_SYS_NICE, or as root): the node runs as any "
        "other program",
        priority, helio_strerror(error));
}

/* Before any thread is started: those that store and log are normal ones in any case. */
static void hurry_node(struct node *n)
{
    if (n->config->priority == PRIORITY_NORMAL)
        return;
    int err = priority_raise();
    if (err < 0)
        tell_not_permitted(n, n->config->priority == PRIORITY_HIGH ? "high" : "realtime", err);
}

static bool on_turn(void *context)
{
    struct node *n = context;
    struct node_handles *h = n->handles;
    tick now = world_now(n->world);
    if (!priority_bound_over(&h->bound, now) ||
        !priority_bound_judge(&h->bound, now, clock_cpu_thread()))
        return false;
    if (priority_realtime(h->bound.held) == 0 && !h->bound.held && !h->bound_told) {
        h->bound_told = true;
        say(&n->say, LEVEL_INFO,
            "the node takes more than %.0f %% of a processor: it runs without real-time priority "
            "until it uses less",
            100 * PRIORITY_SHARE);
    }
    return false;
}

static void hurry_loop(struct node *n)
{
    struct node_handles *h = n->handles;
    int err = priority_realtime(true);
    if (err < 0) {
        tell_not_permitted(n, "realtime", err);
        return;
    }
    priority_bound_init(&h->bound, world_now(n->world), clock_cpu_thread());
    h->turn = (struct round_end){.run = on_turn, .context = n};
    world_attach(n->world, &h->turn);
}

/* The loop, and what a node in it has from the first moment on. NULL: said. */
static struct node *new_node(const struct config *config, const char *path)
{
    struct node *n = calloc(1, sizeof *n);
    struct node_handles *h = calloc(1, sizeof *h);
    struct say told;
    node_say_init(&told, config, &config->node);
    int err = n == NULL || h == NULL ? HELIO_ENOMEM : uv_world_open(&n->world);
    if (err < 0) {
        say(&told, LEVEL_ERROR, "the event loop: %s", helio_strerror(err));
        free(n);
        free(h);
        return NULL;
    }
    n->say = told;
    n->config = config;
    n->path = path;
    n->ops = &node_ops;
    n->handles = h;
    h->memory.fd = -1;
    h->manager = getenv("NOTIFY_SOCKET");
    h->watched = getenv("WATCHDOG_USEC") != NULL;
    n->loop = uv_world_loop(n->world);
    n->started = node_now(n).now;
    alarm_init(&h->second, n->world, ALARM_NODE, on_second, n);
    alarm_init(&h->log_flush, n->world, ALARM_NODE, on_log_flush, n);
    return n;
}

static void run_ready(struct node *n)
{
    char text[EID_TEXT_MAX];
    begin_alarms(n);
    node_reload_begin(n);
    node_sandbox_calls(n);
    (void)notify_send(n->handles->manager, "READY=1");
    eid_text(&n->config->node, text);
    say(&n->say, LEVEL_INFO, "node %s is ready: applications at %s", text, n->config->socket);
    if (n->config->priority == PRIORITY_REALTIME)
        hurry_loop(n);
    uv_world_run(n->world);
}

int node_run(const struct config *config, const char *path)
{
    struct node *n = new_node(config, path);
    if (n == NULL)
        return 1;
    hurry_node(n);
    node_sandbox_files(n);
    int err = begin_node(n);
    if (err == 0)
        run_ready(n);
    else
        abandon_node(n);
    const int failed = n->misconfigured ? 2 : 1;
    end_node(n);
    if (err == 0)
        say(&n->say, LEVEL_INFO, "stopped");
    free(n->handles);
    free(n);
    return err == 0 ? 0 : failed;
}
