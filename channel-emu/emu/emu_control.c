/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request is one datagram and has one answer, so no state of clients is kept. What can go
 * wrong: the path is in use or cannot be created; an invalid request, which changes nothing; an
 * answer that its client does not accept, which is dropped. The system calls are here and in
 * emu_ask.c, because the emulator alone has UNIX sockets of datagrams; those of
 * os/net/local_socket.h are streams.
 */
#include "channel-emu/emu/emu_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

static int bind_path(int fd, const struct sockaddr_un *at)
{
    mode_t before = umask(0177);
    int rc = bind(fd, (const struct sockaddr *)at, sizeof *at);
    int error = errno;
    (void)umask(before);
    errno = error;
    return rc;
}

/* Is it a socket without a server? */
static bool is_left_over(int fd, const struct sockaddr_un *at)
{
    struct stat s;
    return lstat(at->sun_path, &s) == 0 && S_ISSOCK(s.st_mode) &&
           connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 && errno == ECONNREFUSED;
}

int emu_control_open(struct emu_control *c, const char *path, FILE *say)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *c = (struct emu_control){.fd = -1, .path = path};
    if (path == NULL)
        return 0;
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof at.sun_path) {
        fprintf(say, "helio-emu: --control '%s' is wrong; right is a path of 1 to %zu characters\n",
                path, sizeof at.sun_path - 1);
        return HELIO_EFORMAT;
    }
    memcpy(at.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : bind_path(fd, &at);
    if (rc < 0 && fd >= 0 && errno == EADDRINUSE && is_left_over(fd, &at) && unlink(path) == 0)
        rc = bind_path(fd, &at);
    if (rc < 0) {
        fprintf(say, "helio-emu: --control %s: cannot be made: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return HELIO_EIO;
    }
    c->fd = fd;
    return 0;
}

void emu_control_close(struct emu_control *c)
{
    if (c->fd < 0)
        return;
    (void)unlink(c->path);
    close(c->fd);
    c->fd = -1;
}

void emu_control_refuse(const struct conf_errors *e, char answer[EMU_CONTROL_ANSWER_MAX])
{
    size_t n = 0;
    answer[0] = '\0';
    for (size_t i = 0; i < e->len && n < EMU_CONTROL_ANSWER_MAX - 1; i++) {
        int more =
            snprintf(answer + n, EMU_CONTROL_ANSWER_MAX - n, "%s%s", i > 0 ? "\n" : "", e->text[i]);
        n += more > 0 ? (size_t)more : 0;
    }
}

void emu_control_done(const struct emu_link *l, const char *text, tick now, FILE *say,
                      char answer[EMU_CONTROL_ANSWER_MAX])
{
    double after = (double)(now - l->started) / 1e9;
    snprintf(answer, EMU_CONTROL_ANSWER_MAX, "ok, %.6f s after the start", after);
    fprintf(say, "helio-emu: changed %.6f s after the start: %.*s\n", after,
            (int)strcspn(text, "\n"), text);
    fflush(say);
}

void emu_control_show(json_t *o, char answer[EMU_CONTROL_ANSWER_MAX])
{
    size_t n =
        json_dumpb(o, answer, EMU_CONTROL_ANSWER_MAX - 1, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (n < EMU_CONTROL_ANSWER_MAX)
        answer[n] = '\0';
    else
        snprintf(answer, EMU_CONTROL_ANSWER_MAX, "too long; ask for a single link");
    json_decref(o);
}

int emu_control_link(void *whom, const char *text, size_t len, FILE *say, tick now,
                     char answer[EMU_CONTROL_ANSWER_MAX])
{
    struct emu_link *l = whom;
    struct scenario_change change;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    const bool status = strcmp(text, EMU_CONTROL_STATUS) == 0;
    if (status || strcmp(text, EMU_CONTROL_NOW) == 0) {
        free(e);
        emu_control_show(status ? emu_report_status(l) : emu_report_now(l, now), answer);
        return 0;
    }
    conf_errors_init(e, "");
    int rc = scenario_change_read(&change, &l->settings->scenario, text, len, e);
    if (rc < 0)
        emu_control_refuse(e, answer);
    free(e);
    if (rc < 0)
        return 0;
    rc = emu_link_change(l, &change, now);
    emu_control_done(l, text, now, say, answer);
    return rc;
}

int emu_control_serve(struct emu_control *c, emu_obey *obey, void *whom, tick now, FILE *say)
{
    char text[EMU_CONTROL_TEXT_MAX + 1], answer[EMU_CONTROL_ANSWER_MAX];
    struct sockaddr_un from;
    socklen_t size = sizeof from;
    ssize_t n =
        c->fd < 0 ? -1 : recvfrom(c->fd, text, sizeof text, 0, (struct sockaddr *)&from, &size);
    if (n < 0)
        return 0;
    int rc = 0;
    text[(size_t)n < sizeof text ? n : 0] = '\0';
    if ((size_t)n == sizeof text)
        snprintf(answer, sizeof answer, "longer than %u bytes; write less at once",
                 EMU_CONTROL_TEXT_MAX);
    else
        rc = obey(whom, text, (size_t)n, say, now, answer);
    if (rc < 0)
        return rc;
    (void)sendto(c->fd, answer, strlen(answer), MSG_DONTWAIT, (struct sockaddr *)&from, size);
    return 1;
}
