/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder. A node has a list of its outgoing pairs. A pair (from, to) has its
 * contacts and ranges in order of time; they do not overlap, so bisection finds them. */
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
    uint64_t banned; /* number of the last ban that includes it */
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

/* The use of one contact in a route. */
struct crossing {
    struct contact *contact;
    tick first_sent, last_sent, first_arrives, last_arrives;
    enum plan_why why;
};

/* The best known path to a node in a search. Labels are compared in this order of fields. */
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
    /* used by the search */
    uint64_t seen;   /* number of the search that wrote the next fields */
    uint64_t banned; /* number of the last ban that includes it */
    struct label label;
    struct crossing via; /* the last hop to it */
    struct heap_node due;
    /* used by the search for fewest hops: plan_fewest.c */
    uint64_t stepped; /* number of the search that wrote the next fields */
    size_t step;      /* index of the best in the plan's list */
};

/* A path to a node with a number of hops; `before` is the step that it extends. */
struct step {
    struct node *at;
    size_t before;
    struct label label;
    struct crossing via;
};

/* A route in the cache: see plan_cache.c. */
struct entry {
    struct hash_node by_key;
    struct list used;
    struct node *from, *to;
    enum plan_priority priority;
    unsigned size; /* class of volumes, in eighths of powers of two */
    bool yields;   /* for queries with yields: floor, rest and hops 0 are for relaxed cargo */
    tick now;
    uint64_t volume;
    tick floor, rest;
    size_t floor_hops; /* the fewest of all routes that arrive at `floor` */
    uint64_t hits;     /* since floor and rest were computed */
    unsigned tries;    /* how often they were computed */
    tick late_at;      /* time when `late` was computed; TICK_NEVER: not yet */
    /* Earliest arrival if nothing were booked; TICK_NEVER: there is no route. */
    tick late;
    bool short_routes; /* late is TICK_NEVER, but smaller volumes have a route */
    size_t hops;       /* 0: there is no route with the bookings of `now` */
    struct contact *via[];
};

struct plan {
    struct plan_config config;
    struct node **node;
    size_t nodes, nodes_cap, contacts, ranges;
    struct hash by_number, by_nodes, by_id, by_key;
    struct list used; /* entries, latest use first */
    uint64_t begin;   /* routes from this node use only these neighbours, sorted … */
    uint64_t *by;
    size_t by_len;
    bool chosen; /* … if set; else any */
    uint64_t ids, seen, bans;
    uint64_t hits, misses;
    uint64_t work; /* contacts that searches have examined */
    struct heap heap;
    struct step *steps;
    size_t steps_len, steps_cap;
};

/* --- plan.c --- */
struct node *plan_node(const struct plan *p, uint64_t number);
struct pair *plan_pair(const struct plan *p, uint64_t from, uint64_t to);
/* Finds or creates it: 0, HELIO_EAGAIN, HELIO_ENOMEM. */
int plan_make_pair(struct plan *p, uint64_t from, uint64_t to, struct pair **out);
struct contact *plan_contact_by_id(const struct plan *p, uint64_t id);
/* May a route from the pair's first node begin with it? (plan_begin_by) */
bool plan_begins(const struct plan *p, const struct pair *pair);
/* Grows an array for one more item: 0 or HELIO_ENOMEM. */
int plan_grow(void **array, size_t len, size_t *cap, size_t size);

/* --- plan_contact.c --- */
/* The index of the first contact of the pair that ends after t. */
size_t pair_first(const struct pair *pair, tick t);

/* --- plan_range.c --- */
/* The range that is valid at t, else the next one; false: none. */
bool pair_range(const struct pair *pair, tick t, struct piece *out);

/* --- plan_book.c --- */
uint64_t contact_volume(const struct plan_contact *c);
uint64_t contact_left(const struct contact *c, enum plan_priority priority);
/* After a change of the volume: bookings that no longer fit become owed, lowest class first. */
void contact_fit(struct contact *c);

/* --- plan_cross.c --- */

/* The volume to route, with its conditions. */
struct cargo {
    uint64_t volume;
    enum plan_priority priority;
    bool empty;                     /* as if nothing were booked */
    const struct plan_query *query; /* for its yields */
    bool relaxed; /* as if contacts from the query's first node had no bookings of this class */
    uint64_t ban; /* contacts and nodes with this ban are not used; 0: none */
};

uint64_t plan_gross(const struct plan *p, uint64_t bytes);
/* Transmission time of so many bytes, rounded up. */
tick plan_sending(uint64_t bytes, uint64_t rate);
/* Queued bytes for the first hop over this pair. */
uint64_t query_backlog(const struct plan_query *q, const struct pair *pair);
bool query_excludes(const struct plan_query *q, uint64_t neighbour);

/* The earliest arrival over this contact before `limit`, ready at `ready`, behind `backlog` queued
 * bytes. False: none. */
bool contact_cross(const struct plan *p, struct contact *c, const struct cargo *cargo, tick ready,
                   uint64_t backlog, tick limit, struct crossing *out);
/* The same over the best contact of the pair. */
bool pair_cross(struct plan *p, const struct pair *pair, const struct cargo *cargo, tick ready,
                uint64_t backlog, tick limit, struct crossing *out);

/* --- plan_search.c --- */

struct search {
    struct plan *plan;
    const struct plan_query *query;
    struct cargo cargo;
    struct node *from, *to;
    struct label start;      /* at `from`; hops > 0: they precede the search */
    const struct pair *only; /* the only pair that may leave `from`; NULL: any */
};

/* Computes the labels up to the best path to `to`. False: there is none. */
bool search_run(struct search *s);
/* Writes the contacts of the path after search_run to out[]; returns their number. */
size_t search_path(const struct search *s, struct crossing *out);
/* Negative: label a is better than b; positive: worse. */
int label_compare(const struct label *a, const struct label *b);
/* May the search leave `at` over this pair? `first`: it is the first hop. */
bool search_allows(const struct search *s, const struct pair *pair, bool first);

/* --- plan_fewest.c --- */
/* Like search_path: a route with fewest hops among those with the same arrival. */
size_t search_fewest(struct search *s, struct crossing *out);
/* Makes a search from the query; false: a node is unknown. */
bool search_begin(struct search *s, struct plan *p, const struct plan_query *q);
/* Writes the route of these hops, for a bundle that is ready at `now`. */
void route_write(struct plan_route *r, const struct crossing *via, size_t hops,
                 const struct cargo *cargo, tick now);
/* The reason why no route arrives in time. */
enum plan_reason search_reason(struct plan *p, const struct plan_query *q);
/* Order of routes: negative when a is better. */
int route_compare(const struct plan_route *a, const struct plan_route *b);
/* Computes the crossings of these contacts from the start; false: one cannot be used. */
bool search_follow(const struct search *s, struct contact *const *via, size_t hops,
                   struct crossing *out);

/* --- plan_cache.c --- */
/* A change of the plan may permit earlier arrivals, but none before this time. */
void cache_ease(struct plan *p, tick earliest);
void cache_forget_contact(struct plan *p, const struct contact *c);
void cache_clear(struct plan *p);

#endif
