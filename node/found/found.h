/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's side of discovery (discovery/discovery.h): the ports of beacons, links to neighbours,
 * and their contacts in the contact plan. The engine decides; everything here happens in the alarm.
 */
#ifndef NODE_FOUND_H
#define NODE_FOUND_H

#include "discovery/discovery.h"
#include "node/config/config_discovery.h"
#include "node/node_change.h"
#include "os/net/udp_io.h"

#define FOUND_PORTS_MAX 4 /* formats, each with IPv4 and IPv6 */
#define FOUND_NAME_MAX 32 /* "found-512" */

/* A socket for the beacons of one format. */
struct found_port {
    struct found *found;
    struct port *port;
    enum discovery_format format;
    bool six;
    struct udp_peer to[CONFIG_DISCOVERY_ADDRESSES + 1]; /* the group first, if there is one */
    size_t to_len;
};

#define FOUND_GONE UINT64_MAX

/* A place for the link of a neighbour; its number is in the link's name. */
struct found_place {
    uint64_t id;     /* of the neighbour; 0: the place is free; FOUND_GONE: its change waits */
    bool opening;    /* its files are being read */
    uint64_t number; /* of the node in the contact plan */
    uint64_t there;  /* ids of its contacts, to and from the neighbour; 0: none */
    uint64_t back;   /* … */
    bool range;      /* a light time was added, too */
    tick contact_start, contact_end; /* of both, in the plan's time */
    const void *owner;               /* the plan that they are in: another one has not got them */
};

struct found {
    struct node *node;
    struct discovery *engine;
    struct alarm alarm;
    struct found_port ports[FOUND_PORTS_MAX];
    size_t ports_len;
    unsigned interface; /* 0: none */
    struct discovery_service own[DISCOVERY_SERVICES_MAX];
    size_t own_len;
    struct found_place *places; /* discovery.links_max */
    uint64_t unsent;            /* beacons that the system did not take */
    uint64_t failed;            /* links that could not be made */
    tick told;                  /* the last line about one of these */
    tick due;                   /* the engine's deadline at the end of the last turn */
};

/* Opens the ports, after the links. Nothing without the section `discovery`. 0, or an error that
 * was said. */
int found_open(struct node *n);
void found_rest(struct node *n); /* nothing happens any more */
void found_free(struct node *n); /* after that */

/* A link with config->found has another state, or is no more. */
void found_changed(struct node *n);

/* ---- between its files ---- */

/* found_link.c. The template for a neighbour, and the port of its service; SIZE_MAX: none fits. */
size_t found_template(const struct node *n, enum discovery_format format,
                      const struct discovery_service *services, size_t len, uint16_t *port);
/* Begins to make the neighbour's link: done, or discovery_failed, later. */
void found_link_open(struct found *f, const struct discovery_neighbour *n);
void found_link_close(struct found *f, const struct discovery_neighbour *n,
                      enum discovery_reason why);
/* Does the engine know the states of all links? Tells it. */
void found_link_look(struct found *f);
/* The link at this place; NULL: none. */
struct node_link *found_link_at(const struct found *f, size_t place);
/* "192.0.2.7:4556" of a neighbour. */
const char *found_address(const struct found *f, const struct discovery_neighbour *n, uint16_t port,
                          char text[ADDRESS_TEXT_MAX]);

/* found_plan.c. Contacts with neighbours whose links are up, until their silence. */
void found_plan_look(struct found *f);
void found_plan_forget(struct found *f, struct found_place *p);
/* Has the contact plan contacts with this node that are not of discovery? */
bool found_plan_has(const struct found *f, const struct eid *node);

#endif
