/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes in mid-run, told to a running emulator: a UNIX datagram socket at which each message is a
 * change (struct scenario_change, as YAML), answered with "ok …" or with what is wrong with it.
 */
#ifndef CHANNEL_EMU_EMU_CONTROL_H
#define CHANNEL_EMU_EMU_CONTROL_H

#include "channel-emu/emu/emu_link.h"

#define EMU_CONTROL_TEXT_MAX 4096u /* of a message, and of its answer */

struct emu_control {
    int fd;           /* -1: none was asked for */
    const char *path; /* borrowed */
};

/* Takes the place of a socket that nobody serves any more; NULL: no control. 0, or HELIO_EIO with a
 * message on `say`. */
int emu_control_open(struct emu_control *c, const char *path, FILE *say);
void emu_control_close(struct emu_control *c);

/* Does what the messages say that are there, in their order, now, and tells each on `say`. 0 or
 * HELIO_ENOMEM. */
int emu_control_serve(struct emu_control *c, struct emu_link *l, FILE *say);

#endif
