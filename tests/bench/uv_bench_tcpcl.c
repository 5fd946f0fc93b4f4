/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCPCL alone, memory to memory: two processes, each with one link, over loopback. The sender keeps
 * the link's window full of bundles until the time is over, then lets the last ones arrive; each is
 * acknowledged at once. Goodput is what was acknowledged, from the first send to the last
 * acknowledgement. Before it, in the same run, a plain TCP connection carries what it can.
 * usage: bench_tcpcl [--seconds S] [--bundle BYTES] [--window N] [--json]
 */
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "cla/tcpcl/tcpcl_config.h"
#include "os/clock.h"
#include "os/uv_world.h"

#define WINDOW_MAX 65536
#define RAW_BYTES (256 * 1024)

struct side {
    uint64_t bundles, bytes, wrong;
    double cpu;
};

struct bench {
    double seconds;
    uint64_t bundle, window;
    struct world *world;
    uv_loop_t *loop; /* of it */
    struct tcpcl_config config;
    struct cla *link;
    struct buf *bundles[WINDOW_MAX];
    uint64_t waiting[WINDOW_MAX], waits; /* bundles that the link does not have */
    uint64_t open, number;
    tick begin, end;
    bool begun, stopping;
    struct side side;
    uv_timer_t timer;
    uv_poll_t poll;
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* ---- the links ---- */

static bool send_bundle(struct bench *b, uint64_t i)
{
    struct buf *data = b->bundles[i];
    uint64_t n = ++b->number;
    memcpy(buf_data(data), &n, sizeof n);
    memcpy(buf_data(data) + data->len - sizeof n, &n, sizeof n);
    if (b->link->ops->send(b->link, i, data) != CLA_REASON_NONE)
        return false;
    b->open++;
    return true;
}

/* The link has as many bundles as it wants now (cla_limits.window), up to all of them. */
static void fill_link(struct bench *b)
{
    while (b->waits > 0 && b->open < b->link->limits.window && !b->stopping) {
        if (!send_bundle(b, b->waiting[b->waits - 1]))
            return;
        b->waits--;
    }
}

static void on_limits(void *context, struct cla *c)
{
    (void)c;
    fill_link(context);
}

static void on_link(void *context, struct cla *c, bool up)
{
    struct bench *b = context;
    if (!up || b->begun || b->bundle == 0)
        return;
    (void)c;
    b->begun = true;
    b->begin = clock_now();
    for (b->waits = 0; b->waits < b->window; b->waits++)
        b->waiting[b->waits] = b->waits;
    fill_link(b);
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct bench *b = context;
    (void)c;
    (void)reason;
    b->open--;
    b->side.wrong += outcome != CLA_DELIVERED;
    b->side.bundles++;
    b->side.bytes += b->bundle;
    if (!b->stopping) {
        b->waiting[b->waits++] = key;
        fill_link(b);
    } else if (b->open == 0) {
        b->end = clock_now();
        uv_stop(b->loop);
    }
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct bench *b = context;
    uint64_t first = 0, last = 1;
    if (bundle->len >= sizeof first) {
        memcpy(&first, buf_data(bundle), sizeof first);
        memcpy(&last, buf_data(bundle) + bundle->len - sizeof last, sizeof last);
    }
    b->side.wrong += first != last;
    b->side.bundles++;
    b->side.bytes += bundle->len;
    buf_drop(bundle);
    c->ops->confirm(c, token, CLA_ACCEPTED);
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    (void)context;
    (void)c;
    if (level < 2)
        fprintf(stderr, "bench_tcpcl: %s\n", text);
}

static int set_value(const struct conf_option *o, void *base, const char *text, char *why,
                     size_t cap)
{
    return o->type == OPTION_ADDRESS || o->type == OPTION_HOST
               ? 0
               : conf_option_set(o, base, text, why, cap);
}

static void open_link(struct bench *b, uint64_t own, uint16_t port)
{
    char why[256] = "";
    const struct cla_ops *ops = cla_find("tcpcl");
    if (uv_world_open(&b->world) < 0 ||
        conf_options_default(ops->options, &b->config, set_value) < 0)
        abort();
    b->loop = uv_world_loop(b->world);
    b->config.window = b->window;
    b->config.reconnect = 10 * TICK_MS;
    b->config.window_bytes = b->config.held_bytes = UINT64_C(1) << 30;
    if (address_of("127.0.0.1", port, own == 1 ? &b->config.remote.address : &b->config.local) < 0)
        abort();
    struct cla_env env = {.world = b->world,
                          .node = eid_ipn(0, own, 0),
                          .peer = eid_ipn(0, 3 - own, 0),
                          .bundle_max = 1 << 30,
                          .events = {.context = b,
                                     .received = on_received,
                                     .done = on_done,
                                     .link = on_link,
                                     .limits = on_limits,
                                     .say = on_say}};
    if (ops->open(&b->link, &env, &b->config, why, sizeof why) != 0) {
        fprintf(stderr, "bench_tcpcl: %s\n", why);
        exit(1);
    }
}

static void on_order(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    uv_stop(handle->loop);
}

/* Until the order pipe closes; then the figures go into the answer pipe. */
static void receive_bundles(struct bench *b, uint16_t port, int order, int answer)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    b->bundle = 0;
    open_link(b, 2, port);
    uv_poll_init(b->loop, &b->poll, order);
    uv_poll_start(&b->poll, UV_READABLE, on_order);
    uv_run(b->loop, UV_RUN_DEFAULT);
    b->side.cpu = cpu_seconds();
    ssize_t n = write(answer, &b->side, sizeof b->side);
    _exit(n == sizeof b->side ? 0 : 1);
}

static void on_time(uv_timer_t *timer)
{
    ((struct bench *)timer->data)->stopping = true;
}

static void send_bundles(struct bench *b, uint16_t port)
{
    for (uint64_t i = 0; i < b->window; i++) {
        b->bundles[i] = buf_new(0, b->bundle);
        if (b->bundles[i] == NULL)
            abort();
        memset(buf_append(b->bundles[i], b->bundle), (int)i, b->bundle);
    }
    open_link(b, 1, port);
    uv_timer_init(b->loop, &b->timer);
    b->timer.data = b;
    uv_timer_start(&b->timer, on_time, (uint64_t)(b->seconds * 1000), 0);
    uv_run(b->loop, UV_RUN_DEFAULT);
    b->side.cpu = cpu_seconds();
}

/* ---- a plain connection ---- */

static int listen_tcp(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        abort();
    *port = ntohs(a.sin_port);
    return fd;
}

static double blast_tcp(double seconds)
{
    static uint8_t bytes[RAW_BYTES];
    uint16_t port;
    int listener = listen_tcp(&port);
    pid_t child = fork();
    if (child == 0) {
        int fd = accept(listener, NULL, NULL);
        while (read(fd, bytes, sizeof bytes) > 0)
            continue;
        _exit(0);
    }
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (child < 0 || fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        abort();
    tick begin = clock_now();
    uint64_t sent = 0;
    while ((double)(clock_now() - begin) < seconds * 1e9) {
        ssize_t n = write(fd, bytes, sizeof bytes);
        sent += n > 0 ? (uint64_t)n : 0;
    }
    close(fd);
    waitpid(child, NULL, 0);
    close(listener);
    return (double)sent * 8 / (double)(clock_now() - begin);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
                                            {"bundle", required_argument, NULL, 'b'},
                                            {"window", required_argument, NULL, 'w'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    static struct bench b = {.seconds = 5, .bundle = 500000, .window = 64};
    bool json = false;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 's')
            b.seconds = strtod(optarg, NULL);
        else if (o == 'b')
            b.bundle = strtoull(optarg, NULL, 10);
        else if (o == 'w')
            b.window = strtoull(optarg, NULL, 10);
        else if (o == 'j')
            json = true;
        else
            return 2;
    }
    if (b.bundle < 8 || b.window < 1 || b.window > WINDOW_MAX || b.seconds <= 0) {
        fprintf(stderr, "bench_tcpcl: bundles of 8 bytes or more, a window of 1 to %d\n",
                WINDOW_MAX);
        return 2;
    }
    double raw = blast_tcp(b.seconds < 2 ? b.seconds : 2);
    uint16_t port;
    int order[2], answer[2], held = listen_tcp(&port);
    close(held); /* free a moment ago */
    if (pipe(order) < 0 || pipe(answer) < 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        close(order[1]);
        receive_bundles(&b, port, order[0], answer[1]);
    }
    close(order[0]);
    send_bundles(&b, port);
    close(order[1]);
    struct side far;
    if (read(answer[0], &far, sizeof far) != sizeof far)
        return 1;
    waitpid(child, NULL, 0);
    double took = (double)(b.end - b.begin) / 1e9;
    double gbit = (double)b.side.bytes * 8 / took / 1e9, rate = (double)b.side.bundles / took;
    printf(json ? "{\"bundle\": %llu, \"window\": %llu, \"gbit_s\": %.3f, \"bundles_s\": %.0f, "
                  "\"raw_tcp_gbit_s\": %.3f, \"sender_cpu\": %.2f, \"receiver_cpu\": %.2f}\n"
                : "bundles of %llu bytes, window %llu: %.3f Gbit/s, %.0f bundles/s; a plain TCP "
                  "connection %.3f Gbit/s; CPU of the sender %.2f, of the receiver %.2f\n",
           (unsigned long long)b.bundle, (unsigned long long)b.window, gbit, rate, raw,
           b.side.cpu / took, far.cpu / took);
    bool good = b.side.wrong == 0 && far.wrong == 0 && far.bundles == b.side.bundles;
    if (!good)
        fprintf(stderr, "bench_tcpcl: bundles differ at the two ends\n");
    return good ? 0 : 1;
}
