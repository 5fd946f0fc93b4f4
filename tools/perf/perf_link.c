/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: the first connection reports the node's name, which determines the endpoint;
 * both connections register it with one secret. What can go wrong: the node does not run yet, or
 * has ended. Then the connection is repeated with pauses, as long as the options permit.
 */
#include "tools/perf/perf_link.h"

#include <stdio.h>
#include <string.h>

#define HANDSHAKE (10 * TICK_S)
#define PAUSE_MIN (20 * TICK_MS)
#define PAUSE_MAX TICK_S
#define START_PAUSE (50 * TICK_MS)
#define START_TOLD (300 * TICK_MS)

void perf_link_init(struct perf_link *l, struct world *w, const struct perf_options *o,
                    uint64_t random, uint32_t window, uint64_t payload_max,
                    void (*ready)(void *context), void *context)
{
    tick now = world_now(w);
    *l = (struct perf_link){.options = o,
                            .world = w,
                            .ready = ready,
                            .context = context,
                            .window = window,
                            .payload_max = payload_max,
                            .starting = true,
                            .give_up_at = tick_add(now, PERF_LINK_WAIT),
                            .told_at = tick_add(now, START_TOLD),
                            .pause = PAUSE_MIN};
    if (o->service != NULL)
        snprintf(l->service, sizeof l->service, "%s", o->service);
    else if (!o->server && o->well_known == NULL)
        snprintf(l->service, sizeof l->service, "%u", 0x10000u + (uint32_t)(random % 0x7fff0000u));
    snprintf(l->secret, sizeof l->secret, "perf-%016llx", (unsigned long long)random);
}

static void drop_new(struct perf_link *l)
{
    aap2_client_close(l->new_tx);
    aap2_client_close(l->new_rx);
    l->new_tx = l->new_rx = NULL;
}

void perf_link_fini(struct perf_link *l)
{
    drop_new(l);
    aap2_client_close(l->tx);
    aap2_client_close(l->rx);
    l->tx = l->rx = NULL;
}

void perf_link_close(struct perf_link *l, tick now)
{
    perf_link_fini(l);
    l->starting = false;
    l->pause = PAUSE_MIN;
    l->retry_at = now;
    l->give_up_at = tick_add(now, l->options->reconnect);
}

void perf_link_lost(struct perf_link *l, int error, tick now)
{
    snprintf(l->why, sizeof l->why, "the connection to the node: %s",
             error == HELIO_EIO ? "the node closed it" : helio_strerror(error));
    perf_link_close(l, now);
}

/* ---- opening ---- */

static int find_endpoint(struct perf_link *l, const char *node)
{
    static const char *const servers[2] = {"2000", "perf"};
    const char *const *known = l->options->well_known != NULL ? l->options->well_known : servers;
    const char *service = l->service;
    if (*service == '\0')
        service = known[strncmp(node, "dtn:", 4) == 0];
    int rc = aap2_endpoint(node, service, l->endpoint);
    if (rc != 0)
        snprintf(l->why, sizeof l->why, "the node's name is strange: %.100s", node);
    return rc;
}

/* The node has refused the endpoint: what is wrong with its service. */
static void tell_endpoint(struct perf_link *l, struct aap2_client *c)
{
    const char *node = aap2_client_node(c), *service = l->service;
    const bool ipn = strncmp(node, "ipn:", 4) == 0;
    if (ipn && service[strspn(service, "0123456789")] != '\0')
        snprintf(l->why, sizeof l->why,
                 "service %.60s: the node is %.60s, whose services are numbers; choose --service N",
                 service, node);
    else if (strcmp(service, ipn ? "128" : "echo") == 0)
        snprintf(l->why, sizeof l->why, "service %s is the node's echo; choose another --service",
                 service);
    else
        snprintf(l->why, sizeof l->why, "%.235s; choose --service", aap2_client_why(c));
}

static int open_one(struct perf_link *l, struct aap2_client **out)
{
    return aap2_client_open(out, l->world, l->options->socket, HANDSHAKE, l->ready, l->context,
                            l->why);
}

/* 1 = open, 0 = the node has to answer first, or an error. */
static int open_further(struct perf_link *l, struct aap2_client *c, bool subscriber)
{
    struct aap2_registration r = {.subscriber = subscriber,
                                  .endpoint = l->endpoint,
                                  .secret = l->secret,
                                  .window = subscriber ? l->window : 0,
                                  .payload_max = l->payload_max};
    if (aap2_client_state(c) == AAP2_WELCOMED) {
        int rc = find_endpoint(l, aap2_client_node(c));
        if (rc != 0)
            return rc;
        aap2_client_register(c, &r);
    }
    if (aap2_client_state(c) != AAP2_FAILED)
        return aap2_client_state(c) == AAP2_OPEN;
    if (aap2_client_error(c) == HELIO_EEXIST)
        snprintf(l->why, sizeof l->why,
                 "another application has %.100s; stop it or choose --service", l->endpoint);
    else if (aap2_client_error(c) == HELIO_EINVAL)
        tell_endpoint(l, c);
    else
        snprintf(l->why, sizeof l->why, "%s", aap2_client_why(c));
    return aap2_client_error(c);
}

/* The subscriber registers last: from then on there are deliveries. 1 = both are open. */
static int open_both(struct perf_link *l)
{
    int rc = l->new_tx != NULL ? 0 : open_one(l, &l->new_tx);
    if (rc == 0)
        rc = open_further(l, l->new_tx, false);
    if (rc == 1 && l->new_rx == NULL)
        rc = open_one(l, &l->new_rx) < 0 ? HELIO_EIO : 1;
    if (rc == 1)
        rc = open_further(l, l->new_rx, true);
    return rc;
}

static void tell_waiting(struct perf_link *l, tick now)
{
    if (now < l->told_at)
        return;
    fprintf(stderr, "%s: %s; waiting up to 3 s for the node\n",
            l->options->program != NULL ? l->options->program : "helio-perf", l->why);
    l->told_at = TICK_NEVER;
}

/* The node was not there at the start. */
static int wait_for_node(struct perf_link *l, int rc, tick now)
{
    if (rc != HELIO_EIO)
        return rc;
    if (now < l->give_up_at) {
        tell_waiting(l, now);
        l->retry_at = now + START_PAUSE;
        return 0;
    }
    if (l->options->reconnect == 0)
        return rc;
    perf_link_close(l, now);
    l->retry_at = now + l->pause;
    return 0;
}

/* It was open. What a caller or the last attempt has said stays. */
static int give_up(struct perf_link *l)
{
    if (*l->why == '\0')
        snprintf(l->why, sizeof l->why,
                 "the node closed the connection; does it still run? Its log says why it ended");
    return HELIO_EIO;
}

static int wait_for_return(struct perf_link *l, tick now)
{
    if (now >= l->give_up_at)
        return give_up(l);
    l->retry_at = now + l->pause;
    l->pause = tick_min(2 * l->pause, PAUSE_MAX);
    return 0;
}

int perf_link_turn(struct perf_link *l, tick now)
{
    if (l->tx != NULL)
        return 1;
    if (!l->starting && l->options->reconnect == 0)
        return give_up(l);
    if (l->new_tx == NULL && now < l->retry_at)
        return 0;
    int rc = open_both(l);
    if (rc < 0) {
        drop_new(l);
        return l->starting ? wait_for_node(l, rc, now) : wait_for_return(l, now);
    }
    l->retry_at = TICK_NEVER;
    if (rc == 0)
        return 0;
    l->tx = l->new_tx;
    l->rx = l->new_rx;
    l->new_tx = l->new_rx = NULL;
    l->reconnects += !l->starting;
    l->why[0] = '\0';
    l->starting = false;
    return 1;
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void perf_link_check(const struct perf_link *l)
{
    assert((l->tx == NULL) == (l->rx == NULL));
    assert(l->tx == NULL || l->new_tx == NULL);
    assert(l->new_rx == NULL || l->new_tx != NULL);
    aap2_client_check(l->tx);
    aap2_client_check(l->rx);
    aap2_client_check(l->new_tx);
    aap2_client_check(l->new_rx);
}
