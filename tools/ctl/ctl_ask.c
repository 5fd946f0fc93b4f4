/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request is sent, then the answer is read up to its line end. What can go wrong: no program
 * listens; a node that is stopped or hangs accepts the connection and never answers, so each wait
 * has a limit; the path is the application socket, which uses another protocol.
 */
#include "tools/ctl/ctl_ask.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "node/aap2/aap2_wire.h"
#include "os/net/local_socket.h"

#define READ_STEP 65536

struct reply {
    char *text;
    size_t len, cap;
    bool foreign; /* another protocol */
};

static int timeout_ms(tick timeout)
{
    return timeout / TICK_MS > INT32_MAX ? INT32_MAX : (int)(timeout / TICK_MS);
}

/* 1: it can be read; 0: timeout; -1: error. */
static int wait_for(int fd, short events, tick timeout)
{
    struct pollfd p = {.fd = fd, .events = events};
    int r;
    do
        r = poll(&p, 1, timeout_ms(timeout));
    while (r < 0 && errno == EINTR);
    return r;
}

/* As wait_for. */
static int write_line(int fd, const char *line, tick timeout)
{
    size_t len = strlen(line), done = 0;
    while (done <= len) {
        int r = wait_for(fd, POLLOUT, timeout);
        if (r <= 0)
            return r;
        ssize_t n = done < len ? send(fd, line + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                               : send(fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static bool make_room(struct reply *r)
{
    if (r->cap - r->len >= READ_STEP)
        return true;
    size_t cap = 2 * r->cap + READ_STEP;
    char *grown = realloc(r->text, cap);
    if (grown == NULL)
        return false;
    r->text = grown;
    r->cap = cap;
    return true;
}

/* 1: the line is whole; 0: not in time; -1: the connection ended. */
static int read_line(int fd, struct reply *reply, tick timeout)
{
    for (;;) {
        int r = wait_for(fd, POLLIN, timeout);
        if (r <= 0)
            return r;
        if (!make_room(reply))
            return -1;
        ssize_t n = recv(fd, reply->text + reply->len, READ_STEP, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            return -1;
        reply->foreign = (uint8_t)reply->text[0] == AAP2_MAGIC;
        if (reply->foreign) /* a line would never end */
            return -1;
        const char *end = memchr(reply->text + reply->len, '\n', (size_t)n);
        reply->len += (size_t)n;
        if (end != NULL)
            return 1;
    }
}

static void tell_failure(const char *program, const char *path, int r, bool foreign, tick timeout)
{
    if (foreign)
        fprintf(stderr,
                "%s: %s is the application socket; the control socket is %s.ctl (or what "
                "control: says in the node's configuration)\n",
                program, path, path);
    else if (r == 0)
        fprintf(stderr,
                "%s: the node at %s does not answer within %.3g s (--timeout): it is "
                "stopped, or hangs\n",
                program, path, (double)timeout / 1e9);
    else
        fprintf(stderr, "%s: %s: the node ended the connection\n", program, path);
}

struct json_t *ctl_ask(const char *program, const char *path, const char *line, tick timeout,
                       bool quiet)
{
    char why[256];
    struct reply reply = {.text = NULL};
    json_error_t error;
    int fd = local_socket_connect_within(path, timeout, why, sizeof why);
    if (fd < 0) {
        if (!quiet && fd == HELIO_ENOENT && access(path, F_OK) != 0 && errno == ENOENT)
            fprintf(stderr,
                    "%s: no node answers at %s: no such socket; start heliod, or write the "
                    "path of its control socket\n",
                    program, path);
        else if (!quiet)
            fprintf(stderr, "%s: %s%s\n", program, fd == HELIO_ENOENT ? "no node answers at " : "",
                    why);
        return NULL;
    }
    int r = write_line(fd, line, timeout);
    if (r > 0)
        r = read_line(fd, &reply, timeout);
    close(fd);
    json_t *answer = r > 0 ? json_loadb(reply.text, reply.len, 0, &error) : NULL;
    if (answer == NULL && !quiet)
        tell_failure(program, path, r, reply.foreign, timeout);
    free(reply.text);
    return answer;
}
