/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user of buffered data delivery: binds, starts with the window that is wanted, and writes the
 * frames that arrive, until the provider says that there are no more, so many have arrived, so much
 * time has passed, or a signal: STOP, UNBIND.
 *
 * What can go wrong: nobody listens, the BIND or START is refused, the provider aborts or is
 * silent, a frame cannot be written: said, and the exit code is 1. Frames that the provider
 * discarded or no longer had are counted by their numbers, and notified: the exit code is 3.
 */
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/framed/sle_digest.h"
#include "csts/delivery.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/csts/csts_conn.h"
#include "tools/csts/csts_value.h"
#include "tools/csts/helio_csts.h"
#include "tools/sle/sle_target.h"

enum { MISSING = 3 }; /* exit code: not all frames of the window have arrived */
enum phase { BINDING, RUNNING, STOPPING, UNBINDING, DONE };

struct receiver {
    const struct data_options *options;
    struct world *world;
    struct csts *csts;
    struct csts_host host;
    struct sle_secure secure;
    struct csts_conn *conn;
    struct uv_signals *signals;
    struct alarm alarm; /* the end of the time, then of patience */
    struct target target;
    uint64_t frames, octets;
    uint64_t missing;              /* by the numbers of the frames */
    uint64_t discarded, overflows; /* notifications */
    uint32_t expected;             /* number of the next frame */
    enum phase phase;
    enum sle_end over;
    bool active, failed;
};

static tick now_of(const struct receiver *r)
{
    return world_now(r->world);
}

static void say_failure(struct receiver *r, const char *what, const char *why)
{
    if (!r->failed)
        fprintf(stderr, "helio-csts: %s: %s\n", what, why);
    r->failed = true;
}

/* ---- printing ---- */

static void print_json(json_t *j)
{
    json_dumpf(j, stdout, JSON_COMPACT);
    printf("\n");
    json_decref(j);
}

static void print_frame(const struct receiver *r, const struct csts_transfer *t)
{
    char time[CSTS_TIME_TEXT];
    if (r->options->json)
        print_json(json_pack("{s:s, s:s, s:I, s:I}", "kind", "frame", "time",
                             csts_time_text(t->generated, time), "sequence",
                             (json_int_t)t->sequence, "octets", (json_int_t)t->data.opaque.len));
}

static void print_event(const struct receiver *r, const struct csts_notify *n, const char *event)
{
    char time[CSTS_TIME_TEXT];
    const char *production = csts_production_of(n);
    csts_time_text(n->at, time);
    if (!r->options->json) {
        printf("%s %s%s%s\n", time, event, production == NULL ? "" : " ",
               production == NULL ? "" : production);
        return;
    }
    json_t *j = json_pack("{s:s, s:s, s:s}", "kind", "event", "time", time, "event", event);
    if (production != NULL)
        json_object_set_new(j, "production", json_string(production));
    print_json(j);
}

static void print_sum(const struct receiver *r)
{
    if (r->options->json)
        print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "kind", "sum", "frames",
                             (json_int_t)r->frames, "octets", (json_int_t)r->octets, "missing",
                             (json_int_t)r->missing, "discarded", (json_int_t)r->discarded,
                             "overflows", (json_int_t)r->overflows));
    else
        printf("%" PRIu64 " frames of %" PRIu64 " octets, %" PRIu64 " missing\n", r->frames,
               r->octets, r->missing);
}

/* ---- the order of things ---- */

static void stop_frames(struct receiver *r)
{
    if (r->phase != RUNNING)
        return;
    r->phase = STOPPING;
    alarm_set(&r->alarm, now_of(r) + r->options->wait);
    if (!r->active || csts_stop_delivery(csts_conn_link(r->conn), now_of(r)) < 0) {
        r->phase = UNBINDING;
        (void)csts_unbind(csts_conn_link(r->conn), now_of(r));
    }
}

static void start_frames(struct receiver *r)
{
    const uint64_t wall = world_wall(r->world);
    const struct csts_window w = {user_when_at(&r->options->from, wall),
                                  user_when_at(&r->options->to, wall)};
    r->phase = RUNNING;
    alarm_set(&r->alarm, r->options->time > 0 ? now_of(r) + r->options->time : TICK_NEVER);
    (void)csts_start_delivery(csts_conn_link(r->conn), NULL, &w, now_of(r));
}

static void take_frame(struct receiver *r, const struct csts_transfer *t)
{
    if (r->options->frames > 0 && r->frames == r->options->frames)
        return;
    r->missing += (uint32_t)(t->sequence - r->expected);
    r->expected = t->sequence + 1;
    const int e = t->data.extended ? HELIO_EFORMAT : target_put(&r->target, t->data.opaque);
    if (e < 0) {
        say_failure(r, r->options->out, helio_strerror(e));
        stop_frames(r);
        return;
    }
    r->frames++;
    r->octets += t->data.opaque.len;
    print_frame(r, t);
    if (r->frames == r->options->frames)
        stop_frames(r);
}

static void take_event(struct receiver *r, const struct csts_notify *n)
{
    const struct csts_oid *id = &n->event.id;
    const char *event = "event";
    if (csts_oid_is(id, CSTS_DELIVERY_END)) {
        event = "end of data";
    } else if (csts_oid_is(id, CSTS_DELIVERY_DISCARDED)) {
        event = "data discarded";
        r->discarded++;
    } else if (csts_oid_is(id, CSTS_DELIVERY_OVERFLOW)) {
        event = "recording buffer overflow";
        r->overflows++;
    } else if (csts_oid_is(id, CSTS_PRODUCTION_CHANGE)) {
        event = "production";
    }
    print_event(r, n, event);
    if (csts_oid_is(id, CSTS_DELIVERY_END))
        stop_frames(r);
}

static void take_started(struct receiver *r, const struct csts_notice *n)
{
    char why[160];
    r->active = n->pdu.positive;
    if (r->active)
        return;
    say_failure(r, "START is refused", csts_refusal_text(&n->pdu.diagnostic, why, sizeof why));
    stop_frames(r);
}

static void on_notice(void *context, struct csts_conn *c, const struct csts_notice *n)
{
    struct receiver *r = context;
    char words[128];
    switch (n->kind) {
    case CSTS_TOLD_BOUND:
        start_frames(r);
        break;
    case CSTS_TOLD_STARTED:
        take_started(r, n);
        break;
    case CSTS_TOLD_DATA:
        take_frame(r, &n->pdu.u.transfer);
        break;
    case CSTS_TOLD_EVENT:
        take_event(r, &n->pdu.u.notify);
        break;
    case CSTS_TOLD_STOPPED:
        r->phase = UNBINDING;
        (void)csts_unbind(csts_conn_link(c), now_of(r));
        break;
    case CSTS_TOLD_OVER:
        r->over = n->end;
        if (n->end != SLE_END_UNBOUND && n->end != SLE_END_CLOSED)
            say_failure(r, "the association", csts_end_words(n, words, sizeof words));
        break;
    default:
        break;
    }
}

static void end_all(struct receiver *r)
{
    if (r->phase == DONE)
        return;
    r->phase = DONE;
    alarm_fini(&r->alarm);
    csts_host_fini(&r->host);
    target_close(&r->target);
    uv_signals_close(r->signals);
    uv_world_end(r->world);
}

static void on_gone(void *context, struct csts_conn *c, int error)
{
    struct receiver *r = context;
    r->conn = NULL;
    if (csts_conn_why(c)[0] != '\0')
        say_failure(r, "TLS", csts_conn_why(c));
    if (r->over == SLE_END_CLOSED)
        say_failure(r, "the connection",
                    error < 0 ? helio_strerror(error) : "the provider closed it");
    alarm_set(&r->alarm, 0); /* the loop ends it */
}

static const struct csts_conn_user conn_user = {on_notice, on_gone, NULL};

static void on_alarm(void *context)
{
    struct receiver *r = context;
    if (r->conn == NULL) {
        end_all(r);
    } else if (r->phase == RUNNING) {
        stop_frames(r);
        csts_conn_wake(r->conn);
    } else {
        say_failure(r, "the provider", "it does not answer");
        csts_link_abort(csts_conn_link(r->conn), CSTS_ABORT_OTHER, now_of(r));
        csts_conn_wake(r->conn);
        alarm_set(&r->alarm, TICK_NEVER);
    }
}

static void on_signal(void *context, int number)
{
    struct receiver *r = context;
    (void)number;
    if (r->phase == RUNNING) {
        stop_frames(r);
        csts_conn_wake(r->conn);
        return;
    }
    say_failure(r, "ended by a signal", "before STOP and UNBIND");
    if (r->conn != NULL)
        csts_conn_free(r->conn);
    r->conn = NULL;
    end_all(r);
}

static int connect_provider(struct receiver *r)
{
    const struct data_options *o = r->options;
    struct csts_user_config c = {.id = o->terms.instance, .version = o->terms.version};
    char text[ADDRESS_TEXT_MAX];
    snprintf(c.responder, sizeof c.responder, "%s", o->terms.peer);
    snprintf(c.port, sizeof c.port, "%s", o->terms.port);
    const int e = csts_conn_open(&r->host, &r->conn, &o->to_address, &c, &conn_user, r);
    if (e < 0)
        say_failure(r, address_write(&o->to_address, text), helio_strerror(e));
    return e;
}

static int open_target(struct receiver *r)
{
    const int e = target_open(&r->target, r->world, r->options->out, &r->options->out_to);
    if (e < 0)
        say_failure(r, r->options->out, helio_strerror(e));
    return e;
}

static void run_loop(struct receiver *r)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    r->signals = uv_signals_open(r->world, numbers, 2, on_signal, r);
    csts_host_init(&r->host, r->world, r->csts);
    r->host.secure = r->secure.tls == NULL ? NULL : &r->secure;
    alarm_init(&r->alarm, r->world, ALARM_APP, on_alarm, r);
    target_init(&r->target);
    if (r->signals == NULL)
        say_failure(r, "the event loop", "no signals");
    if (r->signals == NULL || open_target(r) < 0 || connect_provider(r) < 0)
        end_all(r);
    else
        alarm_set(&r->alarm, now_of(r) + r->options->wait);
    uv_world_run(r->world);
}

static int judge_frames(const struct receiver *r)
{
    if (!r->failed && r->missing + r->discarded + r->overflows > 0) {
        fprintf(stderr,
                "helio-csts: the provider discarded frames, or did not have them any more\n");
        return MISSING;
    }
    return r->failed ? 1 : 0;
}

int csts_run_data(const struct data_options *o)
{
    struct receiver r = {.options = o};
    if (!csts_secure_of(&o->terms, &r.secure))
        return 2;
    struct sle_digests *digests = sle_digests_new();
    if (digests == NULL || uv_world_open(&r.world) < 0) {
        fprintf(stderr, "helio-csts: the event loop cannot begin\n");
        sle_digests_free(digests);
        tls_free(r.secure.tls);
        return 1;
    }
    r.csts = csts_engine_of(&o->terms, digests, world_random(r.world),
                            world_wall(r.world) - world_now(r.world));
    if (r.csts == NULL) {
        say_failure(&r, "the engine", "out of memory");
        uv_world_end(r.world);
        uv_world_run(r.world);
    } else {
        run_loop(&r);
        print_sum(&r);
    }
    csts_free(r.csts);
    if (uv_world_free(r.world) < 0)
        r.failed = true;
    sle_digests_free(digests);
    tls_free(r.secure.tls);
    return judge_frames(&r);
}
