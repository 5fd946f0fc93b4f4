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
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "bp/store_record.h"
#include "os/uv_world.h"
#include "tools/node/apps.h"
#include "tools/node/control.h"
#include "tools/node/local_socket.h"
#include "tools/node/node.h"
#include "tools/node/node_log.h"
#include "tools/node/priority.h"
#include "tools/node/storage.h"

#define SEQUENCE_RANDOM (UINT64_C(1) << 30) /* some peers keep 32 bits */
#define TROUBLE_PAUSE (10 * TICK_S)
#define TIDY_EVERY 5 /* seconds between removals of old marks, and flushes of the store */
#define LOG_FLUSH_MS 250

enum { SIGNALS = 3 };

struct node_handles {
    uv_timer_t deadline, second, log_flush;
    uv_signal_t signals[SIGNALS];
    uv_prepare_t prepare;
    uv_check_t check;
    uint64_t seconds;
    bool begun; /* the handles above are open */
};

struct agent_now node_now(const struct node *n)
{
    (void)n;
    struct timespec m, r;
    clock_gettime(CLOCK_MONOTONIC, &m);
    clock_gettime(CLOCK_REALTIME, &r);
    uint64_t unix_ms = (uint64_t)r.tv_sec * 1000 + (uint64_t)r.tv_nsec / 1000000;
    return (struct agent_now){
        .now = (tick)m.tv_sec * TICK_S + (tick)m.tv_nsec,
        .dtn_ms = unix_ms > DTN_EPOCH_UNIX * 1000 ? unix_ms - DTN_EPOCH_UNIX * 1000 : 0};
}

static void on_deadline(uv_timer_t *t)
{
    struct node *n = t->data;
    agent_expire(n->agent, node_now(n));
    node_wake(n);
}

void node_arm(struct node *n)
{
    if (n->handles->seconds == UINT64_MAX)
        return; /* the timers are closed */
    tick due = agent_deadline(n->agent), now = node_now(n).now;
    if (due == TICK_NEVER) {
        uv_timer_stop(&n->handles->deadline);
        return;
    }
    uint64_t ms = due > now ? (due - now + TICK_MS - 1) / TICK_MS : 0;
    uv_timer_start(&n->handles->deadline, on_deadline, ms, 0);
}

static void pump_all(struct node *n)
{
    while (n->awake)
        node_pump(n);
}

static void on_prepare(uv_prepare_t *h)
{
    pump_all(h->data);
}

static void on_check(uv_check_t *h)
{
    pump_all(h->data);
}

static void on_log_flush(uv_timer_t *t)
{
    struct node *n = t->data;
    node_log_flush(n);
}

uint64_t node_seed(struct node *n)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = node_now(n).now ^ (uint64_t)getpid();
    return seed;
}

static void on_second(uv_timer_t *t)
{
    struct node *n = t->data;
    struct node_handles *h = n->handles;
    h->seconds++;
    apps_tick(n->apps, node_now(n).now);
    node_clock_tick(n);
    node_tell_shortage(n);
    if (n->storage != NULL && h->seconds % TIDY_EVERY == 0)
        storage_tidy(n->storage, agent_life_ms(n->agent, node_now(n)));
}

/* ---- store ---- */

static void on_stored(void *context, uint64_t key, int error)
{
    struct node *n = context;
    n->store_failures += error < 0;
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

/* Where the sequence numbers of this node go on. Without a clock and without a note (a new store,
 * or none) they begin at random: from 0 the bundles would have the ids of those of an earlier life.
 */
static void restore_sequence(struct node *n)
{
    uint8_t value[STORE_NOTE_MAX];
    size_t len = 0;
    struct store *s = n->storage == NULL ? NULL : storage_store(n->storage);
    if (s != NULL && s->ops->recall(s, STORAGE_SEQUENCE, value, &len) == 0 && len == 8)
        agent_restore_sequence(n->agent, store_number_read(value));
    else if (node_now(n).dtn_ms == 0)
        agent_restore_sequence(n->agent, node_seed(n) % SEQUENCE_RANDOM);
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
    struct storage_events events = {n, on_stored, on_loaded, on_trouble};
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

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

/* The links are closed: what the store finished is answered, then nothing is left to do. */
static void finish(struct node *n)
{
    struct node_handles *h = n->handles;
    node_clock_note(n);
    if (n->storage != NULL)
        storage_finish(n->storage);
    if (n->apps != NULL) {
        node_pump(n);
        apps_stop(n->apps);
        apps_close(n->apps);
    }
    if (n->control != NULL)
        control_close(n->control);
    h->seconds = UINT64_MAX;
    uv_handle_t *own[] = {(uv_handle_t *)&h->deadline, (uv_handle_t *)&h->second,
                          (uv_handle_t *)&h->log_flush, (uv_handle_t *)&h->prepare,
                          (uv_handle_t *)&h->check};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        close_handle(own[i], NULL);
    for (size_t i = 0; i < SIGNALS; i++)
        close_handle((uv_handle_t *)&h->signals[i], NULL);
    uv_world_end(n->world);
}

static void on_link_closed(void *context)
{
    struct node_link *l = context;
    struct node *n = l->node;
    l->cla = NULL;
    if (--n->open_links == 0)
        finish(n);
}

static void stop(struct node *n)
{
    if (n->stopping)
        return;
    n->stopping = true;
    if (n->apps != NULL)
        apps_stop(n->apps);
    if (n->open_links == 0) {
        finish(n);
        return;
    }
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = &n->links[i];
        agent_link(n->agent, l->index, false, node_now(n));
        l->cla->ops->close(l->cla, on_link_closed, l);
    }
}

static void on_signal(uv_signal_t *s, int number)
{
    struct node *n = s->data;
    if (number == SIGHUP) {
        node_log_reopen(n);
        return;
    }
    say(&n->say, LEVEL_INFO, "stopping");
    stop(n);
}

/* ---- the beginning ---- */

static void begin_handles(struct node *n)
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    struct node_handles *h = n->handles;
    uv_timer_init(n->loop, &h->deadline);
    uv_timer_init(n->loop, &h->second);
    uv_timer_init(n->loop, &h->log_flush);
    uv_prepare_init(n->loop, &h->prepare);
    uv_check_init(n->loop, &h->check);
    h->deadline.data = h->second.data = h->log_flush.data = h->prepare.data = h->check.data = n;
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(n->loop, &h->signals[i]);
        h->signals[i].data = n;
        uv_signal_start(&h->signals[i], on_signal, numbers[i]);
    }
    uv_timer_start(&h->second, on_second, 1000, 1000);
    if (node_log_any(n))
        uv_timer_start(&h->log_flush, on_log_flush, LOG_FLUSH_MS, LOG_FLUSH_MS);
    uv_prepare_start(&h->prepare, on_prepare);
    uv_check_start(&h->check, on_check);
    h->begun = true;
}

static int open_sockets(struct node *n)
{
    const struct config *c = n->config;
    char why[512] = "";
    int err = local_socket_claim(c->socket, why, sizeof why);
    if (err == 0)
        err = apps_open(&n->apps, n, c->socket, why, sizeof why);
    if (err == 0)
        err = control_open(&n->control, n, c->control, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "%s", why);
    return err;
}

static int begin(struct node *n)
{
    const struct config *c = n->config;
    size_t adapters = 0;
    while (cla_at(adapters) != NULL)
        adapters++;
    n->anchors = calloc(adapters + 1, sizeof *n->anchors);
    int err = node_log_open(n);
    if (err < 0)
        return err;
    if (n->anchors == NULL || node_open_agent(n, c->store.durability == STORE_NONE) < 0) {
        say(&n->say, LEVEL_ERROR, "out of memory");
        return HELIO_ENOMEM;
    }
    begin_handles(n);
    err = open_store(n);
    if (err == 0) {
        restore_sequence(n);
        node_clock_note(n);
    }
    if (err == 0)
        err = open_sockets(n);
    if (err == 0)
        err = node_open_links(n);
    if (err < 0)
        return err;
    err = echo_open(n);
    agent_expire(n->agent, node_now(n));
    node_wake(n);
    return err;
}

static void end(struct node *n)
{
    uv_world_run(n->world);
    if (uv_world_free(n->world) < 0)
        say(&n->say, LEVEL_WARNING, "a handle was left open at the end");
    apps_free(n->apps);
    control_free(n->control);
    storage_close(n->storage);
    agent_free(n->agent);
    node_log_close(n);
    free(n->anchors);
}

/* Before any thread is started. */
static void hurry(const struct node *n)
{
    int r = n->config->priority == PRIORITY_HIGH ? priority_raise() : 0;
    if (r < 0)
        say(&n->say, LEVEL_WARNING,
            "priority: high is not permitted here (%s; CAP_SYS_NICE, or as root): the node runs as "
            "any other program",
            strerror(-r));
}

int node_run(const struct config *config)
{
    struct node *n = calloc(1, sizeof *n);
    struct node_handles *h = calloc(1, sizeof *h);
    if (n == NULL || h == NULL || uv_world_open(&n->world) < 0) {
        free(n);
        free(h);
        return 1;
    }
    n->config = config;
    n->handles = h;
    n->loop = uv_world_loop(n->world);
    n->started = node_now(n).now;
    say_init(&n->say, (enum config_level)config->log.level);
    hurry(n);
    int err = begin(n);
    if (err == 0) {
        char text[EID_TEXT_MAX];
        eid_text(&config->node, text);
        say(&n->say, LEVEL_INFO, "node %s is ready: applications at %s", text, config->socket);
        uv_world_run(n->world);
    } else if (h->begun) {
        stop(n);
    } else {
        uv_world_end(n->world);
    }
    end(n);
    if (err == 0)
        say(&n->say, LEVEL_INFO, "stopped");
    free(h);
    free(n);
    return err == 0 ? 0 : 1;
}
