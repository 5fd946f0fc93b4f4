/* SPDX-License-Identifier: Apache-2.0 */
/* The words of helio-frames fop and farm. What can go wrong: as in frames_options.c. */
#include <string.h>

#include "tools/frames/frames_options.h"

enum { DATAGRAM_FRAME_MAX = 60000 }; /* with marker and check symbols below 65507 */

#define COP                                                                                        \
    {"local", KEY_LOCAL, "ADDRESS", 0, "Receive datagrams there", 1},                              \
        {"remote", KEY_REMOTE, "ADDRESS", 0, "Send to it; receive from its host alone", 1},        \
        {"tc-length", KEY_TC_LENGTH, "N", 0, "Octets of the longest TC frame (1024)", 3},          \
        {"segments", KEY_SEGMENTS, NULL, 0, "TC frames with segment headers", 3},                  \
        {"map", KEY_MAP, "N", 0, "TC with segments: the MAP (0)", 3},                              \
        {"scid", KEY_SCID, "N", 0, "The spacecraft (1)", 3},                                       \
        {"vcid", KEY_VCID, "N", 0, "The virtual channel of telecommands (0)", 3},                  \
        {"no-fecf", KEY_NO_FECF, NULL, 0, "Frames without error control field", 3},                \
        {"json", 'j', NULL, 0, "Print JSON", 9},                                                   \
        {"erase", KEY_ERASE, "SHARE", 0, "Lose that share of what arrives, by chance", 7},         \
        {"seed", KEY_SEED, "N", 0, "Of chances (0)", 7},                                           \
    {                                                                                              \
        0                                                                                          \
    }
#define TELEMETRY                                                                                  \
    {"kind", 'k', "KIND", 0, "Telemetry frames: tm, aos (default) or uslp", 5},                    \
        {"length", 'l', "N", 0, "Their octets (1115)", 5},                                         \
        {"fhec", KEY_FHEC, NULL, 0, "AOS: with a frame header error control field", 5},            \
        {"rs", KEY_RS, "N", 0, "CADUs: Reed-Solomon (255,N): 223 or 239; none", 8},                \
        {"ldpc", KEY_LDPC, "RATE", 0, "CADUs: 1/2, 2/3 or 4/5, with the long marker; none", 8},    \
        {"interleave", KEY_INTERLEAVE, "N", 0, "Codewords of a codeblock, 1 to 8 (5)", 8},         \
        {"basis", KEY_BASIS, "NAME", 0, "Of symbols: dual (default) or conventional", 8},          \
        {"long-randomiser", KEY_LONG, NULL, 0, "CADUs: 131071 bits, not 255", 8},                  \
    {                                                                                              \
        "long-marker", KEY_MARKER_64, NULL, 0, "CADUs: 034776C7272895B0, not 1ACFFC1D", 8          \
    }

const struct argp_option frames_fop_options[] = {
    {"to", KEY_TO, "WHAT", 0, "Telecommands leave as cltu (default) or frames", 2},
    {"randomise", KEY_RANDOMISE, NULL, 0, "Randomise CLTUs", 2},
    {"from", KEY_FROM, "WHAT", 0, "Telemetry arrives as frames (default) or cadu", 2},
    {"randomised", KEY_RANDOMISED, NULL, 0, "Its CADUs are randomised", 2},
    {"marker-errors", KEY_MARKER, "N", 0, "Bits of a CADU's marker that may be wrong (4)", 8},
    {"rate", KEY_RATE, "RATE", 0, "Of the uplink (1Mbit/s)", 4},
    {"window", KEY_WINDOW, "K", 0, "Frames that are not confirmed, 1 to 255 (10)", 4},
    {"timer", KEY_TIMER, "TIME", 0, "T1: longer than the round trip (1s)", 4},
    {"limit", KEY_LIMIT, "N", 0, "Transmissions of a frame, 1 to 255 (10)", 4},
    {"resume", KEY_RESUME, NULL, 0, "After the last one wait for a CLCW, then as often again", 4},
    {"initiate", KEY_INITIATE, "HOW", 0, "set (default), unlock, clcw or none: see below", 4},
    {"number", KEY_NUMBER, "N", 0, "Of the first frame (0); set: V(R), too", 4},
    {"expedited", KEY_EXPEDITED, NULL, 0, "Type BD: nobody confirms, nothing is sent again", 4},
    TELEMETRY,
    COP};

const struct argp_option frames_farm_options[] = {
    {"output", 'o', "FILE", 0, "Packets go there; standard output", 1},
    {"from", KEY_FROM, "WHAT", 0, "Telecommands arrive as cltu (default) or frames", 2},
    {"randomised", KEY_RANDOMISED, NULL, 0, "CLTUs are randomised", 2},
    {"to", KEY_TO, "WHAT", 0, "Telemetry leaves as frames (default) or cadu", 2},
    {"randomise", KEY_RANDOMISE, NULL, 0, "Randomise its CADUs", 2},
    {"window", KEY_WINDOW, "W", 0, "Of FARM-1: even, 2 to 254 (20)", 4},
    {"interval", KEY_INTERVAL, "TIME", 0, "Between telemetry frames (100ms)", 4},
    {"busy", KEY_BUSY, "SHARE", 0, "That share of intervals has no buffer: Wait", 7},
    {"count", 'n', "N", 0, "End when N packets have come and none follows", 6},
    {"linger", KEY_LINGER, "TIME", 0, "How long none follows (2s)", 6},
    {"numbered", KEY_NUMBERED, NULL, 0, "Packets are those of gen: check them", 6},
    {"prbs", KEY_PRBS, NULL, 0, "With a pseudo-random sequence", 6},
    TELEMETRY,
    COP};

bool frames_is_cop(const struct command *c)
{
    return c->run == command_fop || c->run == command_farm;
}

static enum fop_directive parse_initiate(struct argp_state *state, const char *arg)
{
    static const char *const names[] = {"none", "clcw", "unlock", "set"};
    for (int i = 0; i < 4; i++)
        if (strcmp(arg, names[i]) == 0)
            return (enum fop_directive)(FOP_INITIATE + i);
    argument_want(state, "initiate", arg, "set, unlock, clcw or none");
    return FOP_INITIATE;
}

static error_t parse_timing(int key, char *arg, struct argp_state *state, struct cop_options *c)
{
    switch (key) {
    case KEY_RATE:
        c->rate = argument_rate(state, "rate", arg);
        return 0;
    case KEY_TIMER:
        c->timer = argument_time(state, "timer", arg, TICK_MS);
        return 0;
    case KEY_INTERVAL:
        c->interval = argument_time(state, "interval", arg, TICK_MS);
        return 0;
    case KEY_LINGER:
        c->linger = argument_time(state, "linger", arg, 0);
        return 0;
    case KEY_BUSY:
        c->busy = frames_parse_share(state, "busy", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t frames_parse_cop(int key, char *arg, struct argp_state *state, struct frames_options *o)
{
    struct cop_options *c = &o->cop;
    switch (key) {
    case KEY_LOCAL:
        c->local = argument_address(state, "local", arg);
        return 0;
    case KEY_REMOTE:
        c->remote = argument_address(state, "remote", arg);
        return 0;
    case KEY_TC_LENGTH:
        c->tc_length = (uint32_t)argument_count(state, "tc-length", arg, 16, FRAME_TC_MAX);
        return 0;
    case KEY_WINDOW: /* farm: checked below */
        c->window = c->farm_window = (uint8_t)argument_count(state, "window", arg, 1, 255);
        return 0;
    case KEY_LIMIT:
        c->limit = (uint8_t)argument_count(state, "limit", arg, 1, 255);
        return 0;
    case KEY_INITIATE:
        c->initiate = parse_initiate(state, arg);
        return 0;
    case KEY_NUMBER:
        c->number = (uint8_t)argument_count(state, "number", arg, 0, 255);
        return 0;
    case KEY_EXPEDITED:
        c->expedited = true;
        return 0;
    case KEY_RESUME:
        c->resume = true;
        return 0;
    case KEY_SEGMENTS: /* not of the telemetry's format */
        c->segments = true;
        return 0;
    default:
        return parse_timing(key, arg, state, c);
    }
}

static void check_telemetry(struct argp_state *state, struct frames_options *o)
{
    struct mpdu_pack_config c = {
        .format = o->format, .scid = (uint16_t)o->scid, .idle = PACKET_ENCAP};
    if (o->format.kind == FRAME_TC)
        argp_error(state, "--kind: tm, aos or uslp is expected; telecommands are TC frames anyway");
    else if (frame_format_problem(&o->format) != NULL)
        argp_error(state, "%s", frame_format_problem(&o->format));
    else if (mpdu_pack_problem(&c) != NULL)
        argp_error(state, "%s", mpdu_pack_problem(&c));
    if (o->format.length > DATAGRAM_FRAME_MAX)
        argp_error(state, "--length %u: a frame is a datagram, %d octets at most", o->format.length,
                   DATAGRAM_FRAME_MAX);
    if (o->scid > 1023 || o->map > 63 || (o->map > 0 && !o->cop.segments))
        argp_error(state, "the spacecraft is 0 to 1023, the MAP 0 to 63 of frames with --segments");
}

static void check_contents(struct argp_state *state, const char *option, enum content given,
                           enum content coded)
{
    if (given != CONTENT_FRAMES && given != coded)
        argp_error(state, "--%s: frames or %s is expected", option,
                   coded == CONTENT_CLTU ? "cltu" : "cadu");
}

void frames_check_cop(struct argp_state *state, struct parse *p)
{
    struct frames_options *o = &p->line;
    const struct cop_options *c = &o->cop;
    bool sends = p->command->run == command_fop;
    if (!address_given(&c->local) || !address_given(&c->remote))
        argp_error(state, "--local ADDRESS and --remote ADDRESS are expected");
    if (sends && o->input == NULL)
        argp_error(state, "FILE is expected, with packets; - is standard input");
    if (!sends && (c->farm_window % 2 != 0 || c->farm_window > 254))
        argp_error(state, "--window %u: FARM-1's is even, 2 to 254", c->farm_window);
    check_contents(state, "to", o->to, sends ? CONTENT_CLTU : CONTENT_CADU);
    check_contents(state, "from", o->from, sends ? CONTENT_CADU : CONTENT_CLTU);
    o->format.ocf = true;
    check_telemetry(state, o);
}
