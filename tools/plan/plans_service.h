/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the plan service as programs: what they were asked to do, and how they run. */
#ifndef TOOLS_PLAN_PLANS_SERVICE_H
#define TOOLS_PLAN_PLANS_SERVICE_H

#include <jansson.h>

#include "os/log/say.h"
#include "os/world.h"
#include "plans/plans_follower.h"
#include "plans/plans_owner.h"
#include "tools/plan/plans_node.h"
#include "tools/plan/plans_shelf.h"

#define PLANS_KEPT 64           /* versions of an owner that were replaced, for a roll-back */
#define PLANS_LOOK_EVERY TICK_S /* a folder is looked at for new versions, and shown */

struct plans_options {
    const char *folder, *socket, *service;
    tick lifetime;
    const char *group;     /* a multicast endpoint; NULL: none */
    struct eid *followers; /* serve */
    size_t followers_len;
    tick again, pause;
    struct eid owner; /* follow */
    char owner_text[EID_TEXT_MAX];
    const char *control;
    tick ask;
};

/* What both ends have. */
struct plans_end {
    const struct plans_options *options;
    struct world *world;
    struct say log;
    struct plans_shelf shelf;
    struct plans_node node;
    struct alarm alarm;
    bool stop, failed, shown; /* shown: the state file has all that happened */
    tick show_at;
    void (*over)(void *context);
    void *context;
};

struct plans_serve {
    struct plans_end end;
    struct plans_owner owner;
    struct say_few lines;   /* of states: followers send as many as they like */
    struct plans_push push; /* that the node has; number 0: none */
    char to[EID_TEXT_MAX];  /* of the push */
    uint64_t last;          /* number of the last version that was read */
    bool retries;           /* a file above it could not be read */
    tick look_at;
};

struct plans_follow {
    struct plans_end end;
    struct plans_follower follower;
    struct plans_job *job; /* that makes the node follow a version */
    char why[256];         /* the last failure of that; "": none */
};

/* init: 0, or an error, which was said; `fini` and `free` in any case. `over` is called once, after
 * `stop` or when the node refuses the connection. fini: while there is the world; free: after it,
 * when no work runs beside the loop any more. */
int plans_serve_init(struct plans_serve *s, struct world *w, const struct plans_options *o,
                     void (*over)(void *context), void *context);
void plans_serve_start(struct plans_serve *s);
void plans_serve_stop(struct plans_serve *s);
void plans_serve_fini(struct plans_serve *s);
void plans_serve_free(struct plans_serve *s);

int plans_follow_init(struct plans_follow *f, struct world *w, const struct plans_options *o,
                      void (*over)(void *context), void *context);
void plans_follow_start(struct plans_follow *f);
void plans_follow_stop(struct plans_follow *f);
void plans_follow_fini(struct plans_follow *f);
void plans_follow_free(struct plans_follow *f);

/* ---- of the two ends (plans_end.c) ---- */

int plans_end_init(struct plans_end *e, struct world *w, const struct plans_options *o,
                   void (*fire)(void *context), void *self, void (*over)(void *context),
                   void *context);
void plans_end_stop(struct plans_end *e);
void plans_end_fini(struct plans_end *e);
/* Writes the state file, at most once a second; takes over j. */
void plans_end_show(struct plans_end *e, json_t *j, tick now);
json_t *plans_counts_json(const uint64_t counts[PLANS_VERDICTS]);
/* "at once", or a date. */
json_t *plans_effect_json(const struct plans_version *v);

#endif
