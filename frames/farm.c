/* SPDX-License-Identifier: Apache-2.0 */
/* The next type-AD frame is accepted, and counted. What can go wrong: there is no buffer; frames
 * are missing; a frame is far off, by a sender that restarted or by an error that was not detected.
 */
#include "frames/farm.h"

#include <assert.h>

enum { UNLOCK = 0x00, SET_V_R = 0x82, COP_1 = 1 };

void farm_init(struct farm *f, unsigned window)
{
    assert(window >= 2 && window <= 254 && window % 2 == 0);
    *f = (struct farm){.state = FARM_OPEN, .half_window = (uint8_t)(window / 2)};
}

/* Control commands (232.0-B 4.1.3.3). */
static enum farm_event classify_command(const struct frame *frame, uint8_t *v_r)
{
    const uint8_t *d = frame->zone.data;
    if (frame->zone.len == 1 && d[0] == UNLOCK)
        return FARM_E7;
    if (frame->zone.len == 3 && d[0] == SET_V_R && d[1] == 0) {
        *v_r = d[2];
        return FARM_E8;
    }
    return FARM_E9;
}

enum farm_event farm_classify(const struct farm *f, const struct frame *frame, bool room,
                              uint8_t *v_r)
{
    uint8_t ahead = (uint8_t)(frame->count - f->v_r);
    *v_r = 0;
    if (frame->kind != FRAME_TC || (frame->command && !frame->bypass))
        return FARM_E9;
    if (frame->bypass)
        return frame->command ? classify_command(frame, v_r) : FARM_E6;
    if (ahead == 0)
        return room ? FARM_E1 : FARM_E2;
    if (ahead < f->half_window)
        return FARM_E3;
    return ahead >= 256 - f->half_window ? FARM_E4 : FARM_E5;
}

static enum farm_verdict accept_frame(struct farm *f)
{
    /* E1 while waiting for a buffer: the user did not report its release */
    if (f->state != FARM_OPEN)
        return FARM_DISCARDED;
    f->v_r++;
    f->retransmit = false;
    return FARM_ACCEPTED;
}

static void clear_flags(struct farm *f)
{
    f->state = FARM_OPEN;
    f->wait = f->retransmit = false;
}

/* In lockout the command is counted, and has no effect. */
static void set_number(struct farm *f, uint8_t v_r)
{
    if (f->state == FARM_LOCKOUT)
        return;
    clear_flags(f);
    f->v_r = v_r;
}

enum farm_verdict farm_event(struct farm *f, enum farm_event event, uint8_t v_r)
{
    assert(event < FARM_EVENTS && (f->state != FARM_WAIT || f->wait));
    if (event >= FARM_E6 && event <= FARM_E8)
        f->b_counter = (f->b_counter + 1) & 3;
    switch (event) {
    case FARM_E1:
        return accept_frame(f);
    case FARM_E2:
        if (f->state == FARM_OPEN) {
            f->state = FARM_WAIT;
            f->wait = f->retransmit = true;
        }
        return FARM_DISCARDED;
    case FARM_E3:
        f->retransmit = f->retransmit || f->state == FARM_OPEN;
        return FARM_DISCARDED;
    case FARM_E5:
        f->state = FARM_LOCKOUT;
        return FARM_DISCARDED;
    case FARM_E6:
        return FARM_ACCEPTED;
    case FARM_E7:
        clear_flags(f);
        return FARM_EXECUTED;
    case FARM_E8:
        set_number(f, v_r);
        return FARM_EXECUTED;
    case FARM_E10:
        f->wait = false;
        f->state = f->state == FARM_WAIT ? FARM_OPEN : f->state;
        return FARM_EXECUTED;
    default: /* E4, E9 */
        return FARM_DISCARDED;
    }
}

enum farm_verdict farm_input(struct farm *f, const struct frame *frame, bool room)
{
    uint8_t v_r;
    enum farm_event event = farm_classify(f, frame, room, &v_r);
    return farm_event(f, event, v_r);
}

void farm_release(struct farm *f)
{
    (void)farm_event(f, FARM_E10, 0);
}

void farm_report(const struct farm *f, struct clcw *out)
{
    out->cop = COP_1;
    out->lockout = f->state == FARM_LOCKOUT;
    out->wait = f->wait;
    out->retransmit = f->retransmit;
    out->farm_b = f->b_counter;
    out->report_value = f->v_r;
}
