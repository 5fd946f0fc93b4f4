/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups ("kinds") of waiting bundles that the router cannot distinguish. So a change needs one
 * question per group, and only bundles with another route are moved. Private to bp/agent.
 */
#ifndef BP_AGENT_KIND_H
#define BP_AGENT_KIND_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "bp/codec/eid.h"
#include "bp/codec/qos.h"

#define KINDS_MAX 65536   /* beyond this number, bundles are asked for one by one */
#define PLACE_SLICE 1024u /* questions and moves per call; see agent_config.place_slice */

struct agent;
struct agent_head;
struct forwarding;

/* A reference to a link that may have been removed: another link at its index does not match. */
struct link_ref {
    int index; /* or NO_LINK */
    uint32_t life;
};

/* A destination node of waiting bundles. It exists while there are kinds for it. */
struct target {
    struct hash_node by_node;
    struct list kinds; /* kind.beside */
    struct eid node;
};

/* Bundles that wait in one place, for which the router has one answer. A rest has other bundles of
 * one priority; the router is asked for each of them. */
struct kind {
    struct hash_node by_key; /* not for a rest */
    struct target *target;   /* likewise */
    struct list beside;      /* target.kinds */
    struct list node; /* in kinds.idle, or in agent.asking; in neither: it is in agent.moving */
    struct heap_node turn; /* in agent.moving: its bundles have another route now */
    struct kinds *of;
    struct list waiting; /* forwarding.alike, in order of arrival */
    struct list asking;  /* for a rest: those that the router must be asked for */
    bool rest;
    bool critical;
    enum bundle_priority priority;
    uint64_t bytes; /* length of bundles that must not be fragmented; else 0 */
    struct link_ref came_from, avoid;
    struct eid destination;
};

/* The kinds of one place: bundles queued for a link (except the few at the front), or bundles
 * without a route. */
struct kinds {
    struct list idle;
    /* Bundles to destinations whose answers are not alike (router_ops.alike); all others that are
     * in no kind. */
    struct kind single[BUNDLE_PRIORITIES], rest[BUNDLE_PRIORITIES];
};

void kinds_init(struct kinds *w);
void kinds_fini(struct kinds *w); /* no bundle waits there any more */
/* h: the bundle's head; NULL: it is decoded when needed. */
void kind_enter(struct agent *a, struct forwarding *f, const struct agent_head *h);
/* One without a kind is unchanged. */
void kind_leave(struct agent *a, struct forwarding *f);
/* The bundle's retry time has come: bundles of the same kind without a retry time are asked for. */
void kind_retry(struct agent *a, const struct forwarding *f);
/* Requests questions for all bundles of this place. */
void kinds_ask(struct agent *a, struct kinds *w);
/* Requests questions for all bundles with answers that are alike, in all places: for those to this
 * node, and those in no kind; for all. */
void kinds_ask_node(struct agent *a, const struct eid *node);
void kinds_ask_alike(struct agent *a);
/* Requests questions for all others of this place that are longer than so many bytes. */
void kinds_ask_longer(struct agent *a, struct kinds *w, uint64_t bytes);
/* Requests questions also for bundles that were to be moved: the router has changed. */
void kinds_ask_moving(struct agent *a);
/* Are questions or moves left to do? */
bool kinds_due(const struct agent *a);
/* Does at most this many questions and moves. */
void kinds_step(struct agent *a, uint64_t steps);
uint64_t kinds_check(const struct agent *a); /* returns the number of bundles in all kinds */

#endif
