/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script's steps, one behind the other. An operation is done when its return has come; what comes
 * unasked is kept until a step expects it. Steps run from an alarm, so that they may write.
 *
 * What can go wrong: a return is positive where it should be negative, or the other way round;
 * nothing comes in time; the association ends where no step expects it: reported with file and
 * line, and the association is aborted.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_section.h"
#include "tools/sle/sle_script.h"
#include "tools/sle/user/sle_user_run.h"

#define HEARD_MAX 4096 /* notifications that no step has expected yet; later ones are not kept */

struct heard {
    enum script_wish wish;
    unsigned value;
};

struct script_run {
    struct association *a;
    struct script script;
    size_t at;
    bool waiting;                 /* the step is under way */
    enum sle_notice_kind awaited; /* of an operation */
    bool over;                    /* all is done, or it has failed */
    bool leaving;                 /* we end the connection */
    uint64_t frames;              /* that were expected */
    struct heard heard[HEARD_MAX];
    size_t heard_len;
    struct alarm next, late;
};

static tick now_of(const struct script_run *r)
{
    return world_now(r->a->user->world);
}

static const struct script_step *step_of(const struct script_run *r)
{
    assert(r->at < r->script.len);
    return &r->script.steps[r->at];
}

/* ---- the end ---- */

static void stop_steps(struct script_run *r)
{
    r->over = true;
    alarm_set(&r->next, TICK_NEVER);
    alarm_set(&r->late, TICK_NEVER);
}

/* From an alarm, or in a notice. */
static void fail_step(struct script_run *r, const char *what)
{
    struct association *a = r->a;
    association_fail(a, "%s:%u: %s", a->user->options->script, step_of(r)->line, what);
    stop_steps(r);
    if (a->conn != NULL)
        sle_link_abort(sle_conn_link(a->conn), SLE_ABORT_OPERATIONAL, now_of(r));
    alarm_set(&r->next, 0);
}

static void step_done(struct script_run *r)
{
    r->waiting = false;
    alarm_set(&r->late, TICK_NEVER);
    alarm_set(&r->next, 0);
    r->at++;
}

/* ---- what was heard ---- */

static bool take_heard(struct script_run *r, const struct script_step *s)
{
    for (size_t k = 0; k < r->heard_len; k++)
        if (r->heard[k].wish == s->wish && r->heard[k].value == s->value) {
            r->heard_len--;
            memmove(&r->heard[k], &r->heard[k + 1], (r->heard_len - k) * sizeof *r->heard);
            return true;
        }
    return false;
}

/* Has what the step expects come? */
static bool is_met(struct script_run *r, const struct script_step *s)
{
    if (s->wish != SCRIPT_FRAMES)
        return take_heard(r, s);
    if (r->a->measure.frames - r->frames < s->number)
        return false;
    r->frames += s->number;
    return true;
}

static void look_for_wish(struct script_run *r)
{
    if (!r->over && r->waiting && step_of(r)->verb == SCRIPT_EXPECT && is_met(r, step_of(r)))
        step_done(r);
}

static void hear(struct script_run *r, enum script_wish wish, unsigned value)
{
    if (r->heard_len < HEARD_MAX)
        r->heard[r->heard_len++] = (struct heard){wish, value};
    look_for_wish(r);
}

/* ---- returns ---- */

static void judge_return(struct script_run *r, unsigned diag)
{
    const struct script_step *s = step_of(r);
    char what[64];
    if (s->refused && diag == SLE_OK) {
        fail_step(r, "it was accepted");
    } else if (!s->refused && diag != SLE_OK) {
        snprintf(what, sizeof what, "it was refused: diagnostic %u", diag & 0xff);
        fail_step(r, what);
    } else if (s->refused && s->diag_given && s->diag != (diag & 0xff)) {
        snprintf(what, sizeof what, "the diagnostic is %u", diag & 0xff);
        fail_step(r, what);
    } else {
        step_done(r);
    }
}

static void judge_value(struct script_run *r, const struct sle_notice *n)
{
    const struct script_step *s = step_of(r);
    char what[64];
    if (n->diag == SLE_OK && s->is_given && (n->u.value.none || n->u.value.number != s->number)) {
        snprintf(what, sizeof what, "the value is %" PRIu32 "%s", n->u.value.number,
                 n->u.value.none ? " (none)" : "");
        fail_step(r, what);
    } else {
        judge_return(r, n->diag);
    }
}

static bool is_awaited(const struct script_run *r, enum sle_notice_kind kind)
{
    return !r->over && r->waiting && step_of(r)->verb != SCRIPT_EXPECT &&
           step_of(r)->verb != SCRIPT_WAIT && r->awaited == kind;
}

static void take_over(struct script_run *r, const struct sle_notice *n)
{
    struct association *a = r->a;
    if (r->over)
        return;
    if (is_awaited(r, SLE_BOUND) && n->end == SLE_END_REFUSED) {
        r->leaving = true;
        judge_return(r, SLE_SPECIFIC + n->bind_diag);
    } else if (n->end == SLE_END_UNBOUND && is_awaited(r, SLE_OVER)) {
        r->leaving = true;
        step_done(r);
    } else {
        snprintf(a->why, sizeof a->why, "%s%s%s", sle_end_text(n->end),
                 *sle_conn_reason(n) != '\0' ? ": " : "", sle_conn_reason(n));
    }
}

bool script_notice(struct association *a, const struct sle_notice *n)
{
    struct script_run *r = a->script;
    if (r->over && n->kind != SLE_OVER)
        return false;
    switch (n->kind) {
    case SLE_BOUND:
    case SLE_STARTED:
    case SLE_STOPPED:
    case SLE_SCHEDULED:
    case SLE_CLTU_ANSWER:
    case SLE_EVENT_ANSWER:
        if (n->kind == SLE_EVENT_ANSWER) /* a refused event uses up no number */
            a->events.invocation = n->u.event_return.next_invocation;
        if (is_awaited(r, n->kind))
            judge_return(r, n->diag);
        return true;
    case SLE_PARAMETER:
        if (is_awaited(r, n->kind))
            judge_value(r, n);
        return true;
    case SLE_STATUS:
        hear(r, SCRIPT_STATUS, 0);
        return false;
    case SLE_SYNC:
        hear(r, SCRIPT_SYNC, n->u.item.sync.kind);
        return false;
    case SLE_NOTIFIED:
        hear(r, SCRIPT_NOTIFY, n->u.async.notification);
        return true;
    case SLE_OVER:
        if (r->over)
            return false;
        take_over(r, n);
        return true;
    default:
        return false;
    }
}

void script_frame(struct association *a)
{
    look_for_wish(a->script);
}

bool script_gone(struct association *a)
{
    struct script_run *r = a->script;
    if (r->over)
        return false;
    if (r->leaving) {
        r->leaving = false;
        alarm_set(&r->next, 0);
        return true;
    }
    hear(r, SCRIPT_END, 0);
    if (!r->over && r->waiting && step_of(r)->verb != SCRIPT_WAIT)
        fail_step(r, a->why); /* what is expected cannot come any more */
    return true;
}

/* ---- steps ---- */

static int begin_start(struct script_run *r, const struct script_step *s)
{
    const uint64_t wall = world_wall(r->a->user->world);
    struct sle_start start = s->start;
    start.start = s->from.given ? user_when_at(&s->from, wall) : start.start;
    start.stop = s->to.given ? user_when_at(&s->to, wall) : start.stop;
    r->awaited = SLE_STARTED;
    return sle_user_start(r->a->sle, &start, now_of(r));
}

static int begin_transfer(struct script_run *r, const struct script_step *s)
{
    const uint64_t wall = world_wall(r->a->user->world);
    const struct sle_cltu cltu = {.earliest = user_when_at(&s->from, wall),
                                  .latest = user_when_at(&s->to, wall),
                                  .delay_us = s->delay_us,
                                  .notify = !s->quiet,
                                  .data = slice_of(r->script.octets + s->octets_at, s->octets_len)};
    r->awaited = SLE_CLTU_ANSWER;
    return sle_user_cltu(r->a->sle, &cltu, NULL, now_of(r));
}

static int begin_throw(struct script_run *r, const struct script_step *s)
{
    const struct sle_event event = {.invocation = r->a->events.invocation,
                                    .event = (uint32_t)s->number,
                                    .qualifier =
                                        slice_of(r->script.octets + s->octets_at, s->octets_len)};
    r->awaited = SLE_EVENT_ANSWER;
    return sle_user_event(r->a->sle, &event, now_of(r));
}

/* The connection ends here and at once: there is nothing to wait for but its end. */
static int begin_end(struct script_run *r, const struct script_step *s)
{
    struct association *a = r->a;
    if (a->conn == NULL)
        return HELIO_ESTOPPED;
    r->leaving = true;
    if (s->verb == SCRIPT_ABORT)
        sle_link_abort(sle_conn_link(a->conn), SLE_ABORT_OTHER, now_of(r));
    else
        sle_link_closed(sle_conn_link(a->conn), now_of(r));
    r->waiting = false;
    r->at++;
    return 0;
}

static int begin_bind(struct script_run *r)
{
    r->awaited = SLE_BOUND;
    return r->a->conn != NULL ? HELIO_ESTOPPED : links_bind(r->a);
}

static int begin_step(struct script_run *r, const struct script_step *s)
{
    struct sle_instance *i = r->a->sle;
    switch (s->verb) {
    case SCRIPT_BIND:
        return begin_bind(r);
    case SCRIPT_START:
        return begin_start(r, s);
    case SCRIPT_GET:
        r->awaited = SLE_PARAMETER;
        return sle_user_get(i, s->parameter, now_of(r));
    case SCRIPT_REPORT:
        r->awaited = SLE_SCHEDULED;
        return sle_user_schedule(i, &s->report, now_of(r));
    case SCRIPT_TRANSFER:
        return begin_transfer(r, s);
    case SCRIPT_THROW:
        return begin_throw(r, s);
    case SCRIPT_STOP:
        r->awaited = SLE_STOPPED;
        return sle_user_stop(i, now_of(r));
    case SCRIPT_UNBIND:
        r->awaited = SLE_OVER;
        return sle_user_unbind(i, s->reason, now_of(r));
    case SCRIPT_ABORT:
    case SCRIPT_DISCONNECT:
        return begin_end(r, s);
    case SCRIPT_WAIT:
    case SCRIPT_EXPECT:
        break;
    }
    return 0;
}

static void finish_script(struct script_run *r)
{
    struct association *a = r->a;
    stop_steps(r);
    if (a->conn != NULL) {
        association_stop(a);
        if (a->conn != NULL)
            sle_conn_pump(a->conn);
    } else if (!a->done) {
        association_over(a);
    }
}

static void run_step(void *context)
{
    struct script_run *r = context;
    struct association *a = r->a;
    if (r->over) { /* it has failed */
        if (a->conn != NULL)
            sle_conn_pump(a->conn);
        else if (!a->done)
            association_over(a);
        return;
    }
    if (r->waiting || r->leaving)
        return;
    if (r->at == r->script.len) {
        finish_script(r);
        return;
    }
    const struct script_step *s = step_of(r);
    r->waiting = true;
    alarm_set(&r->late, now_of(r) + s->within);
    const int e = begin_step(r, s);
    if (e < 0)
        fail_step(r, e == HELIO_ESTOPPED ? "the association is not in a state for this"
                                         : helio_strerror(e));
    else
        look_for_wish(r);
    if (r->waiting && !r->over && s->verb == SCRIPT_EXPECT && a->conn == NULL)
        fail_step(r, "the association has ended");
    if (a->conn != NULL)
        sle_conn_pump(a->conn);
}

static void on_late(void *context)
{
    struct script_run *r = context;
    if (r->over || !r->waiting)
        return;
    if (step_of(r)->verb == SCRIPT_WAIT)
        step_done(r);
    else
        fail_step(r, "it did not come in time");
}

/* ---- begin and end ---- */

int script_open(struct association *a)
{
    struct user *u = a->user;
    const char *path = u->options->script;
    char why[512];
    unsigned line = 0;
    size_t len;
    struct conf_errors *errors = malloc(sizeof *errors);
    if (path == NULL || errors == NULL) {
        free(errors);
        return path == NULL ? 0 : HELIO_ENOMEM;
    }
    conf_errors_init(errors, path);
    char *text = conf_file_read(path, &len, errors);
    if (text == NULL && errors->len > 0)
        say(&u->log, LEVEL_ERROR, "%s", errors->text[0]);
    free(errors);
    a->script = text == NULL ? NULL : calloc(1, sizeof *a->script);
    int e = a->script == NULL ? HELIO_EFORMAT : 0;
    if (e == 0)
        e = script_parse(&a->script->script, slice_of(text, len), &u->options->start, &line, why,
                         sizeof why);
    if (e == HELIO_EFORMAT && line > 0)
        say(&u->log, LEVEL_ERROR, "%s:%u: %s", path, line, why);
    free(text);
    if (e < 0) {
        free(a->script);
        a->script = NULL;
        return e;
    }
    a->script->a = a;
    return 0;
}

void script_begin(struct association *a)
{
    struct script_run *r = a->script;
    alarm_init(&r->next, a->user->world, ALARM_APP, run_step, r);
    alarm_init(&r->late, a->user->world, ALARM_APP, on_late, r);
    alarm_set(&r->next, 0);
}

void script_end(struct association *a)
{
    alarm_fini(&a->script->next);
    alarm_fini(&a->script->late);
}

void script_close(struct association *a)
{
    if (a->script != NULL)
        script_free(&a->script->script);
    free(a->script);
    a->script = NULL;
}
