/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of helio-emu. Each gets its arguments with argv[0] its name in messages, and returns
 * the exit code. */
#ifndef CHANNEL_EMU_EMU_COMMANDS_H
#define CHANNEL_EMU_EMU_COMMANDS_H

#include <stddef.h>
#include <stdio.h>

#include "channel-emu/emu/emu_link.h"

int emu_relay_main(int argc, char **argv);
int emu_bridge_main(int argc, char **argv);
int emu_links_main(int argc, char **argv);
int emu_stream_main(int argc, char **argv);
int emu_change_main(int argc, char **argv);
int emu_status_main(int argc, char **argv);
int emu_metrics_main(int argc, char **argv);
int emu_check_main(int argc, char **argv);

/* The file of --json, opened before the run so that a wrong name is known at once; `-` and NULL are
 * the standard output. NULL with a message. */
FILE *emu_json_open(const char *path);
/* The report at the end of a run, on the standard error and, if asked for, as JSON; closes the
 * file. False with a message when it, the drop log or a capture could not be written. */
bool emu_report_end(const struct emu_link *l, const char *command, FILE *json);

/* Counters of running emulators, in the text format of Prometheus. */
/* Asks the emulators of `count` control sockets one after the other. The text, of *len octets, is
 * the caller's to free; NULL: memory. An emulator that does not answer has only
 * heliograph_emu_answers 0; *silent is one of these sockets, or NULL. */
char *emu_metrics(const char *const *sockets, size_t count, size_t *len, const char **silent);

#endif
