/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain TCP over loopback, as a measure for protocols of messages: a process sends messages,
 * another one answers each. usage: bench_tcp OCTETS ANSWER WINDOW SECONDS
 *
 * WINDOW messages are under way without an answer; 1: each waits. Both ends read and write as much
 * at once as there is. Prints JSON: messages a second.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (256u * 1024u)

static char bytes[BUFFER];

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void write_all(int fd, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len < BUFFER ? len : BUFFER);
        if (n <= 0)
            exit(0); /* the other end is done */
        len -= (size_t)n;
    }
}

/* Octets that came, or 0 at the end. */
static size_t read_some(int fd)
{
    ssize_t n = read(fd, bytes, BUFFER);
    return n <= 0 ? 0 : (size_t)n;
}

static void run_answerer(int fd, size_t octets, size_t answer)
{
    size_t n, got = 0;
    while ((n = read_some(fd)) > 0) {
        got += n;
        write_all(fd, got / octets * answer);
        got %= octets;
    }
    exit(0);
}

static void make_pair(int fd[2])
{
    const int yes = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&a, &len) != 0)
        fail("listen");
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (fd[0] < 0 || connect(fd[0], (struct sockaddr *)&a, len) != 0)
        fail("connect");
    fd[1] = accept(listener, NULL, NULL);
    if (fd[1] < 0)
        fail("accept");
    for (int i = 0; i < 2; i++)
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    close(listener);
}

int main(int argc, char **argv)
{
    int fd[2];
    if (argc != 5) {
        fprintf(stderr, "usage: bench_tcp OCTETS ANSWER WINDOW SECONDS\n");
        return 2;
    }
    const size_t octets = strtoul(argv[1], NULL, 10), answer = strtoul(argv[2], NULL, 10);
    const size_t window = strtoul(argv[3], NULL, 10);
    const double seconds = strtod(argv[4], NULL);
    if (octets == 0 || answer == 0 || window == 0) {
        fprintf(stderr, "bench_tcp: OCTETS, ANSWER and WINDOW are at least 1\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    make_pair(fd);
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        close(fd[0]);
        run_answerer(fd[1], octets, answer);
    }
    close(fd[1]);
    size_t sent = 0, answered = 0, got = 0, n;
    const double begin = now_s();
    while (now_s() - begin < seconds) {
        write_all(fd[0], (window - (sent - answered)) * octets);
        sent = answered + window;
        if ((n = read_some(fd[0])) == 0)
            break;
        got += n;
        answered += got / answer;
        got %= answer;
    }
    const double took = now_s() - begin;
    close(fd[0]);
    (void)waitpid(child, NULL, 0);
    printf("{\"octets\": %zu, \"answer\": %zu, \"window\": %zu, \"per_second\": %.0f}\n", octets,
           answer, window, (double)answered / took);
    return 0;
}
