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
    assert(!t->is_sender || t->again.len == 0 || t->again.at[t->again.len - 1].hi <= t->sent);
}

void cfdp_check(const struct cfdp *e)
{
    size_t live = 0;
    list_for_each (l, &e->order) {
        check_transaction(container_of(l, struct cfdp_transaction, order));
        live++;
    }
    assert(live == e->live && live == e->table.len);
    list_for_each (l, &e->remotes) {
        const struct remote *r = container_of(l, struct remote, order);
        uint64_t held = 0;
        uint32_t begun = 0;
        list_for_each (k, &e->order) {
            const struct cfdp_transaction *t = container_of(k, struct cfdp_transaction, order);
            held += t->remote == r ? t->held : 0;
            begun += t->remote == r && t->theirs;
        }
        assert(held == r->held && begun == r->begun);
    }
}
