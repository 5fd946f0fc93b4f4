/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arrives is given to the end, and then answered: a bundle stays with the node until the end
 * has stored what is in it. What can go wrong: the node goes away (it is waited for), or refuses a
 * bundle (which the end hears), or another application has the group's endpoint (only the group
 * waits).
 */
#include "tools/plan/plans_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define WINDOW 1 /* each delivery may have 16 MiB */
#define GROUP_WAIT (10 * TICK_S)
#define FOREVER (UINT64_C(10) * 365 * 86400 * TICK_S) /* a node may be away for long */

static void on_ready(void *context)
{
    const struct plans_node *n = context;
    n->user->turn(n->context);
}

void plans_node_open(struct plans_node *n, struct world *w, struct say *log, const char *socket,
                     const char *service, const char *group, tick lifetime, uint64_t payload_max,
                     const struct plans_node_user *user, void *context)
{
    *n = (struct plans_node){
        .world = w, .log = log, .user = user, .context = context, .group = group};
    n->options = (struct perf_options){.program = "helio-plan",
                                       .socket = socket,
                                       .service = service,
                                       .lifetime_ms = lifetime / TICK_MS,
                                       .reconnect = FOREVER};
    perf_link_init(&n->link, w, &n->options, world_random(w), WINDOW, payload_max, on_ready, n);
    n->open = true;
}

static void drop_message(struct plans_node *n)
{
    free(n->octets);
    n->octets = NULL;
    n->given = false;
}

void plans_node_close(struct plans_node *n)
{
    if (!n->open)
        return;
    aap2_client_close(n->group_rx);
    n->group_rx = NULL;
    perf_link_fini(&n->link);
    drop_message(n);
    n->open = n->linked = false;
}

bool plans_node_free(const struct plans_node *n)
{
    return n->linked && n->octets == NULL;
}

static int read_answers(struct plans_node *n)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(n->link.tx, &a)) == 1) {
        const bool valid = a.response != NULL && n->given;
        const bool good =
            valid && a.response->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
        drop_message(n);
        n->user->sent(n->context, good);
    }
    return rc;
}

static int read_deliveries(struct plans_node *n, struct aap2_client *rx)
{
    struct aap2_arrival a;
    int rc = 0;
    while ((rc = aap2_client_next(rx, &a)) == 1) {
        rc = 0;
        if (a.payload != NULL) {
            n->user->arrived(n->context, a.message->adu->src_eid, buf_slice(a.payload));
            rc = aap2_client_answer(rx, true);
        }
        aap2_arrival_fini(&a);
        if (rc != 0)
            break;
    }
    rc = rc == HELIO_EAGAIN ? 0 : rc;
    return rc == 0 ? aap2_client_flush(rx) : rc;
}

/* The other connections stay: an application that has the group's endpoint must not stop the rest.
 */
static void lose_group(struct plans_node *n, const char *why, tick now)
{
    if (!n->group_told)
        say(n->log, LEVEL_WARNING, "%s: %s; it is tried again every 10 s", n->group, why);
    aap2_client_close(n->group_rx);
    n->group_rx = NULL;
    n->group_at = tick_add(now, GROUP_WAIT);
    n->group_told = true;
}

/* A connection of its own receives for the group. */
static void serve_group(struct plans_node *n, tick now)
{
    char why[AAP2_WHY_MAX];
    const struct aap2_registration r = {.subscriber = true,
                                        .endpoint = n->group,
                                        .secret = n->link.secret,
                                        .window = WINDOW,
                                        .payload_max = n->link.payload_max};
    if (n->group == NULL || (n->group_rx == NULL && now < n->group_at))
        return;
    if (n->group_rx == NULL) {
        if (aap2_client_open(&n->group_rx, n->world, n->options.socket, GROUP_WAIT, on_ready, n,
                             why) != 0)
            lose_group(n, why, now);
        return;
    }
    if (aap2_client_state(n->group_rx) == AAP2_WELCOMED)
        aap2_client_register(n->group_rx, &r);
    if (aap2_client_state(n->group_rx) == AAP2_FAILED) {
        snprintf(why, sizeof why, "%s", aap2_client_why(n->group_rx));
        lose_group(n, why, now);
        return;
    }
    if (aap2_client_state(n->group_rx) != AAP2_OPEN)
        return;
    n->group_told = false;
    const int rc = read_deliveries(n, n->group_rx);
    if (rc != 0)
        lose_group(n, helio_strerror(rc), now);
}

static int send_message(struct plans_node *n)
{
    const char *to;
    if (n->octets == NULL && n->user->next(n->context, &to, &n->octets, &n->len))
        snprintf(n->to, sizeof n->to, "%s", to);
    if (n->octets == NULL || n->given || aap2_client_full(n->link.tx))
        return aap2_client_flush(n->link.tx);
    const struct aap2_adu adu = {.destination = n->to,
                                 .lifetime_ms = n->options.lifetime_ms,
                                 .body = slice_of(n->octets, n->len)};
    const int rc = aap2_client_send(n->link.tx, &adu);
    n->given = rc == 0;
    return rc == 0 ? aap2_client_flush(n->link.tx) : rc;
}

static void lose_node(struct plans_node *n, int error, tick now)
{
    aap2_client_close(n->group_rx);
    n->group_rx = NULL;
    perf_link_lost(&n->link, error, now);
    say(n->log, LEVEL_WARNING, "%s; it is tried again", n->link.why);
    n->given = n->linked = false;
    n->group_at = now;
}

bool plans_node_turn(struct plans_node *n, tick now, tick *next)
{
    const int state = perf_link_turn(&n->link, now);
    if (state < 0) {
        say(n->log, LEVEL_ERROR, "%s", n->link.why);
        return false;
    }
    if (state == 1 && !n->linked) {
        n->linked = true;
        say(n->log, LEVEL_INFO, "endpoint %s", n->link.endpoint);
        n->user->linked(n->context);
    }
    if (state == 1) {
        int rc = read_answers(n);
        rc = rc == 0 ? read_deliveries(n, n->link.rx) : rc;
        rc = rc == 0 ? send_message(n) : rc;
        if (rc == 0)
            serve_group(n, now);
        else
            lose_node(n, rc, now);
    }
    *next = n->link.tx == NULL                        ? n->link.retry_at
            : n->group != NULL && n->group_rx == NULL ? n->group_at
                                                      : TICK_NEVER;
    return true;
}
