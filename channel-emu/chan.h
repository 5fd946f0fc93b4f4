/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a link, pure: frames go in with the time of their arrival, and come out when
 * they would have arrived at the far end. In between: serialisation at the nominal rate, erasures
 * by a trace of good and bad time or independent ones, propagation delay, and, for tests,
 * duplication, reordering, corruption and outages. The emulator runs it on the real clock, the
 * simulators on a virtual one.
 */
#ifndef CHANNEL_EMU_CHAN_H
#define CHANNEL_EMU_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

/* Good and bad time in runs. Runs alternate as they like; adjacent runs of one state are allowed.
 */
struct trace_run {
    bool bad;
    uint64_t steps; /* >= 1 */
};

struct trace {
    tick step;      /* duration of a step, ns; 0.1 ms unless told otherwise */
    uint64_t steps; /* the sum of all runs, >= 1 */
    size_t len, cap;
    struct trace_run *runs;
};

void trace_init(struct trace *t, tick step);
void trace_fini(struct trace *t);
/* Lengthens the trace; merges with the last run when the state is the same.
 * 0, HELIO_ENOMEM, HELIO_EINVAL (steps 0, or a sum that overflows a tick). */
int trace_add(struct trace *t, bool bad, uint64_t steps);

/* A place in a looping trace; moving forward is O(1) amortised, moving back starts again. */
struct trace_clock {
    const struct trace *trace;
    tick offset; /* where in the trace time `origin` lies */
    tick origin;
    size_t run;
    tick run_start, run_end; /* of the present run, in the caller's time */
};
void trace_clock_init(struct trace_clock *c, const struct trace *t, tick origin, tick offset);
/* Does any part of [from, to) (or the instant `from` when empty) meet a bad step? */
bool trace_clock_bad(struct trace_clock *c, tick from, tick to);
/* Bad time within [from, to), ns. */
tick trace_bad_time(const struct trace *t, tick origin, tick offset, tick from, tick to);

struct chan_config {
    uint64_t rate_bps;         /* serialises frames at this rate; 0 = no serialisation */
    uint32_t overhead;         /* bytes added to each frame on the air */
    tick delay;                /* propagation, ns */
    tick jitter;               /* uniform extra delay [0, jitter); frames may overtake, ns */
    uint64_t queue_bytes;      /* limit of what waits for the line, overhead counted; 0 = none. An
                                * idle line takes any frame; it needs a rate. */
    const struct trace *trace; /* NULL: none; borrowed for the life of the channel */
    tick trace_offset;         /* where in the trace time `origin` lies */
    tick origin;
    double loss;      /* independent erasure probability per frame, 0..1 */
    double duplicate; /* probability that a frame arrives twice */
    double corrupt;   /* probability that a frame has one bit flipped */
    uint64_t seed;
};

struct chan_counters {
    uint64_t in, in_bytes, out, out_bytes;
    uint64_t erased_trace, erased_random, erased_outage, dropped_queue, dropped_memory;
    uint64_t duplicated, corrupted;
    uint64_t queued; /* now inside: in + duplicated = out + erased + dropped + queued, always */
};

struct chan;
/* 0, HELIO_ENOMEM, HELIO_EINVAL (a probability outside 0..1, too much overhead, an empty trace). */
int chan_new(struct chan **out, const struct chan_config *config);
void chan_free(struct chan *c);

/* Bytes of a frame, and overhead added to it, at most. */
#define CHAN_FRAME_MAX (UINT32_C(1) << 24)
#define CHAN_OVERHEAD_MAX (UINT32_C(1) << 20)

/* A frame enters the line at `now`, which never goes back from one input or outage to the next
 * (output has its own time and may be ahead). The bytes are copied; len <= CHAN_FRAME_MAX. `tag`
 * comes out with it (port numbers, flow). */
void chan_input(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now);

/* Frames whose time on the air meets an outage are lost (set down, then up). */
void chan_outage(struct chan *c, bool down, tick now);

/* When to call chan_output next: the next frame comes out then, or is found lost in an outage.
 * TICK_NEVER when the line is empty. */
tick chan_deadline(const struct chan *c);

/* The next frame due at or before now: 1, or 0 when there is none. `data` holds until the next
 * chan_input, chan_outage or chan_free, so that a batch can be gathered without a copy. */
struct chan_out {
    const uint8_t *data;
    size_t len;
    uint64_t tag;
    tick due; /* when it was due */
};
int chan_output(struct chan *c, tick now, struct chan_out *out);

const struct chan_counters *chan_counters(const struct chan *c);

#endif
