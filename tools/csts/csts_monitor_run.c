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
#include <stdio.h>
#include <stdlib.h>

#include "tools/csts/csts_caller.h"
#include "tools/csts/csts_plot.h"
#include "tools/csts/csts_value.h"

enum { REAL_DIGITS = 15 }; /* so that a decimal number looks as it was written */
enum phase { BINDING, RUNNING, STOPPING, UNBINDING, DONE };

struct monitor {
    const struct monitor_options *options;
    struct csts_caller c; /* its alarm: the end of the time, then of patience */
    struct csts_list list;
    enum phase phase;
    unsigned awaited; /* returns of STOP */
    bool reporting, notifying, asking;
    int report_id; /* invoke id of START of the reports */
    uint64_t reports;
    struct csts_plot *plot; /* NULL: none */
    uint64_t not_plotted;   /* values */
};

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
        caller_fail(&m->c, m->options->plot, helio_strerror(e));
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
    caller_fail(&m->c, what, csts_refusal_text(d, why, sizeof why));
}

/* ---- the order of things ---- */

static void unbind(struct monitor *m)
{
    m->phase = UNBINDING;
    (void)csts_unbind(csts_conn_link(m->c.conn), caller_now(&m->c));
}

/* STOP of what is active, then UNBIND; what does not answer is ended after `wait`. */
static void stop_all(struct monitor *m)
{
    struct csts_link *l = m->c.conn == NULL ? NULL : csts_conn_link(m->c.conn);
    if (m->phase != RUNNING)
        return;
    m->phase = STOPPING;
    if (m->reporting && csts_stop_report(l, 0, caller_now(&m->c)) >= 0)
        m->awaited++;
    if (m->notifying && csts_stop_events(l, 1, caller_now(&m->c)) >= 0)
        m->awaited++;
    alarm_set(&m->c.alarm, caller_now(&m->c) + m->options->wait);
    if (m->awaited == 0)
        unbind(m);
}

static void begin_all(struct monitor *m)
{
    const struct monitor_options *o = m->options;
    struct csts_link *l = csts_conn_link(m->c.conn);
    const tick now = caller_now(&m->c);
    m->phase = RUNNING;
    alarm_set(&m->c.alarm, o->time > 0 ? now + o->time : TICK_NEVER);
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

static void on_notice(void *self, const struct csts_notice *n)
{
    struct monitor *m = self;
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
    default:
        break;
    }
}

static void on_late(void *self)
{
    struct monitor *m = self;
    if (m->phase != RUNNING) {
        caller_abort(&m->c, "it does not answer");
        return;
    }
    stop_all(m);
    csts_conn_wake(m->c.conn);
}

static bool on_signal(void *self)
{
    struct monitor *m = self;
    if (m->phase != RUNNING) {
        caller_fail(&m->c, "ended by a signal", "before it was in order");
        return false;
    }
    stop_all(m);
    return true;
}

static int begin_plot(void *self)
{
    struct monitor *m = self;
    m->plot = m->options->plot == NULL ? NULL : plot_new();
    if (m->options->plot == NULL || m->plot != NULL)
        return 0;
    caller_fail(&m->c, "the image", "out of memory");
    return HELIO_ENOMEM;
}

static const struct csts_caller_ops ops = {
    .begin = begin_plot, .notice = on_notice, .late = on_late, .signal = on_signal};

int csts_run_monitor(const struct monitor_options *o)
{
    struct monitor m = {.options = o,
                        .list = o->list,
                        .c = {.ops = &ops, .self = &m, .terms = &o->terms, .to = &o->to}};
    const int e = caller_open(&m.c);
    if (e != 0)
        return e;
    (void)caller_run(&m.c, o->wait);
    if (m.plot != NULL)
        write_plot(&m);
    caller_close(&m.c);
    return m.c.failed ? 1 : 0;
}
