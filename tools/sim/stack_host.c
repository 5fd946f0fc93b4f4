/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node in virtual time: agent and links as in its configuration. Its store is its memory, so any
 * wanted durability is confirmed at once. What can go wrong: the configuration, which is reported
 * with file, line and key; an address that two nodes have, or none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "node/node_log.h"
#include "tools/sim/stack.h"

static void say_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "%s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "%s: and %zu more errors\n", e->file, e->total - e->len);
}

static int load_host(struct stack_host *h)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    conf_errors_init(e, h->file);
    int rc = config_load(&h->config, h->file, cla_at, e);
    if (rc == 0 && h->config.security_len > 0) { /* keys and their random numbers are real ones */
        conf_error(e, 0, "security: virtual nodes have no bundle security; leave this list out");
        config_fini(&h->config);
        rc = HELIO_EFORMAT;
    }
    say_errors(e);
    free(e);
    return rc < 0 ? HELIO_EFORMAT : 0;
}

int stack_host_new(struct stack *s, const char *file)
{
    struct stack_host *h = calloc(1, sizeof *h);
    if (h == NULL)
        return HELIO_ENOMEM;
    h->stack = s;
    h->file = file;
    h->index = s->hosts_len;
    int rc = load_host(h);
    if (rc == 0 && stack_host_of(s, &h->config.node) != NULL) {
        fprintf(stderr, "%s: node: another --node has this name\n", file);
        config_fini(&h->config);
        rc = HELIO_EFORMAT;
    }
    if (rc < 0) {
        free(h);
        return rc;
    }
    s->hosts[s->hosts_len++] = h;
    return 0;
}

struct stack_host *stack_host_of(const struct stack *s, const struct eid *eid)
{
    for (size_t i = 0; i < s->hosts_len; i++)
        if (eid_same_node(&s->hosts[i]->config.node, eid))
            return s->hosts[i];
    return NULL;
}

static void log_event(void *context, const struct event *e)
{
    struct stack_host *h = context;
    char *room = h->log == NULL ? NULL : log_writer_room(h->log, EVENT_CSV_MAX);
    if (room != NULL)
        log_writer_put(h->log, event_csv(e, h->config.node.node, 0, room));
}

static void log_bundle(void *context, const struct bundle_event *e)
{
    struct stack_host *h = context;
    char *room = h->bundle_log == NULL ? NULL /* the run has ended */
                                       : log_writer_room(h->bundle_log, BUNDLE_EVENT_CSV_MAX);
    if (room != NULL)
        log_writer_put(h->bundle_log, node_bundle_line(&h->node, e, 0, room));
}

static int open_log(const struct stack_host *h, const char *what, const char *header,
                    struct log_writer **out)
{
    const struct stack *s = h->stack;
    const struct eid *node = &h->config.node;
    char path[4096];
    uint64_t number = node->scheme == EID_IPN ? node->node : h->index + 1;
    snprintf(path, sizeof path, "%s/node%" PRIu64 ".%s.csv%s", s->log_dir, number, what,
             s->gzip ? ".gz" : "");
    int rc = log_writer_open(out, path, LOG_LINES | LOG_WAIT, slice_of(header, strlen(header)));
    if (rc < 0) {
        fprintf(stderr, "helio-sim: %s: %s\n", path, helio_strerror(rc));
        return HELIO_EIO;
    }
    return 0;
}

static int open_logs(struct stack_host *h)
{
    if (h->stack->log_dir == NULL)
        return 0;
    int rc = open_log(h, "segments", event_csv_header, &h->log);
    if (rc == 0)
        rc = open_log(h, "bundles", bundle_event_csv_header, &h->bundle_log);
    h->node.sink = log_event;
    h->node.bundle_sink = rc == 0 ? log_bundle : NULL;
    h->node.sink_context = h->node.bundle_sink_context = h;
    return rc;
}

static int open_place(struct stack_host *h)
{
    char why[512];
    size_t cap = strlen(h->config.socket) + 24;
    h->place = malloc(cap);
    if (h->place == NULL)
        return HELIO_ENOMEM;
    snprintf(h->place, cap, "%zu:%s", h->index + 1, h->config.socket);
    int rc = apps_open(&h->node.apps, &h->node, &(struct stream_place){.path = h->place}, why,
                       sizeof why);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s\n", why);
    return rc;
}

int stack_host_open(struct stack_host *h)
{
    struct node *n = &h->node;
    n->config = &h->config;
    n->ops = &node_ops;
    n->world = &h->stack->world.world;
    say_init(&n->say, (enum say_level)h->config.log.level, false, "");
    if (n->say.level > LEVEL_WARNING)
        n->say.level = LEVEL_WARNING;
    h->stack->world.world.owner = h->index;
    int rc = open_logs(h);
    if (rc == 0)
        rc = node_open(n, true);
    if (rc == 0)
        rc = open_place(h);
    if (rc < 0)
        return rc;
    return node_start(n);
}

static bool check_remote(const struct stack_host *h, const struct config_link *l,
                         const struct address *to)
{
    char text[ADDRESS_TEXT_MAX];
    if (stack_net_reaches(h->stack, to))
        return true;
    fprintf(stderr,
            "%s:%" PRIu32 ": link %s: remote: nobody has %s; write the local address "
            "of another --node, or the address of a --relay or link\n",
            h->file, l->line, l->name, address_write(to, text));
    return false;
}

int stack_host_check(const struct stack_host *h)
{
    int rc = 0;
    for (size_t i = 0; i < h->config.links_len; i++) {
        const struct config_link *l = &h->config.links[i];
        const struct address to = cla_addresses(l->ops, l->settings).remote;
        if (address_given(&to))
            rc = check_remote(h, l, &to) ? rc : HELIO_EFORMAT;
    }
    return rc;
}

static void on_closed(void *context)
{
    struct stack_host *h = context;
    h->closing--;
}

/* Services of ground stations are stopped and unbound, which takes round trips. */
static void await_links(struct stack_host *h)
{
    struct stack *s = h->stack;
    tick patience = tick_add(s->world.now, 60 * TICK_S);
    virtual_settle(&s->world);
    virtual_fire_soon(&s->world);
    while (h->closing > 0 && stack_step(s, patience))
        virtual_settle(&s->world);
    virtual_settle(&s->world);
    virtual_fire_soon(&s->world);
}

void stack_host_free(struct stack_host *h)
{
    struct node *n = &h->node;
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL && n->links[i]->cla != NULL) {
            h->closing++;
            n->links[i]->cla->ops->close(n->links[i]->cla, on_closed, h);
        }
    await_links(h);
    if (n->apps != NULL) {
        apps_stop(n->apps);
        apps_close(n->apps);
    }
    apps_free(n->apps);
    node_close(n);
    free(h->place);
    log_writer_free(h->log);
    log_writer_free(h->bundle_log);
    config_fini(&h->config);
    free(h);
}
