/* SPDX-License-Identifier: Apache-2.0 */
/* FOP-1 and FARM-1 over a channel with delay that loses frames and CLCWs, in virtual time: every
 * telecommand arrives once and in order, or the user is told. Of frames_cop.c. */
#ifndef TESTS_UNIT_FRAMES_COP_PAIR_H
#define TESTS_UNIT_FRAMES_COP_PAIR_H

#include <string.h>

#include "base/rng.h"
#include "frames/farm.h"
#include "frames/fop.h"
#include "tests/unit/suite.h"

enum { FLIGHT_MAX = 64, COMMANDS = 400 };

struct flight {
    tick at;
    struct fop_transmission sent;
};

struct scene {
    struct fop fop;
    struct farm farm;
    struct rng rng;
    double loss;
    struct flight flights[FLIGHT_MAX];
    unsigned flight_count, got, next, confirmed;
    tick now, busy;
    bool wanted; /* the next command was given and not answered */
    bool free;   /* FARM-1's user has a buffer */
    bool alerted;
};

static void take_notices(struct scene *s)
{
    struct fop_notice n;
    while (fop_notice(&s->fop, &n)) {
        if (n.kind == FOP_ACCEPTED) {
            ck_assert_uint_eq(n.id, s->next);
            s->next++;
            s->wanted = false;
        } else if (n.kind == FOP_CONFIRMED) {
            ck_assert_uint_eq(n.id, s->confirmed);
            ck_assert_uint_lt(n.id, s->got); /* never before it was received */
            s->confirmed++;
        }
        s->alerted = s->alerted || n.kind == FOP_ALERTED;
    }
}

/* The layer below sends one frame each millisecond. */
static void take_transmission(struct scene *s)
{
    struct fop_transmission t;
    if (s->now < s->busy || !fop_transmit(&s->fop, &t))
        return;
    s->busy = s->now + TICK_MS;
    if (!rng_chance(&s->rng, s->loss)) {
        ck_assert_uint_lt(s->flight_count, FLIGHT_MAX);
        s->flights[s->flight_count++] = (struct flight){s->now + 20 * TICK_MS, t};
    }
    fop_response(&s->fop, s->now, t.service, true);
    take_notices(s);
}

static void receive_frames(struct scene *s)
{
    while (s->flight_count > 0 && s->flights[0].at <= s->now) {
        const struct fop_transmission *t = &s->flights[0].sent;
        struct frame frame = {.kind = FRAME_TC,
                              .count = t->number,
                              .bypass = t->service != FOP_AD,
                              .command = t->service == FOP_BC,
                              .zone = slice_of(t->command, t->command_len)};
        if (farm_input(&s->farm, &frame, s->free) == FARM_ACCEPTED)
            ck_assert_uint_eq(t->id, s->got++); /* once, in order */
        s->flight_count--;
        memmove(s->flights, s->flights + 1, s->flight_count * sizeof *s->flights);
    }
}

static void report_state(struct scene *s)
{
    struct clcw c = {.vcid = 3};
    if (rng_chance(&s->rng, s->loss))
        return;
    farm_report(&s->farm, &c);
    fop_clcw(&s->fop, s->now, &c);
    take_notices(s);
}

static void run_scene(struct scene *s)
{
    fop_direct(&s->fop, 0, FOP_INITIATE_SET_V_R, 250, 99);
    take_notices(s);
    for (s->now = 0; s->confirmed < COMMANDS && s->now < 600 * TICK_S && !s->alerted;
         s->now += TICK_MS / 2) {
        if (rng_chance(&s->rng, 0.01)) {
            s->free = !s->free;
            if (s->free)
                farm_release(&s->farm);
        }
        if (s->fop.state != FOP_INITIALISING_BC && !s->wanted && s->next < COMMANDS) {
            s->wanted = true;
            fop_send(&s->fop, s->now, FOP_AD, s->next);
            take_notices(s);
        }
        take_transmission(s);
        receive_frames(s);
        if (s->now / TICK_MS % 5 == 0)
            report_state(s);
        fop_expire(&s->fop, s->now);
        take_notices(s);
        fop_check(&s->fop);
    }
}

#endif
