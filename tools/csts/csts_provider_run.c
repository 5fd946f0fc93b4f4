/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider of Monitored Data: one service instance, whose parameters are the rows of a table; of
 * Forward Frame, if it has an uplink; and of buffered data delivery, if it has a downlink. The
 * table and the metrics are looked at every so often; what has changed is set, and events whose
 * value has changed are raised.
 *
 * What can go wrong: the table cannot be read, or has other rows than at the start: the values stay
 * as they were, and the log says so once. No metrics: their values are unavailable.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cla/framed/isp1_unbound.h"
#include "cla/framed/sle_digest.h"
#include "os/input_file.h"
#include "os/log/say.h"
#include "os/process/priority.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/csts/csts_conn.h"
#include "tools/csts/csts_fetch.h"
#include "tools/csts/csts_figures.h"
#include "tools/csts/csts_uplink.h"
#include "tools/csts/helio_csts.h"
#include "tools/sle/sle_certificates.h"

#define LEFT_OUT_AFTER TICK_S /* lines that were left out are logged so much later */

/* Lines of the log that users, and others who connect, can cause as often as they like. */
enum line { LINES_REFUSED, LINES_USERS, LINES_COUNT };

struct station {
    const struct provider_options *options;
    struct world *world;
    struct say log;
    struct say_few lines[LINES_COUNT];
    struct alarm left_out; /* lines were left out: their number is logged then */
    struct csts *csts;
    struct csts_service *service, *forward, *delivery; /* the last two: NULL: there is none */
    struct csts_uplink uplink;
    struct csts_downlink downlink;
    struct csts_host host;
    struct sle_secure secure;
    struct certificates certificates;
    struct stream_listener *listener;
    struct uv_signals *signals;
    struct list conns; /* struct visitor */
    struct isp1_unbound unbound;
    struct alarm alarm;
    struct figures figures;
    int *indices;            /* of each row: its parameter, or its event */
    char **noticed;          /* of an event: its last value; NULL: none was seen */
    struct timespec changed; /* of the table, when it was read */
    struct fetch fetch;
    bool table_told, metrics_told; /* the log has the failure */
    uint64_t no_descriptor;        /* of the world, as the log has it */
};

struct visitor {
    struct list node;
    struct station *station;
    struct csts_conn *conn;
    char from[ADDRESS_TEXT_MAX];
};

/* ---- the log ---- */

static const struct say_few line_kinds[LINES_COUNT] = {
    [LINES_REFUSED] = {"connections that were refused or broken off", 20, TICK_S, 0, 0},
    [LINES_USERS] = {"users", 100, TICK_S / 2, 0, 0}};

static void __attribute__((format(printf, 4, 5)))
say_line_of(struct station *t, enum line kind, enum say_level level, const char *format, ...)
{
    const tick now = world_now(t->world);
    va_list args;
    va_start(args, format);
    const bool said = say_few(&t->log, &t->lines[kind], now, level, format, args);
    va_end(args);
    if (!said && alarm_due(&t->left_out) == TICK_NEVER)
        alarm_set(&t->left_out, now + LEFT_OUT_AFTER);
}

static void log_left_out(void *context)
{
    struct station *t = context;
    for (int k = 0; k < LINES_COUNT; k++)
        say_left_out(&t->log, &t->lines[k]);
}

/* ---- values ---- */

static struct csts_oid type_of(const struct figure *f)
{
    struct csts_oid type = f->name.id; /* {parameter 1}: version 1 of its type */
    type.octets[type.len++] = 1;
    return type;
}

/* The encoded QualifiedValues of this text; 0: it is none of its type. */
static size_t write_values(const struct figure *f, const char *text, uint8_t *out, size_t room)
{
    uint8_t octets[FIGURE_TEXT_MAX + 100];
    struct csts_value v = {.state = CSTS_UNAVAILABLE};
    if (text[0] != '\0') {
        const size_t n = figure_encode(f->type, text, octets, sizeof octets);
        v.state = n > 0 ? CSTS_VALID : CSTS_ERROR;
        v.pdv = (struct csts_embedded){type_of(f), slice_of(octets, n)};
    }
    return csts_values_write(&v, 1, out, room);
}

static void raise_event(struct station *t, size_t row, const char *text)
{
    uint8_t values[FIGURE_TEXT_MAX + 200];
    const struct figure *f = &t->figures.all[row];
    const char *before = t->noticed[row];
    if (text[0] == '\0' || (before != NULL && strcmp(before, text) == 0))
        return;
    const bool first = before == NULL;
    free(t->noticed[row]);
    t->noticed[row] = strdup(text);
    if (first)
        return;
    const size_t n = write_values(f, text, values, sizeof values);
    struct csts_link *l = csts_service_link(t->service);
    (void)csts_event_raise(t->service, t->indices[row], slice_of(values, n), world_now(t->world));
    csts_host_wake(&t->host, l);
}

static void set_values(struct station *t, struct slice metrics)
{
    uint8_t values[FIGURE_TEXT_MAX + 200];
    char room[FIGURE_TEXT_MAX + 1];
    for (size_t i = 0; i < t->figures.len; i++) {
        const struct figure *f = &t->figures.all[i];
        const char *text = figure_text(f, metrics, room, sizeof room);
        if (f->type == FIGURE_EVENT) {
            raise_event(t, i, text);
            continue;
        }
        const size_t n = write_values(f, text, values, sizeof values);
        if (csts_parameter_set(t->service, t->indices[i], slice_of(values, n), NULL) < 0)
            say(&t->log, LEVEL_ERROR, "a value cannot be set: out of memory");
    }
}

static void on_metrics(void *context, struct slice text, const char *why)
{
    struct station *t = context;
    if (why != NULL && !t->metrics_told)
        say(&t->log, LEVEL_WARNING, "metrics: %s: their values are unavailable", why);
    if (why == NULL && t->metrics_told)
        say(&t->log, LEVEL_INFO, "metrics are there again");
    t->metrics_told = why != NULL;
    set_values(t, text);
}

/* ---- the table ---- */

/* The whole file, to be freed; NULL: `why` says why not. */
static uint8_t *read_file(const char *path, size_t *len, struct timespec *changed, char *why,
                          size_t cap)
{
    struct stat s;
    FILE *f = input_file_regular(path, why, cap);
    if (f == NULL)
        return NULL;
    uint8_t *octets = NULL;
    *len = 0;
    if (fstat(fileno(f), &s) != 0 || s.st_size < 0 || s.st_size > FIGURES_FILE_MAX)
        snprintf(why, cap, "longer than %d MiB", FIGURES_FILE_MAX >> 20);
    else if ((octets = malloc((size_t)s.st_size + 1)) == NULL)
        snprintf(why, cap, "out of memory");
    else
        *len = fread(octets, 1, (size_t)s.st_size, f);
    *changed = s.st_mtim;
    fclose(f);
    return octets;
}

static bool read_table(const char *path, struct figures *out, struct timespec *changed, char *why,
                       size_t cap)
{
    size_t len;
    uint8_t *octets = read_file(path, &len, changed, why, cap);
    if (octets == NULL)
        return false;
    const bool good = figures_parse(slice_of(octets, len), out, why, cap);
    free(octets);
    return good;
}

static bool same_rows(const struct figures *a, const struct figures *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = csts_name_same(&a->all[i].name, &b->all[i].name) && a->all[i].type == b->all[i].type;
    return same;
}

static void renew_table(struct station *t)
{
    struct figures again;
    struct stat s;
    char why[256] = "";
    if (stat(t->options->figures, &s) == 0 && s.st_mtim.tv_sec == t->changed.tv_sec &&
        s.st_mtim.tv_nsec == t->changed.tv_nsec)
        return;
    bool good = read_table(t->options->figures, &again, &t->changed, why, sizeof why);
    if (good && !same_rows(&t->figures, &again)) {
        snprintf(why, sizeof why, "other rows than at the start: only values may change");
        figures_free(&again);
        good = false;
    }
    if (!good && !t->table_told)
        say(&t->log, LEVEL_WARNING, "%s: %s: the values stay", t->options->figures, why);
    if (good && t->table_told)
        say(&t->log, LEVEL_INFO, "%s is read again", t->options->figures);
    t->table_told = !good;
    if (!good)
        return;
    figures_free(&t->figures);
    t->figures = again;
}

/* Connections were not accepted, because the process had no descriptor left. */
static void log_descriptors(struct station *t)
{
    const uint64_t times = t->world->no_descriptor - t->no_descriptor;
    if (times > 0)
        say_line_of(t, LINES_REFUSED, LEVEL_ERROR,
                    "no file descriptor was free for a connection, %" PRIu64
                    " times: connections are closed, or wait; raise the limit (ulimit -n)",
                    times);
    t->no_descriptor = t->world->no_descriptor;
}

static void on_time(void *context)
{
    struct station *t = context;
    log_descriptors(t);
    csts_clock_set(t->csts, world_wall(t->world) - world_now(t->world));
    renew_table(t);
    if (t->options->has_metrics)
        fetch_ask(&t->fetch);
    else
        set_values(t, slice_of(NULL, 0));
    alarm_set(&t->alarm, world_now(t->world) + t->options->every);
}

/* ---- connections ---- */

/* Why the association ended, in one line: that of on_gone if TLS failed. */
static void tell_over(struct visitor *v, const struct csts_conn *c, const struct csts_notice *n)
{
    char words[128];
    const struct csts_link *l = csts_conn_link(c);
    if (n->end == SLE_END_CLOSED && csts_conn_why(c)[0] != '\0')
        return;
    const char *who = *csts_link_peer(l) != '\0' ? csts_link_peer(l) : "unknown";
    const bool normal = n->end == SLE_END_UNBOUND;
    const bool nobody = n->end == SLE_END_CLOSED && *csts_link_peer(l) == '\0'; /* only looked */
    say_line_of(v->station, normal ? LINES_USERS : LINES_REFUSED,
                normal || nobody ? LEVEL_INFO : LEVEL_WARNING, "%s: %s: %s", v->from, who,
                csts_end_words(n, words, sizeof words));
}

static void on_notice(void *context, struct csts_conn *c, const struct csts_notice *n)
{
    struct visitor *v = context;
    const char *peer = csts_link_peer(csts_conn_link(c));
    const bool reports = csts_oid_is(&n->pdu.procedure.type, CSTS_NOTIFICATION);
    const bool frames = csts_oid_is(&n->pdu.procedure.type, CSTS_BUFFERED_DATA_PROCESSING) ||
                        csts_oid_is(&n->pdu.procedure.type, CSTS_SEQUENCE_CONTROLLED);
    const bool data = csts_oid_is(&n->pdu.procedure.type, CSTS_BUFFERED_DATA_DELIVERY);
    const char *what = frames ? "frames" : data ? "data" : reports ? "notifications" : "reports";
    switch (n->kind) {
    case CSTS_TOLD_BOUND:
        say_line_of(v->station, LINES_USERS, LEVEL_INFO, "%s has bound, from %s", peer, v->from);
        break;
    case CSTS_TOLD_STARTED:
        if (data)
            csts_downlink_start(&v->station->downlink);
        say_line_of(v->station, LINES_USERS, LEVEL_INFO, "%s has started %s", peer, what);
        break;
    case CSTS_TOLD_STOPPED:
        say_line_of(v->station, LINES_USERS, LEVEL_INFO, "%s has stopped %s", peer, what);
        break;
    case CSTS_TOLD_UNITS:
        csts_uplink_wake(&v->station->uplink);
        break;
    case CSTS_TOLD_OVER:
        tell_over(v, c, n);
        break;
    default:
        break;
    }
}

static void free_visitor(struct visitor *v)
{
    list_sub(&v->node);
    free(v);
}

static void on_gone(void *context, struct csts_conn *c, int error)
{
    struct visitor *v = context;
    (void)error;
    if (csts_conn_why(c)[0] != '\0')
        say_line_of(v->station, LINES_REFUSED, LEVEL_WARNING, "%s: TLS: %s", v->from,
                    csts_conn_why(c));
    free_visitor(v);
}

static void on_room(void *context, struct csts_conn *c)
{
    struct station *t = ((struct visitor *)context)->station;
    if (t->delivery != NULL && csts_service_link(t->delivery) == csts_conn_link(c))
        csts_downlink_room(&t->downlink);
}

static const struct csts_conn_user conn_user = {on_notice, on_gone, on_room};

static void tell_refusal(struct station *t)
{
    say_line_of(t, LINES_REFUSED, LEVEL_WARNING,
                "a connection was refused: there are too many, or memory is out");
}

static void take_stream(void *context, struct stream *s)
{
    struct station *t = context;
    struct address from;
    isp1_unbound_make_room(&t->unbound);
    struct visitor *v = calloc(1, sizeof *v);
    struct csts_link *l = v == NULL ? NULL : csts_accept(t->csts, world_now(t->world));
    if (l == NULL) {
        free(v);
        stream_reset(s);
        tell_refusal(t);
        return;
    }
    v->station = t;
    if (stream_peer(s, &from))
        address_write(&from, v->from);
    v->conn = csts_conn_new(&t->host, s, l, &conn_user, v);
    if (v->conn == NULL) {
        free(v);
        tell_refusal(t);
        return;
    }
    list_add_tail(&t->conns, &v->node);
    if (isp1_unbound_add(&t->unbound, csts_conn_isp1(v->conn)) < 0) {
        csts_conn_free(v->conn);
        free_visitor(v);
        tell_refusal(t);
    }
}

/* ---- begin and end ---- */

static int add_rows(struct station *t)
{
    const size_t n = t->figures.len;
    size_t labels = 0;
    struct csts_oid *ids = malloc((n + 1) * sizeof *ids);
    t->indices = calloc(n + 1, sizeof *t->indices);
    t->noticed = calloc(n + 1, sizeof *t->noticed);
    int e = ids == NULL || t->indices == NULL || t->noticed == NULL ? HELIO_ENOMEM : 0;
    for (size_t i = 0; e >= 0 && i < n; i++) {
        const struct figure *f = &t->figures.all[i];
        e = f->type == FIGURE_EVENT ? csts_event_add(t->service, &f->name)
                                    : csts_parameter_add(t->service, &f->name);
        t->indices[i] = e;
        bool there = false;
        for (size_t k = 0; !there && k < labels; k++)
            there = csts_oid_same(&ids[k], &f->name.id);
        if (!there)
            ids[labels++] = f->name.id;
    }
    if (e >= 0 && labels <= CSTS_LABELS_MAX)
        e = csts_list_add(t->service, "all", true, ids, labels);
    free(ids);
    return e < 0 ? e : 0;
}

static int open_service(struct station *t, struct sle_digests *digests)
{
    const struct csts_terms *terms = &t->options->terms;
    t->csts = csts_engine_of(terms, digests, world_random(t->world),
                             world_wall(t->world) - world_now(t->world));
    if (t->csts == NULL || isp1_unbound_init(&t->unbound, world_random(t->world)) < 0)
        return HELIO_ENOMEM;
    struct csts_service_config c = {.id = terms->instance,
                                    .version = terms->version,
                                    .cycle_min = (uint32_t)(t->options->cycle_min / TICK_MS)};
    snprintf(c.initiator, sizeof c.initiator, "%s", terms->peer);
    t->service = csts_service_new(t->csts, &c);
    if (t->service == NULL)
        return HELIO_ENOMEM;
    int e = add_rows(t);
    if (e >= 0 && t->options->uplink != NULL) {
        c.id.type = t->options->forward_type;
        t->forward = csts_service_new(t->csts, &c);
        e = t->forward == NULL ? HELIO_ENOMEM : csts_forward_set(t->forward, &t->options->forward);
    }
    if (e >= 0 && t->options->downlink.path != NULL) {
        c.id.type = t->options->data_type;
        t->delivery = csts_service_new(t->csts, &c);
        e = t->delivery == NULL ? HELIO_ENOMEM
                                : csts_delivery_set(t->delivery, &t->options->delivery);
    }
    return e;
}

static int open_uplink(struct station *t)
{
    const struct provider_options *o = t->options;
    if (t->forward == NULL)
        return 0;
    const int e = csts_uplink_open(&t->uplink, &t->host, t->forward, o->uplink, &o->uplink_to,
                                   o->uplink_rate, &t->log);
    if (e < 0)
        say(&t->log, LEVEL_ERROR, "uplink %s: %s", o->uplink, helio_strerror(e));
    (void)priority_short_turns(); /* frames are paced, also beside other programs */
    return e;
}

static int open_downlink(struct station *t)
{
    const struct provider_options *o = t->options;
    if (t->delivery == NULL)
        return 0;
    const int e = csts_downlink_open(&t->downlink, &t->host, t->delivery, &o->downlink,
                                     !o->delivery.real_time, &t->log);
    if (e < 0) {
        say(&t->log, LEVEL_ERROR, "downlink %s: %s", o->downlink.path,
            e == HELIO_EFORMAT ? "this is no file of frames" : helio_strerror(e));
        if (t->forward != NULL)
            csts_uplink_close(&t->uplink);
    }
    return e;
}

static void tell_frames(struct station *t)
{
    const struct csts_forward_counts *n = csts_forward_counts(t->forward);
    say(&t->log, LEVEL_INFO,
        "frames: %" PRIu64 " received, %" PRIu64 " radiated, %" PRIu64 " interrupted, %" PRIu64
        " discarded, %" PRIu64 " overrun, %" PRIu64 " late, %" PRIu64 " refused; %" PRIu64
        " could not be sent",
        n->received, n->processed, n->interrupted, n->discarded, n->overrun, n->late, n->refused,
        t->uplink.failed);
}

static void on_signal(void *context, int number)
{
    struct station *t = context;
    if (number == SIGHUP) {
        certificates_look(&t->certificates);
        on_time(t);
        return;
    }
    while (!list_empty(&t->conns)) {
        struct visitor *v = container_of(list_first(&t->conns), struct visitor, node);
        csts_conn_free(v->conn);
        free_visitor(v);
    }
    alarm_fini(&t->left_out);
    alarm_fini(&t->alarm);
    if (t->forward != NULL) {
        tell_frames(t);
        csts_uplink_close(&t->uplink);
    }
    if (t->delivery != NULL)
        csts_downlink_close(&t->downlink);
    if (t->options->has_metrics)
        fetch_fini(&t->fetch);
    stream_unlisten(t->listener);
    certificates_fini(&t->certificates);
    csts_host_fini(&t->host);
    uv_signals_close(t->signals);
    uv_world_end(t->world);
}

static void on_accepted(void *context, struct stream *s)
{
    struct station *t = context;
    certificates_take(&t->certificates, s);
}

static int run_station(struct station *t)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    char text[ADDRESS_TEXT_MAX];
    t->certificates = (struct certificates){.world = t->world,
                                            .tls = t->secure.tls,
                                            .log = &t->log,
                                            .names = csts_tls_options,
                                            .take = take_stream,
                                            .context = t};
    certificates_init(&t->certificates);
    const int e =
        stream_listen(t->world, &t->listener,
                      &(struct stream_place){.address = &t->options->listen}, on_accepted, t);
    if (e < 0) {
        say(&t->log, LEVEL_ERROR, "%s: %s", address_write(&t->options->listen, text),
            helio_strerror(e));
        return 1;
    }
    t->signals = uv_signals_open(t->world, numbers, 3, on_signal, t);
    csts_host_init(&t->host, t->world, t->csts);
    t->host.secure = t->secure.tls == NULL ? NULL : &t->secure;
    if (t->signals == NULL || open_uplink(t) < 0 || open_downlink(t) < 0) {
        stream_unlisten(t->listener);
        csts_host_fini(&t->host);
        if (t->signals != NULL)
            uv_signals_close(t->signals);
        return 1;
    }
    alarm_init(&t->left_out, t->world, ALARM_APP, log_left_out, t);
    alarm_init(&t->alarm, t->world, ALARM_APP, on_time, t);
    if (t->options->has_metrics)
        fetch_init(&t->fetch, t->world, &t->options->metrics, t->options->token, on_metrics, t);
    on_time(t);
    say(&t->log, LEVEL_INFO, "listens at %s, %zu rows", address_write(&t->options->listen, text),
        t->figures.len);
    uv_world_run(t->world);
    return 0;
}

static void free_station(struct station *t)
{
    for (size_t i = 0; t->noticed != NULL && i < t->figures.len; i++)
        free(t->noticed[i]);
    free(t->noticed);
    free(t->indices);
    figures_free(&t->figures);
    csts_free(t->csts);
    isp1_unbound_fini(&t->unbound);
}

int csts_run_provider(const struct provider_options *o)
{
    struct station t = {.options = o};
    char why[256];
    list_init(&t.conns);
    memcpy(t.lines, line_kinds, sizeof line_kinds);
    say_init(&t.log, o->terms.log, false, "");
    if (!read_table(o->figures, &t.figures, &t.changed, why, sizeof why)) {
        fprintf(stderr, "helio-csts: %s: %s\n", o->figures, why);
        return 2;
    }
    if (!csts_secure_of(&o->terms, &t.secure)) {
        figures_free(&t.figures);
        return 2;
    }
    struct sle_digests *digests = sle_digests_new();
    int e = digests == NULL ? HELIO_ENOMEM : uv_world_open(&t.world);
    const bool opened = e == 0;
    if (opened)
        e = open_service(&t, digests);
    int code = 1;
    if (e < 0)
        fprintf(stderr, "helio-csts: %s\n", helio_strerror(e));
    else
        code = run_station(&t);
    if (opened && code != 0) {
        uv_world_end(t.world);
        uv_world_run(t.world);
    }
    free_station(&t);
    if (opened && uv_world_free(t.world) < 0)
        code = 1;
    sle_digests_free(digests);
    tls_free(t.secure.tls);
    return code;
}
