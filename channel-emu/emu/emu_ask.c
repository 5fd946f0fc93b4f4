/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram to the emulator's socket, and its answer. What can go wrong: nobody serves the socket,
 * or nobody answers in time. The system calls are here and in emu_control.c, because the emulator
 * alone has UNIX sockets of datagrams; those of os/net/local_socket.h are streams. */
#include "channel-emu/emu/emu_control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/process/signals.h"

#define ANSWER_MS 5000

bool emu_ask_path_ok(const char *path)
{
    return strlen(path) < sizeof((struct sockaddr_un *)0)->sun_path;
}

/* Binds a name for the answer, beside the emulator's: the kernel's automatic names belong to one
 * network namespace, and the emulator may be in another one, or belong to another user; a chmod
 * after bind could meet a file of somebody else. Empty, and an automatic name, if there is no
 * room. */
static int bind_beside(int fd, const char *path, struct sockaddr_un *own)
{
    *own = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(own->sun_path, sizeof own->sun_path, "%s.%ld", path, (long)getpid());
    mode_t before = umask(0);
    int rc = n > 0 && (size_t)n < sizeof own->sun_path
                 ? bind(fd, (const struct sockaddr *)own, sizeof *own)
                 : -1;
    umask(before);
    if (rc == 0)
        return 0;
    own->sun_path[0] = '\0';
    return bind(fd, (const struct sockaddr *)own, sizeof own->sun_family);
}

/* Returns 0, or -1 with errno: timeout, or a signal arrived. */
static int wait_for(int fd, short events, int signals)
{
    struct pollfd wait[2] = {{.fd = fd, .events = events}, {.fd = signals, .events = POLLIN}};
    int rc = poll(wait, 2, ANSWER_MS);
    if (rc == 0)
        errno = ETIMEDOUT;
    else if (rc > 0 && wait[1].revents != 0)
        errno = EINTR;
    return rc > 0 && wait[1].revents == 0 ? 0 : -1;
}

/* Bytes of the answer, or -1 with errno. */
static ssize_t talk_to_emulator(int fd, const char *path, const char *text, char *answer,
                                int signals)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, path, strlen(path));
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
        wait_for(fd, POLLOUT, signals) < 0 || send(fd, text, strlen(text), 0) < 0 ||
        wait_for(fd, POLLIN, signals) < 0)
        return -1;
    return recv(fd, answer, EMU_CONTROL_ANSWER_MAX, 0);
}

/* A signal meanwhile ends the program, after the name was removed. */
static ssize_t ask_emulator(int fd, const char *path, const char *text, char *answer)
{
    struct sockaddr_un own;
    sigset_t mask;
    int signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, 0}, &mask);
    if (signals < 0) {
        errno = EMFILE;
        return -1;
    }
    int bound = bind_beside(fd, path, &own);
    ssize_t n = bound < 0 ? -1 : talk_to_emulator(fd, path, text, answer, signals);
    int error = errno;
    if (bound == 0 && own.sun_path[0] != '\0')
        (void)unlink(own.sun_path);
    int came = signals_take(signals);
    signals_close(signals, &mask);
    if (came != 0)
        raise(came);
    errno = error;
    return n;
}

int emu_ask(const char *path, const char *text, char answer[EMU_CONTROL_ANSWER_MAX + 1])
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : ask_emulator(fd, path, text, answer);
    int error = errno;
    if (fd >= 0)
        close(fd);
    answer[n < 0 ? 0 : n] = '\0';
    errno = error;
    return n < 0 ? -1 : 0;
}
