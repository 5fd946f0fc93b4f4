/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each event of the port, the node, the control socket or the alarm leads to one turn: times that
 * are due, notices, PDUs within the rate of each remote entity, then one alarm. What can go wrong:
 * datagrams of nobody (counted), a socket that is full, a node that is away.
 */
#include "tools/cfdp/cfdp_daemon.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/printable.h"

#define BURST (2 * TICK_MS)  /* air time of a wake-up */
#define SLACK (20 * TICK_MS) /* that is made good after a late one */
#define EXPIRIES 16          /* served in one turn: one may be a part of a checksum */
#define WORK_TIME (20 * TICK_MS)
#define FILL_BYTES (1u << 18)
#define TURN_BYTES (1u << 20) /* sent to a remote entity before others have their turn */
#define TRANSACTIONS 4096u    /* at most, of all remote entities */
#define DESCRIPTORS 128u      /* for all else */

struct route *daemon_route(struct daemon *d, uint64_t entity)
{
    for (size_t i = 0; i < d->routes_len; i++)
        if (d->routes[i].config->entity == entity)
            return &d->routes[i];
    return NULL;
}

/* ---- notices ---- */

static void say_notice(struct daemon *d, const struct cfdp_notice *n)
{
    static const char *const words[] = {"begun",
                                        "metadata received",
                                        "EOF sent",
                                        "EOF received",
                                        "suspended",
                                        "resumed",
                                        "fault",
                                        "abandoned",
                                        "finished",
                                        "answer to a proxy put request",
                                        "answer to a listing"};
    char name[CFDP_NAME_MAX * PRINTABLE_EACH];
    const bool result = n->kind >= CFDP_TOLD_SUSPENDED && n->kind <= CFDP_TOLD_FINISHED;
    if (!result || !say_few_takes(&d->lines, world_now(d->world)))
        return;
    say_left_out(&d->log, &d->lines);
    printable(n->name, strlen(n->name), name, sizeof name);
    say(&d->log, n->condition == CFDP_NO_ERROR ? LEVEL_INFO : LEVEL_WARNING,
        "%" PRIu64 ":%" PRIu64 " %s entity %" PRIu64 " %s: %s, %" PRIu64 " of %" PRIu64
        " octets%s%s",
        n->id.source, n->id.sequence, n->is_sender ? "to" : "from", n->remote, words[n->kind],
        cfdp_condition_text(n->condition), n->progress, n->size, name[0] == '\0' ? "" : ", ", name);
}

void daemon_tell(struct daemon *d)
{
    struct cfdp_notice n;
    while (cfdp_poll(d->entity, &n)) {
        say_notice(d, &n);
        desk_notice(d, &n);
    }
}

/* ---- what arrives ---- */

static struct route *find_sender(struct daemon *d, const struct address *from)
{
    for (size_t i = 0; i < d->routes_len; i++)
        if (address_given(&d->routes[i].peer.address) &&
            address_equal(&d->routes[i].peer.address, from))
            return &d->routes[i];
    return NULL;
}

static void read_port(struct daemon *d)
{
    struct slice pdu;
    if (!udp_fill(d->port->io, FILL_BYTES))
        return;
    const tick now = world_now(d->world);
    while (udp_next(d->port->io, &pdu)) {
        const struct route *r = find_sender(d, udp_from(d->port->io));
        if (r == NULL)
            d->foreign++;
        else
            (void)cfdp_input(d->entity, r->config->entity, pdu, now);
        daemon_tell(d);
    }
}

static void on_port(void *context, bool readable, bool writable)
{
    struct daemon *d = context;
    if (d->stop)
        return;
    if (writable && d->port_blocked)
        d->port_blocked = !udp_flush(d->port->io);
    if (readable)
        read_port(d);
    daemon_turn(d);
}

/* ---- what is sent ---- */

static bool may_send(const struct daemon *d, const struct route *r)
{
    if (address_given(&r->peer.address))
        return d->port != NULL && !d->port_blocked && udp_room(d->port->io, DAEMON_PDU_ROOM);
    return node_has_room(d);
}

static size_t send_by_udp(struct daemon *d, struct route *r, tick now)
{
    uint8_t *head = udp_head(d->port->io, DAEMON_PDU_ROOM);
    const size_t n = cfdp_output(d->entity, r->config->entity, head, DAEMON_PDU_ROOM, now);
    if (n > 0)
        udp_add(d->port->io, &r->peer, (uint32_t)n, slice_of(NULL, 0));
    return n;
}

static size_t send_by_node(struct daemon *d, const struct route *r, tick now)
{
    static const size_t room = DAEMON_PDU_ROOM;
    uint8_t *pdu = malloc(room);
    const size_t n = pdu == NULL ? 0 : cfdp_output(d->entity, r->config->entity, pdu, room, now);
    if (n > 0)
        node_push(d, r, pdu, n);
    else
        free(pdu);
    return n;
}

void daemon_fill(struct daemon *d, struct route *r, tick now)
{
    const bool by_udp = address_given(&r->peer.address);
    size_t sent = 0;
    bucket_begin(&r->bucket, now);
    while (sent < TURN_BYTES && bucket_ready(&r->bucket, now)) {
        if (!may_send(d, r)) {
            if (by_udp && !d->port_blocked) {
                d->port_blocked = !udp_flush(d->port->io);
                continue;
            }
            return;
        }
        const size_t n = by_udp ? send_by_udp(d, r, now) : send_by_node(d, r, now);
        if (n == 0) {
            bucket_rest(&r->bucket);
            return;
        }
        bucket_spend(&r->bucket, n, now);
        sent += n;
    }
}

static tick wake_of(const struct daemon *d, const struct route *r, tick now)
{
    if (!cfdp_has_output(d->entity, r->config->entity) || !may_send(d, r))
        return TICK_NEVER;
    return bucket_wake(&r->bucket, now);
}

static tick send_all(struct daemon *d, tick now)
{
    tick next = TICK_NEVER;
    for (size_t i = 0; i < d->routes_len; i++)
        if (address_given(&d->routes[i].peer.address))
            daemon_fill(d, &d->routes[i], now);
    if (d->port != NULL && !d->port_blocked)
        d->port_blocked = !udp_flush(d->port->io);
    if (d->port != NULL)
        port_watch(d->port, true, d->port_blocked);
    for (size_t i = 0; i < d->routes_len; i++)
        next = tick_min(next, wake_of(d, &d->routes[i], now));
    return next;
}

void daemon_turn(struct daemon *d)
{
    if (d->stop)
        return;
    const tick now = world_now(d->world);
    for (int i = 0; i < EXPIRIES && cfdp_expire(d->entity, now); i++)
        if (world_now(d->world) - now > WORK_TIME)
            break; /* a slow medium: others have their turn */
    tick next = node_turn(d, now);
    if (d->stop)
        return;
    next = tick_min(next, send_all(d, now));
    daemon_tell(d);
    next = tick_min(next, cfdp_deadline(d->entity));
    alarm_set(&d->alarm, next);
}

static void on_alarm(void *context)
{
    daemon_turn(context);
}

/* ---- begin and end ---- */

static void say_journal(void *context, const char *journal, int error)
{
    struct daemon *d = context;
    say(&d->log, LEVEL_WARNING, "%s: %s", journal,
        error == HELIO_ENOENT    ? "its remote entity is not configured; it waits"
        : error == HELIO_EFORMAT ? "cannot be read; removed"
        : error == HELIO_ESPACE  ? "is longer than 1 GiB; it stays as it is"
                                 : helio_strerror(error));
}

static int open_store(struct daemon *d)
{
    const struct settings *s = d->settings;
    const int rc = store_open(&d->store, s->root, s->overwrite, s->sync);
    if (rc == HELIO_EEXIST)
        say(&d->log, LEVEL_ERROR, "%s: another helio-cfdp has it; stop it, or write another root",
            s->root);
    else if (helio_code(rc) == HELIO_ENOENT)
        say(&d->log, LEVEL_ERROR, "%s: there is no such folder; make it (mkdir -p)", s->root);
    else if (rc != 0)
        say(&d->log, LEVEL_ERROR, "%s: %s", s->root, helio_strerror(rc));
    return rc;
}

/* Each transaction may hold a descriptor; the others are for clients, journals and sockets. */
static uint32_t count_transactions(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > TRANSACTIONS + DESCRIPTORS)
        return TRANSACTIONS;
    return limit.rlim_cur > DESCRIPTORS + 16 ? (uint32_t)limit.rlim_cur - DESCRIPTORS : 16;
}

static int open_entity(struct daemon *d)
{
    const struct settings *s = d->settings;
    const struct cfdp_config c = {.id = s->entity,
                                  .id_len = (uint8_t)s->id_octets,
                                  .sequence = d->store.sequence,
                                  .transactions_max = count_transactions(),
                                  .seed = world_random(d->world),
                                  .files = &store_files,
                                  .context = &d->store};
    d->entity = cfdp_new(&c);
    d->routes = calloc(s->remotes_len, sizeof *d->routes);
    if (d->entity == NULL || d->routes == NULL)
        return HELIO_ENOMEM;
    d->routes_len = s->remotes_len;
    for (size_t i = 0; i < s->remotes_len; i++) {
        struct route *r = &d->routes[i];
        r->config = &s->remotes[i];
        r->peer.address = s->remotes[i].address;
        bucket_init(&r->bucket, r->config->rate, BURST, SLACK, world_now(d->world));
        const int rc = cfdp_remote_set(d->entity, &r->config->row);
        if (rc != 0)
            return rc;
    }
    return store_restore(&d->store, d->entity, world_now(d->world), say_journal, d);
}

static int open_port(struct daemon *d)
{
    const struct settings *s = d->settings;
    uint64_t rx, tx;
    if (!address_given(&s->listen))
        return 0;
    const int rc = port_open(d->world, &d->port, &s->listen, true, on_port, d);
    if (rc != 0) {
        say(&d->log, LEVEL_ERROR, "listen: %s: %s", s->listen_text, helio_strerror(rc));
        return rc;
    }
    (void)udp_buffers(d->port->io, 4u << 20, 4u << 20, &rx, &tx);
    port_watch(d->port, true, false);
    return 0;
}

int daemon_init(struct daemon *d, struct world *w, const struct settings *s,
                void (*over)(void *context), void *context)
{
    *d = (struct daemon){.world = w, .settings = s, .over = over, .context = context};
    d->store = (struct cfdp_store){.root = -1, .state = -1, .lock = -1};
    list_init(&d->talks);
    say_init(&d->log, LEVEL_INFO, false, "");
    d->lines = (struct say_few){.about = "transactions", .burst = 50, .pause = 100 * TICK_MS};
    alarm_init(&d->alarm, w, ALARM_APP, on_alarm, d);
    int rc = open_store(d);
    if (rc != 0)
        return rc;
    rc = open_entity(d);
    if (rc != 0) {
        say(&d->log, LEVEL_ERROR, "%s: %s", s->root, helio_strerror(rc));
        return rc;
    }
    rc = open_port(d);
    if (rc == 0)
        rc = desk_open(d);
    if (rc == 0 && *s->socket != '\0')
        node_init(d);
    return rc;
}

void daemon_start(struct daemon *d)
{
    size_t kept = 0;
    for (const struct cfdp_transaction *t = NULL; (t = cfdp_walk(d->entity, t)) != NULL;)
        kept++;
    say(&d->log, LEVEL_INFO, "entity %" PRIu64 ", files in %s%s%s; %zu transactions continue",
        d->settings->entity, d->settings->root, d->port == NULL ? "" : ", at ",
        d->port == NULL ? "" : d->settings->listen_text, kept);
    daemon_turn(d);
}

static void ignore_close(void *context)
{
    (void)context;
}

void daemon_stop(struct daemon *d)
{
    if (d->stop)
        return;
    d->stop = true;
    alarm_set(&d->alarm, TICK_NEVER);
    desk_close(d);
    node_fini(d);
    if (d->port != NULL)
        port_close(d->port, ignore_close, d);
    d->port = NULL;
    d->over(d->context);
}

void daemon_fini(struct daemon *d)
{
    desk_close(d);
    node_fini(d);
    if (d->port != NULL)
        port_close(d->port, ignore_close, d);
    d->port = NULL;
    alarm_fini(&d->alarm);
    cfdp_free(d->entity);
    free(d->routes);
    store_close(&d->store);
}
