/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is not there must not get whole blocks again and again, from any sender that tries
 * them anew. It is silent when a session was given up for want of an answer and nothing of the peer
 * was heard in the meantime. Toward a silent peer a session begins with a short segment alone,
 * which is a checkpoint (RFC 5326 §6.1 allows one anywhere), and the rest is held; whatever is
 * heard of the peer, the report on that segment if nothing else, ends the silence and lets go on
 * all that is held. So does the word that the link is up. Green and orange blocks wait for no
 * answer before they go on, and are not held. Nothing can fail: what the first segment needs is
 * reserved when the session opens.
 */
#include <assert.h>

#include "ltp/engine.h"

void ltp_silence_unanswered(const struct export_session *e)
{
    struct peer *p = e->s.peer;
    p->silent = p->silent || p->heard == TICK_NEVER || p->heard <= e->progress;
}

bool ltp_silence_probes(const struct export_session *e)
{
    return e->s.peer->silent && e->next == 0 && e->red_len > 0 && e->early != NULL;
}

void ltp_silence_hold(struct export_session *e)
{
    assert(e->next > 0 && e->next < e->length && !list_empty(&e->checkpoints));
    list_sub(&e->fresh);
    list_add_tail(&e->s.peer->held, &e->fresh);
}

void ltp_silence_ends(struct peer *p)
{
    p->silent = false;
    while (!list_empty(&p->held)) { /* before those that have not begun, in the old order */
        struct list *last = p->held.prev;
        list_sub(last);
        list_add_head(&p->fresh, last);
    }
}

bool ltp_silent(const struct ltp *l, uint64_t engine)
{
    const struct peer *p = ltp_peer_peek(l, engine);
    return p != NULL && p->silent;
}
