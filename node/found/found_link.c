/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A neighbour's link is made from the first template whose adapter its beacon names. Its files are
 * read beside the loop, as those of a link that an operator adds. What can go wrong: the link
 * cannot be made, which the engine learns, and which is logged at most once in a minute; an
 * operator removes the link, which counts as the same.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_link.h"
#include "node/found/found.h"
#include "node/node_watch.h"

#define TELL_PAUSE (60 * TICK_S)
#define V6_LINK_LOCAL(host) ((host)[0] == 0xfe && ((host)[1] & 0xc0) == 0x80)

/* From the action to the link. */
struct opening {
    struct node_change change;
    size_t place;
    uint64_t id;
    size_t form;
    char name[FOUND_NAME_MAX], remote[ADDRESS_TEXT_MAX];
    struct eid peer;
    const struct config *config;
    struct config_link *link; /* NULL: it was not read, or is wrong */
    struct conf_errors errors;
};

static bool serves(const struct cla_ops *ops, enum discovery_format format,
                   const struct discovery_service *s)
{
    if (s->port == 0)
        return false;
    return format == DISCOVERY_IPND
               ? strcmp(ops->service->name, s->name) == 0
               : ops->service->number >= 0 && ops->service->number == s->number;
}

size_t found_template(const struct node *n, enum discovery_format format,
                      const struct discovery_service *services, size_t len, uint16_t *port)
{
    for (size_t t = 0; t < n->config->discovery.found_len; t++)
        for (size_t i = 0; i < len; i++)
            if (serves(n->config->discovery.found[t].ops, format, &services[i])) {
                *port = services[i].port;
                return t;
            }
    return SIZE_MAX;
}

const char *found_address(const struct found *f, const struct discovery_neighbour *n, uint16_t port,
                          char text[ADDRESS_TEXT_MAX])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint8_t key[ADDRESS_KEY_MAX] = {0};
    struct address a;
    memcpy(key, n->from.host, DISCOVERY_HOST);
    key[ADDRESS_KEY_MAX - 1] = memcmp(key, mapped, sizeof mapped) != 0; /* IPv6 */
    if (address_from_key(slice_of(key, sizeof key), &a) < 0)
        return "?";
    address_set_port(&a, port);
    if (a.sa.sa_family == AF_INET6 && V6_LINK_LOCAL(n->from.host))
        a.v6.sin6_scope_id = f->interface;
    return address_write(&a, text);
}

static void write_name(size_t place, char out[FOUND_NAME_MAX])
{
    snprintf(out, FOUND_NAME_MAX, "found-%zu", place + 1);
}

struct node_link *found_link_at(const struct found *f, size_t place)
{
    char name[FOUND_NAME_MAX];
    const struct found_place *p = &f->places[place];
    if (p->id == 0 || p->opening)
        return NULL;
    write_name(place, name);
    struct node_link *l = node_link_find(f->node, name);
    return l != NULL && l->config->found == p->id ? l : NULL;
}

static void free_place(struct found *f, size_t place)
{
    found_plan_forget(f, &f->places[place]);
    f->places[place] = (struct found_place){0};
}

/* ---- open ---- */

static void fail_opening(struct found *f, const struct opening *o, const char *why)
{
    struct node *n = f->node;
    const tick now = world_now(n->world);
    f->failed++;
    free_place(f, o->place);
    discovery_failed(f->engine, o->id, now);
    if (f->told != 0 && now - f->told < TELL_PAUSE)
        return;
    f->told = now;
    say(&n->say, LEVEL_WARNING, "discovery: no link to %s: %s", o->remote, why);
}

static void read_link(struct node_change *c)
{
    struct opening *o = container_of(c, struct opening, change);
    o->link =
        config_discovery_link(o->config, o->form, o->name, &o->peer, o->remote, cla_at, &o->errors);
}

/* The neighbour may have gone meanwhile: then its place is another's, or free. */
static void apply_link(struct node_change *c)
{
    struct opening *o = container_of(c, struct opening, change);
    struct found *f = c->node->found;
    char why[512] = "";
    const bool wanted = !c->node->stopping && f != NULL && f->places[o->place].id == o->id;
    if (wanted)
        f->places[o->place].opening = false;
    else if (f != NULL && f->places[o->place].id == FOUND_GONE)
        free_place(f, o->place);
    if (wanted && o->link == NULL) {
        fail_opening(f, o, o->errors.len > 0 ? o->errors.text[0] : "out of memory");
    } else if (wanted) {
        o->link->found = o->id;
        if (node_link_add(c->node, o->link, why, sizeof why) < 0)
            fail_opening(f, o, why);
        o->link = NULL; /* the node's in any case */
        found_changed(c->node);
    }
    config_link_free(o->link);
    free(o);
}

static void tell_found(const struct found *f, const struct discovery_neighbour *n,
                       const struct opening *o)
{
    char node[EID_TEXT_MAX];
    eid_text(&n->node, node);
    if (node_watch_found(f->node))
        say(&f->node->say, LEVEL_INFO, "discovery: a node that claims to be %s is at %s; link %s",
            node, o->remote, o->name);
}

/* A free one whose name no configured link, nor one of an operator, has. */
static size_t find_place(const struct found *f)
{
    const size_t most = f->node->config->discovery.links_max;
    char name[FOUND_NAME_MAX];
    for (size_t i = 0; i < most; i++) {
        write_name(i, name);
        if (f->places[i].id == 0 && node_link_find(f->node, name) == NULL)
            return i;
    }
    return most;
}

void found_link_open(struct found *f, const struct discovery_neighbour *n)
{
    uint16_t port = 0;
    const size_t most = f->node->config->discovery.links_max;
    struct opening *o = calloc(1, sizeof *o);
    const size_t place = find_place(f);
    if (o == NULL || place == most) { /* without memory, or its names are others' */
        free(o);
        f->failed++;
        discovery_failed(f->engine, n->id, world_now(f->node->world));
        return;
    }
    f->places[place] = (struct found_place){.id = n->id, .opening = true};
    *o = (struct opening){.change = {.read = read_link, .apply = apply_link},
                          .place = place,
                          .id = n->id,
                          .peer = n->node,
                          .config = f->node->config};
    conf_errors_init(&o->errors, "");
    o->form = found_template(f->node, n->format, n->services, n->services_len, &port);
    write_name(place, o->name);
    snprintf(o->remote, sizeof o->remote, "%s",
             found_address(f, n, port, (char[ADDRESS_TEXT_MAX]){0}));
    tell_found(f, n, o);
    if (o->form == SIZE_MAX || node_change_make(f->node, &o->change) == false) {
        fail_opening(f, o, "too many changes wait, or its service has gone");
        free(o);
    }
}

/* ---- close ---- */

static size_t place_of(const struct found *f, uint64_t id)
{
    for (size_t i = 0; i < f->node->config->discovery.links_max; i++)
        if (f->places[i].id == id)
            return i;
    return SIZE_MAX;
}

void found_link_close(struct found *f, const struct discovery_neighbour *n,
                      enum discovery_reason why)
{
    const size_t place = place_of(f, n->id);
    if (place == SIZE_MAX)
        return;
    struct node_link *l = found_link_at(f, place);
    if (f->places[place].opening) /* the place is in use until its change is made */
        f->places[place].id = FOUND_GONE;
    else
        free_place(f, place);
    if (l == NULL)
        return;
    if (node_watch_line(l))
        say(&f->node->say, LEVEL_INFO, "discovery: link %s: %s", l->config->name,
            discovery_reason_text(why));
    if (l->cla != NULL)
        node_link_remove(l);
}

void found_link_look(struct found *f)
{
    const tick now = world_now(f->node->world);
    for (size_t i = 0; i < f->node->config->discovery.links_max; i++) {
        const struct found_place *p = &f->places[i];
        const uint64_t id = p->id;
        if (id == 0 || p->opening)
            continue;
        const struct node_link *l = found_link_at(f, i);
        if (l != NULL) {
            discovery_link(f->engine, id, l->up, now);
            continue;
        }
        free_place(f, i); /* an operator removed it */
        discovery_failed(f->engine, id, now);
    }
}
