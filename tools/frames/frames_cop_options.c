/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-frames fop and farm. What can go wrong: as in frames_options.c. */
#include <string.h>

#include "tools/frames/frames_options.h"

enum { DATAGRAM_FRAME_MAX = 60000 }; /* with marker and check symbols below 65507 */

static const struct argument cop[] = {
    {"local", 0, "ADDRESS", .help = "Receive datagrams there", .group = 1, .type = OPTION_ADDRESS,
     FRAMES_FIELD(cop.local)},
    {"remote", 0, "ADDRESS", .help = "Send to it; receive from its host alone", .group = 1,
     .type = OPTION_ADDRESS, FRAMES_FIELD(cop.remote)},
    {"tc-length", 0, "N", .help = "Octets of the longest TC frame (1024)", .group = 3,
     FRAMES_COUNT(cop.tc_length, 16, FRAME_TC_MAX)},
    {"segments", 0, .help = "TC frames with segment headers", .group = 3,
     FRAMES_FLAG(cop.segments)},
    {"map", 0, "N", .help = "TC with segments: the MAP (0)", .group = 3, FRAMES_COUNT(map, 0, 63)},
    {"scid", 0, "N", .help = "The spacecraft (1)", .group = 3, FRAMES_COUNT(scid, 0, 65535)},
    {"vcid", 0, "N", .help = "The virtual channel of telecommands (0)", .group = 3,
     FRAMES_COUNT(vcid, 0, VCS - 1)},
    {"no-fecf", 0, .help = "Frames without error control field", .group = 3, .without = "no",
     FRAMES_FLAG(format.fecf)},
    {"json", 'j', .help = "Print JSON", .group = 9, FRAMES_FLAG(json)},
    {"erase", 0, "SHARE", .help = "Lose that share of what arrives, by chance", .group = 7,
     FRAMES_SHARE(erase)},
    {"seed", 0, "N", .help = "Of chances (0)", .group = 7, FRAMES_COUNT(seed, 0, 0)},
    {0}};

static const struct argument telemetry[] = {
    {"kind", 'k', "KIND", .help = "Telemetry frames: tm, aos (default) or uslp", .group = 5,
     FRAMES_WORD(format.kind, "tm|aos|uslp|tc")},
    {"length", 'l', "N", .help = "Their octets (1115)", .group = 5,
     FRAMES_COUNT(format.length, 1, FRAME_LENGTH_MAX)},
    {"fhec", 0, .help = "AOS: with a frame header error control field", .group = 5,
     FRAMES_FLAG(format.fhec)},
    {"rs", 0, "N", .help = "CADUs: Reed-Solomon (255,N): 223 or 239; none", .group = 8, FRAMES_RS},
    {"ldpc", 0, "RATE", .help = "CADUs: 1/2, 2/3, 4/5 (with the long marker) or 7/8; none",
     .group = 8, FRAMES_LDPC},
    {"interleave", 0, "N", .help = "Codewords of a codeblock, 1 to 8 (5)", .group = 8,
     FRAMES_COUNT(depth, 1, RS_DEPTH_MAX)},
    {"basis", 0, "NAME", .help = "Of symbols: dual (default) or conventional", .group = 8,
     FRAMES_WORD(basis, FRAMES_BASES)},
    {"long-randomiser", 0, .help = "CADUs: 131071 bits, not 255", .group = 8, FRAMES_LONG_SEQUENCE},
    {"long-marker", 0, .help = "CADUs: 034776C7272895B0, not 1ACFFC1D", .group = 8,
     FRAMES_LONG_MARKER},
    {0}};

const struct argument_part frames_cop_parts[] = {{.options = telemetry}, {.options = cop}, {0}};

const struct argument frames_fop_options[] = {
    {"to", 0, "WHAT", .help = "Telecommands leave as cltu (default) or frames", .group = 2,
     FRAMES_WORD(to, "frames|cadu|cltu|packets|modem")},
    {"randomise", 0, .help = "Randomise CLTUs", .group = 2, FRAMES_FLAG(randomise)},
    {"from", 0, "WHAT", .help = "Telemetry arrives as frames (default) or cadu", .group = 2,
     FRAMES_WORD(from, "frames|cadu|cltu|packets")},
    {"randomised", 0, .help = "Its CADUs are randomised", .group = 2, FRAMES_FLAG(randomised)},
    {"marker-errors", 0, "N", .help = "Bits of a CADU's marker that may be wrong (4)", .group = 8,
     FRAMES_COUNT(marker_errors, 0, CADU_MARKER_ERRORS_MAX)},
    {"rate", 0, "RATE", .help = "Of the uplink (1Mbit/s)", .group = 4, .type = OPTION_RATE,
     .choices = "unlimited", .min = 1, FRAMES_FIELD(cop.rate)},
    {"window", 0, "K", .help = "Frames that are not confirmed, 1 to 255 (10)", .group = 4,
     FRAMES_COUNT(cop.window, 1, 255)},
    {"timer", 0, "TIME", .help = "T1: longer than the round trip (1s)", .group = 4,
     .type = OPTION_DURATION, .min = TICK_MS, FRAMES_FIELD(cop.timer)},
    {"limit", 0, "N", .help = "Transmissions of a frame, 1 to 255 (10)", .group = 4,
     FRAMES_COUNT(cop.limit, 1, 255)},
    {"resume", 0, .help = "After the last one wait for a CLCW, then as often again", .group = 4,
     FRAMES_FLAG(cop.resume)},
    {"initiate", 0, "HOW", .help = "set (default), unlock, clcw or none: see below", .group = 4,
     FRAMES_WORD(cop.initiate, "none|clcw|unlock|set"), .min = FOP_INITIATE},
    {"number", 0, "N", .help = "Of the first frame (0); set: V(R), too", .group = 4,
     FRAMES_COUNT(cop.number, 0, 255)},
    {"expedited", 0, .help = "Type BD: nobody confirms, nothing is sent again", .group = 4,
     FRAMES_FLAG(cop.expedited)},
    {0}};

const struct argument frames_farm_options[] = {
    {"output", 'o', "FILE", .help = "Packets go there; standard output", .group = 1,
     FRAMES_FIELD(output)},
    {"from", 0, "WHAT", .help = "Telecommands arrive as cltu (default) or frames", .group = 2,
     FRAMES_WORD(from, "frames|cadu|cltu|packets")},
    {"randomised", 0, .help = "CLTUs are randomised", .group = 2, FRAMES_FLAG(randomised)},
    {"to", 0, "WHAT", .help = "Telemetry leaves as frames (default) or cadu", .group = 2,
     FRAMES_WORD(to, "frames|cadu|cltu|packets|modem")},
    {"randomise", 0, .help = "Randomise its CADUs", .group = 2, FRAMES_FLAG(randomise)},
    {"window", 0, "W", .help = "Of FARM-1: even, 2 to 254 (20)", .group = 4,
     FRAMES_COUNT(cop.farm_window, 2, 254)},
    {"interval", 0, "TIME", .help = "Between telemetry frames (100ms)", .group = 4,
     .type = OPTION_DURATION, .min = TICK_MS, FRAMES_FIELD(cop.interval)},
    {"busy", 0, "SHARE", .help = "That share of intervals has no buffer: Wait", .group = 7,
     FRAMES_SHARE(cop.busy)},
    {"count", 'n', "N", .help = "End when N packets have come and none follows", .group = 6,
     FRAMES_COUNT(frames, 1, UINT32_MAX)},
    {"linger", 0, "TIME", .help = "How long none follows (2s)", .group = 6, .type = OPTION_DURATION,
     FRAMES_FIELD(cop.linger)},
    {"numbered", 0, .help = "Packets are those of gen: check them", .group = 6,
     FRAMES_FLAG(numbered)},
    FRAMES_PRBS("With a pseudo-random sequence", 6),
    {0}};

bool frames_is_cop(const struct command *c)
{
    return c->run == command_fop || c->run == command_farm;
}

static void check_telemetry(struct argp_state *state, struct frames_options *o)
{
    struct mpdu_pack_config c = {
        .format = o->format, .scid = (uint16_t)o->scid, .idle = PACKET_ENCAP};
    if (o->format.kind == FRAME_TC)
        argp_error(state, "--kind: write tm, aos or uslp; telecommands are TC frames anyway");
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
        argp_error(state, "--%s: write frames or %s", option,
                   coded == CONTENT_CLTU ? "cltu" : "cadu");
}

void frames_check_cop(struct argp_state *state, struct frames_options *o)
{
    const struct cop_options *c = &o->cop;
    bool sends = o->command->run == command_fop;
    if (!address_given(&c->local) || !address_given(&c->remote))
        argp_error(state,
                   "--local ADDRESS and --remote ADDRESS are missing; write them such as --local "
                   "127.0.0.1:5201 --remote 127.0.0.1:5202");
    if (sends && o->input == NULL)
        argp_error(state, "FILE is missing: one with packets; - is standard input");
    if (!sends && c->farm_window % 2 != 0)
        argp_error(state, "--window: %u is odd; write an even number from 2 to 254, such as 20",
                   c->farm_window);
    check_contents(state, "to", o->to, sends ? CONTENT_CLTU : CONTENT_CADU);
    check_contents(state, "from", o->from, sends ? CONTENT_CADU : CONTENT_CLTU);
    o->format.ocf = true;
    check_telemetry(state, o);
}
