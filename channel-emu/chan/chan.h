/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a link, pure. Input are frames with the time of their arrival; output are frames
 * at the time of their arrival at the far end. In between: a queue, serialisation at the nominal
 * rate, contacts, erasures (by a trace, in Gilbert-Elliott bursts, independent, by rule),
 * propagation delay, jitter, duplication and corruption. The emulator runs it on the real clock,
 * the simulators on a virtual one. The model in words: docs/channel.md.
 */
#ifndef CHANNEL_EMU_CHAN_H
#define CHANNEL_EMU_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Good and bad time in runs. Runs alternate as they like; adjacent runs of one state are allowed.
 */
struct trace_run {
    bool bad;
    uint64_t steps; /* >= 1 */
};

struct trace {
    tick step;      /* duration of a step, ns; default 0.1 ms */
    uint64_t steps; /* the sum of all runs, >= 1 */
    size_t len, cap;
    struct trace_run *runs;
};

/* An empty trace with steps of that length, ns. */
void trace_init(struct trace *t, tick step);
/* Frees the runs. */
void trace_fini(struct trace *t);
/* Lengthens the trace; merges with the last run when the state is the same.
 * 0, HELIO_ENOMEM, HELIO_EINVAL (steps 0, or a sum that overflows a tick). */
int trace_add(struct trace *t, bool bad, uint64_t steps);

/* A position in a looping trace. Moving forward is O(1) amortised; moving back restarts. */
struct trace_clock {
    const struct trace *trace;
    tick offset; /* where in the trace time `origin` lies */
    tick origin;
    size_t run;
    tick run_start, run_end; /* of the present run, in the caller's time */
};
/* At the time `origin` the trace is `offset` after its beginning. The trace is borrowed. */
void trace_clock_init(struct trace_clock *c, const struct trace *t, tick origin, tick offset);
/* Does any part of [from, to) (or the instant `from` when empty) meet a bad step? */
bool trace_clock_bad(struct trace_clock *c, tick from, tick to);
/* Bad time within [from, to), ns. */
tick trace_clock_bad_time(struct trace_clock *c, tick from, tick to);
/* The same without a clock, for once: it searches from the first run. */
tick trace_bad_time(const struct trace *t, tick origin, tick offset, tick from, tick to);
/* The time within [from, to), ns, at which a frame that is on the air for `air` > 0 may begin
 * without meeting a bad step. */
tick trace_free_time(const struct trace *t, tick origin, tick offset, tick from, tick to, tick air);
/* A trace that does not loop is good before its begin and after its end: cuts [from, to) to the one
 * pass of which `offset` lies at `origin`. False, and nothing changed, when they have no instant in
 * common. */
bool trace_once(const struct trace *t, tick origin, tick offset, tick *from, tick *to);

/* Reasons for the loss of a frame. If several apply, it counts under the first in this order:
 * queue, codel, rule, outage, trace, burst, random, handover, memory, end. */
enum chan_reason {
    CHAN_TRACE,                   /* met a bad step */
    CHAN_RANDOM,                  /* independent loss */
    CHAN_BURST,                   /* Gilbert-Elliott */
    CHAN_OUTAGE,                  /* met time off contact, or an outage */
    CHAN_RULE,                    /* by chan_input_rule */
    CHAN_QUEUE,                   /* the queue was full: the frame never took the line */
    CHAN_MEMORY,                  /* no memory for it or its copy */
    CHAN_END,                     /* it was inside when chan_end was called */
    CHAN_CODEL,                   /* the queue stood for too long: it never took the line */
    CHAN_HANDOVER,                /* it was inside at a cut */
    CHAN_LOSSES,                  /* so many reasons to be lost; the rest is not lost: */
    CHAN_DUPLICATE = CHAN_LOSSES, /* arrives twice */
    CHAN_CORRUPT,                 /* at least one bit of it, or of its copy, is flipped */
    CHAN_MARK,                    /* delivered with the congestion mark */
    CHAN_REASONS
};
/* "trace", "random", "burst", "outage", "rule", "queue", "memory", "end", "codel", "handover",
 * "duplicate", "corrupt", "mark"; static. */
const char *chan_reason_name(enum chan_reason reason);

/* Time on, or off, contact: [from, to) after the origin, ns; from < to. */
struct chan_window {
    tick from, to;
};

/* The propagation delay at a time after the origin. */
struct chan_point {
    tick at, delay;
};

/* What a change may set. */
enum chan_key {
    CHAN_KEY_RATE = 1,
    CHAN_KEY_DELAY = 2,
    CHAN_KEY_LOSS = 4,
    CHAN_KEY_DUPLICATE = 8,
    CHAN_KEY_CORRUPT = 16,
    CHAN_KEY_BITS = 32
};
/* New values of the parameters in `keys`, an "or" of enum chan_key, not 0. They apply to frames
 * whose transmission begins at or after `at`; a frame in transmission keeps the former values. */
struct chan_change {
    tick at; /* after the origin */
    unsigned keys;
    uint64_t rate_bps; /* >= 1 */
    tick delay;
    double loss, duplicate, corrupt, bit_error_rate;
};

/* What a receiver does at a power in dB: the probability that a codeword (or a whole frame) is
 * lost, and of each bit of what is not lost to be flipped. */
struct chan_power_point {
    double db, loss, bit_errors;
};
/* Received power over time, one value a step, linear in a unit whose dB the points have. */
struct chan_power {
    const double *power; /* >= 0 and finite */
    const double *sums;  /* of chan_power_sums (chan_power.h) */
    size_t len;          /* >= 1 */
    tick step, offset;   /* offset: where in it the origin lies */
    bool loop;           /* else there are no losses by it before its begin and after its end */
    /* Interleaver depth, ns. A frame is spread over its transmission time and this time: it is
     * delivered so much later, and its losses follow the mean power over the whole time. */
    tick interleaver;
    uint32_t codeword_bits; /* of which each may be lost; 0: the points are of whole frames */
    const struct chan_power_point *points; /* rising in dB, from 1 on; between two the logarithms */
    size_t count;                          /* of both rates are linear; constant outside */
    /* A receiver that loses whole steps (chan_receiver.h): 1 for each such step, else 0, and the
     * sums; NULL: it loses none. A frame that is on the air in one is lost. */
    const double *lost, *lost_sums;
    tick block; /* of its block interleaver, ns: a frame is delivered so much later; 0: none */
};

/* Gilbert-Elliott in time: good and bad states with exponential dwell times, the first one drawn
 * with its share. A frame that meets the bad state is lost with probability loss_bad, else
 * loss_good. */
struct chan_burst {
    tick good, bad; /* mean dwell times, ns; both 0: off */
    double loss_good, loss_bad;
};

struct chan_jitter;
struct chan_shared;

/* A zeroed configuration is a perfect wire. All pointers are borrowed until chan_free. */
struct chan_config {
    uint64_t rate_bps; /* serialises frames at this rate; 0 = no serialisation */
    uint32_t overhead; /* bytes added to each frame on the air */
    /* limit of what waits for the line, overhead counted; 0 = none. An idle line takes any frame;
     * without a rate only `hold` makes frames wait. */
    uint64_t queue_bytes;
    tick queue_time; /* limit of the time to radiate what waits, ns; 0 = none; needs a rate */
    /* CoDel (RFC 8289) beside these limits; interval 0 = none; needs a rate, and a target */
    tick codel_target, codel_interval;
    bool codel_marks; /* it marks frames that can be marked instead of dropping them */
    tick mark_above;  /* frames that can be marked and have waited longer are; 0 = none */

    tick delay;                      /* propagation, ns; not used with points */
    const struct chan_point *points; /* delay over time, linear in between, constant before and */
    /* after, `at` rising; taken when the last bit leaves. No frame overtakes another by it. */
    size_t point_count;
    tick jitter;          /* uniform extra delay [0, jitter), ns; frames may overtake */
    bool jitter_in_order; /* … or may not: one that would waits for the one before */
    const struct chan_jitter *jitter_law; /* of another distribution (chan_jitter.h); NULL: none */

    tick origin;       /* of trace, windows and points */
    bool origin_first; /* … is the time of the first frame instead */

    const struct chan_window *windows; /* contacts, rising, not overlapping; none: always on */
    size_t window_count;
    bool windows_off; /* the windows are losses of sight: off in them, on elsewhere */
    /* off contact the line waits for the next one, instead of losing frames; what the end of a
     * contact cuts, or follows the last one, is lost */
    bool hold;

    const struct trace *trace; /* NULL: none */
    tick trace_offset;         /* where in the trace time the origin lies */
    bool trace_no_loop;        /* good after its end, instead of from its begin again */
    /* trace and burst look at the start of a frame's time on the air, instead of all of it */
    bool start_only;
    const struct chan_power *power; /* NULL: none; its losses count as those of a trace */
    struct chan_burst burst;
    double loss;           /* independent erasure probability per frame, 0..1 */
    double duplicate;      /* probability that a frame arrives twice */
    double corrupt;        /* probability that a frame has one bit flipped */
    double bit_error_rate; /* probability of each bit of a frame to be flipped, 0..1 */
    /* each kind of chance has its own stream, by number of the frame: one that is turned on or off
     * moves no other */
    uint64_t seed;

    const struct chan_change
        *changes;        /* of the values above in mid-run, `at` rising; a rate needs */
    size_t change_count; /* rate_bps > 0, a delay no points */
    /* takes this transmitter's line (chan_shared.h) instead of one of its own: rate, queue, CoDel,
     * marks and hold are not used. NULL: none */
    struct chan_shared *shared;
    const tick *cuts; /* rising, not after the origin but as `now` is: frames that entered before */
    size_t cut_count; /* a cut and would arrive after it are lost; queued ones then take no line at
                         all */
    /* chan_change may be called. With this, or with changes, CoDel, marks, cuts or a shared line,
     * the fate of a queued frame is undecided until the line takes it. */
    bool live;
};

struct chan_counters {
    uint64_t in, in_bytes, out, out_bytes;
    uint64_t lost[CHAN_LOSSES];     /* by enum chan_reason */
    uint64_t duplicated, corrupted; /* a frame and its copy may count both as corrupted */
    uint64_t marked;
    uint64_t queued; /* now inside: in + duplicated = out + all lost + queued, always */
};

/* The sum of lost. */
uint64_t chan_lost(const struct chan_counters *n);

struct chan;
/* Returns 0, HELIO_ENOMEM or HELIO_EINVAL. Invalid are: a probability outside 0..1, too much
 * overhead, an empty trace, only one dwell time, too many or unsorted windows, points or changes,
 * hold without windows, and a change of a parameter that is not configured. */
int chan_new(struct chan **out, const struct chan_config *config);
/* Frees the channel and its frames, without a report. NULL is allowed. */
void chan_free(struct chan *c);

/* Bytes of a frame, and overhead added to it, at most. */
#define CHAN_FRAME_MAX (UINT32_C(1) << 24)
#define CHAN_OVERHEAD_MAX (UINT32_C(1) << 20)
/* Windows, or points, at most. */
#define CHAN_TABLE_MAX (UINT32_C(1) << 20)

/* A frame enters the line at `now`, which must not decrease between inputs and outages (output has
 * its own time and may be ahead). The bytes are copied; len <= CHAN_FRAME_MAX. `tag` is returned
 * with the frame (port numbers, flow). */
void chan_input(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now);

/* The same, but the frame is lost by rule (unless the queue is full): it takes the line, and its
 * chances are drawn, all the same. */
void chan_input_rule(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now);

/* The same with what is said of the frame: its ECN field (RFC 3168), 0 to 3, of which 0 means that
 * it cannot be marked and 3 that it is, and perhaps CHAN_BY_RULE. */
#define CHAN_ECN 3u
#define CHAN_BY_RULE 4u
/* `as`: the ECN field, or'ed with CHAN_BY_RULE. */
void chan_input_as(struct chan *c, const uint8_t *data, size_t len, uint64_t tag, tick now,
                   unsigned as);

/* The same if only the first octets of a frame are needed, as in a simulation with uniform payload.
 * Only these are copied and returned, but the frame is transmitted with its whole length. The
 * channel must not flip bits, unless all octets are kept. */
struct chan_head {
    const uint8_t *data;
    size_t kept, len; /* octets of data; of the frame: kept <= len <= CHAN_FRAME_MAX */
};
/* `as`: see chan_input_as. */
void chan_input_head(struct chan *c, const struct chan_head *head, uint64_t tag, tick now,
                     unsigned as);

/* Changes parameters from `now` on, which must not be before the last input, outage or change;
 * change->at is ignored. The effect is that of a configured change, except for frames whose
 * transmission began at exactly `now`. Requires `live`. Returns 0; HELIO_ENOMEM or HELIO_EINVAL (as
 * chan_new), with nothing changed. */
int chan_change(struct chan *c, const struct chan_change *change, tick now);

/* Begins (down) or ends an outage: frames in transmission during an outage are lost. */
void chan_outage(struct chan *c, bool down, tick now);

/* Ends the channel: frames still inside are lost (chan_fate reports each) with the reason CHAN_END,
 * except those that an outage has lost already. Only chan_fate, chan_counters and chan_free may
 * follow. */
void chan_end(struct chan *c);

/* When to call chan_output next: a frame is delivered, or lost in an outage or cut, or the line
 * takes a queued frame. TICK_NEVER: the line is empty. */
tick chan_deadline(const struct chan *c);

/* Returns 1 and the next frame due at or before now, or 0. `data` is valid until the next
 * chan_input, chan_outage or chan_free, so that a batch can be collected without a copy; the caller
 * may change it. */
struct chan_out {
    uint8_t *data;
    size_t len;
    size_t kept; /* octets of data; less than len after chan_input_head only */
    uint64_t tag;
    tick due;                /* when it was due */
    tick entered;            /* time of its input */
    tick air_start, air_end; /* its time on the air */
    uint64_t number;         /* of its input, from 1; a copy has that of its frame */
    bool copy, corrupted;
    bool marked; /* here: the caller puts it into the frame's bytes, or beside them */
    uint8_t ecn; /* as received; 3 when marked */
};
/* Writes the next frame that is due. */
int chan_output(struct chan *c, tick now, struct chan_out *out);

/* The state of the channel for frames in transmission during [from, to), from < to. For observers:
 * nothing changes. Values are those of the latest frame; all zeros before the first frame. */
struct chan_look {
    bool begun;
    bool down;        /* by chan_outage, now */
    bool contact;     /* on contact at the end of this time */
    bool bad;         /* a bad step of the trace there */
    double bad_share; /* of this time, by the trace, 0..1; 0 without one */
    double power;     /* mean over it; HUGE_VAL: none, or before or after powers that do not loop */
    uint64_t rate_bps;
    tick delay; /* at the end of this time, with points; jitter not counted */
    double loss;
};
/* Writes the state in [from, to). */
void chan_look_at(struct chan *c, tick from, tick to, struct chan_look *out);

/* The fates of single frames. Returns 1 and a record for each frame that was lost, duplicated,
 * corrupted or marked: in the last chan_input; since then in an outage (by chan_output) or at the
 * end (chan_end); or when the line took it from the queue (see live). 0: there are no more. Records
 * not read before the next chan_input or chan_outage are dropped. `data` of a frame of the last
 * chan_input are the caller's, else they are valid as those of chan_output. */
struct chan_fate {
    enum chan_reason reason;
    uint64_t number;         /* of the frame, from 1, counting all inputs */
    tick entered;            /* time of its input */
    tick air_start, air_end; /* its time on the air; both `entered` when the queue was full */
    uint64_t tag;
    const uint8_t *data;
    size_t len, kept; /* as in struct chan_out */
};
/* Writes the next record. */
int chan_fate(struct chan *c, struct chan_fate *out);

/* The channel's counters, which stay valid as long as it. */
const struct chan_counters *chan_counters(const struct chan *c);

#ifdef __cplusplus
}
#endif

#endif
