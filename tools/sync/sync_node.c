/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: the node refuses (repeated after a pause); it ends (all payloads that it had
 * not taken are repeated); or the user cannot take a delivery (the end). */
#include "tools/sync/sync_node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

#define PAUSE_MIN (50 * TICK_MS)
#define PAUSE_MAX (5 * TICK_S)
#define REFUSAL_TOLD (30 * TICK_S)
#define RESERVE 4 /* items that one delivery may lead to */
#define DELIVERIES 16
#define TURN_DELIVERIES 4 /* that are taken before signals and timers have their turn */

static void on_ready(void *context);

void sync_node_init(struct sync_node *n, struct world *w, const struct perf_options *o,
                    uint64_t random, uint64_t payload_max, const struct sync_node_user *user,
                    void *context)
{
    *n = (struct sync_node){.options = *o, .user = user, .context = context};
    perf_link_init(&n->link, w, &n->options, random, DELIVERIES, payload_max, on_ready, n);
    alarm_init(&n->alarm, w, ALARM_APP, on_ready, n);
}

static struct sync_node_item *item_at(struct sync_node *n, size_t i)
{
    return &n->items[(n->first + i) % SYNC_NODE_ITEMS];
}

void sync_node_fini(struct sync_node *n)
{
    perf_link_fini(&n->link);
    alarm_fini(&n->alarm);
    for (size_t i = 0; i < n->len; i++)
        free(item_at(n, i)->bytes);
    n->len = n->given = 0;
}

void sync_node_end(struct sync_node *n)
{
    if (n->stop)
        return;
    n->stop = true;
    alarm_set(&n->alarm, TICK_NEVER);
    n->user->over(n->context);
}

void sync_node_fail(struct sync_node *n, const char *what, const char *why)
{
    n->failed = true;
    if (*what != '\0')
        fprintf(stderr, "helio-sync: %s: %s\n", what, why);
    else
        fprintf(stderr, "helio-sync: %s\n", why);
}

bool sync_node_full(const struct sync_node *n)
{
    return n->len + RESERVE >= SYNC_NODE_ITEMS;
}

void sync_node_push(struct sync_node *n, const char *peer, struct slice body, uint8_t *bytes)
{
    assert(n->len < SYNC_NODE_ITEMS);
    struct sync_node_item *item = item_at(n, n->len++);
    *item = (struct sync_node_item){.bytes = bytes, .body = body};
    snprintf(item->peer, sizeof item->peer, "%s", peer);
}

static struct sync_node_item pop_item(struct sync_node *n)
{
    const struct sync_node_item item = *item_at(n, 0);
    assert(n->given > 0 && n->len >= n->given);
    n->first = (n->first + 1) % SYNC_NODE_ITEMS;
    n->given--;
    n->len--;
    return item;
}

static void note_refusal(struct sync_node *n, const char *text, tick now)
{
    char shown[384];
    n->pause = n->pause == 0 ? PAUSE_MIN : tick_min(2 * n->pause, PAUSE_MAX);
    n->again_at = tick_add(now, n->pause);
    if (n->refused++ > 0 && now < n->told_at)
        return;
    printable(text, strnlen(text, 90), shown, sizeof shown);
    fprintf(stderr, "helio-sync: the node refuses (%s); trying again\n",
            *text != '\0' ? shown : "no reason given");
    n->told_at = tick_add(now, REFUSAL_TOLD);
}

static int read_answers(struct sync_node *n, tick now)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(n->link.tx, &a)) == 1) {
        const bool valid = a.response != NULL && n->given > 0;
        const bool taken =
            valid && a.response->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
        if (valid && !taken)
            note_refusal(n, a.response->text, now);
        if (taken)
            n->pause = 0;
        if (valid) {
            const struct sync_node_item item = pop_item(n);
            if (item.bytes == NULL)
                n->user->answered(n->context, taken);
            else if (taken)
                free(item.bytes);
            else
                sync_node_push(n, item.peer, item.body, item.bytes);
        }
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
    }
    return rc;
}

static int read_deliveries(struct sync_node *n)
{
    struct aap2_arrival a;
    int rc = 0, taken_len = 0;
    while (!n->failed && !sync_node_full(n) && (rc = aap2_client_next(n->link.rx, &a)) == 1) {
        rc = 0;
        const bool taken = a.payload == NULL ||
                           n->user->take(n->context, a.message->adu->src_eid,
                                         a.message->adu->previous_node, buf_slice(a.payload)) == 0;
        if (a.payload != NULL && taken)
            rc = aap2_client_answer(n->link.rx, true);
        aap2_arrival_fini(&a);
        n->more = ++taken_len == TURN_DELIVERIES;
        if (rc != 0 || n->more)
            break;
    }
    return rc;
}

/* Payloads are long: each is written before the next is made. */
static int give_items(struct sync_node *n, tick now)
{
    while (now >= n->again_at && n->given < n->len && !aap2_client_queued(n->link.tx)) {
        struct sync_node_item *item = item_at(n, n->given);
        struct aap2_adu adu = {.destination = item->peer,
                               .lifetime_ms = n->options.lifetime_ms,
                               .priority = n->options.priority,
                               .ordinal = n->options.ordinal,
                               .body = item->body};
        int rc = aap2_client_send(n->link.tx, &adu);
        rc = rc == 0 ? aap2_client_flush(n->link.tx) : rc;
        if (rc != 0)
            return rc;
        n->given++;
        n->user->fill(n->context, now);
    }
    return aap2_client_flush(n->link.tx);
}

/* Repeats payloads that had not been taken; transfers begin with the state that their sender
 * reports then. */
static void lose_node(struct sync_node *n)
{
    const size_t len = n->len;
    n->given = 0;
    for (size_t i = 0; i < len; i++) {
        const struct sync_node_item item = *item_at(n, 0);
        n->first = (n->first + 1) % SYNC_NODE_ITEMS;
        n->len--;
        if (item.bytes != NULL)
            sync_node_push(n, item.peer, item.body, item.bytes);
    }
    n->user->lost(n->context);
}

static void serve_node(struct sync_node *n, tick now)
{
    int rc = read_answers(n, now);
    rc = rc == 0 ? read_deliveries(n) : rc;
    rc = rc == 0 ? aap2_client_flush(n->link.rx) : rc;
    if (rc == 0) {
        n->user->fill(n->context, now);
        rc = give_items(n, now);
    }
    if (rc == 0)
        return;
    perf_link_close(&n->link, now);
    lose_node(n);
}

static void take_turn(struct sync_node *n)
{
    const tick now = world_now(n->link.world);
    n->more = false;
    const int rc = perf_link_turn(&n->link, now);
    if (rc < 0)
        sync_node_fail(n, "", n->link.why);
    if (rc == 1)
        serve_node(n, now);
    tick next = n->failed ? now : n->user->turned(n->context, rc == 1, now);
    next = n->more ? now : next;
    if (n->failed)
        sync_node_end(n);
    if (n->link.tx == NULL)
        next = tick_min(next, n->link.retry_at);
    else if (n->given < n->len && n->again_at > now)
        next = tick_min(next, n->again_at);
    if (!n->stop)
        alarm_set(&n->alarm, next > now ? next : now + TICK_MS);
}

static void on_ready(void *context)
{
    struct sync_node *n = context;
    if (!n->stop)
        take_turn(n);
}

void sync_node_start(struct sync_node *n)
{
    n->link.give_up_at = tick_add(world_now(n->link.world), PERF_LINK_WAIT);
    take_turn(n);
}
