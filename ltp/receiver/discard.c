/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which import session is discarded for a new one. An attacker who forges a peer's address can open
 * sessions with one segment each and never continue them. If a peer has no room for one more
 * session, one of its own sessions that is unlikely to be honest is discarded: first one with
 * little data, then one that has been silent for several retransmission timers.
 *
 * Little data means less than LITTLE_BYTES besides the first segment, whose length costs the
 * attacker nothing. Of these sessions the one with the longest silence for its worth is discarded.
 * The worth grows with the bytes, up to those of a usual segment: a first segment of 64 KiB must
 * not outlive an honest one of 900 bytes whose successor is due in 15 ms. A session with a second
 * segment is worth 16 times as much: on a long path, an honest session whose checkpoint was lost is
 * silent for longer than a forged one lasts.
 *
 * A session without claims is discarded without a trace, as if its segments had been lost. If it is
 * honest, its sender's checkpoint opens it again, and the report requests the missing data. For
 * other sessions the sender may rely on the claims, so it gets a cancel.
 *
 * A session is never discarded after its sender has sent a checkpoint that names a report: a forger
 * does not see the serial numbers of reports. An acknowledgement of a report proves nothing,
 * because a peer also acknowledges reports on sessions that it never had (RFC 5326 §6.13).
 *
 * What can go wrong: no session may be discarded; then the new one is refused. Sessions are not
 * moved in the lists when segments arrive, but when room is needed: the first of a list moves to
 * its proper position, until the first one is already there. So each move is paid for by a received
 * segment.
 */
#include <assert.h>

#include "ltp/engine.h"

#define LITTLE_BYTES 4096
#define WORTH_LEAST 16 /* bytes; from 4^3 times as many on the worth is the same */
#define WORTH_MOST 4
#define CONTINUED 2
_Static_assert(WORTH_MOST + CONTINUED + 1 == UNPROVEN_MUCH, "a list for each worth");
/* A sender that sends several blocks at once has segments of each within this time. */
#define LITTLE_SILENCE (10 * TICK_MS)
#define SILENT_TIMERS 4
#define SILENCE_MOST (3600 * TICK_S) /* longer ones are equal */

static struct unproven *lists_of(struct ltp *l, struct peer *p)
{
    return p->unconfigured != NULL ? &l->unconfigured.unproven : &p->unproven;
}

void ltp_unproven_init(struct unproven *u)
{
    for (int i = 0; i < UNPROVEN_LISTS; i++)
        list_init(&u->list[i]);
}

/* Of a session with little data and without claims: powers of four of the bytes, and CONTINUED. */
static unsigned worth_of(const struct import *im, uint64_t bytes)
{
    unsigned i = 0;
    for (uint64_t most = WORTH_LEAST; i < WORTH_MOST && bytes >= most; most <<= 2)
        i++;
    return bytes > im->opening ? i + CONTINUED : i;
}

unsigned ltp_unproven_list(const struct import *im)
{
    uint64_t bytes = im->red.received + im->green.received;
    bool little = bytes < (uint64_t)im->opening + LITTLE_BYTES;
    if (im->reported > 0 || im->delivered)
        return little && !im->delivered ? UNPROVEN_CLAIMED_LITTLE : UNPROVEN_CLAIMED;
    return little ? worth_of(im, bytes) : UNPROVEN_MUCH;
}

void ltp_unproven_sub(struct ltp *l, struct import *im)
{
    bool counted = !list_empty(&im->unproven) && im->unproven_list == UNPROVEN_CLAIMED_LITTLE;
    lists_of(l, im->s.peer)->claimed_little -= counted;
    list_sub(&im->unproven);
}

static void put_last(struct ltp *l, struct import *im)
{
    struct unproven *u = lists_of(l, im->s.peer);
    ltp_unproven_sub(l, im);
    im->unproven_list = (uint8_t)ltp_unproven_list(im);
    im->unproven_since = im->arrival;
    list_add_tail(&u->list[im->unproven_list], &im->unproven);
    u->claimed_little += im->unproven_list == UNPROVEN_CLAIMED_LITTLE;
}

void ltp_unproven_add(struct ltp *l, struct import *im, size_t opening, tick now)
{
    assert(list_empty(&im->unproven));
    im->opening = opening < UINT32_MAX ? (uint32_t)opening : UINT32_MAX;
    im->arrival = ltp_uptime(im->s.peer, now);
    put_last(l, im);
}

/* The first of a list that belongs there, about the one that has been silent for longest. */
static struct import *first_of(struct ltp *l, struct unproven *u, unsigned i)
{
    struct list *first;
    while ((first = list_first(&u->list[i])) != NULL) {
        struct import *im = container_of(first, struct import, unproven);
        if (im->arrival == im->unproven_since && ltp_unproven_list(im) == i)
            return im;
        put_last(l, im);
    }
    return NULL;
}

static tick silence_of(const struct import *im, tick now)
{
    return ltp_uptime(im->s.peer, now) - im->arrival;
}

/* It waits for no longer than a checkpoint's repetitions and their answers would take. */
static bool long_silent(const struct import *im, tick now)
{
    const struct peer *p = im->s.peer;
    tick rto = ltp_rto(p, &p->report_rtt, 1);
    bool waits = im->delivered && !im->accepted; /* for our user */
    return !waits && rto < TICK_NEVER / SILENT_TIMERS && silence_of(im, now) >= SILENT_TIMERS * rto;
}

/* With little data and without claims: the longest silence for its worth. */
static struct import *choose_little(struct ltp *l, struct unproven *u, tick now)
{
    struct import *found = NULL;
    tick longest = 0;
    for (unsigned i = 0; i < UNPROVEN_MUCH; i++) {
        struct import *im = first_of(l, u, i);
        tick silence = im == NULL ? 0 : silence_of(im, now);
        tick weighed = tick_min(silence, SILENCE_MOST) << (2 * (UNPROVEN_MUCH - 1 - i));
        if (silence >= LITTLE_SILENCE && weighed > longest) {
            found = im;
            longest = weighed;
        }
    }
    return found;
}

static struct import *choose_claimed_little(struct ltp *l, struct unproven *u, tick now)
{
    struct import *im = first_of(l, u, UNPROVEN_CLAIMED_LITTLE);
    return im != NULL && silence_of(im, now) >= LITTLE_SILENCE ? im : NULL;
}

/* The claimed ones come last, but when they are most of all they would leave the others no time. */
static struct import *choose_session(struct ltp *l, struct peer *p, tick now)
{
    static const unsigned char much[] = {UNPROVEN_CLAIMED, UNPROVEN_MUCH};
    struct unproven *u = lists_of(l, p);
    size_t all = p->unconfigured != NULL ? l->unconfigured.imports : p->imports;
    struct import *im = u->claimed_little > all / 2 ? choose_claimed_little(l, u, now) : NULL;
    if (im == NULL)
        im = choose_little(l, u, now);
    if (im == NULL)
        im = choose_claimed_little(l, u, now);
    for (size_t i = 0; im == NULL && i < sizeof much; i++) {
        im = first_of(l, u, much[i]);
        if (im != NULL && !long_silent(im, now))
            im = NULL;
    }
    return im;
}

/* As if nothing of it had come. */
static void drop_session(struct ltp *l, struct import *im, tick now)
{
    assert(im->reported == 0 && !im->delivered && im->acked.len == 0);
    if (l->config.tell_start)
        ltp_notice_put(l, &im->s, LTP_IMPORT_CANCELLED)->reason = LTP_SYS_CNCLD;
    ltp_emit_close(l, &im->s, im->length, OUTCOME_DISCARDED, LTP_SYS_CNCLD, now);
    ltp_session_forget(l, &im->s);
    ltp_import_free(l, im);
}

bool ltp_discard(struct ltp *l, struct peer *p, tick now)
{
    struct import *im = choose_session(l, p, now);
    if (im == NULL)
        return false;
    if (im->unproven_list > UNPROVEN_MUCH)
        ltp_import_close(l, im, OUTCOME_CANCELLED_LOCAL, LTP_SYS_CNCLD, now);
    else
        drop_session(l, im, now);
    return true;
}
