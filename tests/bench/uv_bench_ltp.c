/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTP alone, memory to memory: two processes, each with one link, over loopback. The sender keeps
 * the link's window full of blocks until the time is over, then lets the last ones arrive. Goodput
 * is what the receiver took, from the first send to the last confirmation. Each block has its
 * number at both ends, which the receiver checks. A third process can flood the receiver with
 * segments of engines that it does not know, of which it may accept some.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/uv_rig.h"

#include "ltp/segment.h"
#include "os/process/process.h"
#include "os/uv_world.h"

#define BLOCKS_MAX 4096
#define FLOOD_BATCH 50

struct side {
    uint64_t blocks, bytes, wrong, socket_drops, datagrams, calls, retransmitted, unknown;
    double cpu;
};

struct bench {
    double seconds, flood;
    uint64_t crowd; /* engines of the flood */
    uint64_t block;
    const char *sessions, *segment, *rate, *batch, *accept;
    struct world *world;
    uv_loop_t *loop; /* of it */
    struct cla *link;
    struct buf *blocks[BLOCKS_MAX];
    uint32_t window, open;
    uint64_t number;
    bool stopping;
    struct side side;
    uv_poll_t poll;
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void send_block(struct bench *b, uint32_t i)
{
    struct buf *data = b->blocks[i];
    uint64_t n = ++b->number;
    memcpy(buf_data(data), &n, sizeof n);
    memcpy(buf_data(data) + data->len - sizeof n, &n, sizeof n);
    if (b->link->ops->send(b->link, i, data) == CLA_REASON_NONE)
        b->open++;
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct bench *b = context;
    (void)c;
    (void)reason;
    b->open--;
    if (cla_outcome_is_good(outcome)) {
        b->side.blocks++;
        b->side.bytes += b->block;
    }
    if (!b->stopping)
        send_block(b, (uint32_t)key);
    else if (b->open == 0)
        uv_stop(b->loop);
}

static void on_received(void *context, struct cla *c, struct buf *block, uint64_t token)
{
    struct bench *b = context;
    uint64_t first = 0, last = 1;
    if (block->len >= 2 * sizeof first) {
        memcpy(&first, buf_data(block), sizeof first);
        memcpy(&last, buf_data(block) + block->len - sizeof last, sizeof last);
    }
    b->side.wrong += first != last;
    b->side.blocks++;
    b->side.bytes += block->len;
    buf_drop(block);
    c->ops->confirm(c, token, CLA_ACCEPTED);
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    (void)context;
    (void)c;
    (void)level;
    fprintf(stderr, "bench_ltp: %s\n", text);
}

static struct cla_env env_of(struct bench *b, uint64_t own, uint64_t peer)
{
    return (struct cla_env){
        .world = b->world,
        .node = {.scheme = EID_IPN, .node = own},
        .peer = {.scheme = EID_IPN, .node = peer},
        .bundle_max = 1 << 30,
        .seed = own * 7919 + (uint64_t)getpid(),
        .events = {.context = b, .received = on_received, .done = on_done, .say = on_say},
    };
}

static void open_link(struct bench *b, uint64_t own, uint16_t local, uint16_t remote)
{
    static struct ltp_link_config k; /* borrowed by the link until the process ends */
    char from[32], to[32];
    snprintf(from, sizeof from, "127.0.0.1:%u", local);
    snprintf(to, sizeof to, "127.0.0.1:%u", remote);
    const char *pairs[] = {"local",   from,       "remote",         to,
                           "rto",     "200ms",    "sessions",       b->sessions,
                           "segment", b->segment, "rate",           b->rate,
                           "batch",   b->batch,   "unknown.accept", own == 2 ? b->accept : "0",
                           NULL};
    if (uv_world_open(&b->world) < 0)
        abort();
    b->loop = uv_world_loop(b->world);
    rig_config(&k, pairs);
    struct cla_env env = env_of(b, own, 3 - own);
    b->link = rig_open(&k, &env);
}

static void finish(struct bench *b)
{
    b->side.cpu = cpu_seconds();
    b->side.socket_drops = rig_status(b->link, "socket_drops");
    b->side.datagrams = rig_status(b->link, "datagrams_tx") + rig_status(b->link, "datagrams_rx");
    b->side.calls = rig_status(b->link, "socket_calls_tx") + rig_status(b->link, "socket_calls_rx");
    b->side.retransmitted = rig_status(b->link, "retransmitted_bytes");
    b->side.unknown = rig_verdict(b->link, "unknown_peer") + rig_verdict(b->link, "limit_peers") +
                      rig_verdict(b->link, "limit_sessions");
}

static void on_order(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    uv_stop(handle->loop);
}

/* Until the order pipe closes; then the figures go into the answer pipe. */
static void receiver(struct bench *b, uint16_t local, uint16_t remote, int order, int answer)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_link(b, 2, local, remote);
    uv_poll_init(b->loop, &b->poll, order);
    uv_poll_start(&b->poll, UV_READABLE, on_order);
    uv_run(b->loop, UV_RUN_DEFAULT);
    finish(b);
    ssize_t n = write(answer, &b->side, sizeof b->side);
    _exit(n == sizeof b->side ? 0 : 1);
}

/* Segments of as many engines, each of which would open a session, in batches at even times; for
 * ever. */
static void flooder(uint16_t port, double rate, uint64_t engines)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    static uint8_t bytes[FLOOD_BATCH][1200], data[1000];
    static struct iovec parts[FLOOD_BATCH];
    static struct mmsghdr all[FLOOD_BATCH];
    uint64_t due = uv_hrtime(), n = 0;
    for (;;) {
        for (int i = 0; i < FLOOD_BATCH; i++, n++) {
            struct ltp_segment s = {.type = LTP_RED_CP_EOB,
                                    .id = {1000 + n % engines, n},
                                    .client_service = 1,
                                    .data = slice_of(data, sizeof data),
                                    .cp_serial = 1};
            parts[i].iov_base = bytes[i];
            parts[i].iov_len = segment_write(&s, bytes[i], sizeof bytes[i]);
            all[i].msg_hdr = (struct msghdr){
                .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &parts[i], .msg_iovlen = 1};
        }
        (void)sendmmsg(fd, all, FLOOD_BATCH, 0);
        due += (uint64_t)(FLOOD_BATCH * 1e9 / rate);
        uint64_t now = uv_hrtime();
        if (now < due)
            usleep((useconds_t)((due - now) / 1000));
    }
}

static void on_time(uv_timer_t *timer)
{
    struct bench *b = timer->data;
    b->stopping = true;
}

static double sender(struct bench *b, uint16_t local, uint16_t remote)
{
    open_link(b, 1, local, remote);
    b->window = b->link->limits.window;
    b->window = b->window > BLOCKS_MAX ? BLOCKS_MAX : b->window;
    for (uint32_t i = 0; i < b->window; i++) {
        b->blocks[i] = buf_new(0, b->block);
        memset(buf_append(b->blocks[i], b->block), (int)i, b->block);
        send_block(b, i);
    }
    uv_timer_t timer;
    uv_timer_init(b->loop, &timer);
    timer.data = b;
    uv_timer_start(&timer, on_time, (uint64_t)(b->seconds * 1000), 0);
    uint64_t start = uv_hrtime();
    uv_run(b->loop, UV_RUN_DEFAULT);
    double elapsed = (double)(uv_hrtime() - start) * 1e-9;
    finish(b);
    return elapsed;
}

static void report(const struct bench *b, const struct side *far, double elapsed)
{
    const struct side *near = &b->side;
    double gigabits = (double)near->bytes * 8e-9;
    json_t *o = json_pack(
        "{s:f s:f s:I s:I s:I s:f s:s s:s s:I s:f s:f s:I s:I s:I s:I s:f}", "gbps",
        gigabits / elapsed, "seconds", elapsed, "blocks", (json_int_t)near->blocks, "received",
        (json_int_t)far->blocks, "wrong", (json_int_t)far->wrong, "datagrams_per_s",
        (double)far->datagrams / elapsed, "segment", b->segment, "sessions", b->sessions, "block",
        (json_int_t)b->block, "cpu_s_per_gbit_sender", near->cpu / gigabits,
        "cpu_s_per_gbit_receiver", far->cpu / gigabits, "socket_drops",
        (json_int_t)near->socket_drops + (json_int_t)far->socket_drops, "retransmitted_bytes",
        (json_int_t)near->retransmitted, "calls_sender", (json_int_t)near->calls, "calls_receiver",
        (json_int_t)far->calls, "unknown_per_s", (double)far->unknown / elapsed);
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
}

static int usage(void)
{
    fputs("usage: bench_ltp [--seconds S] [--segment BYTES] [--block BYTES] [--sessions N]\n"
          "                 [--rate RATE] [--batch yes|no] [--flood SEGMENTS-PER-SECOND]\n"
          "                 [--flood-engines N] [--accept-unknown PLACES]\n",
          stderr);
    return 2;
}

static bool options(struct bench *b, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *v = argv[i + 1];
        if (strcmp(argv[i], "--seconds") == 0)
            b->seconds = atof(v);
        else if (strcmp(argv[i], "--block") == 0)
            b->block = strtoull(v, NULL, 10);
        else if (strcmp(argv[i], "--segment") == 0)
            b->segment = v;
        else if (strcmp(argv[i], "--sessions") == 0)
            b->sessions = v;
        else if (strcmp(argv[i], "--rate") == 0)
            b->rate = v;
        else if (strcmp(argv[i], "--flood") == 0)
            b->flood = atof(v);
        else if (strcmp(argv[i], "--flood-engines") == 0)
            b->crowd = strtoull(v, NULL, 10);
        else if (strcmp(argv[i], "--accept-unknown") == 0)
            b->accept = v;
        else if (strcmp(argv[i], "--batch") == 0)
            b->batch = v;
        else
            return false;
    }
    return argc % 2 == 1 && b->seconds > 0 && b->block >= 16 && b->block <= UINT32_MAX &&
           b->crowd > 0;
}

int main(int argc, char **argv)
{
    struct bench *b = calloc(1, sizeof *b);
    *b = (struct bench){.seconds = 5,
                        .block = 500000,
                        .sessions = "8",
                        .segment = "1024",
                        .rate = "unlimited",
                        .accept = "0",
                        .crowd = 50000,
                        .batch = "yes"};
    if (!options(b, argc, argv))
        return usage();
    int order[2], answer[2];
    memory_retain(); /* as heliod does */
    if (pipe(order) != 0 || pipe(answer) != 0)
        return 1;
    uint16_t port1 = rig_port(false), port2 = rig_port(false);
    pid_t child = fork();
    if (child == 0) {
        close(order[1]);
        receiver(b, port2, port1, order[0], answer[1]);
    }
    pid_t crowd = b->flood > 0 ? fork() : -1;
    if (crowd == 0)
        flooder(port2, b->flood, b->crowd);
    usleep(100000); /* until the receiver listens: its first segments would be lost */
    double elapsed = sender(b, port1, port2);
    if (crowd > 0)
        kill(crowd, SIGKILL);
    struct side far = {0};
    close(order[1]);
    bool got = read(answer[0], &far, sizeof far) == sizeof far;
    waitpid(child, NULL, 0);
    report(b, &far, elapsed);
    free(b);
    return got && far.wrong == 0 ? 0 : 1;
}
