/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-sle modem and control. What can go wrong: a wrong option (exit 2). */
#include <string.h>

#include "tools/sle/sle_modem.h"
#include "tools/sle/sle_options.h"

static void set_text(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (strlen(arg) > o->max)
        argument_wrong(state, "\"%.60s\" is too long; write at most %llu octets", arg,
                       (unsigned long long)o->max);
    argument_set_value(state, o, arg, base);
}

static void set_datagrams(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    ((struct options *)base)->modem.datagrams = o->max != 0;
    argument_set_value(state, o, arg, base);
}

void sle_check_modem(struct argp_state *state, void *base)
{
    const struct modem_options *o = &((const struct options *)base)->modem;
    if (!address_given(&o->to))
        argp_error(state, "--datagrams or --connect is missing, such as --connect 127.0.0.1:5001");
    if (o->erred + o->missing >= 1)
        argp_error(state, "--erred and --missing leave no good frames");
}

int sle_run_modem(const struct options *o)
{
    return command_modem(&o->modem);
}

const struct argument sle_modem_options[] = {
    {"datagrams", 0, "ADDRESS", .help = "Each frame with its head as a datagram", .group = 1,
     .own = set_datagrams, .max = true, SLE_ADDRESS(modem.to)},
    {"connect", 0, "ADDRESS", .help = "Frames with their heads over one connection", .group = 1,
     .own = set_datagrams, .max = false, SLE_ADDRESS(modem.to)},
    {"frames", 'n', "N", .help = "How many (10000)", .group = 2, SLE_COUNT(modem.frames, 1, 0)},
    {"frame", 0, "N", .help = "Octets of a frame, its check value included (1115)", .group = 2,
     SLE_COUNT(modem.frame, NUMBERED_FRAME_MIN + 2, SLE_FRAME_MAX)},
    {"rate", 0, "RATE", .help = "Bits of frames a second (as fast as can be)", .group = 2,
     SLE_RATE(modem.rate)},
    {"erred", 0, "SHARE", .help = "Of the frames (0)", .group = 2, SLE_LOSS(modem.erred)},
    {"missing", 0, "SHARE", .help = "Of the frames (0)", .group = 2, SLE_LOSS(modem.missing)},
    {"seed", 0, "N", .help = "Of chance (1)", .group = 2, SLE_COUNT(modem.seed, 0, 0)},
    {"unsaid", 0, .help = "The heads say neither quality nor how many are missing", .group = 3,
     SLE_FLAG(modem.unsaid)},
    {"until-end", 0, .help = "The end of the data is behind the last frame", .group = 3,
     SLE_FLAG(modem.end)},
    {"antenna", 0, "TEXT", .help = "Antenna identifier (that of the instance)", .group = 3,
     .own = set_text, .max = SLE_ANTENNA_MAX, SLE_FIELD(modem.antenna)},
    {"annotation", 0, "TEXT", .help = "Of each frame (none)", .group = 3, .own = set_text,
     .max = SLE_ANNOTATION_MAX, SLE_FIELD(modem.annotation)},
    {"account", 0, "FILE", .help = "A line for each frame: number, fate, time", .group = 4,
     SLE_FIELD(modem.account)},
    {0}};

void sle_take_control(struct argp_state *state, char *arg, void *base)
{
    struct control_options *o = &((struct options *)base)->control;
    if (o->socket == NULL)
        o->socket = arg;
    else if (o->len < CONTROL_WORDS_MAX)
        o->words[o->len++] = arg;
    else
        argp_error(state, "\"%s\" is one word too many", arg);
}

void sle_check_control(struct argp_state *state, void *base)
{
    if (((const struct options *)base)->control.len < 2)
        argp_error(state, "expected SOCKET NAME WORD VALUE, such as /run/station.control modem "
                          "carrier-lock no");
}

int sle_run_control(const struct options *o)
{
    return command_control(&o->control);
}

const struct argument sle_control_options[] = {
    {"wait", 0, "TIME", .help = "Fail if there is no answer within this time (10s)", .group = 1,
     SLE_TIME(control.wait, TICK_MS)},
    {0}};
