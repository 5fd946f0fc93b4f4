/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. Nodes know the ways out of them (pairs), a way its contacts
 * and ranges by time; nothing overlaps, so each is found by bisection. */
#ifndef ROUTE_PLAN_IMPL_H
#define ROUTE_PLAN_IMPL_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "route/plan.h"
#include "route/plan_route.h"

__extension__ typedef unsigned __int128 plan_wide;

struct contact {
    struct plan_contact is;
    struct pair *pair;
    uint64_t id;
    uint64_t volume;
    uint64_t booked[PLAN_PRIORITIES]; /* their sum is at most the volume */
    uint64_t owed[PLAN_PRIORITIES];
    uint64_t banned; /* the last ban that named it */
    struct hash_node by_id;
};

struct piece {
    tick start, end, owlt;
    bool one_way;
};

struct pair {
    struct node *from, *to;
    struct pair *reverse; /* NULL: there is none */
    struct contact **at;
    struct piece *range;
    size_t len, cap, ranges, ranges_cap;
    struct hash_node by_nodes;
};

/* One contact used. */
struct crossing {
    struct contact *contact;
    tick first_sent, last_sent, first_arrives, last_arrives;
    enum plan_why why;
};

/* What the search knows of a node: the best way there. Compared in this order. */
struct label {
    tick arrival;
    size_t hops;
    tick until;
    uint64_t entry;
};

struct node {
    uint64_t number;
    struct pair **out;
    size_t len, cap;
    struct hash_node by_number;
    /* the search's */
    uint64_t seen;   /* the search that wrote what follows */
    uint64_t banned; /* the last ban that named it */
    struct label label;
    struct crossing via; /* the last hop to it */
    struct heap_node due;
    /* that of fewest hops: see plan_fewest.c */
    uint64_t stepped; /* the search that wrote what follows */
    size_t step;      /* the best in the plan's list */
};

/* A way to a node by so many hops; `before` is the one that it goes on from. */
struct step {
    struct node *at;
    size_t before;
    struct label label;
    struct crossing via;
};

/* One way of the cache: see plan_cache.c. */
struct entry {
    struct hash_node by_key;
    struct list used;
    struct node *from, *to;
    enum plan_priority priority;
    unsigned size; /* of volume, in eighths of powers of two */
    tick now;
    uint64_t volume;
    tick floor, rest;
    size_t floor_hops; /* the fewest of all that arrive at `floor` */
    uint64_t hits;     /* since floor and rest were found */
    unsigned tries;    /* how often they were */
    tick late_at;      /* when `late` was found; TICK_NEVER: it was not yet */
    tick late;         /* no route arrives before it, were nothing booked; TICK_NEVER: at no time */
    bool short_routes; /* late is TICK_NEVER: some contacts lead there, for less */
    size_t hops;       /* 0: there is no route, for nobody, as booked at `now` */
    struct contact *via[];
};

struct plan {
    struct plan_config config;
    struct node **node;
    size_t nodes, nodes_cap, contacts, ranges;
    struct hash by_number, by_nodes, by_id, by_key;
    struct list used; /* entries, the last used first */
    uint64_t begin;   /* routes from this node go by these neighbours only, in order … */
    uint64_t *by;
    size_t by_len;
    bool chosen; /* … or by any */
    uint64_t ids, seen, bans;
    uint64_t hits, misses;
    uint64_t work; /* contacts that searches looked at */
    struct heap heap;
    struct step *steps;
    size_t steps_len, steps_cap;
};

/* --- plan.c --- */
struct node *plan_node(const struct plan *p, uint64_t number);
struct pair *plan_pair(const struct plan *p, uint64_t from, uint64_t to);
/* The same, made when they are not there: 0, HELIO_EAGAIN, HELIO_ENOMEM. */
int plan_make_pair(struct plan *p, uint64_t from, uint64_t to, struct pair **out);
struct contact *plan_contact_by_id(const struct plan *p, uint64_t id);
/* May a route from the pair's node begin by it? (plan_begin_by) */
bool plan_begins(const struct plan *p, const struct pair *pair);
/* Room for one more in an array: 0 or HELIO_ENOMEM. */
int plan_grow(void **array, size_t len, size_t *cap, size_t size);

/* --- plan_contact.c --- */
/* The index of the first contact of the pair that ends after t. */
size_t pair_first(const struct pair *pair, tick t);

/* --- plan_range.c --- */
/* The light time in force at t or, if none is, the next; false: none. */
bool pair_range(const struct pair *pair, tick t, struct piece *out);

/* --- plan_book.c --- */
uint64_t contact_volume(const struct plan_contact *c);
uint64_t contact_left(const struct contact *c, enum plan_priority priority);
/* After a change of its volume: what does not fit any more is owed, the lowest class first. */
void contact_fit(struct contact *c);

/* --- plan_cross.c --- */

/* What is sent, and how. */
struct cargo {
    uint64_t volume;
    enum plan_priority priority;
    bool empty;   /* as if nothing were booked */
    uint64_t ban; /* contacts and nodes with this mark are not used; 0: none */
};

uint64_t plan_gross(const struct plan *p, uint64_t bytes);
/* Time that so many bytes take, rounded up. */
tick plan_sending(uint64_t bytes, uint64_t rate);
/* Bytes that wait for the first hop by this pair. */
uint64_t query_backlog(const struct plan_query *q, const struct pair *pair);
bool query_excludes(const struct plan_query *q, uint64_t neighbour);

/* By this contact, ready at `ready`, behind `backlog` bytes: the earliest arrival before `limit`.
 */
bool contact_cross(const struct plan *p, struct contact *c, const struct cargo *cargo, tick ready,
                   uint64_t backlog, tick limit, struct crossing *out);
/* By the best of the pair's contacts. */
bool pair_cross(struct plan *p, const struct pair *pair, const struct cargo *cargo, tick ready,
                uint64_t backlog, tick limit, struct crossing *out);

/* --- plan_search.c --- */

struct search {
    struct plan *plan;
    const struct plan_query *query;
    struct cargo cargo;
    struct node *from, *to;
    struct label start;      /* at `from`; hops above 0: it has come that far already */
    const struct pair *only; /* the one way out of `from`; NULL: all */
};

/* The nodes' labels have the best way to `to`; false: there is none. */
bool search_run(struct search *s);
/* The contacts from `from` to `to` after search_run, in out[]; returns how many. */
size_t search_path(const struct search *s, struct crossing *out);
/* Is label a better than b (below 0), or worse? */
int label_compare(const struct label *a, const struct label *b);
/* May the search leave `at` by this pair? `first`: no hop was made before. */
bool search_allows(const struct search *s, const struct pair *pair, bool first);

/* --- plan_fewest.c --- */
/* As search_path: of the routes that arrive as early, one with fewest hops. */
size_t search_fewest(struct search *s, struct crossing *out);
/* The query as a search; false when a node is unknown. */
bool search_begin(struct search *s, struct plan *p, const struct plan_query *q);
/* A route of these hops, for a bundle that is ready at `now`. */
void route_write(struct plan_route *r, const struct crossing *via, size_t hops,
                 const struct cargo *cargo, tick now);
/* Why nothing arrives in time. */
enum plan_reason search_reason(struct plan *p, const struct plan_query *q);
/* Its order among routes: below 0 when a is better. */
int route_compare(const struct plan_route *a, const struct plan_route *b);
/* Follows the contacts from the start on; false when one cannot be used. */
bool search_follow(const struct search *s, struct contact *const *via, size_t hops,
                   struct crossing *out);

/* --- plan_cache.c --- */
/* Something may lead somewhere earlier than it did, but not before this time. */
void cache_ease(struct plan *p, tick earliest);
void cache_forget_contact(struct plan *p, const struct contact *c);
void cache_clear(struct plan *p);

#endif
