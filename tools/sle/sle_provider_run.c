/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider, bench and bridge: a station run until a signal. Bench and bridge write the
 * configuration that a person would write, so that there is one way into a station.
 *
 * What can go wrong: the configuration (reported with line and key, exit 2), what it names (exit
 * 1).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/json_number.h"
#include "node/http/http_text.h"
#include "node/http/uv_http.h"
#include "os/clock.h"
#include "os/net/local_socket.h"
#include "os/net/plain_socket.h"
#include "os/place.h"
#include "os/process/priority.h"
#include "os/tls/tls.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"
#include "tools/sle/helio_sle.h"
#include "tools/sle/station/sle_station.h"

struct run {
    struct world *world;
    struct http *http;
    struct station *station;
    struct uv_signals *signals;
};

static void on_signal(void *context, int number)
{
    struct run *r = context;
    (void)number;
    http_close(r->http);
    station_end(r->station);
    uv_signals_close(r->signals);
    uv_world_end(r->world);
}

static struct http_answer answer_http(void *context, const struct http_question *q)
{
    const struct station *t = context;
    size_t len = 0;
    if (q->kind == HTTP_STATUS)
        return http_json(station_json(t));
    if (q->kind != HTTP_METRICS)
        return http_nothing();
    char *text = station_metrics(t, &len);
    return http_metrics(text, len);
}

static bool open_http(struct run *r, const struct settings *s)
{
    char why[256] = "";
    struct address at;
    const struct http_config http = {
        .listen = s->http.listen,
        .hosts = s->http.hosts,
        .token = s->http.token,
        .page = {200, "text/html; charset=utf-8", (const char *)sle_page, sle_page_len, false},
        .loop = uv_world_loop(r->world),
        .make = answer_http,
        .context = r->station};
    const bool good = http_open(&r->http, &http, why, sizeof why) == 0;
    if (!good)
        say(&r->station->log, LEVEL_ERROR, "%s", why);
    else if (r->http != NULL && *s->http.token == '\0' &&
             http_listen_parse(s->http.listen, &at) == 0 && !address_is_loopback(&at))
        say(&r->station->log, LEVEL_WARNING,
            "http.listen: %s is not a loopback address, and there is no token: any host that "
            "reaches it can read the provider's state",
            s->http.listen);
    return good;
}

/* CLTUs are radiated at their times, also beside other programs. */
static void keep_times(const struct settings *s)
{
    bool uplinks = false;
    for (size_t k = 0; k < s->instances_len; k++)
        uplinks = uplinks || s->instances[k].service == SLE_FCLTU;
    if (uplinks)
        (void)priority_short_turns();
}

int provider_run(const struct settings *s, enum say_level log)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct run r = {0};
    char why[256];
    int err = *s->status != '\0' ? local_socket_claim(s->status, why, sizeof why) : 0;
    if (err == 0 && *s->control != '\0')
        err = local_socket_claim(s->control, why, sizeof why);
    if (err < 0) {
        fprintf(stderr, "helio-sle: status, control: %s\n", why);
        return 1;
    }
    err = uv_world_open(&r.world);
    if (err < 0) {
        fprintf(stderr, "helio-sle: the event loop: %s\n", helio_strerror(err));
        return 1;
    }
    err = s->threads > 1 ? uv_world_writers(r.world, (unsigned)s->threads - 1) : 0;
    if (err < 0) {
        fprintf(stderr, "helio-sle: threads: %s\n", helio_strerror(err));
        return 1;
    }
    r.station = station_open(r.world, s, log);
    if (r.station == NULL)
        fprintf(stderr, "helio-sle: out of memory\n");
    bool good = r.station != NULL && station_is_open(r.station) && open_http(&r, s);
    keep_times(s);
    if (good) {
        r.signals = uv_signals_open(r.world, numbers, 2, on_signal, &r);
        good = r.signals != NULL;
        if (good)
            say(&r.station->log, LEVEL_INFO, "%s listens at %s: %zu instances", s->id,
                s->listen_text, s->instances_len);
        else
            say(&r.station->log, LEVEL_ERROR, "signals: out of memory or descriptors");
    }
    if (!good) {
        http_close(r.http);
        if (r.station != NULL)
            station_end(r.station);
        uv_world_end(r.world);
    }
    uv_world_run(r.world);
    http_free(r.http);
    station_free(r.station);
    return uv_world_free(r.world) == 0 && good ? 0 : 1;
}

static void print_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "%s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "%s: and %zu more errors\n", e->file, e->total - e->len);
}

static void print_keys(void)
{
    const char *name;
    const struct conf_option *o;
    for (size_t i = 0; settings_section(i, &name, &o); i++)
        for (; o->key != NULL; o++)
            printf("%s%s%s\t%s\t%s\n", name, *name != '\0' ? "." : "", o->key,
                   o->initial == NULL ? "(required)" : o->initial, o->help);
}

/* The files of TLS as the start would read them; a certificate that ended is a warning. */
static int check_tls_files(const struct settings *s, const char *path)
{
    static const char *const keys[] = {"tls_certificate", "tls_key", "tls_ca"};
    const struct tls_files files = {s->tls.certificate, s->tls.key,
                                    *s->tls.ca != '\0' ? s->tls.ca : NULL};
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    struct tls *tls = NULL;
    if (s->tls.mode == 0)
        return 0;
    const int e = tls_new(&tls, &files, &file, why);
    if (e == 0 && tls_own_warning(tls, (int64_t)(clock_wall() / TICK_S), why))
        fprintf(stderr, "%s: warning: tls_certificate: %s\n", path, why);
    else if (e == HELIO_EINVAL)
        fprintf(stderr, "%s: %s: %s\n", path, keys[file], why);
    else if (e < 0)
        fprintf(stderr, "helio-sle: %s\n", helio_strerror(e));
    tls_free(tls);
    return e;
}

static bool check_place(enum place_kind kind, const char *config, const char *key, const char *path)
{
    char why[512];
    if (place_check(kind, path, why, sizeof why))
        return true;
    fprintf(stderr, "%s: %s: %s\n", config, key, why);
    return false;
}

/* What the start would make or write. */
static int check_places(const struct settings *s, const char *config)
{
    char key[128];
    bool good = check_place(PLACE_SOCKET, config, "status", s->status);
    good = check_place(PLACE_SOCKET, config, "control", s->control) && good;
    for (size_t i = 0; i < s->sources_len; i++) {
        snprintf(key, sizeof key, "sources[%.64s].record", s->sources[i].name);
        good = check_place(PLACE_FOLDER, config, key, s->sources[i].record) && good;
    }
    return good ? 0 : HELIO_EINVAL;
}

int command_provider(const struct provider_options *o)
{
    struct settings s;
    struct conf_errors *errors = malloc(sizeof *errors);
    if (o->keys) {
        print_keys();
        free(errors);
        return 0;
    }
    if (errors == NULL) {
        fprintf(stderr, "helio-sle: out of memory\n");
        return 1;
    }
    conf_errors_init(errors, o->config);
    int e = settings_load(&s, o->config, errors);
    print_errors(errors);
    free(errors);
    if (e < 0)
        return e == HELIO_ENOMEM ? 1 : 2;
    e = o->check ? check_tls_files(&s, o->config) : 0;
    if (o->check && e == 0)
        e = check_places(&s, o->config);
    if (o->check && e == 0)
        printf("%s: good\n", o->config);
    int code = e == HELIO_ENOMEM ? 1 : e < 0 ? 2 : o->check ? 0 : provider_run(&s, o->log);
    settings_free(&s);
    return code;
}

/* ---- a configuration that was put together here ---- */

#define TEXT_CAP (1024u * 1024u)

struct text {
    char *at;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add_text(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->len, TEXT_CAP - t->len, format, args);
    va_end(args);
    t->len += n > 0 && (size_t)n < TEXT_CAP - t->len ? (size_t)n : 0;
}

static bool parse_text(struct text *t, struct settings *s)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    if (errors == NULL)
        return false;
    conf_errors_init(errors, "");
    int e = settings_parse(s, t->at, t->len, errors);
    print_errors(errors);
    free(errors);
    return e == 0;
}

static const char *const level_names[] = {"none", "bind", "all"};
static const char *const hash_names[] = {"by-version", "sha1", "sha256"};

int command_bridge(const struct bridge_options *o)
{
    char listen[ADDRESS_TEXT_MAX], input[ADDRESS_TEXT_MAX], uplink[ADDRESS_TEXT_MAX];
    char versions[] = "2 3 4 5";
    struct text t = {.at = malloc(TEXT_CAP)};
    struct settings s;
    if (t.at == NULL)
        return 1;
    if (o->terms.version != 0)
        snprintf(versions, sizeof versions, "%u", o->terms.version);
    add_text(&t, "id: %s\npassword: '%s'\nlisten: '%s'\nusers:\n", o->id, o->password,
             address_write(&o->listen, listen));
    add_text(&t, "  - {id: %s, password: '%s', authentication: %s, hash: %s}\n", o->user,
             o->user_password, level_names[o->terms.level], hash_names[o->terms.hash]);
    if (address_given(&o->input))
        add_text(&t, "sources:\n  - {name: in, kind: udp, address: '%s', frame: %" PRIu64 "}\n",
                 address_write(&o->input, input), o->frame);
    add_text(&t, "instances:\n");
    if (address_given(&o->input))
        add_text(&t,
                 "  - {id: '%s', users: %s, versions: '%s', source: in, buffer: %" PRIu64
                 ", latency: 100ms}\n",
                 o->instance, o->user, versions, o->buffer);
    if (address_given(&o->uplink))
        add_text(&t, "  - {id: '%s', users: %s, versions: '%s', uplink: '%s'}\n", o->cltu_instance,
                 o->user, versions, address_write(&o->uplink, uplink));
    bool good = parse_text(&t, &s);
    free(t.at);
    if (!good)
        return 2;
    int code = provider_run(&s, o->log);
    settings_free(&s);
    return code;
}

/* ---- bench ---- */

#define BENCH_START (10 * TICK_S)
#define BENCH_ID "sagr=B.spack=BENCH.rsl-fg=1.raf=%s1"
#define BENCH_CLTU_ID "sagr=B.spack=BENCH.fsl-fg=1.cltu=cltu1"

static void write_uplinks(const struct bench_options *o, struct text *t)
{
    add_text(t, "instances:\n");
    for (uint64_t i = 0; i < o->instances; i++) {
        add_text(t,
                 "  - {id: 'sagr=B.spack=BENCH.fsl-fg=1.cltu=cltu%" PRIu64
                 "', users: BENCH-U, cltu_max: %" PRIu64,
                 i + 1, o->frame);
        if (o->rate > 0)
            add_text(t, ", uplink_rate: %" PRIu64 "bit/s", o->rate);
        add_text(t, "}\n");
    }
}

static void write_downlinks(const struct bench_options *o, struct text *t)
{
    add_text(t, "sources:\n");
    for (uint64_t i = 0; i < o->instances; i++) {
        add_text(t, "  - {name: s%" PRIu64 ", frame: %" PRIu64, i, o->frame);
        if (o->rate > 0)
            add_text(t, ", rate: %" PRIu64 "bit/s, when_full: wait", o->rate);
        if (o->record != NULL)
            add_text(t, ", record: '%s%" PRIu64 "'", o->record, i);
        add_text(t, "}\n");
    }
    add_text(t, "instances:\n");
    for (uint64_t i = 0; i < o->instances; i++)
        add_text(t,
                 "  - {id: 'sagr=B.spack=BENCH.rsl-fg=1.raf=%s%" PRIu64
                 "', users: BENCH-U, source: s%" PRIu64 ", buffer: %" PRIu64 ", latency: %" PRIu64
                 "us, store: %" PRIu64 ", pipelining: %s}\n",
                 o->mode, i + 1, i, o->buffer, (uint64_t)(o->latency / TICK_US),
                 o->buffer * 16 < 320 ? 320 : o->buffer * 16, o->blocked ? "no" : "yes");
}

static void write_bench(const struct bench_options *o, uint16_t port, struct text *t)
{
    const char *password =
        o->terms.level == SLE_AUTH_NONE ? "" : "00112233445566778899aabbccddeeff";
    add_text(t, "id: BENCH-P\npassword: '%s'\nlisten: '127.0.0.1:%u'\ntcp_buffer: %" PRIu64 "\n",
             password, port, o->tcp_buffer);
    if (o->congestion != NULL)
        add_text(t, "congestion: '%s'\n", o->congestion);
    if (o->threads > 0)
        add_text(t, "threads: %" PRIu64 "\n", o->threads);
    add_text(t, "users:\n  - {id: BENCH-U, password: '%s', authentication: %s, hash: %s}\n",
             password, level_names[o->terms.level], hash_names[o->terms.hash]);
    if (o->cltus)
        write_uplinks(o, t);
    else
        write_downlinks(o, t);
}

bool bench_settings(const struct bench_options *o, uint16_t port, struct settings *s)
{
    struct text t = {.at = malloc(TEXT_CAP)};
    if (t.at == NULL)
        return false;
    write_bench(o, port, &t);
    bool good = parse_text(&t, s);
    free(t.at);
    return good;
}

static pid_t begin_provider(const struct bench_options *o, uint16_t port)
{
    struct settings s;
    if (!bench_settings(o, port, &s))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int code = provider_run(&s, LEVEL_WARNING);
        settings_free(&s);
        exit(code);
    }
    settings_free(&s);
    return child;
}

static double cpu_of(const struct rusage *u)
{
    return (double)u->ru_utime.tv_sec + (double)u->ru_stime.tv_sec +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void print_bench(const struct bench_options *o, json_t *result, double provider_cpu)
{
    json_t *r = json_object();
    double octets = json_number_value(json_object_get(result, "octets"));
    double user_cpu = json_number_value(json_object_get(result, "cpu_s"));
    json_object_set_new(r, "service", json_string(o->cltus ? "fcltu" : "raf"));
    json_object_set_new(r, "pipelining", json_boolean(!o->blocked));
    if (!o->cltus)
        json_object_set_new(r, "buffer", json_number(o->buffer));
    json_object_set_new(r, "frame", json_number(o->frame));
    json_object_set_new(r, "instances", json_number(o->instances));
    json_object_set_new(r, "threads", json_number(o->threads));
    json_object_set_new(r, "provider_cpu_s", json_real(provider_cpu));
    json_object_set_new(r, "user_cpu_s", json_real(user_cpu));
    json_object_set_new(r, "provider_bit_per_core_s",
                        json_real(provider_cpu > 0 ? octets * 8 / provider_cpu : 0));
    json_object_set_new(r, "user_bit_per_core_s",
                        json_real(user_cpu > 0 ? octets * 8 / user_cpu : 0));
    json_object_set(r, "result", result);
    json_dumpf(r, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(r);
}

struct user_options bench_user(const struct bench_options *o, const struct address *to,
                               char id[SLE_SIID_MAX + 1])
{
    const char *password =
        o->terms.level == SLE_AUTH_NONE ? "" : "00112233445566778899aabbccddeeff";
    if (o->cltus)
        snprintf(id, SLE_SIID_MAX + 1, BENCH_CLTU_ID);
    else
        snprintf(id, SLE_SIID_MAX + 1, BENCH_ID, o->mode);
    return (struct user_options){
        .to = *to,
        .instance = id,
        .id = "BENCH-U",
        .password = password,
        .responder = "BENCH-P",
        .responder_password = password,
        .port_name = "PORT1",
        .repeat = (unsigned)o->instances,
        .terms = o->terms,
        .start = {.quality = SLE_ALL_FRAMES, .first_cltu = USER_FIRST_CLTU},
        .made = o->cltus ? o->frame : 0,
        .alone = o->cltus && o->blocked,
        .frames = o->frames,
        .time = o->time,
        .wait = 60 * TICK_S,
        .tcp_buffer = o->tcp_buffer,
        .congestion = o->congestion,
        .warmup = o->warmup,
        .numbered = true,
        .log = LEVEL_WARNING};
}

int command_bench(const struct bench_options *o)
{
    struct address to;
    struct rusage usage;
    json_t *result = NULL;
    int status;
    uint16_t port = o->port > 0 ? o->port : plain_socket_free_port();
    if (address_of("127.0.0.1", port, &to) < 0)
        return 1;
    pid_t child = begin_provider(o, port);
    if (child < 0)
        return 1;
    (void)plain_socket_served(&to, BENCH_START); /* if not, the user says it */
    char id[SLE_SIID_MAX + 1];
    struct user_options u = bench_user(o, &to, id);
    int code = user_run(&u, &result);
    (void)kill(child, SIGTERM);
    if (wait4(child, &status, 0, &usage) != child || status != 0)
        code = 1;
    if (result != NULL)
        print_bench(o, result, cpu_of(&usage));
    json_decref(result);
    return code;
}
