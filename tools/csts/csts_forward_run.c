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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/framed/sle_digest.h"
#include "csts/forward.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/csts/csts_conn.h"
#include "tools/csts/csts_value.h"
#include "tools/csts/helio_csts.h"
#include "tools/sle/sle_frames_file.h"

#define BACKLOG (1u << 20)   /* octets: with more no frame is added */
#define AGAIN (20 * TICK_MS) /* then a frame that was not stored is sent again */
enum { NOT_KNOWN = 3 };      /* exit code: the last frame was radiated, the others are not known */
enum fate { UNREPORTED, RADIATED, INTERRUPTED };
enum phase { BINDING, SENDING, STOPPING, UNBINDING, DONE };

struct sender {
    const struct forward_options *options;
    struct world *world;
    struct csts *csts;
    struct csts_host host;
    struct sle_secure secure;
    struct csts_conn *conn;
    struct uv_signals *signals;
    struct alarm alarm; /* the end of patience */
    struct frames_file frames;
    uint8_t *fates; /* of each frame: enum fate */
    size_t sent;
    size_t processed, interrupted; /* frames with these fates */
    uint64_t production;
    enum phase phase;
    enum sle_end over;
    bool active, failed;
    /* sequenced */
    size_t asked;       /* frames without a return */
    bool full;          /* the provider could not store one: it is sent again */
    struct alarm again; /* then */
    bool locked;        /* no frame is sent until a reset is done */
    size_t reported;    /* number of the last frame with a fate */
    uint64_t resets;    /* that are done */
};

static tick now_of(const struct sender *s)
{
    return world_now(s->world);
}

static void say_failure(struct sender *s, const char *what, const char *why)
{
    if (!s->failed)
        fprintf(stderr, "helio-csts: %s: %s\n", what, why);
    s->failed = true;
}

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
        const uint64_t wall = world_wall(s->world);
        const struct csts_window w = {user_when_at(&o->earliest, wall),
                                      user_when_at(&o->latest, wall)};
        const struct csts_unit u = {(uint32_t)(i + 1), wants_report(s, i), s->frames.list[i]};
        e = csts_send_unit(csts_conn_link(s->conn), &u, &w, now_of(s));
        s->sent += e >= 0;
        s->asked += e >= 0;
    }
    if (e == 0 || e == HELIO_EAGAIN || e > 0)
        return;
    say_failure(s, "frames",
                e == HELIO_EINVAL ? "one is longer than a message may be" : helio_strerror(e));
    csts_link_abort(csts_conn_link(s->conn), CSTS_ABORT_OTHER, now_of(s));
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
    struct csts_link *l = csts_conn_link(s->conn);
    while (s->active && s->sent < s->frames.len && csts_link_backlog(l) < BACKLOG) {
        size_t n = 0;
        for (; n < o->buffer && s->sent + n < s->frames.len; n++) {
            const size_t i = s->sent + n;
            units[n] = (struct csts_unit){
                .id = (uint32_t)(i + 1), .report = wants_report(s, i), .data = s->frames.list[i]};
        }
        const int e = csts_send_frames(l, units, n, now_of(s));
        if (e < 0) {
            say_failure(s, "frames",
                        e == HELIO_EINVAL ? "one forward buffer is longer than a message may be"
                                          : helio_strerror(e));
            csts_link_abort(l, CSTS_ABORT_OTHER, now_of(s));
            return;
        }
        s->sent += n;
    }
}

/* Nothing is reported before --earliest. */
static void be_patient(struct sender *s)
{
    const struct user_when *w = &s->options->earliest;
    const uint64_t wall = world_wall(s->world);
    tick more = 0;
    if (w->given && w->relative)
        more = w->past ? 0 : w->ns;
    else if (w->given && w->ns > wall)
        more = w->ns - wall;
    alarm_set(&s->alarm, tick_add(now_of(s), tick_add(s->options->wait, more)));
}

static void stop_frames(struct sender *s)
{
    if (s->phase != SENDING || s->conn == NULL)
        return;
    s->phase = STOPPING;
    s->active = false;
    be_patient(s);
    (void)csts_stop_forward(csts_conn_link(s->conn), now_of(s));
}

static void unbind(struct sender *s)
{
    s->phase = UNBINDING;
    (void)csts_unbind(csts_conn_link(s->conn), now_of(s));
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
    const int e = csts_reset(csts_conn_link(s->conn), (uint32_t)s->reported + 1, now_of(s));
    if (e >= 0)
        return;
    say_failure(s, "the reset", helio_strerror(e));
    stop_frames(s);
}

/* The acknowledgement of the reset, or its return. */
static void take_reset(struct sender *s, const struct csts_notice *n)
{
    char why[160];
    be_patient(s);
    if (!n->pdu.positive && s->phase == SENDING) {
        say_failure(s, "the reset is refused",
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
        say_failure(s, "the provider is locked", "it accepts no frame before a new START");
        stop_frames(s);
        return;
    }
    const char *production = p->change ? production_of(n) : NULL;
    const bool halted = production != NULL && !s->options->reset &&
                        strcmp(production, csts_production_text(CSTS_HALTED)) == 0;
    if (s->fates[s->frames.len - 1] == UNREPORTED && !halted)
        return;
    if (s->fates[s->frames.len - 1] == UNREPORTED && s->phase == SENDING)
        say_failure(s, "production is halted", "the provider discarded the queued frames");
    stop_frames(s);
}

static void on_again(void *context)
{
    struct sender *s = context;
    s->full = false;
    if (s->conn == NULL)
        return;
    send_units(s);
    csts_conn_wake(s->conn);
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
        say_failure(s, n->has_next ? what : "a frame is refused", csts_unit_text(n->unit_diag));
        stop_frames(s);
    }
    if (s->full && s->asked == 0 && s->phase == SENDING) {
        s->sent = n->next_unit > 0 && n->next_unit <= s->frames.len ? n->next_unit - 1 : s->sent;
        alarm_set(&s->again, now_of(s) + AGAIN);
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
    say_failure(s, "START is refused", csts_refusal_text(&n->pdu.diagnostic, why, sizeof why));
    unbind(s);
}

static void on_notice(void *context, struct csts_conn *c, const struct csts_notice *n)
{
    struct sender *s = context;
    char words[128];
    switch (n->kind) {
    case CSTS_TOLD_BOUND:
        s->phase = SENDING;
        if (s->options->sequenced)
            (void)csts_start_sequence(csts_conn_link(c), 1, now_of(s));
        else
            (void)csts_start_forward(csts_conn_link(c), now_of(s));
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
        s->over = n->end;
        s->active = false;
        if (n->end != SLE_END_UNBOUND && n->end != SLE_END_CLOSED)
            say_failure(s, "the association", csts_end_words(n, words, sizeof words));
        break;
    default:
        break;
    }
}

static void on_room(void *context, struct csts_conn *c)
{
    (void)c;
    send_some(context);
}

static void end_all(struct sender *s)
{
    if (s->phase == DONE)
        return;
    s->phase = DONE;
    alarm_fini(&s->alarm);
    alarm_fini(&s->again);
    csts_host_fini(&s->host);
    uv_signals_close(s->signals);
    uv_world_end(s->world);
}

static void on_gone(void *context, struct csts_conn *c, int error)
{
    struct sender *s = context;
    s->conn = NULL;
    if (csts_conn_why(c)[0] != '\0')
        say_failure(s, "TLS", csts_conn_why(c));
    if (s->over == SLE_END_CLOSED)
        say_failure(s, "the connection",
                    error < 0 ? helio_strerror(error) : "the provider closed it");
    alarm_set(&s->alarm, 0); /* the loop ends it */
}

static const struct csts_conn_user conn_user = {on_notice, on_gone, on_room};

static void on_alarm(void *context)
{
    struct sender *s = context;
    if (s->conn == NULL) {
        end_all(s);
        return;
    }
    say_failure(s, "the provider",
                s->phase == SENDING && s->active ? "it sent no notification within --wait"
                                                 : "it does not answer");
    csts_link_abort(csts_conn_link(s->conn), CSTS_ABORT_OTHER, now_of(s));
    csts_conn_wake(s->conn);
    alarm_set(&s->alarm, TICK_NEVER);
}

static void on_signal(void *context, int number)
{
    struct sender *s = context;
    (void)number;
    say_failure(s, "ended by a signal", "not all frames were radiated");
    if (s->phase == SENDING && s->active) {
        stop_frames(s);
        csts_conn_wake(s->conn);
        return;
    }
    if (s->conn != NULL)
        csts_conn_free(s->conn);
    s->conn = NULL;
    end_all(s);
}

static int connect_provider(struct sender *s)
{
    const struct forward_options *o = s->options;
    struct csts_user_config c = {.id = o->terms.instance, .version = o->terms.version};
    char text[ADDRESS_TEXT_MAX];
    snprintf(c.responder, sizeof c.responder, "%s", o->terms.peer);
    snprintf(c.port, sizeof c.port, "%s", o->terms.port);
    const int e = csts_conn_open(&s->host, &s->conn, &o->to, &c, &conn_user, s);
    if (e < 0)
        say_failure(s, address_write(&o->to, text), helio_strerror(e));
    return e;
}

static void run_loop(struct sender *s)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    s->signals = uv_signals_open(s->world, numbers, 2, on_signal, s);
    csts_host_init(&s->host, s->world, s->csts);
    s->host.secure = s->secure.tls == NULL ? NULL : &s->secure;
    alarm_init(&s->alarm, s->world, ALARM_APP, on_alarm, s);
    alarm_init(&s->again, s->world, ALARM_APP, on_again, s);
    if (s->signals == NULL)
        say_failure(s, "the event loop", "no signals");
    if (s->signals == NULL || connect_provider(s) < 0)
        end_all(s);
    else
        be_patient(s);
    uv_world_run(s->world);
}

/* The exit code, and why it is not 0. What is not known is no success. */
static int judge_frames(struct sender *s)
{
    static const char *const last[] = {"", "",
                                       "; the last one was interrupted, refused or discarded"};
    const size_t all = s->frames.len;
    const enum fate fate = s->fates[all - 1];
    char why[200];
    if (s->failed || s->processed == all)
        return s->failed ? 1 : 0;
    if (s->options->last_only && fate == RADIATED && s->interrupted == 0) {
        say_failure(s, "the last frame was radiated", "there are no reports of the others");
        return NOT_KNOWN;
    }
    snprintf(why, sizeof why, "%zu reported as interrupted, %zu %s%s", s->interrupted,
             all - s->processed - s->interrupted,
             s->options->last_only ? "without a report" : "refused or discarded", last[fate]);
    say_failure(s, "not all frames were radiated", why);
    return 1;
}

static int run_sender(struct sender *s)
{
    struct sle_digests *digests = sle_digests_new();
    if (digests == NULL || uv_world_open(&s->world) < 0) {
        fprintf(stderr, "helio-csts: the event loop cannot begin\n");
        sle_digests_free(digests);
        return 1;
    }
    s->csts = csts_engine_of(&s->options->terms, digests, world_random(s->world),
                             world_wall(s->world) - world_now(s->world));
    if (s->csts == NULL) {
        say_failure(s, "the engine", "out of memory");
        uv_world_end(s->world);
        uv_world_run(s->world);
    } else {
        run_loop(s);
        print_sum(s);
    }
    csts_free(s->csts);
    if (uv_world_free(s->world) < 0)
        s->failed = true;
    sle_digests_free(digests);
    return judge_frames(s);
}

int csts_run_forward(const struct forward_options *o)
{
    struct sender s = {.options = o};
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
    const int code = s.fates == NULL                        ? 1
                     : csts_secure_of(&o->terms, &s.secure) ? run_sender(&s)
                                                            : 2;
    tls_free(s.secure.tls);
    free(s.fates);
    frames_file_free(&s.frames);
    return code;
}
