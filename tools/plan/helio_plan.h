/* SPDX-License-Identifier: Apache-2.0 */
/* helio-plan's commands and what their options say. */
#ifndef TOOLS_PLAN_HELIO_PLAN_H
#define TOOLS_PLAN_HELIO_PLAN_H

#include "node/plan/plan_draft.h"
#include "route/plan_route.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define PLAN_NAMED_MAX 16
#define PLAN_WAYS_MAX 1000

struct plans_options;

struct plan_options {
    const char *path;
    int format; /* -1: by the file's name */
    bool json;
    tick start;
    /* convert */
    int to;
    const char *output;
    bool exact; /* fractions of seconds stay */
    /* show */
    const char *plot;
    /* route */
    const char *at; /* NULL: the plan's beginning */
    const char *lifetime;
    struct plan_query query;
    uint64_t excluded[PLAN_NAMED_MAX];
    struct plan_backlog backlog[PLAN_NAMED_MAX];
    size_t ways;
    bool critical;
    struct plan_config config;
    /* import */
    const char *files[PLAN_NAMED_MAX];
    size_t files_len;
    /* the plan service */
    struct plans_options *service; /* serve, follow */
    const char *plan;              /* publish: its file; path is the folder */
    uint64_t version;              /* rollback: the old version */
    uint64_t number;               /* of the new one; 0: the next */
    tick effect;                   /* since 1970; 0: at once */
};

/* A file that was read. */
struct plan_opened {
    struct plan *plan;
    struct plan_draft draft; /* its flags and start; the items are in the plan */
    tick first, last;        /* of all contacts; 0 when there is none */
    struct conf_errors errors, notes;
};

/* NULL after reporting the errors; else call plan_close. */
struct plan_opened *plan_open(const struct plan_options *o);
/* On standard error: what of the file was left out or read otherwise than it is written. */
void plan_tell_notes(const struct plan_opened *p);
/* Likewise: all its contacts lie in the past. `hint` follows. */
void plan_tell_over(const struct plan_opened *p, const char *hint);
void plan_close(struct plan_opened *p);

/* Each returns an exit code. */
int command_check(const struct plan_options *o);
int command_convert(const struct plan_options *o);
int command_show(const struct plan_options *o);
int command_route(const struct plan_options *o);
int command_import(const struct plan_options *o);
int command_publish(const struct plan_options *o);
int command_rollback(const struct plan_options *o);
int command_versions(const struct plan_options *o);
int command_serve(const struct plan_options *o);
int command_follow(const struct plan_options *o);

#endif
