/* SPDX-License-Identifier: Apache-2.0 */
/* What holds between two calls of the host. */
#undef NDEBUG
#include <assert.h>

#include "cfdp/engine_private.h"

static void check_transaction(const struct cfdp_transaction *t)
{
    ranges_check(&t->have);
    ranges_check(&t->again);
    assert(t->held == ranges_bytes(&t->have));
    assert(t->is_sender ? t->phase <= CFDP_AWAITING_FINISHED || t->phase == CFDP_ENDED
                        : t->phase >= CFDP_RECEIVING);
    assert(t->phase == CFDP_ENDED ? t->want != 0 && t->file == NULL && !t->kept : true);
    assert(t->want == 0 || !list_empty(&t->ready) || t->paused != 0);
    assert(t->paused != 0 || t->due.due == cfdp_first_time(&t->at) ||
           cfdp_first_time(&t->at) == TICK_NEVER);
    assert(t->sent <= t->size || !t->is_sender);
    assert(!t->is_sender ||
           (t->noted <= t->sent && t->confirmed <= t->sent && t->held == 0 && t->logged == 0));
    assert(t->is_sender || t->again.len == 0);
    assert(t->have.len == 0 || t->have.at[t->have.len - 1].hi <= t->high);
    assert(t->phase >= CFDP_PERFORMING ||
           (t->requests_done == 0 && t->responses_len == 0 && t->act_state == 0));
    assert(t->phase != CFDP_PERFORMING || (!t->reported && t->at.work != TICK_NEVER));
    assert(t->is_sender || t->phase < CFDP_FINISHING || t->reported);
    assert(t->is_sender || t->phase >= CFDP_PERFORMING || t->condition == CFDP_NO_ERROR);
    assert(t->is_sender == (t->id.source == t->e->config.id));
    assert(t->responses_len <= sizeof t->responses && t->options_len <= CFDP_OPTIONS_MAX);
    assert(!(t->want & WANT_NAK) || (t->nak_lo <= t->nak_hi && t->phase <= CFDP_COMPLETING));
    assert(t->file == NULL || t->phase != CFDP_ENDED);
    assert(!t->is_sender || t->again.len == 0 || t->again.at[t->again.len - 1].hi <= t->sent);
}

void cfdp_check(const struct cfdp *e)
{
    size_t live = 0, remotes = 0;
    list_for_each (l, &e->order) {
        check_transaction(container_of(l, struct cfdp_transaction, order));
        live++;
    }
    assert(live == e->live && live == e->table.len && live <= e->config.transactions_max);
    assert(e->notices_len <= CFDP_NOTICES_MAX);
    list_for_each (l, &e->remotes) {
        const struct remote *r = container_of(l, struct remote, order);
        uint64_t held = 0, logged = 0;
        uint32_t begun = 0;
        list_for_each (k, &e->order) {
            const struct cfdp_transaction *t = container_of(k, struct cfdp_transaction, order);
            held += t->remote == r ? t->held : 0;
            logged += t->remote == r ? t->logged : 0;
            begun += t->remote == r && t->theirs;
        }
        assert(held == r->held && begun == r->begun && logged == r->logged);
        assert(r->past_len <= PAST_MAX && r->strays_len <= STRAYS_MAX);
        assert(r->pulled_len <= CFDP_UNCONFIRMED_MAX && (r->row.confirms || r->pulled_len == 0));
        remotes++;
    }
    assert(remotes == e->remotes_len);
}
