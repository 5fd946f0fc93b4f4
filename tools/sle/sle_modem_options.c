/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-sle modem and control. What can go wrong: a wrong option (exit 2). */
#include <stdlib.h>
#include <string.h>

#include "tools/sle/sle_modem.h"
#include "tools/sle/sle_options.h"

static double share_of(struct argp_state *state, const char *option, const char *arg)
{
    char *end;
    const double share = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(share >= 0 && share < 1))
        argument_want(state, option, arg, "a share such as 0.01");
    return share;
}

static const char *text_of(struct argp_state *state, const char *option, const char *arg,
                           size_t max)
{
    if (strlen(arg) > max)
        argp_error(state, "--%s: at most %zu octets", option, max);
    return arg;
}

static void check_modem(struct argp_state *state, const struct modem_options *o)
{
    if (!address_given(&o->to))
        argp_error(state, "--datagrams or --connect is needed");
    if (o->erred + o->missing >= 1)
        argp_error(state, "--erred and --missing leave no good frames");
}

error_t sle_parse_modem(int key, char *arg, struct argp_state *state)
{
    struct modem_options *o = &((struct options *)state->input)->modem;
    switch (key) {
    case KEY_DATAGRAMS:
        o->to = argument_address(state, "datagrams", arg);
        o->datagrams = true;
        return 0;
    case KEY_CONNECT:
        o->to = argument_address(state, "connect", arg);
        o->datagrams = false;
        return 0;
    case 'n':
        o->frames = argument_count(state, "frames", arg, 1, UINT64_MAX);
        return 0;
    case KEY_FRAME:
        o->frame = argument_count(state, "frame", arg, NUMBERED_FRAME_MIN + 2, SLE_FRAME_MAX);
        return 0;
    case KEY_RATE:
        o->rate = argument_rate(state, "rate", arg);
        return 0;
    case KEY_ERRED:
        o->erred = share_of(state, "erred", arg);
        return 0;
    case KEY_MISSING:
        o->missing = share_of(state, "missing", arg);
        return 0;
    case KEY_UNSAID:
        o->unsaid = true;
        return 0;
    case KEY_END:
        o->end = true;
        return 0;
    case KEY_ANTENNA:
        o->antenna = text_of(state, "antenna", arg, SLE_ANTENNA_MAX);
        return 0;
    case KEY_ANNOTATION:
        o->annotation = text_of(state, "annotation", arg, SLE_ANNOTATION_MAX);
        return 0;
    case KEY_SEED:
        o->seed = argument_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case KEY_ACCOUNT:
        o->account = arg;
        return 0;
    case ARGP_KEY_END:
        check_modem(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int sle_run_modem(const struct options *o)
{
    return command_modem(&o->modem);
}

const struct argp_option sle_modem_options[] = {
    {"datagrams", KEY_DATAGRAMS, "ADDRESS", 0, "Each frame with its head as a datagram", 1},
    {"connect", KEY_CONNECT, "ADDRESS", 0, "Frames with their heads over one connection", 1},
    {"frames", 'n', "N", 0, "How many (10000)", 2},
    {"frame", KEY_FRAME, "N", 0, "Octets of a frame, its check value included (1115)", 2},
    {"rate", KEY_RATE, "RATE", 0, "Bits of frames a second (as fast as can be)", 2},
    {"erred", KEY_ERRED, "SHARE", 0, "Of the frames (0)", 2},
    {"missing", KEY_MISSING, "SHARE", 0, "Of the frames (0)", 2},
    {"seed", KEY_SEED, "N", 0, "Of chance (1)", 2},
    {"unsaid", KEY_UNSAID, NULL, 0, "The heads say neither quality nor how many are missing", 3},
    {"until-end", KEY_END, NULL, 0, "The end of the data is behind the last frame", 3},
    {"antenna", KEY_ANTENNA, "TEXT", 0, "Antenna identifier (that of the instance)", 3},
    {"annotation", KEY_ANNOTATION, "TEXT", 0, "Of each frame (none)", 3},
    {"account", KEY_ACCOUNT, "FILE", 0, "A line for each frame: number, fate, time", 4},
    {0}};

error_t sle_parse_control(int key, char *arg, struct argp_state *state)
{
    struct control_options *o = &((struct options *)state->input)->control;
    switch (key) {
    case KEY_WAIT:
        o->wait = argument_time(state, "wait", arg, TICK_MS);
        return 0;
    case ARGP_KEY_ARG:
        if (o->socket == NULL)
            o->socket = arg;
        else if (o->len < CONTROL_WORDS_MAX)
            o->words[o->len++] = arg;
        else
            argp_error(state, "\"%s\" is one word too many", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->len < 2)
            argp_error(state, "expected SOCKET NAME WORD VALUE, such as /run/station.control modem "
                              "carrier-lock no");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int sle_run_control(const struct options *o)
{
    return command_control(&o->control);
}

const struct argp_option sle_control_options[] = {
    {"wait", KEY_WAIT, "TIME", 0, "Give up without an answer after that time (10s)", 1}, {0}};
