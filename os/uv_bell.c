/* SPDX-License-Identifier: Apache-2.0 */
#include "os/uv_bell.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"

struct uv_bell {
    uv_poll_t poll;
    int fd;
    void (*rung)(void *context);
    void *context;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct uv_bell *b = poll->data;
    uint64_t rings;
    (void)status; /* an eventfd has no errors of its own */
    (void)events;
    if (read(b->fd, &rings, sizeof rings) == (ssize_t)sizeof rings)
        b->rung(b->context);
}

static void on_closed(uv_handle_t *handle)
{
    struct uv_bell *b = handle->data;
    close(b->fd);
    free(b);
}

int uv_bell_open(struct uv_bell **out, struct uv_loop_s *loop, void (*rung)(void *context),
                 void *context)
{
    assert(out != NULL && rung != NULL);
    struct uv_bell *b = malloc(sizeof *b);
    if (b == NULL)
        return HELIO_ENOMEM;
    *b = (struct uv_bell){.rung = rung, .context = context};
    b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int err = b->fd < 0 ? helio_from_errno(errno) : 0;
    if (err == 0)
        err = helio_from_errno(-uv_poll_init(loop, &b->poll, b->fd));
    if (err < 0) {
        if (b->fd >= 0)
            close(b->fd);
        free(b);
        return err;
    }
    b->poll.data = b;
    int r = uv_poll_start(&b->poll, UV_READABLE, on_readable);
    (void)r;
    assert(r == 0); /* the descriptor was good for uv_poll_init */
    *out = b;
    return 0;
}

void uv_bell_ring(struct uv_bell *b)
{
    uint64_t one = 1;
    ssize_t n = write(b->fd, &one, sizeof one);
    assert(n == (ssize_t)sizeof one); /* the count ends at 2^64 - 2 */
    (void)n;
}

void uv_bell_close(struct uv_bell *b)
{
    if (b != NULL)
        uv_close((uv_handle_t *)&b->poll, on_closed);
}
