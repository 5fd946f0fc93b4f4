/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pacing costs on this machine before any protocol: a sender that a timer wakes at a fixed
 * period, which then sends what is due as one message for the kernel to cut, and a receiver that
 * sleeps until something comes. Processor time of both for a wake-up, and as cores; how late the
 * sender wakes. Who wakes up and sends as often pays at least this.
 *
 * usage: bench_wake [--rate BIT/S] [--segment BYTES] [--period US] [--seconds S]
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 4000000

struct options {
    double rate, segment, period_us, seconds;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double cpu_of(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void receive_all(int fd)
{
    static uint8_t data[65536];
    int one = 1;
    (void)setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof one);
    while (recv(fd, data, sizeof data, 0) > 1)
        ;
    exit(0);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Sends by the clock, as one message what has become due; returns the number of wake-ups. */
static size_t send_paced(int fd, const struct options *o, uint32_t *late)
{
    static uint8_t data[65536];
    uint64_t period = (uint64_t)(o->period_us * 1000), begin = now_ns();
    uint64_t end = begin + (uint64_t)(o->seconds * 1e9);
    double frame_ns = o->segment * 8e9 / o->rate, sent = 0;
    size_t wakes = 0;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    int segment = (int)o->segment;
    if (timer < 0 || setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) < 0)
        fail("bench_wake");
    for (uint64_t at = begin + period; at < end; at += period) {
        struct itimerspec t = {
            .it_value = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)}};
        uint64_t count;
        if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, NULL) < 0 ||
            read(timer, &count, sizeof count) != sizeof count)
            fail("timerfd");
        uint64_t now = now_ns();
        if (wakes < SAMPLES_MAX)
            late[wakes++] = (uint32_t)(now - at);
        double due = (double)(now - begin) / frame_ns - sent;
        size_t frames = due > 60 ? 60 : (size_t)due;
        if (frames > 0)
            (void)send(fd, data, frames * (size_t)segment, 0);
        sent += (double)frames;
        if (now > at)
            at += (now - at) / period * period; /* not one by one what was slept over */
    }
    segment = 0;
    (void)setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
    (void)send(fd, data, 1, 0);
    close(timer);
    return wakes;
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {500e6, 1066, 50, 5};
    for (int i = 1; i + 1 < argc; i += 2) {
        double value = atof(argv[i + 1]);
        double *to = strcmp(argv[i], "--rate") == 0      ? &o.rate
                     : strcmp(argv[i], "--segment") == 0 ? &o.segment
                     : strcmp(argv[i], "--period") == 0  ? &o.period_us
                     : strcmp(argv[i], "--seconds") == 0 ? &o.seconds
                                                         : NULL;
        if (to == NULL || value <= 0) {
            fprintf(stderr, "usage: bench_wake [--rate BIT/S] [--segment BYTES] [--period US] "
                            "[--seconds S]\n");
            exit(2);
        }
        *to = value;
    }
    return o;
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    uint32_t *late = calloc(SAMPLES_MAX, sizeof *late);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0);
    if (late == NULL || bind(rx, (struct sockaddr *)&a, sizeof a) < 0 ||
        getsockname(rx, (struct sockaddr *)&a, &len) < 0 ||
        connect(tx, (struct sockaddr *)&a, sizeof a) < 0)
        fail("bench_wake");
    pid_t child = fork();
    if (child == 0)
        receive_all(rx);
    struct rusage before, after, theirs;
    getrusage(RUSAGE_SELF, &before);
    size_t wakes = send_paced(tx, &o, late);
    getrusage(RUSAGE_SELF, &after);
    if (wakes == 0 || wait4(child, NULL, 0, &theirs) < 0)
        fail("bench_wake");
    qsort(late, wakes, sizeof *late, compare_u32);
    double cpu = cpu_of(&after) - cpu_of(&before), other = cpu_of(&theirs);
    printf(
        "{\"rate_bps\": %.0f, \"period_us\": %.1f, \"wakes_per_s\": %.0f, \"sender_us_per_wake\": "
        "%.2f, \"receiver_us_per_wake\": %.2f, \"sender_cores\": %.3f, \"receiver_cores\": %.3f, "
        "\"late_us\": {\"p50\": %.1f, \"p99\": %.1f}}\n",
        o.rate, o.period_us, (double)wakes / o.seconds, cpu / (double)wakes * 1e6,
        other / (double)wakes * 1e6, cpu / o.seconds, other / o.seconds, late[wakes / 2] / 1e3,
        late[wakes / 100 * 99] / 1e3);
    free(late);
    return 0;
}
