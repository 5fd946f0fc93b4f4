/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A follower: a version arrives, is read as a plan, stored, and at its time of effect the node
 * reads it. What can go wrong: contents that are no plan, the medium (both are reported to the
 * owner), a node that does not answer at its control socket (it is asked again).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "node/plan/plan_draft.h"
#include "os/work_pool.h"
#include "tools/ctl/ctl_ask.h"
#include "tools/plan/plans_service.h"

#define LOAD_TIMEOUT (120 * TICK_S) /* a long plan is read for some seconds, or more */
#define LOOK_TIMEOUT (10 * TICK_S)

/* ---- a plan that the node has to follow ---- */

/* Runs beside the loop: it waits for the node. */
struct plans_job {
    struct work work;
    struct plans_follow *follow;
    const struct plans_shelf *shelf;
    const char *control;
    uint64_t number;
    bool good;
    bool lost;     /* the file of the version is damaged, or is not there */
    char why[256]; /* of a failure */
};

/* NULL: `why` has the reason. */
static json_t *ask_node(struct plans_job *j, const char *line, tick timeout)
{
    json_t *answer = ctl_ask("helio-plan", j->control, line, timeout, true);
    if (answer == NULL)
        snprintf(j->why, sizeof j->why, "the node does not answer at %.180s", j->control);
    else if (json_is_true(json_object_get(answer, "ok")))
        return answer;
    else
        snprintf(j->why, sizeof j->why, "%.240s",
                 json_string_value(json_object_get(answer, "error")) != NULL
                     ? json_string_value(json_object_get(answer, "error"))
                     : "the node's answer is not understood");
    json_decref(answer);
    return NULL;
}

/* Does the node follow this version already? It may have no plan yet, which is an error. */
static bool has_version(struct plans_job *j, const char *path)
{
    if (plans_shelf_number(j->shelf, PLANS_MARK_FILE) != j->number)
        return false;
    json_t *answer = ask_node(j, "{\"cmd\":\"plan\"}", LOOK_TIMEOUT);
    const char *file = json_string_value(json_object_get(answer, "file"));
    const bool same = file != NULL && strcmp(file, path) == 0;
    json_decref(answer);
    return same;
}

static int write_mark(const struct plans_shelf *s, uint64_t number)
{
    char text[32];
    const int len = snprintf(text, sizeof text, "%" PRIu64 "\n", number);
    return plans_shelf_put(s, PLANS_MARK_FILE, slice_of(text, (size_t)len), true);
}

static int write_plan(struct plans_job *j)
{
    struct plans_file f;
    int rc = plans_shelf_read(j->shelf, j->number, &f);
    j->lost = rc == HELIO_EFORMAT || helio_code(rc) == HELIO_ENOENT;
    if (rc == 0)
        rc = plans_shelf_put(j->shelf, PLANS_NODE_FILE, f.contents, true);
    free(f.octets);
    return rc;
}

static void load_plan(struct plans_job *j, const char *path)
{
    int rc = write_plan(j);
    if (rc != 0) {
        snprintf(j->why, sizeof j->why, "%s",
                 j->lost ? "its file is damaged or lost; the owner is asked for it"
                         : helio_strerror(rc));
        return;
    }
    json_t *request = json_pack("{s:s, s:s}", "cmd", "plan-reload", "file", path);
    char *line = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
    json_t *answer = line == NULL ? NULL : ask_node(j, line, LOAD_TIMEOUT);
    if (line == NULL)
        snprintf(j->why, sizeof j->why, "the folder's name is no UTF-8, or memory is out");
    j->good = answer != NULL;
    if (j->good && (rc = write_mark(j->shelf, j->number)) != 0) {
        snprintf(j->why, sizeof j->why, "%s", helio_strerror(rc));
        j->good = false;
    }
    json_decref(answer);
    json_decref(request);
    free(line);
}

static void run_job(struct work *w)
{
    struct plans_job *j = container_of(w, struct plans_job, work);
    char path[PLANS_PATH_CAP + PLANS_NAME_CAP];
    snprintf(path, sizeof path, "%s/" PLANS_NODE_FILE, j->shelf->path);
    j->good = has_version(j, path);
    if (!j->good)
        load_plan(j, path);
}

static void turn_follow(void *context);

/* Versions below the one in force, but for the one that the node follows, and the one that it is
 * given now. */
static void remove_old(struct plans_follow *f)
{
    uint64_t *numbers = calloc(PLANS_FILES_MAX, sizeof *numbers);
    const int len = numbers == NULL ? 0 : plans_shelf_list(&f->end.shelf, numbers);
    for (int i = 0; i < len; i++)
        if (numbers[i] < f->follower.in_force && numbers[i] != f->follower.applied &&
            !(f->follower.applying && numbers[i] == f->job->number))
            plans_shelf_remove(&f->end.shelf, numbers[i]);
    free(numbers);
}

static void end_job(struct work *w)
{
    struct plans_job *j = container_of(w, struct plans_job, work);
    struct plans_follow *f = j->follow;
    if (f->end.stop)
        return;
    const bool again = !j->good && strcmp(f->why, j->why) == 0;
    snprintf(f->why, sizeof f->why, "%s", j->good ? "" : j->why);
    if (j->good)
        say(&f->end.log, LEVEL_INFO, "the node follows version %" PRIu64, j->number);
    else if (!again)
        say(&f->end.log, LEVEL_WARNING, "version %" PRIu64 ": %s; it is tried again", j->number,
            f->why);
    plans_follower_applied(&f->follower, j->number, j->good, world_now(f->end.world));
    if (j->lost)
        plans_follower_lose(&f->follower, j->number, world_now(f->end.world));
    remove_old(f);
    f->end.shown = false;
    turn_follow(f);
}

static void begin_job(struct plans_follow *f, uint64_t number)
{
    *f->job = (struct plans_job){.work = {.run = run_job, .done = end_job},
                                 .follow = f,
                                 .shelf = &f->end.shelf,
                                 .control = f->end.options->control,
                                 .number = number};
    if (world_work(f->end.world, &f->job->work))
        return;
    run_job(&f->job->work);
    end_job(&f->job->work);
}

/* ---- what arrives ---- */

/* Can a node follow it, and do all nodes understand its times alike? PLANS_TAKEN, else `why` has
 * the reason. */
static enum plans_verdict check_plan(struct slice contents, char *why, size_t cap)
{
    struct plan_draft draft;
    struct plan *plan = NULL;
    struct plan_config config;
    struct conf_errors *e = malloc(sizeof *e);
    plan_config_default(&config);
    plan_draft_init(&draft, 0);
    int rc = e == NULL ? HELIO_ENOMEM : plan_new(&plan, &config);
    snprintf(why, cap, "out of memory");
    if (rc == 0) {
        conf_errors_init(e, "plan");
        rc = plan_yaml_read(&draft, (const char *)contents.data, contents.len, e);
        rc = rc == 0 ? plan_draft_build(&draft, plan, e) : rc;
        if (rc != 0)
            rc = e->no_memory ? HELIO_ENOMEM : HELIO_EFORMAT;
        if (rc == HELIO_EFORMAT)
            snprintf(why, cap, "%.250s", e->text[0]);
        if (rc == 0 && draft.since && draft.start == 0) {
            snprintf(why, cap, "it has times without a date");
            rc = HELIO_EINVAL;
        }
    }
    plan_draft_fini(&draft);
    plan_free(plan);
    free(e);
    return rc == 0                          ? PLANS_TAKEN
           : helio_code(rc) == HELIO_ENOMEM ? PLANS_UNSTORED
                                            : PLANS_UNREADABLE;
}

static void keep_version(struct plans_follow *f, const struct plans_message *m)
{
    char why[256];
    const uint64_t number = m->version.number;
    const enum plans_verdict v = check_plan(m->contents, why, sizeof why);
    if (v != PLANS_TAKEN) {
        say(&f->end.log, LEVEL_WARNING, "version %" PRIu64 " is refused: %s", number, why);
        plans_follower_refuse(&f->follower, number, v);
        return;
    }
    /* A file of that number that is not held is damaged, or was dropped. */
    plans_shelf_remove(&f->end.shelf, number);
    const int rc = plans_shelf_write(&f->end.shelf, &m->version, m->contents);
    if (rc != 0) {
        say(&f->end.log, LEVEL_ERROR, "%s: version %" PRIu64 " cannot be stored: %s",
            f->end.shelf.path, number, helio_strerror(rc));
        plans_follower_refuse(&f->follower, number, PLANS_UNSTORED);
        return;
    }
    plans_follower_hold(&f->follower, &m->version);
    say(&f->end.log, LEVEL_INFO, "version %" PRIu64 " arrived, %zu octets", number,
        m->contents.len);
}

static void take_message(void *context, const char *source, struct slice payload)
{
    struct plans_follow *f = context;
    struct plans_message m;
    struct eid from;
    const char *why;
    if (eid_parse(source, &from) != 0)
        from = eid_none();
    const enum plans_verdict v = plans_follower_input(
        &f->follower, &from, payload, world_now(f->end.world), world_wall(f->end.world), &m, &why);
    if (v == PLANS_TAKEN)
        keep_version(f, &m);
    if ((v == PLANS_CONFLICT || v == PLANS_FULL) && f->follower.counts[v] == 1)
        say(&f->end.log, LEVEL_WARNING, "version %" PRIu64 " is refused: %s", m.version.number,
            plans_verdict_text(v));
    f->end.shown = false;
}

/* ---- what the owner hears ---- */

static bool next_state(void *context, const char **to, uint8_t **octets, size_t *len)
{
    struct plans_follow *f = context;
    struct plans_state state;
    uint8_t *out = malloc(PLANS_STATE_MAX);
    if (out == NULL || !plans_follower_poll(&f->follower, world_now(f->end.world), &state)) {
        free(out);
        return false;
    }
    *len = plans_state_write(&state, out);
    *octets = out;
    *to = f->end.options->owner_text;
    return true;
}

/* A state that is lost is made good by the next question. */
static void end_state(void *context, bool good)
{
    struct plans_follow *f = context;
    if (!good)
        say(&f->end.log, LEVEL_WARNING, "the node refused a bundle to %s",
            f->end.options->owner_text);
}

static void renew_node(void *context)
{
    struct plans_follow *f = context;
    plans_follower_renew(&f->follower, world_now(f->end.world));
}

/* ---- the state file ---- */

static json_t *follow_json(const struct plans_follow *f)
{
    const struct plans_follower *e = &f->follower;
    json_t *j = json_object();
    json_put_text(j, "role", "follower");
    json_put_text(j, "owner", f->end.options->owner_text);
    json_put_number(j, "in_force", e->in_force);
    json_put_number(j, "applied", e->applied);
    if (f->why[0] != '\0')
        json_put_text(j, "failure", f->why);
    if (e->refused != 0) {
        json_put_number(j, "refused", e->refused);
        json_put_text(j, "reason", plans_verdict_text(e->reason));
    }
    if (e->heard_at != TICK_NEVER) {
        char date[PLAN_TIME_CAP];
        const tick ago = world_now(f->end.world) - e->heard_at;
        json_put_text(j, "heard_at", plan_date_text(world_wall(f->end.world) - ago, false, date));
    }
    json_object_set_new(j, "counts", plans_counts_json(e->counts));
    return j;
}

/* ---- turns ---- */

static void turn_follow(void *context)
{
    struct plans_follow *f = context;
    tick next = TICK_NEVER;
    if (f->end.stop)
        return;
    tick now = world_now(f->end.world);
    if (plans_follower_expire(&f->follower, now, world_wall(f->end.world))) {
        remove_old(f);
        f->end.shown = false;
    }
    if (!plans_node_turn(&f->end.node, now, &next)) {
        f->end.failed = true;
        plans_follow_stop(f);
        return;
    }
    now = world_now(f->end.world);
    (void)plans_follower_expire(&f->follower, now, world_wall(f->end.world));
    const uint64_t number = plans_follower_apply(&f->follower, now);
    if (number != 0)
        begin_job(f, number);
    if (f->end.stop)
        return;
    if (!f->end.shown && now >= f->end.show_at)
        plans_end_show(&f->end, follow_json(f), now);
    if (!f->end.shown)
        next = tick_min(next, f->end.show_at);
    next = tick_min(next, plans_follower_deadline(&f->follower, now, world_wall(f->end.world),
                                                  plans_node_free(&f->end.node)));
    alarm_set(&f->end.alarm, next);
}

/* What was stored before a restart. */
static void restore_versions(struct plans_follow *f)
{
    uint64_t *numbers = calloc(PLANS_FILES_MAX, sizeof *numbers);
    const int len = numbers == NULL ? 0 : plans_shelf_list(&f->end.shelf, numbers);
    struct plans_file file;
    for (int i = 0; i < len; i++) {
        const int rc = plans_shelf_read(&f->end.shelf, numbers[i], &file);
        if (rc == 0)
            (void)plans_follower_restore(&f->follower, &file.version);
        else
            say(&f->end.log, LEVEL_ERROR, "%s/plan-%" PRIu64 ".cbor: %s; the owner is asked for it",
                f->end.shelf.path, numbers[i],
                rc == HELIO_EFORMAT ? "it is damaged" : helio_strerror(rc));
        free(file.octets);
    }
    free(numbers);
}

int plans_follow_init(struct plans_follow *f, struct world *w, const struct plans_options *o,
                      void (*over)(void *context), void *context)
{
    static const struct plans_node_user user = {next_state, end_state, take_message, renew_node,
                                                turn_follow};
    *f = (struct plans_follow){.job = calloc(1, sizeof *f->job)};
    const int rc = plans_end_init(&f->end, w, o, turn_follow, f, over, context);
    if (rc != 0 || f->job == NULL)
        return rc != 0 ? rc : HELIO_ENOMEM;
    plans_follower_init(&f->follower, &o->owner, o->ask,
                        plans_shelf_number(&f->end.shelf, PLANS_MARK_FILE), world_now(w));
    restore_versions(f);
    plans_node_open(&f->end.node, w, &f->end.log, o->socket, o->service, o->group, o->lifetime,
                    PLANS_MESSAGE_MAX, &user, f);
    return 0;
}

void plans_follow_start(struct plans_follow *f)
{
    say(&f->end.log, LEVEL_INFO, "versions of %s in %s; the node follows %" PRIu64,
        f->end.options->owner_text, f->end.shelf.path, f->follower.applied);
    turn_follow(f);
}

void plans_follow_stop(struct plans_follow *f)
{
    if (!f->end.stop)
        plans_end_show(&f->end, follow_json(f), 0);
    plans_end_stop(&f->end);
}

void plans_follow_fini(struct plans_follow *f)
{
    plans_end_fini(&f->end);
}

void plans_follow_free(struct plans_follow *f)
{
    plans_shelf_close(&f->end.shelf);
    free(f->job);
    f->job = NULL;
}
