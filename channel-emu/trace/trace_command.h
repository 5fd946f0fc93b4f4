/* SPDX-License-Identifier: Apache-2.0 */
/* The sub-commands of helio-trace: each reads its own arguments (argv[0] is its name) and returns
 * an exit code: 0 done, 1 failed, 2 usage or malformed input. */
#ifndef CHANNEL_EMU_TRACE_COMMAND_H
#define CHANNEL_EMU_TRACE_COMMAND_H

#include "channel-emu/chan/chan_stats.h"
#include "channel-emu/trace/trace_file.h"
#include "conf/conf_arguments.h"

int trace_command_gen(int argc, char **argv);
int trace_command_convert(int argc, char **argv);
int trace_command_power(int argc, char **argv);
int trace_command_info(int argc, char **argv);
int trace_command_sites(int argc, char **argv);
int trace_command_acm(int argc, char **argv);

/* --step: from 1 ns to 1 h. */
#define TRACE_STEP(member)                                                                         \
    .type = OPTION_DURATION, .min = 1, .max = TRACE_STEP_MAX, ARGUMENT_FIELD(struct options, member)

/* Prints the message; the exit code for an error of trace_file.h. */
int trace_command_fail(int rc, const char *error);

#endif
