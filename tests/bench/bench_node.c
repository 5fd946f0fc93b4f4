/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node to node over TCPCL or LTP on loopback, generator to sink, as pairs of programs are measured
 * whose bundles are made and consumed inside them. Two processes, each a whole node as heliod has
 * it (configuration, bundle agent, routes, adapter, loop; durability none) but for the sockets of
 * applications and operators: in their place the generator calls agent_send and the sink takes
 * AGENT_DELIVER, as the echo endpoint does.
 *
 * A bundle's way: memory, filled with its payload and its number; agent_send (checks, id, primary
 * and payload block with CRC-32C); STORE and CONFIRM; the route; SEND; the adapter and the kernel;
 * then decoding, CRCs, duplicates, STORE and acknowledgement; DELIVER to the registered endpoint,
 * which reads the number at both ends. The generator keeps its node full until the time is over,
 * then lets the last ones arrive. Goodput is from the first agent_send to the last acknowledgement;
 * all must have come once, over TCPCL also in order (LTP's sessions end in any). What can go wrong
 * is an exit code of 1.
 */
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cla/cla.h"
#include "node/node.h"
#include "os/process/process.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"

#define SINK_SERVICE 7
#define PATIENCE (60 * TICK_S) /* for the link to come up, and for the last bundles */
#define AGGREGATE 20000        /* bytes: several shorter bundles go in one block */
#define SINK_WINDOW 1024       /* deliveries outstanding, as a subscriber of heliod may have */

static const char help[] =
    "usage: bench_node [--adapter tcpcl|ltp] [--seconds S] [--bundle BYTES] [--window N] [--json]\n"
    "\n"
    "Two processes, each a node with its bundle agent; TCPCL or LTP (red, segments of 1024 bytes,\n"
    "short bundles aggregated) between them on loopback. The one makes\n"
    "bundles, the other consumes them, both inside the process. Included: payload (made and "
    "read),\n"
    "primary block, CRC-32C of both blocks, route, queues, adapter with acknowledgements, "
    "duplicates,\n"
    "delivery to an endpoint. Not included: sockets of applications, a store on a medium.\n"
    "\n"
    "  --adapter NAME  tcpcl or ltp [tcpcl]\n"
    "  --seconds S     how long bundles are made [5]\n"
    "  --bundle BYTES  payload, 16 or more [500000]\n"
    "  --window N      bundles that are at the first node at once [64]\n"
    "  --json          one object: bundle, window, gbit_s, bundles_s, processor time a bundle\n";

struct side {
    uint64_t bundles, bytes, wrong;
    double cpu_s;
};

/* Which numbers arrived: a byte each. */
struct seen {
    uint8_t *at;
    uint64_t cap;
};

/* The node's one application, and what it lies in. */
struct apps {
    struct node node;
    struct config config;
    struct uv_signals *signals;
    uint64_t bundle, window; /* of the generator; window 0: this is the sink */
    tick duration, begin, end;
    bool ltp;          /* the adapter; else it is tcpcl */
    uint16_t ports[2]; /* of node 1 (LTP only) and of node 2 */
    int ready;         /* the sink writes a byte there once it listens */
    struct seen seen;
    uint8_t *filling;
    struct alarm over; /* no further bundles */
    bool stopping;
    struct side side;
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* ---- the end ---- */

static void on_closed(struct node *n)
{
    struct apps *s = container_of(n, struct apps, node);
    alarm_fini(&s->over);
    uv_signals_close(s->signals);
    node_rest(n);
    uv_world_end(n->world);
}

static void stop_node(struct apps *s)
{
    if (s->node.stopping)
        return;
    s->side.cpu_s = cpu_seconds() - s->side.cpu_s;
    s->node.stopping = true;
    node_links_close(&s->node, on_closed);
}

static void on_signal(void *context, int number)
{
    (void)number;
    stop_node(context);
}

static void on_over(void *context)
{
    struct apps *s = context;
    if (s->begin == 0 || s->stopping) { /* the link did not come up; the last ones do not arrive */
        s->side.wrong++;
        stop_node(s);
        return;
    }
    s->stopping = true;
    alarm_set(&s->over, world_now(s->node.world) + PATIENCE);
}

/* ---- the application ---- */

static bool make_bundle(struct apps *s)
{
    struct buf *b = buf_new(BUNDLE_HEAD_IPN, s->bundle + BUNDLE_TAIL_MAX);
    if (b == NULL)
        return false;
    uint8_t *at = buf_append(b, s->bundle);
    uint64_t number = s->side.bundles;
    memcpy(at, &number, sizeof number);
    memcpy(at + sizeof number, s->filling, s->bundle - 2 * sizeof number);
    memcpy(at + s->bundle - sizeof number, &number, sizeof number);
    struct agent_request r = {.source = eid_ipn(0, s->node.config->node.node, 1),
                              .destination = eid_ipn(0, 2, SINK_SERVICE),
                              .report_to = eid_none(),
                              .crc = -1,
                              .payload = b,
                              .token = NODE_FIRST + number};
    if (agent_send(s->node.agent, &r, node_now(&s->node), NULL) != REFUSE_NONE) {
        buf_drop(b);
        return false;
    }
    s->side.bundles++;
    s->side.bytes += s->bundle;
    node_wake(&s->node);
    return true;
}

/* Each time that the agent has no further actions. */
static void fill_node(struct apps *s)
{
    const struct agent_counters *c = agent_counters(s->node.agent);
    if (s->window == 0 || s->node.stopping || s->node.links_len == 0 || !s->node.links[0]->up)
        return;
    if (s->begin == 0) {
        s->begin = world_now(s->node.world);
        s->side.cpu_s = cpu_seconds();
        alarm_set(&s->over, s->begin + s->duration);
    }
    while (!s->stopping && c->bundles < s->window)
        if (!make_bundle(s)) {
            s->side.wrong++;
            s->stopping = true;
        }
    if (s->stopping && c->bundles == 0) {
        s->end = world_now(s->node.world);
        s->side.wrong += c->ended[END_FORWARDED] != s->side.bundles;
        stop_node(s);
    }
}

/* False: it was here before, or memory is out. */
static bool note_number(struct seen *seen, uint64_t number)
{
    if (number >= seen->cap) {
        uint64_t cap = 2 * seen->cap > number ? 2 * seen->cap : 2 * number + 65536;
        uint8_t *at = cap > 1 << 30 ? NULL : realloc(seen->at, cap);
        if (at == NULL)
            return false;
        memset(at + seen->cap, 0, cap - seen->cap);
        *seen = (struct seen){at, cap};
    }
    return seen->at[number]++ == 0;
}

static void take_delivery(struct apps *s, const struct agent_action *a)
{
    uint64_t first = 0, last = 1;
    if (a->payload.len >= 2 * sizeof first) {
        memcpy(&first, a->payload.data, sizeof first);
        memcpy(&last, a->payload.data + a->payload.len - sizeof last, sizeof last);
    }
    if (s->side.bundles == 0)
        s->side.cpu_s = cpu_seconds();
    bool good = s->ltp ? note_number(&s->seen, first) : first == s->side.bundles;
    s->side.wrong += first != last || !good;
    s->side.bundles++;
    s->side.bytes += a->payload.len;
    agent_delivered(s->node.agent, a->key, true, node_now(&s->node));
}

static void take_answer(struct apps *s, const struct agent_action *a)
{
    s->side.wrong += a->kind != AGENT_CONFIRM;
}

static void recall_delivery(struct apps *s, const struct agent_action *a)
{
    (void)a;
    s->side.wrong++; /* a lifetime is longer than any run */
}

static const struct node_ops ops = {
    .deliver = take_delivery, .recall = recall_delivery, .answer = take_answer, .flush = fill_node};

/* ---- the node ---- */

/* The link's keys behind name and peer. */
static int write_link(const struct apps *s, int number, char *out, size_t cap)
{
    if (!s->ltp)
        return snprintf(out, cap, "adapter: tcpcl, %s: \"127.0.0.1:%u\", timers: {reconnect: 50ms}",
                        number == 1 ? "remote" : "local", s->ports[1]);
    return snprintf(out, cap,
                    "adapter: ltp-udp, local: \"127.0.0.1:%u\", remote: \"127.0.0.1:%u\", "
                    "rate: unlimited, rto: 200ms, sessions: 8, segment: 1024B, colour: red%s",
                    s->ports[number - 1], s->ports[2 - number],
                    s->bundle < AGGREGATE ? ", aggregate: 64kB" : "");
}

static bool read_config(struct apps *s, int number)
{
    char text[1024], link[512];
    struct conf_errors errors;
    write_link(s, number, link, sizeof link);
    int len = snprintf(text, sizeof text,
                       "node: ipn:%d.0\nsocket: /none\necho: off\nstore: {durability: none}\n"
                       "links:\n  - {name: to-%d, peer: ipn:%d.0, %s}\n",
                       number, 3 - number, 3 - number, link);
    conf_errors_init(&errors, "bench_node");
    int r = config_parse(&s->config, text, (size_t)len, cla_at, &errors);
    for (size_t i = 0; i < errors.len; i++)
        fprintf(stderr, "%s\n", errors.text[i]);
    return r == 0;
}

/* As heliod opens a node. */
static bool run_node(struct apps *s, int number)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    struct node *n = &s->node;
    const struct eid endpoint = eid_ipn(0, 2, SINK_SERVICE);
    memory_retain();
    if (!read_config(s, number) || uv_world_open(&n->world) < 0)
        return false;
    n->config = &s->config;
    n->ops = &ops;
    n->apps = s;
    n->started = node_now(n).now;
    say_init(&n->say, LEVEL_ERROR, false, "");
    alarm_init(&s->over, n->world, ALARM_APP, on_over, s);
    s->signals = uv_signals_open(n->world, numbers, 2, on_signal, s);
    if (s->signals == NULL || node_open(n, true) < 0 || node_start(n) < 0)
        return false;
    if (s->window > 0)
        alarm_set(&s->over, n->started + PATIENCE);
    else if (agent_register(n->agent, NODE_FIRST, &endpoint, SINK_WINDOW, node_now(n)) < 0)
        return false;
    if (s->window == 0 && write(s->ready, "", 1) != 1)
        return false;
    uv_world_run(n->world);
    bool good = uv_world_free(n->world) == 0;
    node_close(n);
    config_fini(&s->config);
    return good;
}

/* A byte when it listens; after SIGTERM the figures go into the same pipe. */
static void run_sink(const struct apps *as, int answer)
{
    struct apps *s = calloc(1, sizeof *s);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (s == NULL)
        exit(1);
    s->ltp = as->ltp;
    s->bundle = as->bundle;
    memcpy(s->ports, as->ports, sizeof s->ports);
    s->ready = answer;
    bool good = run_node(s, 2) && write(answer, &s->side, sizeof s->side) == sizeof s->side;
    free(s->seen.at);
    free(s);
    exit(good ? 0 : 1);
}

static bool run_generator(struct apps *s)
{
    s->filling = malloc(s->bundle);
    for (uint64_t i = 0; s->filling != NULL && i < s->bundle; i++)
        s->filling[i] = (uint8_t)(i * 31);
    bool good = s->filling != NULL && run_node(s, 1) && s->end > s->begin;
    free(s->filling);
    return good;
}

/* Free a moment ago. */
static uint16_t find_port(int type)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, type, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        abort();
    close(fd);
    return ntohs(a.sin_port);
}

static int parse_options(struct apps *s, bool *json, int argc, char **argv)
{
    static const struct option options[] = {{"adapter", required_argument, NULL, 'a'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"bundle", required_argument, NULL, 'b'},
                                            {"window", required_argument, NULL, 'w'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    double seconds = 5;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'a' && (strcmp(optarg, "ltp") == 0 || strcmp(optarg, "tcpcl") == 0))
            s->ltp = optarg[0] == 'l';
        else if (o == 's')
            seconds = strtod(optarg, NULL);
        else if (o == 'b')
            s->bundle = strtoull(optarg, NULL, 10);
        else if (o == 'w')
            s->window = strtoull(optarg, NULL, 10);
        else if (o == 'j')
            *json = true;
        else
            return fputs(help, o == 'h' ? stdout : stderr) < 0 || o != 'h' ? 2 : 0;
    }
    s->duration = (tick)(seconds * TICK_S);
    if (s->bundle >= 16 && s->bundle <= 1 << 30 && s->window > 0 && seconds > 0 && seconds < 1e6)
        return -1;
    fprintf(stderr, "bench_node: bundles of 16 bytes to 1 GiB, a window of 1 or more\n");
    return 2;
}

static void print_result(const struct apps *s, const struct side *far, bool json)
{
    double took = (double)(s->end - s->begin) / (double)TICK_S, n = (double)s->side.bundles;
    printf(json ? "{\"adapter\": \"%s\", \"bundle\": %llu, \"window\": %llu, \"gbit_s\": %.3f, "
                  "\"bundles_s\": %.0f, "
                  "\"generator_us\": %.3f, \"sink_us\": %.3f}\n"
                : "%s, payloads of %llu bytes, window %llu: %.3f Gbit/s, %.0f bundles/s; processor "
                  "time a bundle: generator %.2f us, sink %.2f us\n",
           s->ltp ? "ltp" : "tcpcl", (unsigned long long)s->bundle, (unsigned long long)s->window,
           (double)s->side.bytes * 8 / took / 1e9, n / took, s->side.cpu_s / n * 1e6,
           far->cpu_s / n * 1e6);
}

int main(int argc, char **argv)
{
    static struct apps s = {.bundle = 500000, .window = 64};
    struct side far;
    bool json = false;
    char ready;
    int answer[2], status, code = parse_options(&s, &json, argc, argv);
    if (code >= 0)
        return code;
    while (s.ports[0] == s.ports[1])
        for (int i = 0; i < 2; i++)
            s.ports[i] = find_port(s.ltp ? SOCK_DGRAM : SOCK_STREAM);
    signal(SIGPIPE, SIG_IGN);
    if (pipe(answer) < 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        run_sink(&s, answer[1]);
    close(answer[1]);
    bool good = child > 0 && read(answer[0], &ready, 1) == 1 && run_generator(&s);
    if (child > 0)
        kill(child, SIGTERM);
    good = read(answer[0], &far, sizeof far) == sizeof far && good;
    good = waitpid(child, &status, 0) == child && status == 0 && good;
    far.wrong += s.side.wrong;
    if (!good || far.wrong > 0 || far.bundles != s.side.bundles) {
        fprintf(stderr, "bench_node: %llu bundles made, %llu consumed, %llu things went wrong\n",
                (unsigned long long)s.side.bundles, (unsigned long long)far.bundles,
                (unsigned long long)far.wrong);
        return 1;
    }
    print_result(&s, &far, json);
    return 0;
}
