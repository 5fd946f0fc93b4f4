/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-frames fop: the packets of a file as telecommands. FOP-1 sends each TC frame until a CLCW
 * of the returned telemetry confirms it. What can go wrong: no answer, or FARM-1 is in another
 * state, which is an alert (exit 1); the input.
 */
#include <inttypes.h>
#include <jansson.h>

#include "frames/cltu.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "tools/frames/frames_cop.h"

enum { DIRECTIVE_ID = 1 };

struct sender {
    const struct frames_options *o;
    struct fop fop;
    struct cop_port port;
    struct cop_units units;
    struct cop_telemetry telemetry;
    struct frame_format format;
    tick now, free_at; /* free_at: when the uplink takes the next frame */
    size_t next;       /* the unit that FOP-1 gets next */
    bool offered;      /* and has it, without an answer */
    bool ready;        /* the initiation is confirmed */
    bool suspended, ended;
    uint8_t limit; /* transmissions of a frame; grows with resumptions */
    uint64_t confirmed, failed, suspensions;
    uint64_t transmissions[FOP_SERVICES], first, again; /* first: units sent once at least */
    const char *alert;
};

static const char *const alerts[] = {
    [FOP_ALERT_LIMIT] = "limit: a frame was sent as often as --limit allows",
    [FOP_ALERT_T1] =
        "T1: the timer ran out for the last transmission, no CLCW was received in time",
    [FOP_ALERT_LOCKOUT] = "lockout: FARM-1 is locked; --initiate unlock ends that",
    [FOP_ALERT_SYNCH] = "synch: the CLCW does not fit the state of FOP-1",
    [FOP_ALERT_NNR] = "NN(R): the CLCW reports a number that was not sent",
    [FOP_ALERT_CLCW] = "CLCW: it contradicts itself",
    [FOP_ALERT_LLIF] = "LLIF: the lower layer refused a frame",
    [FOP_ALERT_TERM] = "term: terminated"};

static void take_notices(struct sender *s)
{
    struct fop_notice n;
    while (fop_notice(&s->fop, &n)) {
        switch (n.kind) {
        case FOP_ACCEPTED:
            s->next++;
            s->offered = false;
            break;
        case FOP_REJECTED:
            s->offered = false;
            break;
        case FOP_CONFIRMED:
            s->confirmed++;
            break;
        case FOP_FAILED:
            s->failed++;
            break;
        case FOP_DIRECTIVE_CONFIRMED:
            s->ready = s->ready || n.id == DIRECTIVE_ID;
            break;
        case FOP_ALERTED:
            s->alert = alerts[n.alert];
            s->ended = true;
            break;
        case FOP_SUSPENDED:
            s->suspensions++;
            s->suspended = true;
            break;
        default:
            break;
        }
    }
}

/* The count of transmissions is not reset, so the limit must grow before the timer expires. */
static void resume_service(struct sender *s)
{
    const unsigned more = s->limit + s->o->cop.limit;
    if (s->limit == UINT8_MAX) {
        s->alert = alerts[FOP_ALERT_LIMIT];
        s->ended = true;
        return;
    }
    s->limit = (uint8_t)(more > UINT8_MAX ? UINT8_MAX : more);
    s->suspended = false;
    fop_direct(&s->fop, s->now, FOP_SET_LIMIT, s->limit, 0);
    take_notices(s);
    fop_direct(&s->fop, s->now, FOP_RESUME, 0, 0);
    take_notices(s);
}

static void take_clcw(void *context, const struct clcw *c)
{
    struct sender *s = context;
    if (s->suspended && c->vcid == s->fop.config.vcid)
        resume_service(s);
    fop_clcw(&s->fop, s->now, c);
    take_notices(s);
}

static size_t write_frame(const struct sender *s, const struct fop_transmission *t, uint8_t *out)
{
    const struct frames_options *o = s->o;
    struct frame f = {.kind = FRAME_TC,
                      .scid = (uint16_t)o->scid,
                      .vcid = (uint8_t)o->vcid,
                      .map = o->map,
                      .sequence = 3,
                      .bypass = t->service != FOP_AD,
                      .command = t->service == FOP_BC,
                      .count = t->service == FOP_AD ? t->number : 0};
    struct slice data = slice_of(t->command, t->command_len);
    if (t->service != FOP_BC) {
        const struct cop_unit *u = &s->units.units[t->id];
        f.sequence = u->sequence;
        data = slice_of(s->units.data + u->at, u->len);
    }
    return frame_write_tc(&s->format, &f, data, out, FRAME_TC_MAX);
}

static void count_transmission(struct sender *s, const struct fop_transmission *t)
{
    s->transmissions[t->service]++;
    if (t->service == FOP_BC)
        return;
    s->again += t->id < s->first;
    if (t->id >= s->first)
        s->first = t->id + 1;
}

static void send_frame(struct sender *s, const struct fop_transmission *t)
{
    uint8_t frame[FRAME_TC_MAX], cltu[2 * FRAME_TC_MAX];
    size_t n = write_frame(s, t, frame);
    struct slice out = slice_of(frame, n);
    if (s->o->to == CONTENT_CLTU)
        out = slice_of(cltu, cltu_write(frame, n, s->o->randomise, cltu, sizeof cltu));
    cop_port_send(&s->port, out);
    count_transmission(s, t);
    if (s->o->cop.rate > 0)
        s->free_at = s->now + (tick)((double)out.len * 8e9 / (double)s->o->cop.rate);
}

/* Gives FOP-1 what it accepts and the uplink what that has. */
static void pump_frames(struct sender *s)
{
    struct fop_transmission t;
    bool more = true;
    while (more && !s->ended) {
        more = false;
        if (s->ready && !s->suspended && !s->offered && s->next < s->units.count) {
            s->offered = true;
            fop_send(&s->fop, s->now, s->o->cop.expedited ? FOP_BD : FOP_AD, s->next);
            take_notices(s);
        }
        if (s->now >= s->free_at && fop_transmit(&s->fop, &t)) {
            send_frame(s, &t);
            fop_response(&s->fop, s->now, t.service, true);
            take_notices(s);
            more = true;
        }
    }
}

static void begin_service(struct sender *s)
{
    const struct cop_options *c = &s->o->cop;
    const struct fop_config config = {.vcid = (uint8_t)s->o->vcid,
                                      .window = c->window,
                                      .limit = c->limit,
                                      .timeout_type = c->resume,
                                      .timer = c->timer};
    fop_init(&s->fop, &config);
    s->limit = c->limit;
    s->now = clock_now();
    if (c->expedited) {
        s->ready = true;
        return;
    }
    fop_direct(&s->fop, s->now, FOP_SET_V_S, c->number, 0);
    take_notices(s);
    fop_direct(&s->fop, s->now, c->initiate, c->number, DIRECTIVE_ID);
    take_notices(s);
}

static bool is_done(const struct sender *s)
{
    return s->o->cop.expedited ? s->transmissions[FOP_BD] == s->units.count
                               : s->ready && s->confirmed == s->units.count;
}

static void run_service(struct sender *s)
{
    struct slice datagram;
    begin_service(s);
    for (;;) {
        s->now = clock_now();
        fop_expire(&s->fop, s->now);
        take_notices(s);
        pump_frames(s);
        if (s->ended || s->port.interrupted || is_done(s))
            return;
        tick until = fop_deadline(&s->fop);
        if (s->free_at > s->now && s->free_at < until)
            until = s->free_at;
        cop_port_wait(&s->port, until);
        s->now = clock_now();
        while (!s->ended && cop_port_next(&s->port, &datagram))
            cop_telemetry_input(&s->telemetry, datagram, take_clcw, s);
    }
}

static void print_json(const struct sender *s)
{
    const struct cop_telemetry *t = &s->telemetry;
    const uint64_t sent = s->transmissions[FOP_AD] + s->transmissions[FOP_BD];
    json_t *j =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "packets",
                  (json_int_t)s->units.packets, "frames", (json_int_t)s->units.count, "confirmed",
                  (json_int_t)s->confirmed, "failed", (json_int_t)s->failed, "transmissions",
                  (json_int_t)sent, "retransmissions", (json_int_t)s->again, "commands",
                  (json_int_t)s->transmissions[FOP_BC], "suspensions", (json_int_t)s->suspensions,
                  "datagrams", (json_int_t)s->port.counts.received, "erased",
                  (json_int_t)s->port.counts.erased, "clcws", (json_int_t)t->clcws, "complete",
                  is_done(s), "alert", s->alert == NULL ? json_null() : json_string(s->alert));
    json_dumpf(j, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(j);
}

static void print_text(const struct sender *s)
{
    printf("%" PRIu64 " packets in %zu frames: %" PRIu64 " confirmed\n", s->units.packets,
           s->units.count, s->confirmed);
    printf("  %-12" PRIu64 " frames transmitted, %" PRIu64 " of them again\n",
           s->transmissions[FOP_AD] + s->transmissions[FOP_BD], s->again);
    printf("  %-12" PRIu64 " control commands\n", s->transmissions[FOP_BC]);
    printf("  %-12" PRIu64 " CLCWs in %" PRIu64 " telemetry frames\n", s->telemetry.clcws,
           s->telemetry.frames);
    if (s->suspensions > 0)
        printf("  %-12" PRIu64 " suspensions\n", s->suspensions);
    if (s->alert != NULL)
        frames_error("alert %s", s->alert);
}

int command_fop(const struct frames_options *o)
{
    struct sender s = {.o = o, .format = cop_tc_format(o)};
    int code = cop_units_read(&s.units, o);
    if (code == EXIT_DONE && cop_telemetry_open(&s.telemetry, o) != 0)
        code = EXIT_FAILED;
    if (code == EXIT_DONE && cop_port_open(&s.port, o) != 0) {
        cop_telemetry_close(&s.telemetry);
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        run_service(&s);
        if (o->json)
            print_json(&s);
        else
            print_text(&s);
        code = is_done(&s) ? EXIT_DONE : EXIT_FAILED;
        cop_port_close(&s.port);
        cop_telemetry_close(&s.telemetry);
    }
    cop_units_free(&s.units);
    return code;
}
