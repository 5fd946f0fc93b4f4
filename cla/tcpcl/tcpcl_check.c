/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a session, between two calls. */
/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

#include "cla/tcpcl/tcpcl_session_private.h"

static void check_exports(const struct tcpcl_session *s)
{
    uint64_t count = 0, begun = 0, last = 0, queued = 0, unacked = 0;
    bool now = s->exports.now == NULL;
    list_for_each (it, &s->exports.begun) {
        const struct tcpcl_export *e = container_of(it, struct tcpcl_export, node);
        assert(e->planned >= 1 && e->planned <= e->bundle->len && e->bundle->refs >= 1);
        assert(e->id < s->exports.next_id && (begun == 0 || e->id > last));
        assert(tcpcl_export_find(s, e->id) == e);
        assert(e->planned == e->bundle->len || e == s->exports.now || s->state >= TCPCL_IN_CLOSING);
        now = now || e == s->exports.now;
        assert(e->acked <= e->planned);
        queued += e->bundle->len - e->planned;
        unacked += e->planned - e->acked;
        last = e->id;
        begun++;
    }
    list_for_each (it, &s->exports.waiting) {
        const struct tcpcl_export *e = container_of(it, struct tcpcl_export, node);
        assert(e->planned == 0);
        queued += e->bundle->len;
        count++;
    }
    assert(now && begun == s->exports.ids.len && count + begun == s->exports.count);
    assert(queued == s->flight.queued && unacked == s->flight.sent - s->flight.acked);
    assert(s->flight.written <= s->flight.sent);
    assert(s->flight.bound > 0 && (!s->flight.round || s->flight.mark <= s->flight.sent));
}

static void check_answers(const struct tcpcl_session *s)
{
    uint64_t bundles = 0, bytes = 0;
    assert(s->answers.next - s->answers.first <= s->answers.size);
    for (uint64_t t = s->answers.first; t != s->answers.next; t++) {
        const struct tcpcl_answer *a = &s->answers.ring[t & (s->answers.size - 1)];
        bundles += !a->ready;
        bytes += a->ready ? 0 : a->length;
    }
    assert(bundles == s->answers.bundles && bytes == s->answers.bytes);
}

static void check_import(const struct tcpcl_session *s)
{
    const struct buf *b = s->import.bundle;
    assert(s->in.off <= s->in.len && s->in.len <= s->in.cap && s->in.cap <= SCRATCH_BYTES);
    assert(s->import.open || b == NULL);
    assert(!s->import.open || !s->import.refused);
    assert(b == NULL || b->len <= s->terms.transfer_mru);
}

static void check_plan(const struct tcpcl_session *s)
{
    size_t planned = 0;
    assert(s->out.count <= PIECES && s->out.rejects_len <= REJECTS_MAX);
    for (size_t i = 0; i < s->out.count; i++)
        planned += s->out.ring[(s->out.first + i) % PIECES].len;
    assert(planned == s->out.planned);
    assert(!s->out.term_due || !s->out.term_sent); /* one in a session */
}

void tcpcl_check(const struct tcpcl_session *s)
{
    check_exports(s);
    check_answers(s);
    check_import(s);
    check_plan(s);
    assert((s->state >= TCPCL_IN_ENDING) == (s->end != TCPCL_END_NONE));
    assert(s->state != TCPCL_IN_ENDING || s->ending_due != TICK_NEVER);
    assert(s->state != TCPCL_IN_UP || !(s->out.term_sent || s->out.term_due));
    assert(!s->told_over || (s->state == TCPCL_IN_OVER && s->exports.count == 0));
}
