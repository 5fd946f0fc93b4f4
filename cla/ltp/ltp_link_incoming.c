/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received blocks. A block contains one bundle (client service 1), or several, each of which
 * becomes a separate buffer. Several bundles in a block are capsules (client service 2, CCSDS
 * 734.1-B-1 service data aggregation), or follow each other in a block of client service 1, as ION
 * sends them. They are passed to the node in parts, one in each turn, because a block can have tens
 * of thousands.
 *
 * If the link confirms acceptance, a block is accepted when all its bundles are. One refused bundle
 * refuses the block. Its sender then transmits all its bundles again, and the node drops
 * duplicates.
 *
 * What can go wrong: the block is no bundle, or does not consist of whole bundles; memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/codec/bundle.h"
#include "cla/ltp/ltp_link.h"

static void answer_block(struct ltp_endpoint *h, struct ltp_session_id id, bool ok)
{
    /* A session that was cancelled meanwhile needs no answer. */
    if (ok)
        (void)ltp_accept(h->engine, id, ltp_endpoint_now(h));
    else
        (void)ltp_cancel(h->engine, id, LTP_SYS_CNCLD, ltp_endpoint_now(h));
    ltp_endpoint_kick(h);
}

/* One bundle less to wait for. */
static void group_less(struct ltp_endpoint *h, struct group *g, bool ok)
{
    assert(g->left > 0);
    g->refused |= !ok;
    if (--g->left > 0)
        return;
    if (!g->gone)
        answer_block(h, g->id, !g->refused);
    free(g);
}

void incoming_answer(struct ltp_endpoint *h, uint64_t token, bool ok)
{
    struct hash_node *n = hash_find(&h->incoming, token);
    if (n == NULL)
        return;
    struct incoming *m = container_of(n, struct incoming, node);
    assert(m->link != NULL && m->node.hash == token);
    struct incoming was = *m;
    was.link->n.bundles_refused += !ok;
    hash_sub(&h->incoming, &m->node);
    free(m);
    if (was.group != NULL)
        group_less(h, was.group, ok);
    else
        answer_block(h, was.id, ok);
}

/* The token, or UINT64_MAX when memory is out. */
static uint64_t incoming_new(struct ltp_endpoint *h, struct link *l, struct ltp_session_id id,
                             struct group *group)
{
    assert(l != NULL);
    struct incoming *m = malloc(sizeof *m);
    if (m == NULL)
        return UINT64_MAX;
    m->id = id;
    m->link = l;
    m->group = group;
    hash_add(&h->incoming, &m->node, h->next_token);
    return h->next_token++;
}

static void give_block(struct link *l, struct buf *bundle, uint64_t token)
{
    assert(bundle != NULL && bundle->len > 0);
    l->n.bundles_received++;
    link_account(l); /* the bundle counts at the node from here on */
    l->env.events.received(l->env.events.context, &l->cla, bundle, token);
}

static size_t unit_length(uint64_t client_service, struct slice rest)
{
    return client_service == LTP_SERVICE_BUNDLES ? bundle_length(rest) : 0;
}

static struct buf *copy_of(struct slice bytes)
{
    struct buf *b = buf_new(0, bytes.len);
    if (b != NULL)
        memcpy(buf_append(b, bytes.len), bytes.data, bytes.len);
    return b;
}

/* False when memory is out. */
static bool give_capsule(struct ltp_endpoint *h, struct link *l, struct slice unit,
                         struct ltp_session_id id, struct group *g)
{
    struct buf *bundle = copy_of(unit);
    uint64_t token = g == NULL || bundle == NULL ? 0 : incoming_new(h, l, id, g);
    if (bundle == NULL || token == UINT64_MAX) {
        buf_drop(bundle);
        return false;
    }
    if (g != NULL)
        g->left++;
    give_block(l, bundle, token);
    return true;
}

/* The next bundle of a block, as sda_next has it: 1, 0 at its end, HELIO_EFORMAT. */
static int next_unit(uint64_t client_service, struct slice *rest, struct slice *unit)
{
    struct sda_capsule c;
    if (client_service == LTP_SERVICE_SDA) {
        int r = sda_next(rest, unit_length, &c);
        if (r == 1)
            *unit = c.unit;
        return r;
    }
    if (rest->len == 0)
        return 0;
    size_t len = bundle_length(*rest);
    if (len == 0)
        return HELIO_EFORMAT;
    *unit = slice_of(rest->data, len);
    *rest = slice_of(rest->data + len, rest->len - len);
    return 1;
}

static void end_row(struct ltp_endpoint *h, struct row *r, bool ok)
{
    assert(r->link->rows_bytes >= r->data->len);
    r->link->rows_bytes -= r->data->len;
    list_sub(&r->node);
    if (r->group != NULL)
        group_less(h, r->group, ok);
    buf_drop(r->data);
    free(r);
}

static void drop_rows(struct ltp_endpoint *h, const struct link *l)
{
    list_for_each_safe (it, &h->rows) {
        struct row *r = container_of(it, struct row, node);
        if (l != NULL && r->link != l)
            continue;
        if (r->group != NULL)
            r->group->gone = true;
        end_row(h, r, true);
    }
}

void incoming_drop(struct ltp_endpoint *h, const struct link *l)
{
    drop_rows(h, l);
    struct hash_node *n = hash_walk(&h->incoming, NULL);
    while (n != NULL) {
        struct incoming *m = container_of(n, struct incoming, node);
        if (l != NULL && m->link != l) {
            n = hash_walk(&h->incoming, n);
            continue;
        }
        hash_sub(&h->incoming, n);
        if (m->group != NULL) {
            m->group->gone = true;
            group_less(h, m->group, true);
        }
        free(m);
        n = hash_walk(&h->incoming, NULL);
    }
}

/* The bundles of the first row, one by one; the node may close the link meanwhile. */
static void give_row(struct ltp_endpoint *h)
{
    struct row *r = container_of(list_first(&h->rows), struct row, node);
    const struct ltp_session_id id = r->group != NULL ? r->group->id : (struct ltp_session_id){0};
    struct slice unit;
    bool more = true, ok = true;
    while (ok && h->capsules > 0) {
        more = next_unit(r->client_service, &r->rest, &unit) == 1;
        if (!more)
            break;
        h->capsules--;
        ok = give_capsule(h, r->link, unit, id, r->group);
        if (list_first(&h->rows) != &r->node) /* it was removed with its link */
            return;
    }
    if (!more || !ok || r->rest.len == 0)
        end_row(h, r, ok);
}

static void give_rows(struct ltp_endpoint *h)
{
    while (h->capsules > 0 && !list_empty(&h->rows))
        give_row(h);
}

void incoming_turn(struct ltp_endpoint *h)
{
    h->capsules = CAPSULES_TURN;
    give_rows(h);
}

/* A block of several bundles: a part of them in each turn, since a long one has 65,536. Takes its
 * data. */
static void begin_row(struct ltp_endpoint *h, struct link *l, const struct ltp_notice *n,
                      bool confirm)
{
    struct row *r = calloc(1, sizeof *r);
    struct group *g = confirm && r != NULL ? calloc(1, sizeof *g) : NULL;
    if (r == NULL || (confirm && g == NULL)) {
        free(r);
        if (confirm)
            answer_block(h, n->id, false);
        buf_drop(n->data);
        return;
    }
    if (g != NULL)
        *g = (struct group){.id = n->id, .left = 1};
    *r = (struct row){.link = l,
                      .group = g,
                      .client_service = n->client_service,
                      .data = n->data,
                      .rest = buf_slice(n->data)};
    l->n.aggregates_received++;
    l->rows_bytes += n->data->len;
    list_add_tail(&h->rows, &r->node);
    give_rows(h);
}

/* A block of client service 1 with more behind its first bundle; that bundle alone is looked at
 * where, as usual, it is the whole block. */
static bool is_row(struct slice block)
{
    struct slice rest = block, unit;
    uint32_t count = 0;
    int r;
    while ((r = next_unit(LTP_SERVICE_BUNDLES, &rest, &unit)) == 1 && count < CAPSULES_RX_MAX)
        count++;
    return r == 0 && count > 1;
}

/* A block of several bundles. */
static bool is_aggregate(const struct ltp_notice *n)
{
    struct slice block = buf_slice(n->data);
    if (n->client_service == LTP_SERVICE_BUNDLES)
        return is_row(block);
    return n->client_service == LTP_SERVICE_SDA &&
           sda_count(block, unit_length, CAPSULES_RX_MAX) > 0;
}

/* A block that is no bundle; the peer gets a cancel. */
static void drop_block(struct ltp_endpoint *h, struct link *l, struct ltp_notice *n, bool whole)
{
    assert(n->data != NULL);
    bool red = n->kind == LTP_BLOCK;
    bool waits = red || (n->orange && whole);
    if (l != NULL && !red && n->red_len == 0 && !whole)
        l->n.green_incomplete++;
    else if (l != NULL)
        l->n.not_a_bundle++;
    if (waits && (l == NULL || l->env.confirm)) /* a link that was removed takes nothing */
        answer_block(h, n->id, false);
    buf_drop(n->data);
}

/* False: the other part of the block is not here yet, or will not come. */
static bool join_parts(struct ltp_endpoint *h, struct link *l, struct ltp_notice *n)
{
    assert(l != NULL && mixed_is(n));
    if (n->kind == LTP_BLOCK && l->env.confirm)
        answer_block(h, n->id, true);
    n->data = mixed_add(h, l, n);
    if (n->data == NULL)
        return false;
    n->kind = LTP_GREEN; /* no answer is expected any more */
    n->offset = n->red_len = 0;
    n->end = true;
    return true;
}

void incoming_block(struct ltp_endpoint *h, struct ltp_notice *n)
{
    assert(n->kind == LTP_BLOCK || n->kind == LTP_GREEN);
    assert(n->data != NULL);
    struct link *l = ltp_endpoint_owner(h, n->peer);
    if (l != NULL && mixed_is(n) && !join_parts(h, l, n))
        return;
    bool whole = n->end && n->offset == 0;
    bool confirm = (n->kind == LTP_BLOCK || n->orange) && l != NULL && l->env.confirm;
    bool several = l != NULL && whole && is_aggregate(n);
    if (l == NULL || !whole || (n->client_service != LTP_SERVICE_BUNDLES && !several)) {
        drop_block(h, l, n, whole);
        return;
    }
    if (several) {
        begin_row(h, l, n, confirm);
        return;
    }
    uint64_t token = confirm ? incoming_new(h, l, n->id, NULL) : 0;
    if (token == UINT64_MAX) {
        answer_block(h, n->id, false);
        buf_drop(n->data);
        return;
    }
    give_block(l, n->data, token);
}
