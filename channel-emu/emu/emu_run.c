/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run, which do not depend on what the link does. */
#include <string.h>

#include "channel-emu/emu/emu_settings.h"

struct emu_settings emu_settings_default(void)
{
    return (struct emu_settings){.buffer_bytes = 32000000,
                                 .batch = EMU_BATCH_AUTO,
                                 .drain = EMU_DRAIN_AUTO,
                                 .realtime = true};
}

static void set_drain(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    if (strcmp(arg, "auto") == 0)
        ((struct emu_settings *)base)->drain = EMU_DRAIN_AUTO;
    else
        argument_set_value(state, row, arg, base);
}

static void set_batch(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    if (strcmp(arg, "auto") == 0)
        ((struct emu_settings *)base)->batch = EMU_BATCH_AUTO;
    else
        argument_set_value(state, row, arg, base);
}

#define FIELD(member) ARGUMENT_FIELD(struct emu_settings, member)
#define YEAR (365 * 86400 * TICK_S)

const struct argument emu_run_options[] = {
    {"json", 0, "FILE", .help = "Write the counters at the end; - is the standard output",
     .group = 4, FIELD(json)},
    {"stats", 0, "DURATION", .help = "Print a line of counters at this interval", .group = 4,
     .type = OPTION_DURATION, .max = YEAR, FIELD(stats)},
    {NULL, .help = "The run:", .group = 5},
    {"duration", 0, "DURATION", .help = "Stop after this time (default: at Ctrl-C)", .group = 5,
     .type = OPTION_DURATION, .max = YEAR, FIELD(duration)},
    {"drain", 0, "DURATION|auto",
     .help = "After the end (or Ctrl-C; again: at once) go on for so long with what is on its way "
             "(default auto: delay and jitter); the rest counts as lost by the end",
     .group = 5, .own = set_drain, .type = OPTION_DURATION, .max = YEAR, .choices = "auto",
     FIELD(drain)},
    {"control", 0, "PATH",
     .help = "Make a UNIX socket there at which helio-emu change alters the link in mid-run",
     .group = 5, FIELD(control)},
    {"batch", 0, "DURATION|auto",
     .help =
         "Release frames in batches of this time (default auto: 10us to 45us, as waking up costs)",
     .group = 5, .own = set_batch, .type = OPTION_DURATION, .max = YEAR, .choices = "auto",
     FIELD(batch)},
    {"priority", 0, "realtime|normal",
     .help = "Real-time scheduling where it is permitted (default), or not", .group = 5,
     .type = OPTION_CHOICE, .choices = "normal|realtime", FIELD(realtime)},
    {"socket-buffer", 0, "SIZE", .help = "Buffer of each socket or interface (default 32MB)",
     .group = 5, .type = OPTION_SIZE, FIELD(buffer_bytes)},
    {0}};
