/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered datagrams at a rate, and what became of them: how many came, in which order, and how
 * long each took from the sender's call to the receiving kernel's stamp.
 *   emu_load send ADDRESS PORT LENGTH DATAGRAMS RATE   (RATE in bit/s of the frames; 0: as fast as
 * it goes) emu_load recv ADDRESS PORT                         (until nothing came for a second;
 * JSON) LENGTH is that of the Ethernet frame: payload + 42 (IPv4) or 62 (IPv6).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BURST_NS 50000u /* of the sender: small against what is measured */
#define BATCH 64
#define NUMBERS_MAX (UINT64_C(1) << 27)

struct stamp {
    uint64_t number;
    int64_t sent_ns;
};

static int64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "emu_load: %s: %s\n", what, strerror(errno));
    return 1;
}

static socklen_t address(const char *host, const char *port, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)out;
    uint16_t number = htons((uint16_t)atoi(port));
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = number;
        return sizeof *v4;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = number;
    inet_pton(AF_INET6, host, &v6->sin6_addr);
    return sizeof *v6;
}

static int open_socket(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bytes = 64 << 20, on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    return fd;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int send_batch(int fd, size_t payload, uint64_t first, unsigned n)
{
    static const uint8_t filler[65536];
    struct stamp stamps[BATCH];
    struct iovec parts[BATCH][2];
    struct mmsghdr heads[BATCH];
    memset(heads, 0, sizeof heads);
    int64_t now = wall_ns();
    for (unsigned i = 0; i < n; i++) {
        stamps[i] = (struct stamp){.number = first + i, .sent_ns = now};
        parts[i][0] = (struct iovec){.iov_base = &stamps[i], .iov_len = sizeof stamps[i]};
        parts[i][1] = (struct iovec){.iov_base = (void *)(uintptr_t)filler,
                                     .iov_len = payload - sizeof stamps[i]};
        heads[i].msg_hdr = (struct msghdr){.msg_iov = parts[i], .msg_iovlen = 2};
    }
    for (unsigned done = 0; done < n;) {
        int rc = sendmmsg(fd, heads + done, n - done, 0);
        if (rc < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
            return -1;
        done += rc > 0 ? (unsigned)rc : 0;
    }
    return 0;
}

static int run_send(char **v)
{
    struct sockaddr_storage to;
    socklen_t len = address(v[0], v[1], &to);
    size_t frame = (size_t)atoi(v[2]);
    size_t payload = frame - (to.ss_family == AF_INET ? 42 : 62);
    uint64_t count = strtoull(v[3], NULL, 10), done = 0;
    double rate = atof(v[4]);
    int fd = open_socket(to.ss_family);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, len) < 0)
        return fail("the socket");
    send_batch(fd, payload, NUMBERS_MAX, 1); /* lets the addresses be found; not counted */
    sleep(1);
    int64_t start = wall_ns();
    while (done < count) {
        int64_t now = wall_ns();
        double may = rate > 0 ? (double)(now - start) * rate / 8e9 / (double)frame + 1 : 1e18;
        uint64_t n = may > (double)count    ? count - done
                     : (uint64_t)may > done ? (uint64_t)may - done
                                            : 0;
        n = n > BATCH ? BATCH : n > count - done ? count - done : n;
        if (n == 0) {
            struct timespec t = {.tv_nsec = BURST_NS};
            nanosleep(&t, NULL);
        } else if (send_batch(fd, payload, done, (unsigned)n) < 0) {
            return fail("sending");
        }
        done += n;
    }
    double seconds = (double)(wall_ns() - start) / 1e9;
    printf("{\"sent\": %" PRIu64 ", \"seconds\": %.6f, \"rate_bps\": %.0f, \"cpu_s\": %.3f}\n",
           done, seconds, (double)(done * frame) * 8 / seconds, cpu_s());
    return 0;
}

struct seen {
    uint64_t received, duplicates, reordered, next;
    uint8_t *bits; /* of numbers that came */
    int64_t *took; /* ns, of each in order of arrival */
    size_t cap;
    int64_t first, last;
};

static int64_t kernel_stamp(struct msghdr *h)
{
    struct timespec t = {0};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
            memcpy(&t, CMSG_DATA(c), sizeof t);
    }
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int note(struct seen *s, const struct stamp *stamp, int64_t at)
{
    if (s->received == s->cap) {
        s->cap = s->cap == 0 ? 1 << 20 : s->cap * 2;
        int64_t *more = realloc(s->took, s->cap * sizeof *more);
        if (more == NULL)
            return -1;
        s->took = more;
    }
    if (stamp->number >= NUMBERS_MAX)
        return 0;
    uint8_t bit = (uint8_t)(1u << (stamp->number % 8));
    s->duplicates += (s->bits[stamp->number / 8] & bit) != 0;
    s->bits[stamp->number / 8] |= bit;
    s->reordered += stamp->number < s->next;
    s->next = stamp->number + 1 > s->next ? stamp->number + 1 : s->next;
    s->first = s->received == 0 ? at : s->first;
    s->last = at;
    s->took[s->received++] = at - stamp->sent_ns;
    return 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_us(const struct seen *s, double share)
{
    if (s->received == 0)
        return 0;
    size_t i = (size_t)(share * (double)(s->received - 1));
    return (double)s->took[i] / 1e3;
}

static int receive_all(int fd, struct seen *s)
{
    static char room[BATCH][64];
    struct stamp stamps[BATCH];
    struct iovec parts[BATCH];
    struct mmsghdr heads[BATCH];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, s->received > 0 ? 1000 : 20000) <= 0)
            return 0;
        for (unsigned i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){.iov_base = &stamps[i], .iov_len = sizeof stamps[i]};
            heads[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i],
                                               .msg_iovlen = 1,
                                               .msg_control = room[i],
                                               .msg_controllen = sizeof room[i]};
        }
        int n = recvmmsg(fd, heads, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < n; i++) {
            if (note(s, &stamps[i], kernel_stamp(&heads[i].msg_hdr)) < 0)
                return -1;
        }
        struct timespec rest = {.tv_nsec = 200000}; /* stamps are the kernel's: no hurry */
        nanosleep(&rest, NULL);
    }
}

static int run_receive(char **v)
{
    struct sockaddr_storage local;
    socklen_t len = address(v[0], v[1], &local);
    struct seen s = {.bits = calloc(1, NUMBERS_MAX / 8)};
    int fd = open_socket(local.ss_family);
    if (s.bits == NULL || fd < 0 || bind(fd, (const struct sockaddr *)&local, len) < 0)
        return fail("the socket");
    fprintf(stderr, "ready\n");
    if (receive_all(fd, &s) < 0)
        return fail("receiving");
    qsort(s.took, s.received, sizeof *s.took, compare);
    printf("{\"received\": %" PRIu64 ", \"duplicates\": %" PRIu64 ", \"reordered\": %" PRIu64
           ", \"highest\": %" PRIu64
           ", \"seconds\": %.6f, \"cpu_s\": %.3f,\n \"took_us\": {\"min\": "
           "%.3f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"max\": %.3f}}\n",
           s.received, s.duplicates, s.reordered, s.next, (double)(s.last - s.first) / 1e9, cpu_s(),
           quantile_us(&s, 0), quantile_us(&s, 0.5), quantile_us(&s, 0.99), quantile_us(&s, 0.999),
           quantile_us(&s, 1));
    free(s.bits);
    free(s.took);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "send") == 0)
        return run_send(argv + 2);
    if (argc == 4 && strcmp(argv[1], "recv") == 0)
        return run_receive(argv + 2);
    fprintf(stderr, "usage: emu_load send ADDRESS PORT LENGTH DATAGRAMS RATE\n"
                    "       emu_load recv ADDRESS PORT\n");
    return 2;
}
