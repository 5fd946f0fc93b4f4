/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine's loopback carries without any protocol: one process sends as fast as it can,
 * another receives, and what arrives counts. Twice: one datagram a message (sendmmsg, recvmmsg),
 * and batches that the kernel cuts and puts together (UDP_SEGMENT, UDP_GRO).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 64
#define MESSAGE_MAX 65536
#define BUFFER (8 << 20)

struct side {
    uint64_t datagrams, bytes, calls;
    double cpu, seconds;
};

struct batch {
    struct mmsghdr m[MESSAGES];
    struct iovec iov[MESSAGES];
    uint8_t *bytes;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Distinct bytes for each message, as a real sender would have. */
static void batch_init(struct batch *b, size_t len)
{
    memset(b->m, 0, sizeof b->m);
    b->bytes = malloc((size_t)MESSAGES * MESSAGE_MAX);
    if (b->bytes == NULL)
        exit(1);
    for (unsigned i = 0; i < MESSAGES; i++) {
        uint8_t *p = b->bytes + (size_t)i * MESSAGE_MAX;
        memset(p, (int)i, MESSAGE_MAX);
        b->iov[i] = (struct iovec){.iov_base = p, .iov_len = len};
        b->m[i].msg_hdr.msg_iov = &b->iov[i];
        b->m[i].msg_hdr.msg_iovlen = 1;
    }
}

static int socket_pair(int *out)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int size = BUFFER;
    for (int i = 0; i < 2; i++) {
        out[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (out[i] < 0)
            return -1;
        if (setsockopt(out[i], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
            (void)setsockopt(out[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (bind(out[0], (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockname(out[0], (struct sockaddr *)&a, &len) != 0)
        return -1;
    return connect(out[1], (struct sockaddr *)&a, sizeof a);
}

/* Until nothing comes for 300 ms, which does not count as time. */
static struct side receive(int fd, bool cut)
{
    struct batch b;
    struct side s = {0};
    double first = 0, last = 0;
    int on = cut;
    (void)setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
    batch_init(&b, MESSAGE_MAX);
    double idle_cpu = cpu_s();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, s.datagrams == 0 ? 5000 : 300) > 0) {
        int n = recvmmsg(fd, b.m, MESSAGES, MSG_DONTWAIT, NULL);
        last = now_s();
        first = first == 0 ? last : first;
        s.calls++;
        for (int i = 0; i < n; i++)
            s.bytes += b.m[i].msg_len;
        s.datagrams += n > 0 ? (uint64_t)n : 0;
    }
    s.cpu = cpu_s() - idle_cpu;
    s.seconds = last - first;
    free(b.bytes);
    return s;
}

static struct side transmit(int fd, size_t size, bool cut, double seconds)
{
    struct batch b;
    struct side s = {0};
    unsigned per_message = cut ? (unsigned)(65507 / size) : 1;
    int segment = (int)size;
    if (per_message > 64)
        per_message = 64;
    if (cut)
        (void)setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
    batch_init(&b, size * per_message);
    double start = now_s(), cpu = cpu_s();
    while (now_s() - start < seconds) {
        int n = sendmmsg(fd, b.m, MESSAGES, 0);
        s.calls++;
        if (n < 0 && errno != ECONNREFUSED && errno != ENOBUFS)
            break;
        s.bytes += n > 0 ? (uint64_t)n * size * per_message : 0;
    }
    s.seconds = now_s() - start;
    s.datagrams = s.bytes / size;
    s.cpu = cpu_s() - cpu;
    free(b.bytes);
    return s;
}

/* Sender in this process, receiver in another. 0, or 1 when it could not be measured. */
static int blast(size_t size, bool cut, double seconds, json_t *o)
{
    int fds[2], answer[2];
    if (socket_pair(fds) != 0 || pipe(answer) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct side s = receive(fds[0], cut);
        _exit(write(answer[1], &s, sizeof s) == sizeof s ? 0 : 1);
    }
    close(fds[0]);
    struct side tx = transmit(fds[1], size, cut, seconds), rx;
    bool got = read(answer[0], &rx, sizeof rx) == sizeof rx;
    waitpid(child, NULL, 0);
    close(fds[1]);
    close(answer[0]);
    close(answer[1]);
    if (!got || rx.bytes == 0)
        return 1;
    double gigabits = (double)rx.bytes * 8e-9;
    double span = rx.seconds > tx.seconds ? rx.seconds : tx.seconds;
    json_object_set_new(o, "gbps", json_real(gigabits / span));
    json_object_set_new(o, "gbps_sent", json_real((double)tx.bytes * 8e-9 / tx.seconds));
    json_object_set_new(o, "datagrams_per_s", json_real((double)(rx.bytes / size) / span));
    json_object_set_new(o, "cpu_s_per_gbit_sender", json_real(tx.cpu / gigabits));
    json_object_set_new(o, "cpu_s_per_gbit_receiver", json_real(rx.cpu / gigabits));
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 5;
    size_t size = 1024;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--size") == 0)
            size = strtoull(argv[i + 1], NULL, 10);
        else
            size = 0;
    }
    if (argc % 2 == 0 || seconds <= 0 || size == 0 || size > 65507) {
        fputs("usage: bench_raw [--seconds S] [--size BYTES]\n", stderr);
        return 2;
    }
    json_t *o = json_object(), *cut = json_object();
    json_object_set_new(o, "size", json_integer((json_int_t)size));
    int r = blast(size, false, seconds, o);
    if (r == 0)
        r = blast(size, true, seconds, cut);
    json_object_set_new(o, "cut_by_kernel", cut);
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
    return r;
}
