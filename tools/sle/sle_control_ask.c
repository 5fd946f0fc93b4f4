/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sle control: one order for a provider's control socket, and its answer. What can go wrong:
 * nobody listens there, or the order is none (exit 1). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/net/local_socket.h"
#include "tools/sle/helio_sle.h"
#include "tools/sle/sle_control.h"

/* The whole answer; false: there was none. */
static bool ask_provider(int fd, const char *line, tick until, char *answer, size_t cap)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t len = 0, all = strlen(line);
    if (write(fd, line, all) != (ssize_t)all)
        return false;
    for (;;) {
        if (clock_poll(&p, 1, until) <= 0)
            return false;
        ssize_t n = read(fd, answer + len, cap - 1 - len);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    answer[len] = '\0';
    return len > 0;
}

int command_control(const struct control_options *o)
{
    char why[256], line[CONTROL_LINE_MAX], answer[CONTROL_LINE_MAX];
    size_t len = 0;
    for (size_t i = 0; i < o->len; i++) {
        const size_t word = strlen(o->words[i]);
        if (len + word + 2 > sizeof line) {
            fprintf(stderr, "helio-sle: the order is too long\n");
            return 2;
        }
        memcpy(line + len, o->words[i], word);
        len += word;
        line[len++] = i + 1 < o->len ? ' ' : '\n';
    }
    line[len] = '\0';
    const int fd = local_socket_connect(o->socket, why, sizeof why);
    if (fd < 0) {
        fprintf(stderr, "helio-sle: %s\n", why);
        return 1;
    }
    const bool answered = ask_provider(fd, line, clock_now() + o->wait, answer, sizeof answer);
    close(fd);
    const bool good = answered && strcmp(answer, "ok\n") == 0;
    if (!good)
        fprintf(stderr, "helio-sle: %s", answered ? answer : "the provider does not answer\n");
    return good ? 0 : 1;
}
