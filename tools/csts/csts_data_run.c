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
#include <stdio.h>
#include <stdlib.h>

#include "csts/delivery.h"
#include "tools/csts/csts_caller.h"
#include "tools/csts/csts_value.h"
#include "tools/sle/sle_target.h"

enum { MISSING = 3 }; /* exit code: not all frames of the window have arrived */
enum phase { BINDING, RUNNING, STOPPING, UNBINDING, DONE };

struct receiver {
    const struct data_options *options;
    struct csts_caller c; /* its alarm: the end of the time, then of patience */
    struct target target;
    uint64_t frames, octets;
    uint64_t missing;              /* by the numbers of the frames */
    uint64_t discarded, overflows; /* notifications */
    uint32_t expected;             /* number of the next frame */
    enum phase phase;
    bool active;
};

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
    alarm_set(&r->c.alarm, caller_now(&r->c) + r->options->wait);
    if (!r->active || csts_stop_delivery(csts_conn_link(r->c.conn), caller_now(&r->c)) < 0) {
        r->phase = UNBINDING;
        (void)csts_unbind(csts_conn_link(r->c.conn), caller_now(&r->c));
    }
}

static void start_frames(struct receiver *r)
{
    const uint64_t wall = world_wall(r->c.world);
    const struct csts_window w = {user_when_at(&r->options->from, wall),
                                  user_when_at(&r->options->to, wall)};
    r->phase = RUNNING;
    alarm_set(&r->c.alarm,
              r->options->time > 0 ? caller_now(&r->c) + r->options->time : TICK_NEVER);
    (void)csts_start_delivery(csts_conn_link(r->c.conn), NULL, &w, caller_now(&r->c));
}

static void take_frame(struct receiver *r, const struct csts_transfer *t)
{
    if (r->options->frames > 0 && r->frames == r->options->frames)
        return;
    r->missing += (uint32_t)(t->sequence - r->expected);
    r->expected = t->sequence + 1;
    const int e = t->data.extended ? HELIO_EFORMAT : target_put(&r->target, t->data.opaque);
    if (e < 0) {
        caller_fail(&r->c, r->options->out, helio_strerror(e));
        stop_frames(r);
        return;
    }
    r->frames++;
    r->octets += t->data.opaque.len;
    print_frame(r, t);
    if (r->frames == r->options->frames)
        stop_frames(r);
}

static bool is_event(const struct receiver *r, const struct csts_notify *n, enum csts_known which)
{
    const struct csts_oid id = csts_delivery_event(&r->options->delivery_events, which);
    return csts_oid_same(&n->event.id, &id);
}

static void take_event(struct receiver *r, const struct csts_notify *n)
{
    const bool end = is_event(r, n, CSTS_DELIVERY_END);
    const char *event = "event";
    if (end) {
        event = "end of data";
    } else if (is_event(r, n, CSTS_DELIVERY_DISCARDED)) {
        event = "data discarded";
        r->discarded++;
    } else if (is_event(r, n, CSTS_DELIVERY_OVERFLOW)) {
        event = "recording buffer overflow";
        r->overflows++;
    } else if (csts_production_is(&n->event)) {
        event = "production";
    }
    print_event(r, n, event);
    if (end)
        stop_frames(r);
}

static void take_started(struct receiver *r, const struct csts_notice *n)
{
    char why[160];
    r->active = n->pdu.positive;
    if (r->active)
        return;
    caller_fail(&r->c, "START is refused", csts_refusal_text(&n->pdu.diagnostic, why, sizeof why));
    stop_frames(r);
}

static void on_notice(void *self, const struct csts_notice *n)
{
    struct receiver *r = self;
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
        (void)csts_unbind(csts_conn_link(r->c.conn), caller_now(&r->c));
        break;
    default:
        break;
    }
}

static void on_late(void *self)
{
    struct receiver *r = self;
    if (r->phase != RUNNING) {
        caller_abort(&r->c, "it does not answer");
        return;
    }
    stop_frames(r);
    csts_conn_wake(r->c.conn);
}

static bool on_signal(void *self)
{
    struct receiver *r = self;
    if (r->phase != RUNNING) {
        caller_fail(&r->c, "ended by a signal", "before STOP and UNBIND");
        return false;
    }
    stop_frames(r);
    return true;
}

static int open_target(void *self)
{
    struct receiver *r = self;
    target_init(&r->target);
    const int e = target_open(&r->target, r->c.world, r->options->out, &r->options->out_to);
    if (e < 0)
        caller_fail(&r->c, r->options->out, helio_strerror(e));
    return e;
}

static void end_target(void *self)
{
    target_close(&((struct receiver *)self)->target);
}

static const struct csts_caller_ops ops = {.begin = open_target,
                                           .notice = on_notice,
                                           .late = on_late,
                                           .signal = on_signal,
                                           .end = end_target};

static int judge_frames(const struct receiver *r)
{
    if (!r->c.failed && r->missing + r->discarded + r->overflows > 0) {
        fprintf(stderr,
                "helio-csts: the provider discarded frames, or did not have them any more\n");
        return MISSING;
    }
    return r->c.failed ? 1 : 0;
}

int csts_run_data(const struct data_options *o)
{
    struct receiver r = {.options = o,
                         .c = {.ops = &ops, .self = &r, .terms = &o->terms, .to = &o->to_address}};
    const int e = caller_open(&r.c);
    if (e != 0)
        return e;
    if (caller_run(&r.c, o->wait))
        print_sum(&r);
    caller_close(&r.c);
    return judge_frames(&r);
}
