/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.0, so that the answer ends with the connection. What can go wrong: nobody listens, another
 * status than 200, an answer that is too long or does not end within ten seconds.
 */
#include "tools/csts/csts_fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FETCH_TIME (10 * TICK_S)

static void finish_request(struct fetch *f, const char *why)
{
    struct slice text = slice_of(NULL, 0);
    const uint8_t *body = f->len == 0 ? NULL : memmem(f->octets, f->len, "\r\n\r\n", 4);
    stream_close(f->stream);
    f->stream = NULL;
    alarm_set(&f->alarm, TICK_NEVER);
    if (why == NULL && (f->len < 13 || memcmp(f->octets, "HTTP/1.", 7) != 0 ||
                        memcmp(f->octets + 8, " 200 ", 5) != 0 || body == NULL))
        why = "the answer is not that of a server with /metrics";
    if (why == NULL)
        text = slice_of(body + 4, f->len - (size_t)(body + 4 - f->octets));
    f->told(f->context, text, why);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct fetch *f = context;
    if (f->len == f->cap) {
        const size_t cap = f->cap == 0 ? 65536 : 2 * f->cap;
        uint8_t *octets = cap > FETCH_MAX ? NULL : realloc(f->octets, cap);
        if (octets == NULL)
            return NULL;
        f->octets = octets;
        f->cap = cap;
    }
    *len = f->cap - f->len;
    return f->octets + f->len;
}

static void on_fed(void *context, size_t len)
{
    struct fetch *f = context;
    f->len += len;
}

static void on_writable(void *context)
{
    struct fetch *f = context;
    const struct slice rest = slice_of(f->request + f->written, f->request_len - f->written);
    if (rest.len > 0)
        f->written += stream_write(f->stream, &rest, 1);
}

static void on_ended(void *context, int error)
{
    finish_request(context, error < 0 ? helio_strerror(error) : NULL);
}

static void on_late(void *context)
{
    struct fetch *f = context;
    if (f->stream != NULL)
        finish_request(f, "no answer within 10 s");
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

void fetch_init(struct fetch *f, struct world *w, const struct address *from, const char *token,
                void (*told)(void *context, struct slice text, const char *why), void *context)
{
    char host[ADDRESS_TEXT_MAX];
    *f = (struct fetch){.world = w, .from = *from, .told = told, .context = context};
    const int n = snprintf(f->request, sizeof f->request,
                           "GET /metrics HTTP/1.0\r\nHost: %s\r\n%s%s%sConnection: close\r\n\r\n",
                           address_write(from, host), token == NULL ? "" : "Authorization: Bearer ",
                           token == NULL ? "" : token, token == NULL ? "" : "\r\n");
    f->request_len = n < 0 ? 0 : (size_t)n;
    alarm_init(&f->alarm, w, ALARM_APP, on_late, f);
}

void fetch_ask(struct fetch *f)
{
    const struct stream_place place = {.address = &f->from};
    if (f->stream != NULL)
        return;
    f->len = f->written = 0;
    const int e = stream_connect(f->world, &f->stream, &place, &stream_user, f);
    if (e < 0) {
        f->stream = NULL;
        f->told(f->context, slice_of(NULL, 0), helio_strerror(e));
        return;
    }
    stream_read(f->stream, true);
    (void)stream_write(f->stream, NULL, 0); /* `writable` follows when it is connected */
    alarm_set(&f->alarm, world_now(f->world) + FETCH_TIME);
}

void fetch_fini(struct fetch *f)
{
    if (f->stream != NULL)
        stream_close(f->stream);
    alarm_fini(&f->alarm);
    free(f->octets);
}
