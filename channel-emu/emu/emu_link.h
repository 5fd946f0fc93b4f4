/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulated link, both directions, with its logs: the common part of relay and bridge. A frame
 * enters with its time of arrival and leaves when it is due; each fate is counted and has its line
 * in the drop log.
 */
#ifndef CHANNEL_EMU_EMU_LINK_H
#define CHANNEL_EMU_EMU_LINK_H

#include <stdio.h>

#include "base/slice.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/emu/emu_settings.h"
#include "channel-emu/scenario/emu_pace.h"
#include "channel-emu/scenario/scenario_links_run.h"
#include "os/log/log_writer.h"

#define EMU_FORWARD SCENARIO_FORWARD
#define EMU_RETURN SCENARIO_RETURN

/* The bytes of a frame in which an LTP segment may lie; empty: there is none. */
typedef struct slice emu_payload(const uint8_t *frame, size_t len);

struct emu_link;

/* One direction: its channel, which begins with its first frame, and what the channel cannot count.
 */
struct emu_direction {
    struct chan *chan;  /* NULL before the first frame */
    struct chan *clean; /* for exempt frames: delay only */
    struct ltp_rules *rules;
    uint64_t before;      /* dropped by the kernel before we could read them */
    uint64_t after;       /* dropped by the device after it had left, so within those sent */
    uint64_t no_peer;     /* arrived without a destination: did not enter the channel */
    uint64_t too_long;    /* super-packets: never entered the channel */
    uint64_t gone;        /* left the channel after its peer's flow was closed */
    uint64_t sum_missing; /* without their checksum: the same */
    uint64_t after_end;   /* arrived after the end of the run: did not enter the channel */
    uint64_t send_failed, sent_bytes;
    int send_error;           /* of the last that failed */
    tick origin, first, last; /* of trace and windows; arrivals; on the channels' clock: */
    tick let_out;             /* how far frames were let out, and on the line */
    /* changes before there was a channel; of this direction, in [0] */
    struct scenario_change ahead;
    struct chan_change *changed; /* owned; changes during the run, after the origin */
    size_t changed_count;
    uint64_t changed_more; /* … and beyond EMU_CHANGED_MAX */
    uint64_t late_beyond;  /* frames released later than the tolerance */
    struct emu_late late;
};

/* Changes that are remembered for the report, at most. */
#define EMU_CHANGED_MAX 4096u

/* The tag of exempt frames when they come out. */
#define EMU_EXEMPT UINT64_MAX

struct emu_link {
    const struct emu_settings *settings; /* borrowed */
    emu_payload *payload;
    struct emu_direction directions[2];
    struct links_run *among; /* borrowed; what it has with others; NULL: it is the only one */
    size_t index;            /* among them */
    struct log_writer *drops, *before, *after; /* NULL: not asked for */
    uint64_t epoch; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start, modulo 2^64 */
    tick bias;      /* the channels' clock is so far before CLOCK_MONOTONIC */
    tick started, tolerance;
    struct emu_pace own_pace, *pace; /* the latter is the former, or another link's */
    tick delay_min;                  /* of both directions, whenever */
    tick delay_told;                 /* the longest that a change in mid-run has set */
    tick read_due;                   /* while frames come: when the sockets are read next */
    tick released;                   /* when frames were let out last */
    bool ended;                      /* it ended by itself */
    tick closing;     /* end of the run, once it is known: later frames are not accepted */
    bool closed;      /* it is past */
    tick sweep_began; /* when the sockets were first read after it; 0: not yet */
    tick swept;       /* when they had nothing more from before it; TICK_NEVER before */
    tick flushed;     /* when the outputs were given to their threads last */
};

/* Opens the outputs. 0, or a negative error with a message on `say`; emu_link_fini in any case. */
int emu_link_init(struct emu_link *l, const struct emu_settings *settings, emu_payload *payload,
                  FILE *say);
void emu_link_fini(struct emu_link *l);
/* Offset of the channels' clock to CLOCK_MONOTONIC for this `start`: 0; or, if `start` is before
 * the begin of CLOCK_MONOTONIC, the epoch, so that the clock is the time of day, which begins early
 * enough for every date. */
tick emu_link_bias(const struct scenario_direction *w, uint64_t epoch);

/* A frame arrived, with this ECN field. Stamps of two processors may be out of order by a little:
 * time is held. 0, or HELIO_ENOMEM when it is the first and there is no memory for its channel. */
int emu_link_input(struct emu_link *l, int dir, const uint8_t *data, size_t len, uint64_t tag,
                   unsigned ecn, tick arrival);
/* The same for a frame that is only delayed, whatever else the link does. */
int emu_link_input_exempt(struct emu_link *l, int dir, const uint8_t *data, size_t len,
                          tick arrival);

/* When a change of a direction that is asked for at `now` holds, on the channels' clock: no earlier
 * than the last frame inside, nor than frames were let out. */
tick emu_link_change_time(const struct emu_link *l, int dir, tick now);
/* Changes values then. 0 or HELIO_ENOMEM. */
int emu_link_change(struct emu_link *l, const struct scenario_change *change, tick now);

/* A frame that did not enter the channel, or had no destination when it left: writes its row in the
 * drop log. The caller counts it. */
void emu_link_refuse(struct emu_link *l, int dir, const uint8_t *data, size_t len, tick arrival,
                     const char *reason);

/* The run will end at `at` (TICK_NEVER: unknown): later frames are counted and logged, but not
 * accepted. */
void emu_link_end(struct emu_link *l, tick at);
/* The run has ended at `at`: later frames are counted and logged, but not accepted. Frames inside
 * continue until emu_link_drained. */
void emu_link_close(struct emu_link *l, tick at);
/* Time after the end: as configured, or the longest delay of the link, including changes during the
 * run. */
tick emu_link_drain(const struct emu_link *l);
/* Closing: the sockets were read, and brought nothing, or something. */
void emu_link_was_swept(struct emu_link *l, tick now, bool something);
/* Has everything ended: closed, the sockets are read, and no frame inside is due in time? */
bool emu_link_drained(const struct emu_link *l);
/* Until when the loop may sleep for all that: the run's end at `last`; at once while the sockets
 * are to be read. */
tick emu_link_wake(const struct emu_link *l, tick last);

/* When the next frame of a direction is due, or of either; TICK_NEVER when there is none. */
tick emu_link_due(const struct emu_link *l, int dir);
tick emu_link_deadline(const struct emu_link *l);
/* The next frame due: 1, or 0. Its bytes hold until the next input in its direction. */
int emu_link_output(struct emu_link *l, int dir, tick now, struct chan_out *out);
/* The kernel has taken the frame; or it refused it, with this error. */
void emu_link_sent(struct emu_link *l, int dir, const struct chan_out *out, tick now);
void emu_link_unsent(struct emu_link *l, int dir, const struct chan_out *out, int error);

/* When to let frames out next: when one is due, but a batch after the last ones. */
tick emu_link_release(const struct emu_link *l);
/* Once a round of the loop: batches and priority follow what the last rounds cost. */
void emu_link_turn(struct emu_link *l, tick now);
/* The sockets were read and brought something, or nothing: while they do, they are read at
 * l->read_due; else an arrival wakes the loop (read_due is TICK_NEVER). */
void emu_link_was_read(struct emu_link *l, tick now, bool something);

/* Gives what is gathered to the writers, twice a second at most: call it often. */
void emu_link_flush(struct emu_link *l, tick now);
/* When to call it at the latest; TICK_NEVER when nothing is gathered. */
tick emu_link_flush_due(const struct emu_link *l);
/* Ends the channels, whose frames are lost by the end and logged, and the outputs; the report then
 * shows failed writes. */
void emu_link_finish(struct emu_link *l);

/* Signals that end a run, or request a report, as a descriptor, or HELIO_E*. Call it before
 * emu_link_init, whose threads must not receive them. A pipe without a reader and the limit of a
 * file's size are then write errors, and do not end the process. */
int emu_link_signals(void);
/* Real-time scheduling, if wanted and permitted, and timers without slack. */
void emu_link_hurry(struct emu_link *l);

/* emu_change.c, for emu_link.c: changes before the direction's channels existed; and the channel of
 * exempt frames. Returns 0 or HELIO_ENOMEM. */
int emu_link_change_ahead(struct emu_link *l, int dir);
int emu_link_clean(struct emu_direction *w, const struct chan_config *config);
/* The transmitter that a direction shares; NULL: its line is its own. */
const struct links_line *emu_link_line(const struct emu_link *l, int dir);
/* emu_link.c: writes the fates of the channel, and of those that share its line, to the drop
 * logs. */
void emu_link_tell(struct emu_link *l, int dir);

/* emu_report.c: counters by direction, and whether the run was faithful. */
void emu_report_text(const struct emu_link *l, FILE *to);
void emu_report_json(const struct emu_link *l, const char *command, FILE *to);
/* … of one link of several: {faithful, grade, not_faithful, forward, return, drop_log …}. */
json_t *emu_report_link(const struct emu_link *l);
/* … of the run: {duration_s, started_ns, cpu_s, realtime_share}. */
json_t *emu_report_run(const struct emu_link *l);
/* {seconds, forward: {in, out, queued, dropped}, return: …} now. */
json_t *emu_report_status(const struct emu_link *l);
/* … with the losses by reason, and what each channel is like in the last second. It looks at no
 * whole trace, as the others but emu_report_status do, so that it can be asked for each second. */
json_t *emu_report_now(struct emu_link *l, tick now);
/* The i-th reason of losses, as in these answers; NULL: there are no more. */
const char *emu_report_reason(int i);
/* 0 is the worst grade; the last one is faithful. */
int emu_report_grade(const struct emu_link *l);
const char *emu_report_grade_name(int grade);
#define EMU_FAITHFUL 3
/* Frames that left: those of emu_direction that the report counts. */
struct emu_sums {
    uint64_t in, out, dropped, queued;
};
struct emu_sums emu_report_sums(const struct emu_link *l, int dir);
/* False after emu_link_finish if an output is incomplete; emu_report_text has reported it. */
bool emu_report_whole(const struct emu_link *l);
/* How long the end may take, when that is more than a second. */
void emu_report_drain(const struct emu_link *l, FILE *to);
/* One line of progress. */
void emu_report_line(const struct emu_link *l, FILE *to);

#endif
