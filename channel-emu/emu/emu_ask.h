/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a running emulator at its control socket (emu_control.h). */
#ifndef CHANNEL_EMU_EMU_ASK_H
#define CHANNEL_EMU_EMU_ASK_H

#include "channel-emu/emu/emu_control.h"

/* Is this path short enough for a socket? */
bool emu_ask_path_ok(const char *path);

/* Sends `text`, and waits at most 5 s for the answer, a text. 0, or -1 with errno. SIGINT, SIGTERM
 * and SIGHUP end the waiting, and are raised again at its end. */
int emu_ask(const char *path, const char *text, char answer[EMU_CONTROL_ANSWER_MAX + 1]);

#endif
