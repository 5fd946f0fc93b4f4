/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run, which do not depend on what the link does. Each wrong value ends with a
 * message that names the option and what would be right. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "channel-emu/emu/emu_settings.h"

enum key { BUFFER = 768, BATCH, DURATION, DRAIN, STATS, CONTROL, JSON, PRIORITY };

static const struct argp_option table[] = {
    {"json", JSON, "FILE", 0, "Write the counters at the end; - is the standard output", 4},
    {"stats", STATS, "DURATION", 0, "Print a line of counters at this interval", 4},
    {NULL, 0, NULL, 0, "The run:", 5},
    {"duration", DURATION, "DURATION", 0, "Stop after this time (default: at Ctrl-C)", 5},
    {"drain", DRAIN, "DURATION|auto", 0,
     "After the end (or Ctrl-C; again: at once) go on for so long with what is on its way (default "
     "auto: delay and jitter); the rest counts as lost by the end",
     5},
    {"control", CONTROL, "PATH", 0,
     "Make a UNIX socket there at which helio-emu change alters the link in mid-run", 5},
    {"batch", BATCH, "DURATION|auto", 0,
     "Release frames in batches of this time (default auto: 10us to 45us, as waking up costs)", 5},
    {"priority", PRIORITY, "realtime|normal", 0,
     "Real-time scheduling where it is permitted (default), or not", 5},
    {"socket-buffer", BUFFER, "SIZE", 0, "Buffer of each socket or interface (default 32MB)", 5},
    {0}};

struct emu_settings emu_settings_default(void)
{
    return (struct emu_settings){.buffer_bytes = 32000000,
                                 .batch = EMU_BATCH_AUTO,
                                 .drain = EMU_DRAIN_AUTO,
                                 .realtime = true};
}

static tick duration(struct argp_state *state, const char *option, const char *arg)
{
    tick t = 0;
    if (units_duration(arg, &t) < 0 || t > 86400 * TICK_S * 365)
        argp_error(state, "%s '%s' is wrong; right is %s", option, arg, units_duration_hint);
    return t;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct emu_settings *s = state->input;
    switch (key) {
    case BUFFER:
        if (units_size(arg, &s->buffer_bytes) < 0)
            argp_error(state, "--socket-buffer '%s' is wrong; right is %s", arg, units_size_hint);
        return 0;
    case BATCH:
        s->batch = strcmp(arg, "auto") == 0 ? EMU_BATCH_AUTO : duration(state, "--batch", arg);
        return 0;
    case DURATION:
        s->duration = duration(state, "--duration", arg);
        return 0;
    case DRAIN:
        s->drain = strcmp(arg, "auto") == 0 ? EMU_DRAIN_AUTO : duration(state, "--drain", arg);
        return 0;
    case STATS:
        s->stats = duration(state, "--stats", arg);
        return 0;
    case PRIORITY:
        s->realtime = strcmp(arg, "realtime") == 0;
        if (!s->realtime && strcmp(arg, "normal") != 0)
            argp_error(state, "--priority '%s' is wrong; right is realtime or normal", arg);
        return 0;
    case CONTROL:
        s->control = arg;
        return 0;
    case JSON:
        s->json = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp emu_run_argp = {.options = table, .parser = parse_option};
