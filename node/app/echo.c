/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The echo endpoint returns a bundle's payload to its source as a new bundle, marked as an answer
 * if configured. Answers are not answered, because two echo endpoints would continue for ever: no
 * bundle with the mark, none from the conventional echo endpoint of other nodes, and only a limited
 * number for one endpoint, in all and with the same payload. Administrative records, and bundles of
 * sources that cannot be an application, are not answered either.
 */
#include <assert.h>

#include "base/allowance.h"
#include "base/hash.h"
#include "node/node.h"

/* Is the source the same service at another node, which other nodes use for their echo by
 * default? */
static bool is_other_echo(const struct eid *from, const struct eid *echo)
{
    if (from->scheme != echo->scheme)
        return false;
    if (from->scheme == EID_IPN)
        return from->service == echo->service;
    const char *mine = strrchr(echo->ssp, '/'), *theirs = strrchr(from->ssp, '/');
    return mine != NULL && theirs != NULL && strcmp(mine, theirs) == 0;
}

static bool is_marked(const struct agent_action *a)
{
    struct bundle b;
    if (a->payload.data == buf_data(a->bundle)) /* reassembled: there are no blocks */
        return false;
    if (bundle_decode(buf_data(a->bundle), a->bundle->len, BUNDLE_LENIENT, &b, NULL) < 0)
        return false;
    for (size_t i = 0; i < b.others_len; i++) {
        if (b.others[i].type == ECHO_BLOCK &&
            slice_equal(b.others[i].data, slice_of(ECHO_MARK, strlen(ECHO_MARK))))
            return true;
    }
    return false;
}

bool echo_allow(struct echo_table *t, uint64_t hash, tick pause, unsigned burst, tick now)
{
    size_t set = hash % ECHO_SETS, at = 0;
    for (size_t i = 0; i < ECHO_WAYS; i++) {
        if (t->at[set][i].hash == hash) {
            at = i;
            break;
        }
        if (t->at[set][i].spent < t->at[set][at].spent)
            at = i;
    }
    tick spent = t->at[set][at].hash == hash ? t->at[set][at].spent : 0;
    if (!allowance_take(&spent, pause, burst, now))
        return false;
    t->at[set][at].hash = hash;
    t->at[set][at].spent = spent;
    return true;
}

static bool is_within_limits(struct node *n, const struct agent_action *a)
{
    struct echo_state *e = &n->echo_state;
    tick now = node_now(n).now;
    uint64_t source = eid_hash(n->seed, &a->id.source);
    uint64_t payload = hash_bytes(source, a->payload.data, a->payload.len);
    return echo_allow(&e->payloads, payload, ECHO_SAME_PAUSE, ECHO_SAME_BURST, now) &&
           echo_allow(&e->sources, source, ECHO_PAUSE, ECHO_BURST, now);
}

static bool answers(struct node *n, const struct agent_action *a)
{
    const struct eid *from = &a->id.source;
    return from->scheme != EID_OTHER && !eid_is_none(from) && !eid_is_node(from) &&
           !(a->flags & BUNDLE_IS_ADMIN) && !is_other_echo(from, &n->echo) && !is_marked(a) &&
           is_within_limits(n, a);
}

/* node_watch.c logs it: the source only sees that no answer arrives. */
static void note_unsent(struct node *n, const struct agent_action *a, enum agent_refusal why)
{
    assert(why != REFUSE_NONE);
    n->echo_unsent.count++;
    n->echo_unsent.why = why;
    n->echo_unsent.to = a->id.source;
}

static void send_back(struct node *n, const struct agent_action *a)
{
    struct buf *b = buf_new(BUNDLE_HEAD_MAX, a->payload.len + BUNDLE_TAIL_MAX);
    if (b == NULL) {
        note_unsent(n, a, REFUSE_NO_MEMORY);
        return;
    }
    if (a->payload.len > 0)
        memcpy(buf_append(b, a->payload.len), a->payload.data, a->payload.len);
    struct bundle_block mark = {.type = ECHO_BLOCK,
                                .flags = BLOCK_REPLICATE,
                                .crc = CRC_32C,
                                .data = slice_of(ECHO_MARK, strlen(ECHO_MARK))};
    struct agent_request r = {.source = n->echo,
                              .destination = a->id.source,
                              .report_to = eid_none(),
                              .lifetime_ms = a->lifetime_ms,
                              .crc = -1,
                              .payload = b,
                              .block = n->config->echo_mark ? &mark : NULL,
                              .token = NODE_TOKEN_ECHO};
    const enum agent_refusal why = agent_send(n->agent, &r, node_now(n), NULL);
    if (why != REFUSE_NONE) {
        buf_drop(b);
        note_unsent(n, a, why);
        return;
    }
    n->echoed++;
}

int echo_open(struct node *n)
{
    n->has_echo = config_echo(n->config, &n->echo);
    if (!n->has_echo)
        return 0;
    return agent_register(n->agent, NODE_REG_ECHO, &n->echo, 16, node_now(n));
}

void echo_deliver(struct node *n, const struct agent_action *a)
{
    if (answers(n, a))
        send_back(n, a);
    else
        n->echo_refused++;
    agent_delivered(n->agent, a->key, true, node_now(n));
}
