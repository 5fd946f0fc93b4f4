/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop's side of the HTTP server: a bell wakes it when the server's thread wants a text. What
 * can go wrong is what http_server_start says.
 */
#include "node/http/uv_http.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "node/http/http_server.h"
#include "os/uv_bell.h"

struct http {
    struct http_config config;
    struct http_server *server; /* NULL: it has been stopped */
    struct http_desk desk;
    struct uv_bell *bell;
};

static void ring_bell(void *context)
{
    struct http *h = context;
    uv_bell_ring(h->bell);
}

static void on_bell(void *context)
{
    struct http *h = context;
    http_desk_serve(&h->desk, h->config.make, h->config.context);
}

static int open_desk(struct http *h)
{
    int err = http_desk_init(&h->desk, ring_bell, h);
    if (err < 0)
        return err;
    err = uv_bell_open(&h->bell, h->config.loop, on_bell, h);
    if (err < 0)
        http_desk_fini(&h->desk);
    return err;
}

int http_open(struct http **out, const struct http_config *config, char *why, size_t why_cap)
{
    if (*config->listen == '\0')
        return 0;
    struct http *h = calloc(1, sizeof *h);
    int err = h == NULL ? HELIO_ENOMEM : 0;
    if (err == 0) {
        h->config = *config;
        err = open_desk(h);
    }
    if (err < 0) {
        snprintf(why, why_cap, "http.listen: %s", helio_strerror(err));
        free(h);
        return err;
    }
    const struct http_server_config own = {.listen = config->listen,
                                           .hosts = config->hosts,
                                           .token = config->token,
                                           .change_token = config->change_token,
                                           .network = config->network,
                                           .origins = config->origins,
                                           .page = config->page,
                                           .network_page = config->network_page,
                                           .cut = config->cut,
                                           .desk = &h->desk};
    err = http_server_start(&h->server, &own, why, why_cap);
    if (err < 0) {
        uv_bell_close(h->bell);
        http_desk_fini(&h->desk);
        free(h);
        return err;
    }
    *out = h;
    return 0;
}

void http_answer_later(struct http *h, const struct http_answer *a)
{
    http_desk_answer(&h->desk, a);
}

void http_close(struct http *h)
{
    if (h == NULL || h->server == NULL)
        return;
    http_desk_close(&h->desk);
    http_server_stop(h->server);
    h->server = NULL;
    uv_bell_close(h->bell);
}

void http_free(struct http *h)
{
    if (h == NULL)
        return;
    http_desk_fini(&h->desk);
    free(h);
}
