/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to a node: each PDU is the payload of one bundle. A bundle stays in the ring until
 * the node has taken it, which is reported to the entity; when the node goes away, what it had not
 * taken is given again. What can go wrong: the node refuses a bundle (class 2 sends the PDU again,
 * class 1 ends as incomplete), and bundles of endpoints that no remote entity has (counted).
 */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/printable.h"
#include "tools/cfdp/cfdp_daemon.h"

#define WINDOW 16
#define DELIVERIES 64                                 /* taken in one turn */
#define FOREVER (UINT64_C(10) * 365 * 86400 * TICK_S) /* a node may be away for long */

static void on_ready(void *context)
{
    daemon_turn(context);
}

void node_init(struct daemon *d)
{
    d->options = (struct perf_options){.program = "helio-cfdp",
                                       .socket = d->settings->socket,
                                       .service = d->settings->service,
                                       .lifetime_ms = d->settings->lifetime / TICK_MS,
                                       .reconnect = FOREVER};
    perf_link_init(&d->link, d->world, &d->options, world_random(d->world), WINDOW, CFDP_PDU_MAX,
                   on_ready, d);
    d->has_node = true;
}

static struct bundle *bundle_at(struct daemon *d, size_t i)
{
    return &d->bundles[(d->bundles_first + i) % DAEMON_BUNDLES];
}

static void pop_bundle(struct daemon *d)
{
    assert(d->bundles_len > 0 && d->bundles_given <= d->bundles_len);
    free(bundle_at(d, 0)->octets);
    d->bundles_first = (d->bundles_first + 1) % DAEMON_BUNDLES;
    d->bundles_len--;
    d->bundles_given -= d->bundles_given > 0;
}

void node_fini(struct daemon *d)
{
    if (!d->has_node)
        return;
    perf_link_fini(&d->link);
    while (d->bundles_len > 0)
        pop_bundle(d);
    d->has_node = false;
}

bool node_has_room(const struct daemon *d)
{
    return d->has_node && d->linked && d->bundles_len < DAEMON_BUNDLES;
}

void node_push(struct daemon *d, const struct route *r, uint8_t *pdu, size_t len)
{
    assert(node_has_room(d) && len > 0);
    uint8_t *octets = realloc(pdu, len); /* it was allocated before its length was known */
    *bundle_at(d, d->bundles_len++) =
        (struct bundle){.to = r->config, .octets = octets == NULL ? pdu : octets, .len = len};
}

/* ---- turns ---- */

static int read_answers(struct daemon *d)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(d->link.tx, &a)) == 1) {
        const bool valid = a.response != NULL && d->bundles_given > 0;
        if (valid) {
            const bool taken =
                a.response->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
            d->bundles_refused += !taken;
            cfdp_confirm(d->entity, bundle_at(d, 0)->to->entity, taken, world_now(d->world));
            pop_bundle(d);
            daemon_tell(d);
        }
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
    }
    return rc;
}

static void take_delivery(struct daemon *d, const char *source, struct slice pdu, tick now)
{
    for (size_t i = 0; i < d->routes_len; i++)
        if (strcmp(d->routes[i].config->endpoint, source) == 0) {
            (void)cfdp_input(d->entity, d->routes[i].config->entity, pdu, now);
            daemon_tell(d);
            return;
        }
    d->foreign++;
}

/* *more: there may be others, which have the next turn. */
static int read_deliveries(struct daemon *d, tick now, bool *more)
{
    struct aap2_arrival a;
    int rc = 0, count = 0;
    while (count < DELIVERIES && (rc = aap2_client_next(d->link.rx, &a)) == 1) {
        rc = 0;
        count++;
        if (a.payload != NULL) {
            take_delivery(d, a.message->adu->src_eid, buf_slice(a.payload), now);
            rc = aap2_client_answer(d->link.rx, true);
        }
        aap2_arrival_fini(&a);
        if (rc != 0)
            break;
    }
    *more = count == DELIVERIES;
    rc = rc == HELIO_EAGAIN ? 0 : rc;
    return rc == 0 ? aap2_client_flush(d->link.rx) : rc;
}

static int give_bundles(struct daemon *d)
{
    while (d->bundles_given < d->bundles_len && !aap2_client_full(d->link.tx)) {
        const struct bundle *b = bundle_at(d, d->bundles_given);
        const struct aap2_adu adu = {.destination = b->to->endpoint,
                                     .lifetime_ms = d->options.lifetime_ms,
                                     .body = slice_of(b->octets, b->len)};
        const int rc = aap2_client_send(d->link.tx, &adu);
        if (rc != 0)
            return rc;
        d->bundles_given++;
    }
    return aap2_client_flush(d->link.tx);
}

/* Is there more to read? */
static bool serve_node(struct daemon *d, tick now)
{
    bool more = false;
    int rc = read_answers(d);
    rc = rc == 0 ? read_deliveries(d, now, &more) : rc;
    if (rc == 0)
        for (size_t i = 0; i < d->routes_len; i++)
            if (*d->routes[i].config->endpoint != '\0')
                daemon_fill(d, &d->routes[i], now);
    rc = rc == 0 ? give_bundles(d) : rc;
    if (rc == 0)
        return more;
    perf_link_lost(&d->link, rc, now);
    d->bundles_given = 0; /* given again */
    d->linked = false;
    return false;
}

static void say_linked(struct daemon *d)
{
    if (!d->linked)
        say(&d->log, LEVEL_INFO, "endpoint %s", d->link.endpoint);
    d->linked = true;
}

tick node_turn(struct daemon *d, tick now)
{
    if (!d->has_node)
        return TICK_NEVER;
    const int rc = perf_link_turn(&d->link, now);
    if (rc < 0) {
        say(&d->log, LEVEL_ERROR, "%s", d->link.why);
        d->failed = true;
        daemon_stop(d);
        return TICK_NEVER;
    }
    if (rc == 1) {
        say_linked(d);
        if (serve_node(d, now))
            return now;
    }
    return d->link.tx == NULL ? d->link.retry_at : TICK_NEVER;
}
