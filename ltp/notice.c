/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notices wait in a ring for ltp_poll. Each session promises at its opening the notices that it
 * must be able to give, so that closing never fails for want of memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

static int reserve_notices(struct ltp *l, size_t slots)
{
    if (slots <= l->notice_cap)
        return 0;
    size_t cap = l->notice_cap == 0 ? 16 : l->notice_cap;
    while (cap < slots)
        cap *= 2;
    struct ltp_notice *ring = malloc(cap * sizeof *ring);
    if (ring == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < l->notice_len; i++)
        ring[i] = l->notices[(l->notice_head + i) & (l->notice_cap - 1)];
    free(l->notices);
    l->notices = ring;
    l->notice_cap = cap;
    l->notice_head = 0;
    return 0;
}

int ltp_notice_promise(struct ltp *l, struct session *s, uint8_t n)
{
    int rc = reserve_notices(l, l->notice_len + l->promised + n);
    if (rc < 0)
        return rc;
    l->promised += n;
    s->promised = (uint8_t)(s->promised + n);
    return 0;
}

struct ltp_notice *ltp_notice_put(struct ltp *l, struct session *s, enum ltp_notice_kind kind)
{
    assert(s->promised > 0 && l->promised > 0);
    s->promised--;
    l->promised--;
    assert(l->notice_len < l->notice_cap);
    struct ltp_notice *n = &l->notices[(l->notice_head + l->notice_len++) & (l->notice_cap - 1)];
    *n = (struct ltp_notice){
        .kind = kind, .id = s->id, .peer = s->peer->span.peer, .client_service = s->client_service};
    return n;
}

void ltp_notice_release(struct ltp *l, struct session *s)
{
    assert(l->promised >= s->promised);
    l->promised -= s->promised;
    s->promised = 0;
}

int ltp_poll(struct ltp *l, struct ltp_notice *out)
{
    if (l->notice_len == 0)
        return 0;
    *out = l->notices[l->notice_head];
    l->notice_head = (l->notice_head + 1) & (l->notice_cap - 1);
    l->notice_len--;
    if (out->data != NULL)
        ltp_held_sub(l, NULL, out->data->cap);
    return 1;
}
