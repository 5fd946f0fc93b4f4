/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custody transfer with one peer (draft-ietf-dtn-bibect): which transmission IDs this end has
 * issued, which of its bundles wait for a custody signal, and which signals it owes. It knows no
 * clock and does no I/O: the caller passes the time.
 *
 *   A bundle of this end, by its key:
 *
 *            custody_hold            custody_sent             signal: accepted
 *   (none) ──────────────► SUBMITTED ────────────► WAITING ───────────────────► RELEASED ─┐
 *                              │                     │                                  │
 *                              │ custody_drop        │ timer                            │
 * custody_poll ▼                     ▼                                  ▼ (none) LOST, or REFUSED
 * by a signal ─────► (none)
 *
 * A signal for a SUBMITTED bundle counts when it is WAITING. A refusal changes nothing before the
 * timer ends: a peer without room is not asked again at once. After REFUSED or LOST the caller
 * transmits the bundle again, if it still exists: with custody_hold and a new ID. A late signal for
 * an earlier ID of the bundle counts as well, since the peer has the bundle.
 *
 * IDs of one run rise by 1, from a random number that the caller gives. So an ID of an earlier run
 * is hardly ever one of this run (of 2^62 numbers), whatever the clock says, and a third party
 * cannot guess the IDs in use.
 *
 * After the light time the timer runs only while signals of the peer can arrive (custody_open), and
 * begins anew while the bundle has not left this node (custody_expire). Each time that a timer ends
 * without any useful signal since the last one, later timers are twice as long, up to
 * CUSTODY_BACKOFF_MAX times; a useful signal ends that.
 */
#ifndef BP_CUSTODY_CUSTODY_H
#define BP_CUSTODY_CUSTODY_H

#include "base/tick.h"
#include "bp/codec/custody.h"

#define CUSTODY_BACKOFF_MAX 64 /* times the timer */
#define CUSTODY_SPAN 4         /* IDs that are known, for each bundle of held_max */

struct custody;

/* held_max: bundles of this end at once, 1 to 65536. id_max: greatest ID, at least 2^16 times 16.
 * timer: > 0, after `light`, the light time of both directions.
 * signal_count: IDs in a signal, >= 1, after which it is due at once; else signal_after
 * after its first. */
struct custody_config {
    uint64_t held_max, id_max;
    tick timer, light, signal_after;
    uint64_t signal_count;
};

struct custody_stats {
    uint64_t issued;   /* IDs */
    uint64_t released; /* bundles */
    uint64_t refused, lost;
    uint64_t signals_received;
    uint64_t late;          /* IDs in signals for bundles that do not wait any more */
    uint64_t never_issued;  /* sequences in signals with IDs that this run did not issue */
    uint64_t confirmed;     /* IDs of the peer that signals were made of */
    uint64_t signals_sent;  /* signals that were made */
    uint64_t not_confirmed; /* IDs without room in a signal: the peer transmits again */
};

/* seed: random. Returns NULL without memory. */
struct custody *custody_new(const struct custody_config *config, uint64_t seed);
void custody_free(struct custody *c); /* NULL is allowed */

/* Other limits and times, for bundles and signals from now on. held_max stays. */
void custody_set(struct custody *c, const struct custody_config *config);

/* ---- this end's bundles ---- */

/* Takes a bundle that is not held, by the caller's key. Returns 0 and its ID; HELIO_EAGAIN: there
 * are too many, or no more IDs until some end; HELIO_ENOMEM. */
int custody_hold(struct custody *c, uint64_t key, uint64_t *id);
/* It is transmitted: its timer starts. `carrier`: the caller's name of what transports it, for
 * custody_expire. Not held: nothing happens. */
struct custody_carrier {
    uint64_t time_ms, sequence;
};
void custody_sent(struct custody *c, uint64_t key, const struct custody_carrier *carrier, tick now);
/* It is not transmitted; nothing follows. False: it is not held, or its outcome waits for
 * custody_poll. */
bool custody_drop(struct custody *c, uint64_t key);
/* The caller gives it up: CUSTODY_CANCELLED follows, unless it has another outcome. False: it is
 * not held. */
bool custody_cancel(struct custody *c, uint64_t key);
uint64_t custody_held(const struct custody *c);

/* Can signals of the peer arrive, by the contact plan? Initially yes. */
void custody_open(struct custody *c, bool open, tick now);
/* When the timer of a bundle that is transmitted now would end: the retransmission time. */
tick custody_again_at(const struct custody *c, tick now);

/* A signal of the peer: its sequences, which are changed. HELIO_ENOMEM: nothing happened. */
int custody_input(struct custody *c, uint64_t disposition, struct range *at, size_t len);

enum custody_outcome { CUSTODY_RELEASED, CUSTODY_REFUSED, CUSTODY_LOST, CUSTODY_CANCELLED };
struct custody_event {
    uint64_t key;
    enum custody_outcome outcome;
    uint64_t disposition; /* with CUSTODY_REFUSED: the peer's */
};
/* The next outcome; its bundle is not held any more. False: there is none. */
bool custody_poll(struct custody *c, struct custody_event *out);

/* ---- the peer's bundles ---- */

/* The peer's ID has this disposition. With CUSTODY_ACCEPTED its bundle is on the medium. */
void custody_confirm(struct custody *c, uint64_t id, enum custody_disposition disposition,
                     tick now);
/* The next signal that is due. *at: its sequences, 1 to CUSTODY_RANGES_MAX, valid until the next
 * call. The caller answers with custody_signalled. False: there is none. */
bool custody_signal(const struct custody *c, tick now, enum custody_disposition *disposition,
                    const struct range **at, size_t *len);
/* ok: the signal is on its way, and forgotten. !ok: it is due again at `again`. */
void custody_signalled(struct custody *c, enum custody_disposition disposition, bool ok,
                       tick again);

/* ---- time ---- */

/* Ends the timers that are due. is_here: does what transports the bundle still wait in this node?
 * Then the bundle cannot be confirmed yet, and the timer starts anew; it does once more when the
 * transport has left meanwhile. */
typedef bool custody_is_here(void *context, const struct custody_carrier *carrier);
void custody_expire(struct custody *c, tick now, custody_is_here *is_here, void *context);
/* When the next timer ends; TICK_NEVER: none runs. */
tick custody_deadline(const struct custody *c);
/* When the next signal is due; TICK_NEVER: none waits. */
tick custody_signal_due(const struct custody *c);

const struct custody_stats *custody_stats(const struct custody *c);
/* Its invariants, asserted. */
void custody_check(const struct custody *c);

#endif
