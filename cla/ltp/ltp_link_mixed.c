/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with a red and a green part (RFC 5326 §2; the CCSDS profile does not use them). The parts
 * arrive in two notices, in either order, and are joined here. The red part counts as accepted when
 * it is here, because its sender can do no more.
 *
 * What can go wrong: the green part is lost, in pieces or completely; then the bundle is lost, and
 * its red part is dropped when its time has expired or memory is needed.
 */
#include <assert.h>
#include <stdlib.h>

#include "cla/ltp/ltp_link.h"

#define HALVES_MAX 256 /* of all peers of a local endpoint */

struct half {
    struct list node; /* in endpoint->halves, oldest first */
    struct ltp_session_id id;
    uint64_t peer;
    struct link *link; /* for which it counts */
    struct buf *data;
    bool red; /* which of the two it is */
    tick since;
};

static void half_free(struct ltp_endpoint *h, struct half *x)
{
    list_sub(&x->node);
    assert(h->halves_len > 0 && h->halves_bytes >= x->data->len);
    h->halves_len--;
    h->halves_bytes -= x->data->len;
    assert(x->link->halves_bytes >= x->data->len);
    x->link->halves_bytes -= x->data->len;
    link_touch(x->link);
    buf_drop(x->data);
    free(x);
}

void mixed_drop(struct ltp_endpoint *h, const struct link *l)
{
    list_for_each_safe (it, &h->halves) {
        struct half *x = container_of(it, struct half, node);
        if (l == NULL || x->link == l || ltp_endpoint_owner(h, x->peer) == l)
            half_free(h, x);
    }
    assert(l != NULL || (h->halves_len == 0 && h->halves_bytes == 0));
}

/* Drops a part whose other part will not arrive. */
static void give_up(struct ltp_endpoint *h, struct half *x)
{
    struct link *l = ltp_endpoint_owner(h, x->peer);
    if (l != NULL)
        l->n.green_incomplete++;
    half_free(h, x);
}

/* Drops parts that have waited too long, and then the oldest ones until there is room. */
static void make_room(struct ltp_endpoint *h, const struct link *l, uint64_t bytes)
{
    tick patience =
        l->config->idle_timeout != 0 ? l->config->idle_timeout : 10 * ltp_link_rto(l->config);
    while (!list_empty(&h->halves)) {
        struct half *x = container_of(list_first(&h->halves), struct half, node);
        bool full =
            h->halves_len >= HALVES_MAX || h->halves_bytes + bytes > l->config->held_bytes / 4;
        if (!full && h->now < tick_add(x->since, patience))
            return;
        give_up(h, x);
    }
}

static struct half *find_half(const struct ltp_endpoint *h, const struct ltp_notice *n)
{
    list_for_each (it, &h->halves) {
        struct half *x = container_of(it, struct half, node);
        if (x->peer == n->peer && x->id.number == n->id.number &&
            x->id.originator == n->id.originator)
            return x;
    }
    return NULL;
}

static void keep_half(struct ltp_endpoint *h, struct link *l, const struct ltp_notice *n)
{
    struct half *x = malloc(sizeof *x);
    if (x == NULL) {
        l->n.green_incomplete++;
        buf_drop(n->data);
        return;
    }
    make_room(h, l, n->data->len);
    assert(h->halves_len < HALVES_MAX);
    *x = (struct half){.id = n->id,
                       .peer = n->peer,
                       .link = l,
                       .data = n->data,
                       .red = n->kind == LTP_BLOCK,
                       .since = h->now};
    list_init(&x->node);
    list_add_tail(&h->halves, &x->node);
    h->halves_len++;
    h->halves_bytes += n->data->len;
    l->halves_bytes += n->data->len;
    link_touch(l);
}

static struct buf *put_together(struct buf *red, struct buf *green)
{
    struct buf *whole = buf_new(0, red->len + green->len);
    if (whole == NULL)
        return NULL;
    memcpy(buf_append(whole, red->len), buf_data(red), red->len);
    memcpy(buf_append(whole, green->len), buf_data(green), green->len);
    assert(whole->len == red->len + green->len);
    return whole;
}

bool mixed_is(const struct ltp_notice *n)
{
    return n->kind == LTP_BLOCK ? !n->end : n->red_len > 0;
}

struct buf *mixed_add(struct ltp_endpoint *h, struct link *l, const struct ltp_notice *n)
{
    assert(mixed_is(n) && n->data != NULL);
    struct half *x = find_half(h, n);
    bool red = n->kind == LTP_BLOCK;
    bool part = red || (n->end && n->offset == n->red_len);
    if (part && x == NULL) {
        keep_half(h, l, n);
        return NULL;
    }
    struct buf *whole = NULL;
    if (part && x->red != red)
        whole = red ? put_together(n->data, x->data) : put_together(x->data, n->data);
    buf_drop(n->data);
    if (x != NULL)
        half_free(h, x);
    if (whole == NULL)
        l->n.green_incomplete++;
    return whole;
}
