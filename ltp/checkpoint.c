/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sender keeps of its checkpoints, and of the stretches that it sends again. A resend job is
 * made with its closing checkpoint (RFC 5326 §6.13: the last segment, and only that), so that
 * sending it cannot fail.
 */
#include <stdlib.h>

#include "ltp/engine.h"

struct checkpoint *ltp_checkpoint_new(struct ltp *l, struct export *e, uint64_t rpt_serial)
{
    struct checkpoint *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    if (ltp_timer_init(l, &c->timer, e->s.peer, USE_CHECKPOINT) < 0) {
        free(c);
        return NULL;
    }
    list_init(&c->in_export);
    list_init(&c->queue);
    c->export = e;
    c->serial = ++e->cp_last;
    c->rpt_serial = rpt_serial;
    return c;
}

void ltp_checkpoint_free(struct ltp *l, struct checkpoint *c)
{
    if (c == NULL)
        return;
    list_sub(&c->in_export);
    list_sub(&c->queue);
    ltp_timer_fini(l, &c->timer);
    free(c);
}

static int find_gaps(const struct export *e, const struct ltp_segment *s, struct ranges *gaps)
{
    struct range gap;
    for (uint64_t at = s->lower; ranges_gap(&e->claimed, at, s->upper, &gap) != 0; at = gap.hi) {
        if (ranges_add(gaps, gap.lo, gap.hi, SIZE_MAX) < 0)
            return HELIO_ENOMEM;
    }
    return 0;
}

int ltp_resend_new(struct ltp *l, struct export *e, const struct ltp_segment *s,
                   struct resend **out)
{
    struct resend *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL)
        return HELIO_ENOMEM;
    list_init(&r->in_export);
    list_init(&r->queue);
    r->export = e;
    int rc = find_gaps(e, s, &r->gaps);
    if (rc < 0 || r->gaps.len == 0)
        goto drop;
    r->at = r->gaps.at[0].lo;
    r->checkpoint = ltp_checkpoint_new(l, e, s->rpt_serial);
    if (r->checkpoint != NULL) {
        *out = r;
        return 0;
    }
    rc = HELIO_ENOMEM;
drop:
    ltp_resend_free(l, r);
    return rc;
}

void ltp_resend_free(struct ltp *l, struct resend *r)
{
    if (r == NULL)
        return;
    list_sub(&r->in_export);
    list_sub(&r->queue);
    ranges_fini(&r->gaps);
    ltp_checkpoint_free(l, r->checkpoint);
    free(r);
}
