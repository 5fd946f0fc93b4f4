/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FARM-1 (CCSDS 232.1-B section 6): which TC frames of a virtual channel a receiver accepts, and
 * what it reports of them in its CLCW. Type-AD frames are accepted in order; a gap is reported as
 * Retransmit, a full buffer as Wait, and a frame outside of the window ends in Lockout.
 *
 *              E2: no buffer                     E5: outside of the window
 *     OPEN ───────────────────► WAIT    OPEN, WAIT ─────────────────────► LOCKOUT
 *          ◄───────────────────         OPEN ◄───────────────────────────
 *            E10 released, E7, E8                  E7: Unlock
 */
#ifndef FRAMES_FARM_H
#define FRAMES_FARM_H

#include "frames/clcw.h"
#include "frames/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* States of FARM-1 (CCSDS 232.1-B §6). */
enum farm_state { FARM_OPEN, FARM_WAIT, FARM_LOCKOUT, FARM_STATES };

/* The events of the book's state table; its E11 is farm_report. */
enum farm_event {
    FARM_E1,  /* type AD, N(S) = V(R), there is a buffer */
    FARM_E2,  /* the same, there is none */
    FARM_E3,  /* N(S) behind V(R) by less than the positive window: frames are missing */
    FARM_E4,  /* N(S) before V(R) within the negative window: a repetition */
    FARM_E5,  /* N(S) outside of the window */
    FARM_E6,  /* type BD */
    FARM_E7,  /* type BC, Unlock */
    FARM_E8,  /* type BC, Set V(R) */
    FARM_E9,  /* an invalid frame */
    FARM_E10, /* the buffer is released */
    FARM_EVENTS
};

enum farm_verdict {
    FARM_DISCARDED,
    FARM_ACCEPTED, /* the frame's data are for the user */
    FARM_EXECUTED  /* a control command, or the release of the buffer */
};

struct farm {
    enum farm_state state;
    bool wait, retransmit; /* flags of the CLCW; Lockout is the state */
    uint8_t v_r;           /* V(R): the number of the next type-AD frame */
    uint8_t b_counter;     /* type-B frames accepted, modulo 4 */
    uint8_t half_window;   /* PW and NW */
};

/* The window W is even, 2 to 254. State OPEN, V(R) 0. */
void farm_init(struct farm *f, unsigned window);

/* Classifies a valid TC frame of the virtual channel. `room`: there is a buffer for its data. For a
 * control command Set V(R), *v_r is its number. */
enum farm_event farm_classify(const struct farm *f, const struct frame *frame, bool room,
                              uint8_t *v_r);

/* An event, by the state table. */
enum farm_verdict farm_event(struct farm *f, enum farm_event event, uint8_t v_r);

/* farm_classify, then farm_event. */
enum farm_verdict farm_input(struct farm *f, const struct frame *frame, bool room);

/* There is a buffer again (E10). */
void farm_release(struct farm *f);

/* Fills in what FARM-1 knows of a CLCW: COP, flags, counter, report value; the rest stays. */
void farm_report(const struct farm *f, struct clcw *out);

#ifdef __cplusplus
}
#endif

#endif
