/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beacons come in at the ports, and leave when the engine says so. What can go wrong at the
 * beginning: the interface is not there, an address is in use. Later: the interface is down, so
 * that beacons cannot be sent; that is counted, and logged at most once in a minute.
 */
#include "node/found/found.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_link.h"
#include "node/node.h"
#include "os/net/multicast.h"

#define INPUT_BYTES 65536 /* of beacons in a turn of the loop */
#define LATE TICK_S       /* a turn that comes so much later: the node did not run */
#define TELL_PAUSE (60 * TICK_S)
#define GO_PORT "35039"
#define V4_LEN 12 /* of a mapped IPv4 address: the octets before it */

/* ---- input ---- */

static struct discovery_from make_from(const struct address *a)
{
    struct discovery_from from = {.prefix_len = 8};
    uint8_t key[ADDRESS_KEY_MAX];
    static const uint8_t mapped[V4_LEN] = {[10] = 0xff, [11] = 0xff};
    const struct slice s = address_key(a, key);
    assert(s.len >= DISCOVERY_HOST);
    memcpy(from.host, key, DISCOVERY_HOST);
    if (memcmp(key, mapped, V4_LEN) == 0) { /* a /24, else a /64 */
        from.prefix_len = 3;
        memcpy(from.prefix, key + V4_LEN, 3);
    } else {
        memcpy(from.prefix, key, 8);
    }
    return from;
}

/* Has the configuration, an operator, the contact plan or a connected peer the name? */
static bool is_configured(const struct found *f, const struct eid *node)
{
    const struct node *n = f->node;
    for (size_t i = 0; i < n->links_len; i++) {
        const struct node_link *l = n->links[i];
        if (l != NULL && l->config->found == 0 && eid_same_node(&l->config->peer, node))
            return true;
    }
    return found_plan_has(f, node);
}

static void take_beacon(struct found_port *p, struct slice datagram, const struct address *from)
{
    struct found *f = p->found;
    struct discovery_beacon b;
    const char *why;
    uint16_t port;
    if (!address_given(from) || !discovery_beacon_parse(p->format, datagram, &b, &why)) {
        discovery_garbage(f->engine);
        return;
    }
    const struct discovery_from where = make_from(from);
    const bool usable =
        found_template(f->node, p->format, b.services, b.services_len, &port) != SIZE_MAX;
    (void)discovery_input(f->engine, p->format, &b, &where, is_configured(f, &b.node), usable,
                          world_now(f->node->world));
}

static void read_port(struct found_port *p)
{
    struct slice datagram;
    if (udp_fill(p->port->io, INPUT_BYTES))
        while (udp_next(p->port->io, &datagram))
            take_beacon(p, datagram, udp_from(p->port->io));
}

static void on_ready(void *context, bool readable, bool writable)
{
    struct found_port *p = context;
    (void)readable;
    read_port(p);
    if (writable && udp_pending(p->port->io))
        (void)udp_flush(p->port->io);
    port_watch(p->port, true, udp_pending(p->port->io));
    alarm_set(&p->found->alarm, 0);
}

/* ---- output ---- */

static void tell_unsent(struct found *f)
{
    const tick now = world_now(f->node->world);
    if (f->told != 0 && now - f->told < TELL_PAUSE)
        return;
    f->told = now;
    say(&f->node->say, LEVEL_WARNING, "discovery: beacons cannot be sent; is the interface up?");
}

static void send_beacon(struct found_port *p, const struct discovery_beacon *b)
{
    uint8_t out[DISCOVERY_BEACON_MAX];
    struct udp_io *io = p->port->io;
    const size_t len = discovery_beacon_write(p->format, b, out);
    const uint64_t errors = udp_counters(io)->tx_errors;
    for (size_t i = 0; i < p->to_len && len > 0 && !udp_pending(io); i++) {
        memcpy(udp_head(io, (uint32_t)len), out, len);
        udp_add(io, &p->to[i], (uint32_t)len, (struct slice){0});
        (void)udp_flush(io);
    }
    port_watch(p->port, true, udp_pending(io));
    if (udp_counters(io)->tx_errors == errors)
        return;
    p->found->unsent++;
    tell_unsent(p->found);
}

static void send_beacons(struct found *f, uint64_t sequence)
{
    struct discovery_beacon b = {.node = f->node->config->node,
                                 .sequence = sequence,
                                 .period = f->node->config->discovery.interval,
                                 .services_len = f->own_len};
    memcpy(b.services, f->own, sizeof b.services);
    for (size_t i = 0; i < f->ports_len; i++)
        send_beacon(&f->ports[i], &b);
}

static void on_alarm(void *context)
{
    struct found *f = context;
    struct node *n = f->node;
    struct discovery_action a;
    if (n->stopping)
        return;
    const tick now = world_now(n->world);
    if (now > f->due && now - f->due > LATE)
        discovery_forgive(f->engine, now - f->due);
    for (size_t i = 0; i < f->ports_len; i++)
        read_port(&f->ports[i]); /* also what arrived while this node did not run */
    found_link_look(f);
    while (discovery_poll(f->engine, world_now(n->world), &a) != DISCOVERY_NONE) {
        if (a.act == DISCOVERY_SEND)
            send_beacons(f, a.sequence);
        else if (a.act == DISCOVERY_OPEN)
            found_link_open(f, a.neighbour);
        else
            found_link_close(f, a.neighbour, a.reason);
    }
    found_plan_look(f);
    f->due = discovery_deadline(f->engine);
    alarm_set(&f->alarm, tick_min(f->due, alarm_due(&f->alarm)));
    node_wake(n);
}

void found_changed(struct node *n)
{
    if (n->found != NULL && !n->stopping)
        alarm_set(&n->found->alarm, 0);
}

/* ---- the beginning ---- */

/* The local addresses of links, and of templates: there this node can be reached. */
static void add_own(struct found *f, const struct cla_service *s, enum cla_socket socket,
                    const struct address *local)
{
    if (s == NULL || socket == CLA_SOCKET_NONE || f->own_len == DISCOVERY_SERVICES_MAX ||
        (f->interface != 0 && address_is_loopback(local)))
        return;
    const uint16_t port = address_port(local);
    for (size_t i = 0; i < f->own_len; i++)
        if (f->own[i].port == port && strcmp(f->own[i].name, s->name) == 0)
            return;
    struct discovery_service *to = &f->own[f->own_len++];
    *to = (struct discovery_service){.number = s->number, .port = port};
    memcpy(to->name, s->name, strlen(s->name) + 1);
}

static void gather_own(struct found *f)
{
    const struct config *c = f->node->config;
    for (size_t i = 0; i < c->discovery.found_len; i++) {
        const struct config_found *t = &c->discovery.found[i];
        add_own(f, t->ops->service, t->socket, &t->local);
    }
    for (size_t i = 0; i < c->links_len; i++) {
        const char *key;
        struct address local;
        const enum cla_socket socket = config_link_socket(&c->links[i], &key, &local);
        add_own(f, c->links[i].ops->service, socket, &local);
    }
}

static int fail_port(struct found *f, const struct address *at, int err)
{
    char text[ADDRESS_TEXT_MAX];
    say(&f->node->say, LEVEL_ERROR, "discovery: %s at interface \"%s\": %s",
        address_write(at, text), f->node->config->discovery.interface, helio_strerror(err));
    return err;
}

/* group: NULL: none. */
static int add_port(struct found *f, enum discovery_format format, const struct address *local,
                    const struct address *group)
{
    struct found_port *p = &f->ports[f->ports_len];
    assert(f->ports_len < FOUND_PORTS_MAX);
    *p = (struct found_port){.found = f, .format = format, .six = local->sa.sa_family == AF_INET6};
    int err = port_open(f->node->world, &p->port, local, false, on_ready, p);
    if (err < 0)
        return fail_port(f, local, err);
    f->ports_len++;
    port_watch(p->port, true, false);
    const int fd = udp_fd(p->port->io);
    if (group == NULL || fd < 0) /* virtual time has no groups */
        return 0;
    err = multicast_join(fd, group, f->interface);
    if (err == 0)
        err = multicast_send_by(fd, p->six, f->interface);
    p->to[p->to_len++].address = *group;
    return err < 0 ? fail_port(f, group, err) : 0;
}

static int add_group(struct found *f, enum discovery_format format, const char *group)
{
    struct address to, local;
    (void)address_parse(group, &to);
    local = address_any(&to);
    const char *listen = f->node->config->discovery.listen;
    struct address others[CONFIG_DISCOVERY_ADDRESSES];
    address_set_port(&local, address_port(&to));
    if (to.sa.sa_family == AF_INET6)
        to.v6.sin6_scope_id = f->interface;
    /* At the group's own address only what was sent to the group arrives. Routers do not pass it
     * on, so that its sender is on this network. */
    if (config_discovery_addresses(f->node->config, others) == 0)
        local = to;
    if (format == DISCOVERY_IPND && *listen != '\0') {
        struct address given;
        (void)address_parse(listen, &given);
        local = given.sa.sa_family == local.sa.sa_family ? given : local;
    }
    return add_port(f, format, &local, &to);
}

static int add_groups(struct found *f)
{
    static const struct {
        enum discovery_format format;
        bool six;
        const char *group;
    } groups[] = {{DISCOVERY_IPND, false, "224.0.0.26:3003"},
                  {DISCOVERY_IPND, true, "[ff02::1]:3003"},
                  {DISCOVERY_DTN7_GO, false, "224.23.23.23:" GO_PORT},
                  {DISCOVERY_DTN7_GO, true, "[ff02::23]:" GO_PORT}};
    const struct config *c = f->node->config;
    int err = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups && err == 0; i++)
        if (config_discovery_has(c, groups[i].format) &&
            c->discovery.family != (groups[i].six ? FAMILY_V4 : FAMILY_V6))
            err = add_group(f, groups[i].format, groups[i].group);
    return err;
}

/* Without an interface: one port, where `listen` says, or any. */
static int add_plain(struct found *f)
{
    struct address local;
    const struct config *c = f->node->config;
    const bool six = c->discovery.family == FAMILY_V6;
    (void)address_parse(*c->discovery.listen != '\0' ? c->discovery.listen
                        : six                        ? "[::]:0"
                                                     : "0.0.0.0:0",
                        &local);
    return add_port(f, DISCOVERY_IPND, &local, NULL);
}

/* Each address is sent to from the first port of its family. */
static void add_destinations(struct found *f)
{
    struct address to[CONFIG_DISCOVERY_ADDRESSES];
    const size_t len = config_discovery_addresses(f->node->config, to);
    for (size_t i = 0; i < len; i++) {
        struct found_port *p = NULL;
        for (size_t k = 0; k < f->ports_len && p == NULL; k++)
            if (f->ports[k].format == DISCOVERY_IPND &&
                f->ports[k].six == (to[i].sa.sa_family == AF_INET6))
                p = &f->ports[k];
        if (p != NULL)
            p->to[p->to_len++].address = to[i];
    }
}

static int open_engine(struct found *f)
{
    struct node *n = f->node;
    const struct config *c = n->config;
    const struct discovery_config d = {.node = c->node,
                                       .seed = world_random(n->world),
                                       .interval = c->discovery.interval,
                                       .silence = c->discovery.silence,
                                       .patience = c->discovery.patience,
                                       .neighbours_max = c->discovery.neighbours,
                                       .address_max = c->discovery.address,
                                       .links_max = c->discovery.links_max};
    f->places = calloc(c->discovery.links_max, sizeof *f->places);
    const int err =
        f->places == NULL ? HELIO_ENOMEM : discovery_new(&f->engine, &d, world_now(n->world));
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "discovery: %s", helio_strerror(err));
    return err;
}

static int open_ports(struct found *f)
{
    const char *interface = f->node->config->discovery.interface;
    if (*interface == '\0')
        return add_plain(f);
    f->interface = multicast_interface(interface);
    if (f->interface != 0)
        return add_groups(f);
    say(&f->node->say, LEVEL_ERROR,
        "discovery.interface: there is no network interface \"%s\"; ip link shows those there are",
        interface);
    return HELIO_ENOENT;
}

int found_open(struct node *n)
{
    if (!config_discovery_on(n->config))
        return 0;
    struct found *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    n->found = f;
    f->node = n;
    alarm_init(&f->alarm, n->world, ALARM_NODE, on_alarm, f);
    int err = open_engine(f);
    if (err == 0)
        err = open_ports(f);
    if (err < 0)
        return err;
    add_destinations(f);
    gather_own(f);
    f->due = TICK_NEVER;
    alarm_set(&f->alarm, 0);
    if (n->config->discovery.names == NAMES_CLAIMED)
        say(&n->say, LEVEL_WARNING,
            "discovery.names: claimed: any sender of a beacon can get the bundles for the name in "
            "it");
    return 0;
}

void found_rest(struct node *n)
{
    struct found *f = n->found;
    if (f == NULL)
        return;
    alarm_fini(&f->alarm);
    for (size_t i = 0; i < f->ports_len; i++)
        port_close(f->ports[i].port, NULL, NULL);
    f->ports_len = 0;
}

void found_free(struct node *n)
{
    struct found *f = n->found;
    if (f == NULL)
        return;
    discovery_free(f->engine);
    free(f->places);
    free(f);
    n->found = NULL;
}
