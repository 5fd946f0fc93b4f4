/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that arrives finds the files changed: a thread reads them, and the connection and
 * those behind it wait. Then each gets the new certificates.
 *
 * What can go wrong: the files are wrong: the log says why, and what was read before stays in use.
 * A waiting connection ends: without a message. There are too many, or memory is out: it is reset.
 */
#include "tools/sle/sle_certificates.h"

#include <assert.h>
#include <stdlib.h>

struct waiting {
    struct list node;
    struct certificates *certificates;
    struct stream *stream;
    uint8_t octet; /* it is not read */
};

static void free_waiting(struct waiting *w)
{
    list_sub(&w->node);
    w->certificates->len--;
    free(w);
}

static uint8_t *give_space(void *context, size_t *len)
{
    struct waiting *w = context;
    *len = 1;
    return &w->octet;
}

static void take_octets(void *context, size_t len)
{
    (void)context, (void)len;
}

static void on_writable(void *context)
{
    (void)context;
}

static void on_ended(void *context, int error)
{
    struct waiting *w = context;
    (void)error;
    stream_close(w->stream);
    free_waiting(w);
}

static const struct stream_user waiting_user = {give_space, take_octets, on_writable, on_ended};

static void on_read_again(void *context, int error, unsigned file, const char *why)
{
    struct certificates *c = context;
    struct list *node;
    if (error == 0)
        say(c->log, LEVEL_INFO, "the certificates are read again");
    else
        say(c->log, LEVEL_ERROR, "%s: %s; the earlier certificates stay in use", c->names[file],
            error == HELIO_EINVAL ? why : helio_strerror(error));
    while ((node = list_first(&c->waiting)) != NULL) {
        struct waiting *w = container_of(node, struct waiting, node);
        struct stream *s = w->stream;
        free_waiting(w);
        c->take(c->context, s);
    }
}

void certificates_look(struct certificates *c)
{
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    if (c->tls == NULL || tls_reloading(c->tls) || !tls_changed(c->tls) ||
        tls_reload_later(c->tls, c->world, on_read_again, c))
        return;
    const int e = tls_reload(c->tls, &file, why);
    on_read_again(c, e, file, why);
}

static void add_waiting(struct certificates *c, struct stream *s)
{
    struct waiting *w = c->len < CERTIFICATES_WAITING ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        stream_reset(s);
        return;
    }
    w->certificates = c;
    w->stream = s;
    stream_use(s, &waiting_user, w);
    list_add_tail(&c->waiting, &w->node);
    c->len++;
}

void certificates_take(struct certificates *c, struct stream *s)
{
    certificates_look(c);
    if (c->tls != NULL && tls_reloading(c->tls))
        add_waiting(c, s);
    else
        c->take(c->context, s);
}

void certificates_init(struct certificates *c)
{
    assert(c->take != NULL && c->names != NULL);
    list_init(&c->waiting);
    c->len = 0;
}

void certificates_fini(struct certificates *c)
{
    struct list *node;
    tls_reload_forget(c->tls);
    while ((node = list_first(&c->waiting)) != NULL) {
        struct waiting *w = container_of(node, struct waiting, node);
        stream_close(w->stream);
        free_waiting(w);
    }
}
