/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's contact plan (key `plan`): it routes bundles, and its contacts control the links.
 * Static routes apply to destinations that the plan does not have. An operator can change the plan
 * while the node runs.
 *
 * A plan's times are those of the wall clock. A plan with dates follows a step of that clock; a
 * plan with times relative to its reading does not.
 */
#ifndef NODE_PLAN_H
#define NODE_PLAN_H

#include "node/node.h"
#include "route/plan_router.h"

struct node_plan {
    struct node *node;
    struct plan *plan;
    struct plan_router *router;
    struct alarm edge, back; /* back: links give back what they have */
    char *path;
    bool running;     /* the alarms are there */
    bool dated;       /* it has dates */
    bool told_over;   /* that this node has no contacts any more */
    tick ahead;       /* the plan's time less the node's */
    uint64_t reloads; /* that succeeded */
    uint64_t changes; /* contacts and ranges that an operator added or removed */
    uint64_t steps;   /* of the wall clock that moved it */
};

/* Reads the file and takes the place of the static routes; nothing when there is no such key. With
 * the links open. 0, or an error that was said. Times without a date count from now. */
int node_plan_open(struct node *n);
/* Reads the plan of a configuration that has one, as node_plan_open does, and forgets it; `wall`:
 * ticks since 1970. is_over: it has contacts, and all lie in the past. 0; HELIO_E* with errors. */
int node_plan_check(const struct config *c, tick wall, bool *is_over, struct conf_errors *e);
void node_plan_rest(struct node *n);  /* nothing happens any more */
void node_plan_close(struct node *n); /* after that, and after the agent */

/* Has the plan contacts of this node with this neighbour, in either direction, at any time? */
bool node_plan_meets(const struct node_plan *p, uint64_t neighbour);

/* A link began or is no more; nothing without a plan. */
int node_plan_link(struct node_link *l);
void node_plan_unlink(struct node_link *l);

/* Each second: has the wall clock stepped? */
void node_plan_tick(struct node *n);

#define NODE_PLAN_NONE                                                                             \
    "this node follows no contact plan; write plan: FILE in its configuration, or load one: "      \
    "helioctl plan reload FILE"

/* --- a plan's file, which may be long: it is read beside the loop --- */

struct node_plan_file {
    char *path; /* NULL: there is no plan yet */
    tick wall;  /* what times without a date count from */
    bool dated;
    struct plan *plan;         /* NULL: it was not read, or is wrong */
    struct conf_errors *notes; /* NULL: none are kept */
    const struct config *config;
    uint64_t seed;
};

/* In the loop: takes what is needed of the node. 0, or HELIO_ENOMEM with an error. */
int node_plan_file_begin(struct node_plan_file *f, const struct node *n, struct conf_errors *e);
/* In any thread: touches nothing of the node. path NULL: the present plan's. 0; HELIO_E* with
 * errors. */
int node_plan_file_read(struct node_plan_file *f, const char *path, struct conf_errors *e);
/* In the loop, after it was read well: instead of the present plan, or as the first one. The former
 * one is freed beside the loop. 0; HELIO_E* with errors, and nothing has changed. */
int node_plan_file_use(struct node_plan_file *f, struct node *n, struct conf_errors *e);
void node_plan_file_free(struct node_plan_file *f); /* once, used or not; zeroes will do */

/* node_plan_change.c: what an operator changes. All of it is done or nothing; 0, or an error with
 * texts in *e. */

/* All of a plan's text in YAML in addition; times without a date count from now. */
int node_plan_add(struct node *n, const char *text, size_t len, struct conf_errors *e);
/* The contact, or the range, that is in force then (a date, or a duration from now). */
int node_plan_remove_contact(struct node *n, uint64_t from, uint64_t to, const char *at,
                             struct conf_errors *e);
int node_plan_remove_range(struct node *n, uint64_t from, uint64_t to, const char *at,
                           struct conf_errors *e);

/* --- of these two files --- */

/* Begins with a plan that was read, and takes it. 0, or an error with texts in *e. */
int node_plan_begin(struct node *n, struct node_plan_file *f, struct conf_errors *e);
/* What is odd in a file that is used. */
void node_plan_tell_notes(struct node *n, const struct node_plan_file *f);
/* What the wall clock is ahead now is what the plan's times are ahead. */
void node_plan_look(struct node_plan *p);
/* The plan is another one: links and what waits follow it. */
void node_plan_changed(struct node_plan *p);
/* Takes unfinished bundles back from the links to this neighbour in steps, the first of them now:
 * they are placed again. */
void node_plan_give_up(struct node_plan *p, uint64_t neighbour);

#endif
