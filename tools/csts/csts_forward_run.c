/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user of Forward Frame: binds, starts, sends the frames of a file, prints what the provider says
 * of them, and ends in order when it has heard of the last frame: STOP, UNBIND.
 *
 * What can go wrong: nobody listens, the BIND or START is refused, the provider aborts or says
 * nothing for --wait: said, and the exit code is 1; so it is when not all frames were reported as
 * radiated. With --report last there is no report of the others: the exit code is 3. Sequenced: a
 * frame is refused: so are those behind it. If the provider could not store it, they are sent
 * again. The provider is locked: with --reset it is unlocked, when all returns have come, and the
 * frames behind the last reported one are sent again.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csts/forward.h"
#include "tools/csts/csts_caller.h"
#include "tools/csts/csts_value.h"
#include "tools/sle/sle_frames_file.h"

#define BACKLOG (1u << 20)   /* octets: with more no frame is added */
#define AGAIN (20 * TICK_MS) /* then a frame that was not stored is sent again */
enum { NOT_KNOWN = 3 };      /* exit code: the last frame was radiated, the others are not known */
enum fate { UNREPORTED, RADIATED, INTERRUPTED };
enum phase { BINDING, SENDING, STOPPING, UNBINDING, DONE };

struct sender {
    const struct forward_options *options;
    struct csts_caller c; /* its alarm: the end of the time, then of patience */
    struct frames_file frames;
    uint8_t *fates; /* of each frame: enum fate */
    size_t sent;
    size_t processed, interrupted; /* frames with these fates */
    uint64_t production;
    enum phase phase;
    bool active;
    /* sequenced */
    size_t asked;       /* frames without a return */
    bool full;          /* the provider could not store one: it is sent again */
    struct alarm again; /* then */
    bool locked;        /* no frame is sent until a reset is done */
    size_t reported;    /* number of the last frame with a fate */
    uint64_t resets;    /* that are done */
};

/* ---- printing ---- */

static const char *status_text(enum csts_processed status)
{
    static const char *const words[] = {"processed", "interrupted", "started", "expired",
                                        "not started"};
    return words[status];
}

/* What the notification says of it; NULL: nothing that is known. */
static const char *production_of(const struct csts_notice *n)
{
    return n->processing.change ? csts_production_of(&n->pdu.u.notify)
                                : csts_production_text(n->processing.production);
}

static void print_text(const struct csts_processing *p, const char *time, const char *production)
{
    char at[CSTS_TIME_TEXT];
    printf("%s ", time);
    if (p->change)
        printf("production %s\n", production == NULL ? "changed" : production);
    else if (p->any && p->status >= CSTS_PROCESSING_EXPIRED)
        printf("frame %" PRIu32 " %s\n", p->last, status_text(p->status));
    else if (p->any)
        printf("frame %" PRIu32 " %s, started %s\n", p->last, status_text(p->status),
               csts_time_text(p->started, at));
    else
        printf("no frame\n");
}

static void print_json(const struct csts_processing *p, const char *time, const char *production)
{
    char at[CSTS_TIME_TEXT];
    json_t *j = json_object();
    json_object_set_new(j, "kind", json_string(p->change ? "production" : "processed"));
    json_object_set_new(j, "time", json_string(time));
    if (production != NULL)
        json_object_set_new(j, "production", json_string(production));
    if (p->any) {
        json_object_set_new(j, "frame", json_integer(p->last));
        json_object_set_new(j, "status", json_string(status_text(p->status)));
        if (p->status < CSTS_PROCESSING_EXPIRED)
            json_object_set_new(j, "started", json_string(csts_time_text(p->started, at)));
    }
    if (p->any_ok) {
        json_object_set_new(j, "last_ok", json_integer(p->last_ok));
        json_object_set_new(j, "stopped", json_string(csts_time_text(p->stopped, at)));
    }
    json_dumpf(j, stdout, JSON_COMPACT);
    printf("\n");
    json_decref(j);
}

static void print_notify(const struct sender *s, const struct csts_notice *n)
{
    char time[CSTS_TIME_TEXT];
    csts_time_text(n->pdu.u.notify.at, time);
    if (s->options->json)
        print_json(&n->processing, time, production_of(n));
    else
        print_text(&n->processing, time, production_of(n));
    fflush(stdout);
}

static void print_sum(const struct sender *s)
{
    if (!s->options->json) {
        printf("%zu frames sent, %zu reported as processed, %zu as interrupted\n", s->sent,
               s->processed, s->interrupted);
        return;
    }
    json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:I}", "kind", "sum", "sent", (json_int_t)s->sent,
                          "processed", (json_int_t)s->processed, "interrupted",
                          (json_int_t)s->interrupted, "production", (json_int_t)s->production);
    if (s->options->reset)
        json_object_set_new(j, "resets", json_integer((json_int_t)s->resets));
    json_dumpf(j, stdout, JSON_COMPACT);
    printf("\n");
    json_decref(j);
}

/* ---- the order of things ---- */

static bool wants_report(const struct sender *s, size_t i)
{
    return !s->options->last_only || i + 1 == s->frames.len;
}

/* As many as may be without a return; each is stored by the provider, or sent again. */
static void send_units(struct sender *s)
{
    const struct forward_options *o = s->options;
    int e = 0;
    while (s->active && !s->full && !s->locked && s->sent < s->frames.len && e >= 0) {
        const size_t i = s->sent;
        const uint64_t wall = world_wall(s->c.world);
        const struct csts_window w = {user_when_at(&o->earliest, wall),
                                      user_when_at(&o->latest, wall)};
        const struct csts_unit u = {(uint32_t)(i + 1), wants_report(s, i), s->frames.list[i]};
        e = csts_send_unit(csts_conn_link(s->c.conn), &u, &w, caller_now(&s->c));
        s->sent += e >= 0;
        s->asked += e >= 0;
    }
    if (e == 0 || e == HELIO_EAGAIN || e > 0)
        return;
    caller_fail(&s->c, "frames",
                e == HELIO_EINVAL ? "one is longer than a message may be" : helio_strerror(e));
    csts_link_abort(csts_conn_link(s->c.conn), CSTS_ABORT_OTHER, caller_now(&s->c));
}

/* Frames into the queue, as long as it is short. Numbers are counted from 1. */
static void send_some(struct sender *s)
{
    const struct forward_options *o = s->options;
    if (o->sequenced) {
        send_units(s);
        return;
    }
    struct csts_unit units[CSTS_BUFFER_MAX];
    struct csts_link *l = csts_conn_link(s->c.conn);
    while (s->active && s->sent < s->frames.len && csts_link_backlog(l) < BACKLOG) {
        size_t n = 0;
        for (; n < o->buffer && s->sent + n < s->frames.len; n++) {
            const size_t i = s->sent + n;
            units[n] = (struct csts_unit){
                .id = (uint32_t)(i + 1), .report = wants_report(s, i), .data = s->frames.list[i]};
        }
        const int e = csts_send_frames(l, units, n, caller_now(&s->c));
        if (e < 0) {
            caller_fail(&s->c, "frames",
                        e == HELIO_EINVAL ? "one forward buffer is longer than a message may be"
                                          : helio_strerror(e));
            csts_link_abort(l, CSTS_ABORT_OTHER, caller_now(&s->c));
            return;
        }
        s->sent += n;
    }
}

/* How long to wait for the provider: nothing is reported before --earliest. */
static tick patience_of(const struct sender *s)
{
    const struct user_when *w = &s->options->earliest;
    const uint64_t wall = world_wall(s->c.world);
    tick more = 0;
    if (w->given && w->relative)
        more = w->past ? 0 : w->ns;
    else if (w->given && w->ns > wall)
        more = w->ns - wall;
    return tick_add(s->options->wait, more);
}

static void be_patient(struct sender *s)
{
    alarm_set(&s->c.alarm, tick_add(caller_now(&s->c), patience_of(s)));
}

static void stop_frames(struct sender *s)
{
    if (s->phase != SENDING || s->c.conn == NULL)
        return;
    s->phase = STOPPING;
    s->active = false;
    be_patient(s);
    (void)csts_stop_forward(csts_conn_link(s->c.conn), caller_now(&s->c));
}

static void unbind(struct sender *s)
{
    s->phase = UNBINDING;
    (void)csts_unbind(csts_conn_link(s->c.conn), caller_now(&s->c));
}

/* Two notifications tell of one interruption: a frame counts once. */
static void note_fate(struct sender *s, const struct csts_processing *p)
{
    if (!p->any || p->status == CSTS_PROCESSING_STARTED || p->last == 0 || p->last > s->sent ||
        s->fates[p->last - 1] != UNREPORTED)
        return;
    const bool radiated = p->status == CSTS_PROCESSED;
    s->fates[p->last - 1] = radiated ? RADIATED : INTERRUPTED;
    s->processed += radiated;
    s->interrupted += !radiated;
    s->reported = p->last;
}

/* All frames that the provider has are discarded: when their returns have come, it is unlocked. */
static void reset_if_due(struct sender *s)
{
    if (!s->locked || s->asked > 0 || s->phase != SENDING)
        return;
    const int e =
        csts_reset(csts_conn_link(s->c.conn), (uint32_t)s->reported + 1, caller_now(&s->c));
    if (e >= 0)
        return;
    caller_fail(&s->c, "the reset", helio_strerror(e));
    stop_frames(s);
}

/* The acknowledgement of the reset, or its return. */
static void take_reset(struct sender *s, const struct csts_notice *n)
{
    char why[160];
    be_patient(s);
    if (!n->pdu.positive && s->phase == SENDING) {
        caller_fail(&s->c, "the reset is refused",
                    csts_refusal_text(&n->pdu.diagnostic, why, sizeof why));
        stop_frames(s);
    }
    if (!n->pdu.positive || n->pdu.kind != CSTS_PDU_DIRECTIVE_RETURN)
        return;
    s->locked = s->full = false;
    s->resets++;
    s->sent = s->reported;
    send_units(s);
}

static void take_notify(struct sender *s, const struct csts_notice *n)
{
    const struct csts_processing *p = &n->processing;
    print_notify(s, n);
    be_patient(s);
    s->production += p->change;
    note_fate(s, p);
    const bool locks = csts_oid_is(&n->pdu.u.notify.event.id, CSTS_SEQUENCE_LOCKED);
    if (locks && s->phase == SENDING && s->options->reset) {
        s->locked = true;
        reset_if_due(s);
        return;
    }
    if (locks && s->phase == SENDING) {
        caller_fail(&s->c, "the provider is locked", "it accepts no frame before a new START");
        stop_frames(s);
        return;
    }
    const char *production = p->change ? production_of(n) : NULL;
    const bool halted = production != NULL && !s->options->reset &&
                        strcmp(production, csts_production_text(CSTS_HALTED)) == 0;
    if (s->fates[s->frames.len - 1] == UNREPORTED && !halted)
        return;
    if (s->fates[s->frames.len - 1] == UNREPORTED && s->phase == SENDING)
        caller_fail(&s->c, "production is halted", "the provider discarded the queued frames");
    stop_frames(s);
}

static void on_again(void *context)
{
    struct sender *s = context;
    s->full = false;
    if (s->c.conn == NULL)
        return;
    send_units(s);
    csts_conn_wake(s->c.conn);
}

/* The return of a frame. Those behind a refused one are refused, too: out of sequence. */
static void take_answer(struct sender *s, const struct csts_notice *n)
{
    char what[64];
    s->asked--;
    be_patient(s);
    if (s->locked) {
        reset_if_due(s);
        return;
    }
    if (!n->pdu.positive && n->unit_diag == CSTS_UNIT_UNABLE_TO_STORE && n->has_next)
        s->full = true;
    if (!n->pdu.positive && !s->full && s->phase == SENDING) {
        snprintf(what, sizeof what, "frame %" PRIu32 " is refused", n->next_unit);
        caller_fail(&s->c, n->has_next ? what : "a frame is refused", csts_unit_text(n->unit_diag));
        stop_frames(s);
    }
    if (s->full && s->asked == 0 && s->phase == SENDING) {
        s->sent = n->next_unit > 0 && n->next_unit <= s->frames.len ? n->next_unit - 1 : s->sent;
        alarm_set(&s->again, caller_now(&s->c) + AGAIN);
    }
    send_some(s);
}

static void take_started(struct sender *s, const struct csts_notice *n)
{
    char why[160];
    be_patient(s);
    if (n->pdu.positive) {
        s->active = true;
        send_some(s);
        return;
    }
    caller_fail(&s->c, "START is refused", csts_refusal_text(&n->pdu.diagnostic, why, sizeof why));
    unbind(s);
}

static void start_frames(struct sender *s)
{
    struct csts_link *l = csts_conn_link(s->c.conn);
    s->phase = SENDING;
    if (s->options->sequenced)
        (void)csts_start_sequence(l, 1, caller_now(&s->c));
    else
        (void)csts_start_forward(l, caller_now(&s->c));
}

static void on_notice(void *self, const struct csts_notice *n)
{
    struct sender *s = self;
    switch (n->kind) {
    case CSTS_TOLD_BOUND:
        start_frames(s);
        break;
    case CSTS_TOLD_ANSWER:
        take_answer(s, n);
        break;
    case CSTS_TOLD_DIRECTIVE:
        take_reset(s, n);
        break;
    case CSTS_TOLD_STARTED:
        take_started(s, n);
        break;
    case CSTS_TOLD_PROCESSED:
        take_notify(s, n);
        break;
    case CSTS_TOLD_STOPPED:
        unbind(s);
        break;
    case CSTS_TOLD_OVER:
        s->active = false;
        break;
    default:
        break;
    }
}

static void on_room(void *self)
{
    send_some(self);
}

static void on_late(void *self)
{
    struct sender *s = self;
    caller_abort(&s->c, s->phase == SENDING && s->active ? "it sent no notification within --wait"
                                                         : "it does not answer");
}

static bool on_signal(void *self)
{
    struct sender *s = self;
    caller_fail(&s->c, "ended by a signal", "not all frames were radiated");
    if (s->phase != SENDING || !s->active)
        return false;
    stop_frames(s);
    return true;
}

static int begin_again(void *self)
{
    struct sender *s = self;
    alarm_init(&s->again, s->c.world, ALARM_APP, on_again, s);
    return 0;
}

static void end_again(void *self)
{
    alarm_fini(&((struct sender *)self)->again);
}

static const struct csts_caller_ops ops = {.begin = begin_again,
                                           .notice = on_notice,
                                           .room = on_room,
                                           .late = on_late,
                                           .signal = on_signal,
                                           .end = end_again};

/* The exit code, and why it is not 0. What is not known is no success. */
static int judge_frames(struct sender *s)
{
    static const char *const last[] = {"", "",
                                       "; the last one was interrupted, refused or discarded"};
    const size_t all = s->frames.len;
    const enum fate fate = s->fates[all - 1];
    char why[200];
    if (s->c.failed || s->processed == all)
        return s->c.failed ? 1 : 0;
    if (s->options->last_only && fate == RADIATED && s->interrupted == 0) {
        caller_fail(&s->c, "the last frame was radiated", "there are no reports of the others");
        return NOT_KNOWN;
    }
    snprintf(why, sizeof why, "%zu reported as interrupted, %zu %s%s", s->interrupted,
             all - s->processed - s->interrupted,
             s->options->last_only ? "without a report" : "refused or discarded", last[fate]);
    caller_fail(&s->c, "not all frames were radiated", why);
    return 1;
}

static int run_sender(struct sender *s)
{
    const int e = caller_open(&s->c);
    if (e != 0)
        return e;
    if (caller_run(&s->c, patience_of(s)))
        print_sum(s);
    caller_close(&s->c);
    return judge_frames(s);
}

int csts_run_forward(const struct forward_options *o)
{
    struct sender s = {.options = o,
                       .c = {.ops = &ops, .self = &s, .terms = &o->terms, .to = &o->to}};
    const int e = frames_file_read(&s.frames, o->frames, o->frame);
    if (e < 0 || s.frames.len > UINT32_MAX) {
        fprintf(stderr, "helio-csts: %s: %s\n", o->frames,
                e == HELIO_EFORMAT ? "this is no file of frames"
                                   : helio_strerror(e < 0 ? e : HELIO_ESPACE));
        frames_file_free(&s.frames);
        return 2;
    }
    s.fates = calloc(s.frames.len, sizeof *s.fates);
    if (s.fates == NULL)
        fprintf(stderr, "helio-csts: %s\n", helio_strerror(HELIO_ENOMEM));
    const int code = s.fates == NULL ? 1 : run_sender(&s);
    free(s.fates);
    frames_file_free(&s.frames);
    return code;
}
