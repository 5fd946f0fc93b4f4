/* SPDX-License-Identifier: Apache-2.0 */
/* Of fop.c: the state table of 232.1-B-2, one row for an event, one column for a state. */
#ifndef FRAMES_FOP_TABLE_H
#define FRAMES_FOP_TABLE_H

#include "frames/fop.h"

/* What a cell of the table does, in the book's order of actions. */
enum action {
    IGNORE,
    ACK_STOP_LOOK, /* remove acknowledged frames, cancel the timer, look for an FDU */
    ACK_LOOK,
    ACK_LIMIT,
    ACK_AGAIN_LOOK, /* … initiate retransmission … */
    ACK,
    AGAIN_LOOK,
    AGAIN_BC,
    ALERT_LIMIT,
    ALERT_T1,
    ALERT_LOCKOUT,
    ALERT_SYNCH,
    ALERT_NNR,
    ALERT_CLCW,
    ALERT_LLIF,
    READY_STOP, /* confirm the initiation, cancel the timer, release the control command */
    SUSPEND,
    HOLD_LOOK, /* add to the Wait_Queue, look for an FDU */
    HOLD,
    SEND_BD,
    REJECT,
    START,
    START_CLCW,
    START_UNLOCK,
    START_SET_V_R,
    TERMINATE,
    CONFIRM,
    RESUME,
    SET_V_S,
    SET_VALUE,
    READY_AD_LOOK,
    READY_AD,
    READY_BC,
    READY_BC_LOOK,
    READY_BD
};

/* S1 to S6 of the book; 0 is "not applicable". */
struct cell {
    uint8_t action, next;
};
#define ALL(a, n)                                                                                  \
    {a, n}, {a, n}, {a, n}, {a, n},                                                                \
    {                                                                                              \
        a, n                                                                                       \
    }
#define STAY(a)                                                                                    \
    {a, 1}, {a, 2}, {a, 3}, {a, 4}, {a, 5},                                                        \
    {                                                                                              \
        a, 6                                                                                       \
    }
#define NONE                                                                                       \
    {                                                                                              \
        IGNORE, 0                                                                                  \
    }
#define REST                                                                                       \
    {                                                                                              \
        IGNORE, 6                                                                                  \
    }

static const struct cell table[FOP_EVENTS][FOP_STATES] = {
    [FOP_E1] =
        {{IGNORE, 1}, {ALERT_SYNCH, 6}, {ALERT_SYNCH, 6}, {READY_STOP, 1}, {READY_STOP, 1}, REST},
    [FOP_E2] = {{ACK_STOP_LOOK, 1}, {ACK_STOP_LOOK, 1}, {ACK_STOP_LOOK, 1}, NONE, NONE, REST},
    [FOP_E3] = {ALL(ALERT_CLCW, 6), REST},
    [FOP_E4] =
        {{ALERT_SYNCH, 6}, {ALERT_SYNCH, 6}, {ALERT_SYNCH, 6}, {ALERT_SYNCH, 6}, {IGNORE, 5}, REST},
    [FOP_E5] = {{IGNORE, 1}, {ALERT_SYNCH, 6}, {ALERT_SYNCH, 6}, NONE, NONE, REST},
    [FOP_E6] = {{ACK_LOOK, 1}, {ACK_LOOK, 1}, {ACK_LOOK, 1}, NONE, NONE, REST},
    [FOP_E7] = {{ALERT_CLCW, 6}, {ALERT_CLCW, 6}, {ALERT_CLCW, 6}, NONE, NONE, REST},
    [FOP_E101] = {{ACK_LIMIT, 6}, {ACK_LIMIT, 6}, {ACK_LIMIT, 6}, NONE, NONE, REST},
    [FOP_E102] = {{ALERT_LIMIT, 6}, {ALERT_LIMIT, 6}, {ALERT_LIMIT, 6}, NONE, NONE, REST},
    [FOP_E8] = {{ACK_AGAIN_LOOK, 2}, {ACK_AGAIN_LOOK, 2}, {ACK_AGAIN_LOOK, 2}, NONE, NONE, REST},
    [FOP_E9] = {{ACK, 3}, {ACK, 3}, {ACK, 3}, NONE, NONE, REST},
    [FOP_E10] = {{AGAIN_LOOK, 2}, {IGNORE, 2}, {AGAIN_LOOK, 2}, NONE, NONE, REST},
    [FOP_E11] = {{IGNORE, 3}, {IGNORE, 3}, {IGNORE, 3}, NONE, NONE, REST},
    [FOP_E12] = {{IGNORE, 2}, {IGNORE, 2}, {IGNORE, 2}, NONE, NONE, REST},
    [FOP_E103] = {{IGNORE, 3}, {IGNORE, 3}, {IGNORE, 3}, NONE, NONE, REST},
    [FOP_E13] = {{ALERT_NNR, 6}, {ALERT_NNR, 6}, {ALERT_NNR, 6}, {ALERT_NNR, 6}, {IGNORE, 5}, REST},
    [FOP_E14] = {{ALERT_LOCKOUT, 6},
                 {ALERT_LOCKOUT, 6},
                 {ALERT_LOCKOUT, 6},
                 {ALERT_LOCKOUT, 6},
                 {IGNORE, 5},
                 REST},
    [FOP_E15] = {ALL(ALERT_CLCW, 6), REST},
    [FOP_E16] = {{AGAIN_LOOK, 1}, {AGAIN_LOOK, 2}, {IGNORE, 3}, {ALERT_T1, 6}, {AGAIN_BC, 5}, NONE},
    [FOP_E104] = {{AGAIN_LOOK, 1}, {AGAIN_LOOK, 2}, {IGNORE, 3}, {SUSPEND, 6}, {AGAIN_BC, 5}, NONE},
    [FOP_E17] = {ALL(ALERT_T1, 6), NONE},
    [FOP_E18] = {{SUSPEND, 6}, {SUSPEND, 6}, {SUSPEND, 6}, {SUSPEND, 6}, {ALERT_T1, 6}, NONE},
    [FOP_E19] = {{HOLD_LOOK, 1}, {HOLD_LOOK, 2}, {HOLD, 3}, {REJECT, 4}, {REJECT, 5}, {REJECT, 6}},
    [FOP_E20] = {STAY(REJECT)},
    [FOP_E21] = {STAY(SEND_BD)},
    [FOP_E22] = {STAY(REJECT)},
    [FOP_E23] = {{REJECT, 1}, {REJECT, 2}, {REJECT, 3}, {REJECT, 4}, {REJECT, 5}, {START, 1}},
    [FOP_E24] = {{REJECT, 1}, {REJECT, 2}, {REJECT, 3}, {REJECT, 4}, {REJECT, 5}, {START_CLCW, 4}},
    [FOP_E25] =
        {{REJECT, 1}, {REJECT, 2}, {REJECT, 3}, {REJECT, 4}, {REJECT, 5}, {START_UNLOCK, 5}},
    [FOP_E26] = {STAY(REJECT)},
    [FOP_E27] =
        {{REJECT, 1}, {REJECT, 2}, {REJECT, 3}, {REJECT, 4}, {REJECT, 5}, {START_SET_V_R, 5}},
    [FOP_E28] = {STAY(REJECT)},
    [FOP_E29] = {ALL(TERMINATE, 6), {CONFIRM, 6}},
    [FOP_E30] = {STAY(REJECT)},
    [FOP_E31] = {NONE, NONE, NONE, NONE, NONE, {RESUME, 1}},
    [FOP_E32] = {NONE, NONE, NONE, NONE, NONE, {RESUME, 2}},
    [FOP_E33] = {NONE, NONE, NONE, NONE, NONE, {RESUME, 3}},
    [FOP_E34] = {NONE, NONE, NONE, NONE, NONE, {RESUME, 4}},
    [FOP_E35] = {{REJECT, 1}, {REJECT, 2}, {REJECT, 3}, {REJECT, 4}, {REJECT, 5}, {SET_V_S, 6}},
    [FOP_E36] = {STAY(SET_VALUE)},
    [FOP_E37] = {STAY(SET_VALUE)},
    [FOP_E38] = {STAY(SET_VALUE)},
    [FOP_E39] = {STAY(SET_VALUE)},
    [FOP_E40] = {STAY(REJECT)},
    [FOP_E41] = {{READY_AD_LOOK, 1},
                 {READY_AD_LOOK, 2},
                 {READY_AD, 3},
                 {READY_AD, 4},
                 {READY_AD, 5},
                 {READY_AD, 6}},
    [FOP_E42] = {ALL(ALERT_LLIF, 6), {ALERT_LLIF, 6}},
    [FOP_E43] = {{READY_BC, 1},
                 {READY_BC, 2},
                 {READY_BC, 3},
                 {READY_BC, 4},
                 {READY_BC_LOOK, 5},
                 {READY_BC, 6}},
    [FOP_E44] = {ALL(ALERT_LLIF, 6), {ALERT_LLIF, 6}},
    [FOP_E45] = {STAY(READY_BD)},
    [FOP_E46] = {ALL(ALERT_LLIF, 6), {ALERT_LLIF, 6}},
};

#undef ALL
#undef STAY
#undef NONE
#undef REST

#endif
