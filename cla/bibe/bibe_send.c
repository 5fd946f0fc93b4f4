/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encapsulation (draft-ietf-dtn-bibe-00 §4.1, §4.2). A bundle becomes the payload of a bundle of
 * this node, or of several if it is longer than a segment; some at a time. When the node has stored
 * all of them, the bundle is handed over: no further outcome follows. With custody it waits for the
 * peer's signal from then on (bibe_custody.c).
 *
 * What can go wrong: the bundle is for the tunnel's own endpoint, or nested too deeply; the node
 * refuses bundles for the tunnel's far end (no route, no room); memory.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bundle.h"
#include "cla/bibe/bibe_link.h"

#define OPEN_MAX 8 /* segments of one bundle that the node is storing */

static struct bibe_link *link_of(struct cla *c)
{
    return container_of(c, struct bibe_link, cla);
}

/* §6: what leads into the tunnel again would never end. */
static enum cla_reason judge_bundle(const struct bibe_link *l, struct buf *bundle)
{
    struct bundle b;
    if (bundle_decode(buf_data(bundle), bundle->len, BUNDLE_CHECKED, &b, NULL) < 0)
        return CLA_REASON_PROTOCOL;
    const unsigned most = (unsigned)l->config->nesting;
    if (eid_equal(&b.destination, &l->config->remote) ||
        bibe_depth(buf_slice(bundle), most) >= most)
        return CLA_REASON_LOOP;
    return CLA_REASON_NONE;
}

static bool is_whole(const struct bibe_link *l, const struct bibe_sending *s)
{
    return l->config->segment == 0 || s->bundle->len <= l->config->segment;
}

/* §5.1: all encapsulating bundles of one end at one time. */
static uint64_t lifetime_left(const struct bibe_link *l, const struct bibe_sending *s)
{
    tick now = world_now(l->env.world);
    return s->ends > now ? (s->ends - now + TICK_MS - 1) / TICK_MS : 1;
}

static void write_head(const struct bibe_link *l, const struct bibe_sending *s,
                       const struct bibe_payload *p, struct buf *payload)
{
    if (s->custody_id != 0) {
        bibe_custody_head(l, s->custody_id, payload);
        return;
    }
    const int rc = bibe_encode(p, payload);
    assert(rc == 0);
    (void)rc;
}

/* The next encapsulating bundle. */
static enum cla_reason submit_next(struct bibe_link *l, struct bibe_sending *s)
{
    const struct bibe_payload p = {.segment = s->custody_id == 0 && !is_whole(l, s),
                                   .transfer = s->transfer,
                                   .total = s->bundle->len,
                                   .offset = s->sent};
    uint64_t len = s->bundle->len - s->sent;
    if (p.segment && len > l->config->segment)
        len = l->config->segment;
    struct buf *payload = buf_new(BUNDLE_HEAD_MAX + BIBE_HEAD_MAX, (size_t)len + BUNDLE_TAIL_MAX);
    if (payload == NULL)
        return CLA_REASON_NO_MEMORY;
    memcpy(buf_append(payload, (size_t)len), buf_data(s->bundle) + s->sent, (size_t)len);
    write_head(l, s, &p, payload);
    const struct cla_parcel parcel = {.source = l->config->local,
                                      .destination = l->config->remote,
                                      .lifetime_ms = lifetime_left(l, s),
                                      .record = s->custody_id != 0,
                                      .payload = payload};
    enum cla_reason reason = l->env.self.submit(l->env.self.context, &parcel, s->token, &s->stamp);
    if (reason != CLA_REASON_NONE) {
        buf_drop(payload);
        return reason;
    }
    s->sent += len;
    s->open++;
    l->n.encapsulated++;
    assert(s->sent <= s->bundle->len);
    return CLA_REASON_NONE;
}

static void free_sending(struct bibe_link *l, struct bibe_sending *s)
{
    assert(l->sending_len > 0);
    list_sub(&s->node);
    l->sending_len--;
    buf_drop(s->bundle);
    free(s);
}

static enum cla_reason begin_custody(struct bibe_link *l, struct bibe_sending *s)
{
    const int rc = l->custody == NULL ? 0 : custody_hold(l->custody, s->key, &s->custody_id);
    if (rc == 0)
        return CLA_REASON_NONE;
    return rc == HELIO_ENOMEM ? CLA_REASON_NO_MEMORY : CLA_REASON_BUSY;
}

static void drop_custody(struct bibe_link *l, const struct bibe_sending *s)
{
    if (s->custody_id != 0)
        custody_drop(l->custody, s->key);
}

enum cla_reason bibe_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    struct bibe_link *l = link_of(c);
    if (l->sending_len >= c->limits.window)
        return CLA_REASON_BUSY;
    enum cla_reason reason = judge_bundle(l, bundle);
    if (reason != CLA_REASON_NONE)
        return reason;
    const uint64_t left_ms = l->env.self.left_ms(l->env.self.context, key);
    if (left_ms == 0)
        return CLA_REASON_CANCELLED;
    struct bibe_sending *s = calloc(1, sizeof *s);
    if (s == NULL)
        return CLA_REASON_NO_MEMORY;
    tick life = left_ms > l->config->lifetime / TICK_MS ? l->config->lifetime : left_ms * TICK_MS;
    *s = (struct bibe_sending){.key = key,
                               .transfer = l->next_transfer++,
                               .token = l->next_token++,
                               .ends = tick_add(world_now(l->env.world), life),
                               .bundle = buf_keep(bundle)};
    list_add_tail(&l->sending, &s->node);
    l->sending_len++;
    reason = begin_custody(l, s);
    if (reason == CLA_REASON_NONE)
        reason = submit_next(l, s);
    if (reason != CLA_REASON_NONE) {
        drop_custody(l, s);
        free_sending(l, s);
        return reason;
    }
    if (s->sent < s->bundle->len)
        bibe_kick(l);
    return CLA_REASON_NONE;
}

int bibe_cancel(struct cla *c, uint64_t key)
{
    struct bibe_link *l = link_of(c);
    list_for_each (it, &l->sending) {
        struct bibe_sending *s = container_of(it, struct bibe_sending, node);
        if (s->key != key)
            continue;
        s->cancelled = true;
        bibe_kick(l);
        return 0;
    }
    if (l->custody != NULL && custody_cancel(l->custody, key)) {
        bibe_kick(l);
        return 0;
    }
    return HELIO_ENOENT;
}

void bibe_submitted(struct cla *c, uint32_t token, bool ok)
{
    struct bibe_link *l = link_of(c);
    list_for_each (it, &l->sending) {
        struct bibe_sending *s = container_of(it, struct bibe_sending, node);
        if (s->token != token)
            continue;
        assert(s->open > 0);
        s->open--;
        if (!ok && s->failed == CLA_REASON_NONE)
            s->failed = CLA_REASON_NODE;
        bibe_kick(l);
        return;
    }
}

static void tell_done(struct bibe_link *l, struct bibe_sending *s)
{
    const bool all = s->sent == s->bundle->len && s->failed == CLA_REASON_NONE;
    const uint64_t key = s->key;
    if (all && s->custody_id != 0 && !s->cancelled) {
        const struct custody_carrier carrier = {s->stamp.time_ms, s->stamp.sequence};
        custody_sent(l->custody, key, &carrier, world_now(l->env.world));
        free_sending(l, s);
        return;
    }
    drop_custody(l, s);
    const bool over = all && s->custody_id == 0;
    enum cla_outcome outcome = over ? CLA_HANDED_OVER : CLA_FAILED;
    enum cla_reason reason = s->failed;
    if (!over && s->cancelled) {
        outcome = CLA_TAKEN_BACK;
        reason = CLA_REASON_CANCELLED;
    }
    free_sending(l, s);
    l->n.bundles_sent += over;
    l->n.bundles_failed += !over;
    l->env.events.done(l->env.events.context, &l->cla, key, outcome, reason);
}

void bibe_send_turn(struct bibe_link *l)
{
    list_for_each_safe (it, &l->sending) {
        struct bibe_sending *s = container_of(it, struct bibe_sending, node);
        while (s->sent < s->bundle->len && s->open < OPEN_MAX && !s->cancelled &&
               s->failed == CLA_REASON_NONE)
            s->failed = submit_next(l, s);
        if (s->open == 0)
            tell_done(l, s);
    }
}

void bibe_send_forget(struct bibe_link *l)
{
    while (!list_empty(&l->sending))
        free_sending(l, container_of(list_first(&l->sending), struct bibe_sending, node));
    assert(l->sending_len == 0);
}
