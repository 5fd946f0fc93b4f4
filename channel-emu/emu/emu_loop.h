/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of the relays of a process: one clock, one wait, one control, however many links there
 * are. The first link's struct holds what is of all of them: pace, times of reading and release.
 */
#ifndef CHANNEL_EMU_EMU_LOOP_H
#define CHANNEL_EMU_EMU_LOOP_H

#include "channel-emu/emu/emu_control.h"
#include "channel-emu/emu/emu_relay.h"
#include "channel-emu/emu/emu_stage.h"

/* What differs between one link and several. */
struct emu_face {
    emu_obey *obey; /* of the control, with `whom` */
    void *whom;
    void (*report)(const struct emu_loop *loop, FILE *say);
    void (*line)(const struct emu_loop *loop, FILE *say);
};

struct emu_loop {
    const struct emu_settings *run; /* borrowed */
    struct emu_face face;
    struct emu_relay *at; /* owned */
    size_t count;
    bool shares; /* frames wait on the stage, for shared transmitters: */
    struct emu_stage stage;
    tick whole; /* what arrived until then has been read */
    struct emu_control control;
    int signal_fd;
    struct udp_receiver *receiver;
    struct udp_sender *sender;
    struct pollfd *wait; /* owned; with the relay of each */
    size_t *whose, wait_cap;
    bool stop;
};

/* Room for so many relays (>= 1), signals (before their threads begin). 0, or HELIO_E* with a
 * message on `say`; emu_loop_fini in any case. */
int emu_loop_init(struct emu_loop *loop, const struct emu_settings *run, size_t count, FILE *say);
/* When all relays are open: the control, real-time priority and the common clock, which begins now.
 */
int emu_loop_begin(struct emu_loop *loop, FILE *say);
/* Until a signal or the end of the duration; then the outputs are written. 0, or HELIO_E* with a
 * message on `say`. */
int emu_loop_run(struct emu_loop *loop, FILE *say);
void emu_loop_fini(struct emu_loop *loop);

#endif
