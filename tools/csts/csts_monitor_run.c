/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user of Monitored Data: binds, asks once (--get), starts reports and notifications, prints what
 * comes, and ends in order after so many reports, so much time, or a signal: STOP, UNBIND.
 *
 * What can go wrong: nobody listens, the BIND or a list is refused, the provider aborts or is
 * silent: said, and the exit code is 1.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/framed/sle_digest.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/csts/csts_conn.h"
#include "tools/csts/csts_plot.h"
#include "tools/csts/csts_value.h"
#include "tools/csts/helio_csts.h"

enum { REAL_DIGITS = 15 }; /* so that a decimal number looks as it was written */
enum phase { BINDING, RUNNING, STOPPING, UNBINDING, DONE };

struct monitor {
    const struct monitor_options *options;
    struct world *world;
    struct csts *csts;
    struct csts_host host;
    struct sle_secure secure;
    struct csts_conn *conn;
    struct uv_signals *signals;
    struct alarm alarm; /* the end of the time, then of patience */
    struct csts_list list;
    enum phase phase;
    unsigned awaited; /* returns of STOP */
    bool reporting, notifying, asking;
    int report_id; /* invoke id of START of the reports */
    enum sle_end over;
    uint64_t reports;
    struct csts_plot *plot; /* NULL: none */
    uint64_t not_plotted;   /* values */
    bool failed;
};

static tick now_of(const struct monitor *m)
{
    return world_now(m->world);
}

static void say_failure(struct monitor *m, const char *what, const char *why)
{
    if (!m->failed)
        fprintf(stderr, "helio-csts: %s: %s\n", what, why);
    m->failed = true;
}

/* ---- printing ---- */

static json_t *oid_json(const struct csts_oid *oid)
{
    char text[CSTS_OID_TEXT];
    return csts_oid_text(oid, text) ? json_string(text) : json_null();
}

static json_t *values_json(struct slice rest)
{
    static const char *const words[] = {"valid", "unavailable", "undefined", "error"};
    json_t *all = json_array();
    struct csts_value v;
    while (csts_values_next(&rest, &v)) {
        json_t *one = json_object();
        if (v.state == CSTS_VALID) {
            json_object_set_new(one, "type", oid_json(&v.pdv.oid));
            json_object_set_new(one, "value", figure_decode(v.pdv.data));
        } else {
            json_object_set_new(one, "state", json_string(words[v.state]));
        }
        json_array_append_new(all, one);
    }
    return all;
}

static void set_name(json_t *to, const struct csts_name *n, const char *key)
{
    if (n->is_procedure) {
        json_object_set_new(to, "procedure", oid_json(&n->procedure.type));
        json_object_set_new(
            to, "number",
            json_integer(n->procedure.role == CSTS_SECONDARY ? n->procedure.number : 0));
    } else {
        json_object_set_new(to, "resource", oid_json(&n->resource));
        json_object_set_new(to, "instance", json_integer(n->instance));
    }
    json_object_set_new(to, key, oid_json(&n->id));
}

static json_t *report_json(struct slice rest)
{
    json_t *all = json_array();
    struct csts_parameter p;
    while (csts_parameters_next(&rest, &p)) {
        json_t *one = json_object();
        set_name(one, &p.name, "parameter");
        json_object_set_new(one, "values", values_json(p.values));
        json_array_append_new(all, one);
    }
    return all;
}

static void print_text_name(const json_t *one, const char *key)
{
    const char *resource = json_string_value(json_object_get(one, "resource"));
    if (resource != NULL)
        printf("  %s #%" JSON_INTEGER_FORMAT, resource,
               json_integer_value(json_object_get(one, "instance")));
    else
        printf("  procedure %s", json_string_value(json_object_get(one, "procedure")));
    printf(" %s =", json_string_value(json_object_get(one, key)));
}

static void print_text_values(const json_t *values)
{
    size_t i;
    const json_t *v;
    json_array_foreach(values, i, v)
    {
        const json_t *value = json_object_get(v, "value");
        char *text = value == NULL
                         ? NULL
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(REAL_DIGITS));
        printf(" %s", text != NULL ? text : json_string_value(json_object_get(v, "state")));
        free(text);
    }
    printf("\n");
}

/* Takes `what`. */
static void print_out(const struct monitor *m, json_t *what)
{
    size_t i;
    const json_t *one;
    if (m->options->json) {
        json_dumpf(what, stdout, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
        printf("\n");
    } else {
        const json_t *time = json_object_get(what, "time"), *n = json_object_get(what, "sequence");
        printf("%s%s%s", time == NULL ? "" : json_string_value(time), time == NULL ? "" : " ",
               json_string_value(json_object_get(what, "kind")));
        if (n != NULL)
            printf(" %" JSON_INTEGER_FORMAT, json_integer_value(n));
        printf("\n");
        json_array_foreach(json_object_get(what, "parameters"), i, one)
        {
            print_text_name(one, "parameter");
            print_text_values(json_object_get(one, "values"));
        }
        if (json_object_get(what, "event") != NULL) {
            print_text_name(what, "event");
            print_text_values(json_object_get(what, "values"));
        }
    }
    fflush(stdout);
    json_decref(what);
}

static json_t *new_output(const char *kind, const struct sle_time *at)
{
    char text[CSTS_TIME_TEXT];
    json_t *j = json_object();
    json_object_set_new(j, "kind", json_string(kind));
    if (at != NULL)
        json_object_set_new(j, "time", json_string(csts_time_text(*at, text)));
    return j;
}

/* NAN: it has no number now. False: its type is none of numbers. */
static bool number_of(const json_t *values, double *out)
{
    const json_t *first = json_array_get(values, 0), *v = json_object_get(first, "value");
    *out = json_is_boolean(v) ? json_is_true(v) : v == NULL ? NAN : json_number_value(v);
    return v == NULL || json_is_boolean(v) || json_is_number(v);
}

static void plot_report(struct monitor *m, const json_t *parameters, struct sle_time at)
{
    char name[PLOT_NAME_MAX];
    const double time = (double)sle_time_unix(at) / 1e9;
    size_t i;
    const json_t *one;
    json_array_foreach(parameters, i, one)
    {
        double value;
        const char *resource = json_string_value(json_object_get(one, "resource"));
        if (resource == NULL || !number_of(json_object_get(one, "values"), &value))
            continue;
        snprintf(name, sizeof name, "%s #%" JSON_INTEGER_FORMAT " %s", resource,
                 json_integer_value(json_object_get(one, "instance")),
                 json_string_value(json_object_get(one, "parameter")));
        m->not_plotted += plot_add(m->plot, name, time, value) ? 0 : 1;
    }
}

static void write_plot(struct monitor *m)
{
    const int e = plot_write(m->plot, m->options->plot);
    if (e < 0)
        say_failure(m, m->options->plot, helio_strerror(e));
    if (m->not_plotted > 0)
        fprintf(stderr, "helio-csts: %s: %" PRIu64 " values of further parameters are left out\n",
                m->options->plot, m->not_plotted);
    plot_free(m->plot);
}

static void print_report(struct monitor *m, const struct csts_notice *n)
{
    const struct csts_transfer *t = &n->pdu.u.transfer;
    json_t *j = new_output("report", &t->generated);
    json_object_set_new(j, "sequence", json_integer(t->sequence));
    json_object_set_new(j, "parameters", report_json(n->report.parameters));
    if (m->plot != NULL)
        plot_report(m, json_object_get(j, "parameters"), t->generated);
    print_out(m, j);
}

static void print_values(const struct monitor *m, const struct csts_notice *n)
{
    json_t *j = new_output("values", NULL);
    json_object_set_new(j, "parameters", report_json(n->report.parameters));
    print_out(m, j);
}

static void print_event(const struct monitor *m, const struct csts_notice *n)
{
    const struct csts_notify *e = &n->pdu.u.notify;
    json_t *j = new_output("event", &e->at);
    set_name(j, &e->event, "event");
    json_object_set_new(j, "values",
                        values_json(e->kind == CSTS_EVENT_VALUES ? e->values : slice_of(NULL, 0)));
    print_out(m, j);
}

static void say_refused(struct monitor *m, const char *what, const struct csts_diagnostic *d)
{
    char why[160];
    say_failure(m, what, csts_refusal_text(d, why, sizeof why));
}

/* ---- the order of things ---- */

static void unbind(struct monitor *m)
{
    m->phase = UNBINDING;
    (void)csts_unbind(csts_conn_link(m->conn), now_of(m));
}

/* STOP of what is active, then UNBIND; what does not answer is ended after `wait`. */
static void stop_all(struct monitor *m)
{
    struct csts_link *l = m->conn == NULL ? NULL : csts_conn_link(m->conn);
    if (m->phase != RUNNING)
        return;
    m->phase = STOPPING;
    if (m->reporting && csts_stop_report(l, 0, now_of(m)) >= 0)
        m->awaited++;
    if (m->notifying && csts_stop_events(l, 1, now_of(m)) >= 0)
        m->awaited++;
    alarm_set(&m->alarm, now_of(m) + m->options->wait);
    if (m->awaited == 0)
        unbind(m);
}

static void begin_all(struct monitor *m)
{
    const struct monitor_options *o = m->options;
    struct csts_link *l = csts_conn_link(m->conn);
    const tick now = now_of(m);
    m->phase = RUNNING;
    alarm_set(&m->alarm, o->time > 0 ? now + o->time : TICK_NEVER);
    if (o->get)
        m->asking = csts_get(l, &m->list, now) >= 0;
    if (o->cycle > 0)
        m->report_id =
            csts_start_report(l, 0, (uint32_t)(o->cycle / TICK_MS), o->on_change, &m->list, now);
    m->reporting = o->cycle > 0 && m->report_id >= 0;
    if (o->events)
        m->notifying = csts_start_events(l, 1, &m->list, now) >= 0;
}

/* Nothing is left to wait for. */
static void stop_if_done(struct monitor *m)
{
    if (!m->asking && !m->reporting && !m->notifying)
        stop_all(m);
}

static void take_started(struct monitor *m, const struct csts_notice *n)
{
    const bool of_reports = m->reporting && (int)n->pdu.invoke_id == m->report_id;
    if (n->pdu.positive)
        return;
    say_refused(m, of_reports ? "START of reports is refused" : "START of events is refused",
                &n->pdu.diagnostic);
    if (of_reports)
        m->reporting = false;
    else
        m->notifying = false;
    stop_all(m);
}

static void on_notice(void *context, struct csts_conn *c, const struct csts_notice *n)
{
    struct monitor *m = context;
    char words[128];
    (void)c;
    switch (n->kind) {
    case CSTS_TOLD_BOUND:
        begin_all(m);
        stop_if_done(m);
        break;
    case CSTS_TOLD_VALUES:
        m->asking = false;
        if (n->pdu.positive)
            print_values(m, n);
        else
            say_refused(m, "GET is refused", &n->pdu.diagnostic);
        stop_if_done(m);
        break;
    case CSTS_TOLD_STARTED:
        take_started(m, n);
        break;
    case CSTS_TOLD_REPORT:
        if (m->phase != RUNNING)
            break;
        print_report(m, n);
        if (++m->reports == m->options->reports)
            stop_all(m);
        break;
    case CSTS_TOLD_EVENT:
        print_event(m, n);
        break;
    case CSTS_TOLD_STOPPED:
        if (m->awaited > 0 && --m->awaited == 0)
            unbind(m);
        break;
    case CSTS_TOLD_OVER:
        m->over = n->end;
        if (n->end != SLE_END_UNBOUND && n->end != SLE_END_CLOSED)
            say_failure(m, "the association", csts_end_words(n, words, sizeof words));
        break;
    default:
        break;
    }
}

static void end_all(struct monitor *m)
{
    if (m->phase == DONE)
        return;
    m->phase = DONE;
    alarm_fini(&m->alarm);
    csts_host_fini(&m->host);
    uv_signals_close(m->signals);
    uv_world_end(m->world);
}

static void on_gone(void *context, struct csts_conn *c, int error)
{
    struct monitor *m = context;
    m->conn = NULL;
    if (csts_conn_why(c)[0] != '\0')
        say_failure(m, "TLS", csts_conn_why(c));
    if (m->over == SLE_END_CLOSED)
        say_failure(m, "the connection",
                    error < 0 ? helio_strerror(error) : "the provider closed it");
    /* The engine's host is looked at behind this call: the loop ends it. */
    alarm_set(&m->alarm, 0);
}

static const struct csts_conn_user conn_user = {on_notice, on_gone, NULL};

static void on_alarm(void *context)
{
    struct monitor *m = context;
    if (m->conn == NULL) {
        end_all(m);
    } else if (m->phase == RUNNING) {
        stop_all(m);
        csts_conn_wake(m->conn);
    } else {
        say_failure(m, "the provider", "it does not answer");
        csts_link_abort(csts_conn_link(m->conn), CSTS_ABORT_OTHER, now_of(m));
        csts_conn_wake(m->conn);
        alarm_set(&m->alarm, TICK_NEVER);
    }
}

static void on_signal(void *context, int number)
{
    struct monitor *m = context;
    (void)number;
    if (m->phase == RUNNING) {
        stop_all(m);
        csts_conn_wake(m->conn);
        return;
    }
    say_failure(m, "ended by a signal", "before it was in order");
    if (m->conn != NULL)
        csts_conn_free(m->conn);
    m->conn = NULL;
    end_all(m);
}

static int connect_provider(struct monitor *m)
{
    const struct monitor_options *o = m->options;
    struct csts_user_config c = {.id = o->terms.instance, .version = o->terms.version};
    char text[ADDRESS_TEXT_MAX];
    snprintf(c.responder, sizeof c.responder, "%s", o->terms.peer);
    snprintf(c.port, sizeof c.port, "%s", o->terms.port);
    const int e = csts_conn_open(&m->host, &m->conn, &o->to, &c, &conn_user, m);
    if (e < 0)
        say_failure(m, address_write(&o->to, text), helio_strerror(e));
    return e;
}

static void run_loop(struct monitor *m)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    m->signals = uv_signals_open(m->world, numbers, 2, on_signal, m);
    csts_host_init(&m->host, m->world, m->csts);
    m->host.secure = m->secure.tls == NULL ? NULL : &m->secure;
    alarm_init(&m->alarm, m->world, ALARM_APP, on_alarm, m);
    if (m->signals == NULL)
        say_failure(m, "the event loop", "no signals");
    if (m->signals == NULL || connect_provider(m) < 0)
        end_all(m);
    else
        alarm_set(&m->alarm, now_of(m) + m->options->wait);
    uv_world_run(m->world);
}

int csts_run_monitor(const struct monitor_options *o)
{
    struct monitor m = {.options = o, .list = o->list};
    if (!csts_secure_of(&o->terms, &m.secure))
        return 2;
    struct sle_digests *digests = sle_digests_new();
    if (digests == NULL || uv_world_open(&m.world) < 0) {
        fprintf(stderr, "helio-csts: the event loop cannot begin\n");
        sle_digests_free(digests);
        tls_free(m.secure.tls);
        return 1;
    }
    m.plot = o->plot == NULL ? NULL : plot_new();
    m.csts = csts_engine_of(&o->terms, digests, world_random(m.world),
                            world_wall(m.world) - world_now(m.world));
    if (m.csts == NULL || (o->plot != NULL && m.plot == NULL)) {
        say_failure(&m, "the engine", "out of memory");
        uv_world_end(m.world);
        uv_world_run(m.world);
    } else {
        run_loop(&m);
    }
    if (m.plot != NULL)
        write_plot(&m);
    csts_free(m.csts);
    if (uv_world_free(m.world) < 0)
        m.failed = true;
    sle_digests_free(digests);
    tls_free(m.secure.tls);
    return m.failed ? 1 : 0;
}
