/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLTUs are sent one behind the other as the engine's window allows; nothing waits for the return
 * of one but the window. After a refusal all that were sent behind that CLTU come back as out of
 * sequence, and sending goes on from there: with the same CLTU when the provider only had no room,
 * else with the next. When production is interrupted or halted what was accepted and not radiated
 * is gone, and all behind it is refused.
 *
 * CLTUs may also arrive while the service runs (sle_user_live.c).
 *
 * What can go wrong: the file is not what it should be (sle_frames_file.h).
 */
#include <stdlib.h>

#include "tools/sle/sle_frames_file.h"
#include "tools/sle/user/sle_user_run.h"

#define CLTUS_TIMED (1u << 17) /* more than are ever under way: 32,768 unanswered, 65,536 held */

int cltus_load(struct cltus *c, const char *path)
{
    struct frames_file f;
    const int e = frames_file_read(&f, path, 0);
    if (e < 0)
        return e;
    c->bytes = f.bytes;
    c->list = f.list;
    c->len = f.len;
    c->run_id = USER_FIRST_CLTU;
    return 0;
}

int cltus_make(struct cltus *c, size_t octets, uint64_t count)
{
    c->bytes = buf_new(0, octets);
    c->sent_at = calloc(CLTUS_TIMED, sizeof *c->sent_at);
    if (c->bytes == NULL || c->sent_at == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < octets; i++)
        c->bytes->mem[i] = (uint8_t)i;
    c->bytes->len = octets;
    c->len = count == 0 || count > SIZE_MAX ? SIZE_MAX : (size_t)count;
    c->run_id = USER_FIRST_CLTU;
    return 0;
}

void cltus_free(struct cltus *c)
{
    buf_drop(c->bytes);
    free(c->list);
    free(c->sent_at);
    live_free(c);
}

static struct slice next_cltu(const struct cltus *c)
{
    if (c->live != NULL)
        return live_cltu(c->live, c->next);
    return c->list != NULL ? c->list[c->next] : buf_slice(c->bytes);
}

/* May another one be sent? */
static bool may_send(const struct association *a)
{
    const struct cltus *c = &a->cltus;
    const struct user_options *o = a->user->options;
    const uint64_t under_way = c->sent - c->answered;
    if (o->alone && (under_way > 0 || c->accepted > c->radiated + c->expired + c->discarded))
        return false;
    return c->next < c->len && (o->window == 0 || under_way < o->window);
}

void cltus_send(struct association *a, tick now)
{
    struct cltus *c = &a->cltus;
    while (may_send(a)) {
        const struct user_options *o = a->user->options;
        const uint64_t wall = world_wall(a->user->world);
        struct sle_cltu one = {.notify = !o->quiet,
                               .earliest = user_when_at(&o->earliest, wall),
                               .latest = user_when_at(&o->latest, wall),
                               .delay_us = o->delay_us,
                               .data = next_cltu(c)};
        if (sle_user_cltu(a->sle, &one, NULL, now) != 0)
            return; /* an answer brings us back */
        if (c->sent_at != NULL)
            c->sent_at[c->next % CLTUS_TIMED] = now;
        c->next++;
        c->sent++;
    }
}

bool cltus_finish(struct cltus *c)
{
    live_finish(c);
    c->len = c->next;
    return cltus_done(c);
}

void cltus_answer(struct association *a, const struct sle_notice *n)
{
    struct cltus *c = &a->cltus;
    c->answered++;
    if (n->diag == SLE_CLTU_OUT_OF_SEQUENCE)
        return;
    const size_t index = c->run_index + (n->cltu_id - c->run_id);
    const bool again = n->diag == SLE_CLTU_UNABLE_TO_STORE;
    if (n->diag == SLE_OK) {
        c->accepted++;
    } else {
        c->refused += again ? 0 : 1;
        c->latest_refusal = n->diag;
        c->run_index = c->next = index + (again ? 0 : 1);
        c->run_id = n->cltu_id;
    }
    if (c->live != NULL)
        live_settle(c->live, index + (again ? 0 : 1));
}

/* The CLTU that was processed last is in each notification: again when production is halted
 * behind an interruption, and when it was another user's before us, whose numbers may be ours. */
static void count_interrupted(struct cltus *c, const struct sle_last_processed *p)
{
    bool before_us = p->start.known && sle_time_compare(p->start.at, c->began) < 0;
    if (before_us || p->id - USER_FIRST_CLTU >= c->accepted ||
        (c->interrupted > 0 && p->id == c->interrupted_id))
        return;
    c->interrupted++;
    c->interrupted_id = p->id;
}

/* They are radiated in the order of their numbers. */
static void count_radiated(struct association *a)
{
    struct cltus *c = &a->cltus;
    tick now = world_now(a->user->world);
    if (c->sent_at != NULL)
        measure_cltu(&a->measure, c->bytes->len, now,
                     now - c->sent_at[(c->radiated + c->refused) % CLTUS_TIMED]);
    c->radiated++;
}

/* Those behind it are discarded, and others are refused. */
static void count_expired(struct cltus *c)
{
    c->expired++;
    c->discarded = c->accepted - c->radiated - c->expired;
}

void cltus_notified(struct association *a, const struct sle_async *n)
{
    struct cltus *c = &a->cltus;
    if (n->notification == SLE_ASYNC_RADIATED)
        count_radiated(a);
    else if (n->notification == SLE_ASYNC_EXPIRED)
        count_expired(c);
    else if (n->notification < SLE_ASYNC_ACTIONS_DONE)
        c->other++;
    c->emptied =
        n->notification == SLE_ASYNC_BUFFER_EMPTY && c->next == c->len && c->answered == c->sent;
    if (n->notification != SLE_ASYNC_INTERRUPTED && n->notification != SLE_ASYNC_HALTED)
        return;
    if (n->last_processed.any && n->last_processed.status == SLE_CLTU_INTERRUPTED)
        count_interrupted(c, &n->last_processed);
    c->discarded = c->accepted - c->radiated - c->expired;
}

bool cltus_done(const struct cltus *c)
{
    if (c->live != NULL && live_is_open(c->live))
        return false;
    return c->next == c->len && c->answered == c->sent &&
           (c->emptied || c->refused == c->len ||
            c->radiated + c->refused + c->discarded + c->expired >= c->len);
}
