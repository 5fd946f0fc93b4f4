/* SPDX-License-Identifier: Apache-2.0 */
/* A handle for each signal; all of them are closed before the memory is freed. */
#include "os/uv_signals.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

#include "os/uv_world.h"

#define NUMBERS_MAX 4

struct uv_signals {
    uv_signal_t handles[NUMBERS_MAX];
    size_t open;
    void (*fn)(void *context, int number);
    void *context;
};

static void on_signal(uv_signal_t *h, int number)
{
    struct uv_signals *s = h->data;
    s->fn(s->context, number);
}

static void on_closed(uv_handle_t *h)
{
    struct uv_signals *s = h->data;
    if (--s->open == 0)
        free(s);
}

/* What is open closes by itself. */
static struct uv_signals *fail_open(struct uv_signals *s)
{
    if (s->open == 0)
        free(s);
    else
        uv_signals_close(s);
    return NULL;
}

struct uv_signals *uv_signals_open(struct world *w, const int *numbers, size_t n,
                                   void (*fn)(void *context, int number), void *context)
{
    struct uv_signals *s = calloc(1, sizeof *s);
    assert(n <= NUMBERS_MAX);
    if (s == NULL)
        return NULL;
    s->fn = fn;
    s->context = context;
    for (size_t i = 0; i < n; i++) {
        if (uv_signal_init(uv_world_loop(w), &s->handles[i]) < 0)
            return fail_open(s);
        s->handles[i].data = s;
        s->open++;
        if (uv_signal_start(&s->handles[i], on_signal, numbers[i]) < 0)
            return fail_open(s);
    }
    return s;
}

void uv_signals_close(struct uv_signals *s)
{
    size_t n = s == NULL ? 0 : s->open;
    for (size_t i = 0; i < n; i++)
        uv_close((uv_handle_t *)&s->handles[i], on_closed);
}
