/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-frames that commands share, and what is wrong about several of them. What
 * can go wrong: a wrong option, or options that contradict each other (exit 2). */
#include "tools/frames/frames_options.h"

#include <string.h>

#define LENGTH_DEFAULT 1115

static void set_convolutional(struct argp_state *state, const struct argument *row, char *arg,
                              void *base)
{
    struct frames_options *o = base;
    o->coded = true;
    o->convolutional = conv_format_of((enum conv_rate)argument_choice(state, row, arg));
}

void frames_set_rs(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct frames_options *o = base;
    o->rs = argument_choice(state, row, arg) == 0 ? 223 : 239;
}

void frames_set_ldpc(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct frames_options *o = base;
    o->ldpc_coded = true;
    o->ldpc_rate = (enum ldpc_rate)argument_choice(state, row, arg);
    if (o->ldpc_rate != LDPC_7_8)
        o->marker = CADU_MARKER_64;
}

static void set_turbo(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct frames_options *o = base;
    o->turbo_coded = true;
    o->turbo_rate = (enum turbo_rate)argument_choice(state, row, arg);
    o->marker = cadu_turbo_marker(o->turbo_rate);
}

const struct argument frames_format[] = {
    {"kind", 'k', "KIND", .help = "tm, aos (default), uslp or tc", .group = 5,
     FRAMES_WORD(format.kind, "tm|aos|uslp|tc")},
    {"length", 'l', "N", .help = "Octets of a frame (1115); of the longest TC frame (1024)",
     .group = 5, FRAMES_COUNT(format.length, 1, FRAME_LENGTH_MAX)},
    {"no-fecf", 0, .help = "Without a frame error control field", .group = 5, .without = "no",
     FRAMES_FLAG(format.fecf)},
    {"ocf", 0, .help = "With an operational control field", .group = 5, FRAMES_FLAG(format.ocf)},
    {"fhec", 0, .help = "AOS: with a frame header error control field", .group = 5,
     FRAMES_FLAG(format.fhec)},
    {"cycle", 0, .help = "AOS: the frame count has a cycle of four bits", .group = 5,
     FRAMES_FLAG(format.count_cycle)},
    {"wide-scid", 0, .help = "AOS: the spacecraft has ten bits", .group = 5,
     FRAMES_FLAG(format.wide_scid)},
    {"insert", 0, "N", .help = "AOS, USLP: octets of the insert zone", .group = 5,
     FRAMES_COUNT(format.insert_len, 0, 65535)},
    {"secondary", 0, "N", .help = "TM: octets of the secondary header", .group = 5,
     FRAMES_COUNT(format.secondary_len, 0, 64)},
    {"count-octets", 0, "N", .help = "USLP: octets of the frame count (0)", .group = 5,
     FRAMES_COUNT(format.count_len, 0, 7)},
    {"segments", 0, .help = "TC: with segment headers", .group = 5, FRAMES_FLAG(format.segments)},
    {"scid", 0, "N", .help = "The spacecraft: 1 when written, any when read", .group = 6,
     FRAMES_COUNT(scid, 0, 65535)},
    {"vcid", 0, "N", .help = "The virtual channel: 0 when written, all when read", .group = 6,
     FRAMES_COUNT(vcid, 0, VCS - 1)},
    {"erase", 0, "SHARE", .help = "Leave out that share of the frames, by chance", .group = 7,
     FRAMES_SHARE(erase)},
    {"seed", 0, "N", .help = "Of chances (0)", .group = 7, FRAMES_COUNT(seed, 0, 0)},
    {"rs", 0, "N", .help = "CADUs: Reed-Solomon (255,N): 223 or 239; none", .group = 8, FRAMES_RS},
    {"interleave", 0, "N", .help = "Codewords of a codeblock, 1 to 8 (5)", .group = 8,
     FRAMES_COUNT(depth, 1, RS_DEPTH_MAX)},
    {"basis", 0, "NAME", .help = "Of symbols: dual (default) or conventional", .group = 8,
     FRAMES_WORD(basis, FRAMES_BASES)},
    {"ldpc", 0, "RATE", .help = "CADUs: 1/2, 2/3, 4/5 (with the long marker) or 7/8; none",
     .group = 8, FRAMES_LDPC},
    {"turbo", 0, "RATE", .help = "CADUs: 1/2, 1/3, 1/4 or 1/6, with its marker; none", .group = 8,
     .own = set_turbo, .type = OPTION_CHOICE, .choices = "1/2|1/3|1/4|1/6"},
    {"convolutional", 0, "RATE", .help = "CADUs: 1/2, 2/3, 3/4, 5/6 or 7/8; none", .group = 8,
     .own = set_convolutional, .type = OPTION_CHOICE, .choices = "1/2|2/3|3/4|5/6|7/8"},
    {"soft", 0, .help = "An octet for each symbol: 0 surely 0, 255 surely 1", .group = 8,
     FRAMES_FLAG(soft)},
    {"no-inversion", 0, .help = "Rate 1/2 without inverted symbols", .group = 8,
     FRAMES_FLAG(upright)},
    {"long-randomiser", 0, .help = "The sequence of 131071 bits, not of 255", .group = 8,
     FRAMES_LONG_SEQUENCE},
    {"long-marker", 0, .help = "CADUs: 034776C7272895B0, not 1ACFFC1D", .group = 8,
     FRAMES_LONG_MARKER},
    {0}};

const struct argument frames_output[] = {
    {"output", 'o', "FILE", .help = "Where it goes; standard output", .group = 1,
     FRAMES_FIELD(output)},
    {"to", 0, "WHAT", .help = "frames (default), cadu, cltu, packets or modem", .group = 1,
     FRAMES_WORD(to, "frames|cadu|cltu|packets|modem")},
    {"randomise", 0, .help = "Randomise what is written", .group = 1, FRAMES_FLAG(randomise)},
    {"bit-errors", 0, "SHARE", .help = "Invert that share of the bits, by chance", .group = 7,
     FRAMES_SHARE(errors)},
    {"map", 0, "N", .help = "USLP, TC with segments: the MAP (0)", .group = 6,
     FRAMES_COUNT(map, 0, 63)},
    {0}};

const struct argument frames_from[] = {
    {"from", 0, "WHAT", .help = "frames (default), cadu, cltu or packets", .group = 1,
     FRAMES_WORD(from, "frames|cadu|cltu|packets")},
    {"randomised", 0, .help = "What is read is randomised", .group = 1, FRAMES_FLAG(randomised)},
    {"marker-errors", 0, "N", .help = "Bits of a CADU's marker that may be wrong (4)", .group = 8,
     FRAMES_COUNT(marker_errors, 0, CADU_MARKER_ERRORS_MAX)},
    {"erred", 0, .help = "Read CADUs that cannot be decoded, too", .group = 8,
     FRAMES_FLAG(keep_erred)},
    {0}};

bool frames_soft_cadus(const struct frames_options *o)
{
    return o->soft && (o->ldpc_coded || o->turbo_coded);
}

struct cadu_format frames_cadu_format(const struct frames_options *o, struct rs *rs)
{
    struct cadu_format f = {.frame_len = o->format.length,
                            .randomised = o->randomised,
                            .sequence = o->sequence,
                            .marker = o->marker,
                            .ldpc = o->ldpc,
                            .turbo = o->turbo};
    if (o->rs != 0) {
        rs_init(rs, o->rs == 223 ? RS_255_223 : RS_255_239, o->basis);
        f.rs = rs;
        f.depth = o->depth;
    }
    return f;
}

static void check_ldpc(struct argp_state *state, const struct frames_options *o, bool cadus)
{
    if (o->ldpc_coded && !cadus)
        argp_error(state, "--ldpc: --from cadu or --to cadu is missing");
    if (o->ldpc_coded && (o->rs != 0 || o->coded))
        argp_error(state, "--ldpc: --rs and --convolutional are other codes");
    if (o->ldpc_coded && ldpc_problem(o->ldpc_rate, 8 * o->format.length) != NULL)
        argp_error(state, "--length %u: %s", o->format.length,
                   ldpc_problem(o->ldpc_rate, 8 * o->format.length));
}

static void check_turbo(struct argp_state *state, const struct frames_options *o, bool cadus)
{
    const uint32_t len = o->format.length;
    if (!o->turbo_coded)
        return;
    if (!cadus)
        argp_error(state, "--turbo: --from cadu or --to cadu is missing");
    if (o->rs != 0 || o->ldpc_coded || o->coded)
        argp_error(state, "--turbo: --rs, --ldpc and --convolutional are other codes");
    if (o->marker != cadu_turbo_marker(o->turbo_rate))
        argp_error(state, "--turbo: each rate has its own marker; leave out --long-marker");
    if (turbo_problem(o->turbo_rate, 8 * len) != NULL)
        argp_error(state, "--length %u: %s", len, turbo_problem(o->turbo_rate, 8 * len));
}

static void check_codes(struct argp_state *state, struct frames_options *o)
{
    struct rs rs;
    bool cadus = o->from == CONTENT_CADU || o->to == CONTENT_CADU;
    struct cadu_format f = frames_cadu_format(o, &rs);
    if (o->upright)
        o->convolutional.inverted = false;
    if (!o->coded && o->upright)
        argp_error(state, "--no-inversion: --convolutional is missing");
    if (!o->coded && o->soft && !frames_soft_cadus(o))
        argp_error(state, "--soft: --ldpc, --turbo or --convolutional is missing");
    if (!cadus && o->coded)
        argp_error(state, "--convolutional: --from cadu or --to cadu is missing");
    if (!cadus && (o->rs != 0 || o->keep_erred))
        argp_error(state, "--rs and --erred are of CADUs: --from cadu or --to cadu is missing");
    check_ldpc(state, o, cadus);
    check_turbo(state, o, cadus);
    if (o->each && o->from != CONTENT_CADU)
        argp_error(state, "--each lists CADUs: --from cadu is missing");
    if (cadus && cadu_problem(&f) != NULL)
        argp_error(state, "%s: see --length and --interleave", cadu_problem(&f));
}

/* What no single option is wrong about. */
void frames_check_line(struct argp_state *state, void *base)
{
    struct frames_options *o = base;
    struct frame_format *f = &o->format;
    const bool cop = frames_is_cop(o->command);
    if (f->length == 0)
        f->length = f->kind == FRAME_TC && !cop ? FRAME_TC_MAX : LENGTH_DEFAULT;
    if (cop) {
        frames_check_cop(state, o);
        check_codes(state, o);
        return;
    }
    if (o->command->run != command_gen && o->input == NULL)
        argp_error(state, "FILE is missing; - is standard input");
    if (o->command->run == command_info && o->from == CONTENT_PACKETS)
        argp_error(state, "--from: write frames, cadu or cltu");
    if ((o->from == CONTENT_CLTU || o->to == CONTENT_CLTU) && f->kind != FRAME_TC)
        argp_error(state, "CLTUs carry TC frames: --kind tc is missing");
    if ((o->from == CONTENT_CADU || o->to == CONTENT_CADU) && f->kind == FRAME_TC)
        argp_error(state, "TC frames have no markers: they are in CLTUs");
    if (o->to == CONTENT_MODEM && f->kind == FRAME_TC)
        argp_error(state, "--to modem: the heads are of telemetry");
    if (frame_format_problem(f) != NULL)
        argp_error(state, "%s", frame_format_problem(f));
    check_codes(state, o);
    frames_check_security(state, o);
    struct mpdu_pack_config c = {.format = *f,
                                 .scid = (uint16_t)(o->scid < 0 ? 1 : o->scid),
                                 .vcid = (uint8_t)(o->vcid < 0 ? 0 : o->vcid),
                                 .map = o->map,
                                 .idle = PACKET_ENCAP};
    o->packs = o->command->run == command_gen || o->from == CONTENT_PACKETS;
    if (f->kind == FRAME_TC && (c.scid > 1023 || c.map > 63 || (c.map > 0 && !f->segments)))
        argp_error(state, "the spacecraft is 0 to 1023, the MAP 0 to 63 of frames with --segments");
    else if (f->kind != FRAME_TC && o->packs && mpdu_pack_problem(&c) != NULL)
        argp_error(state, "%s", mpdu_pack_problem(&c));
    else if (f->kind == FRAME_TM && o->vcid > 7)
        argp_error(state, "--vcid: TM frames have virtual channels 0 to 7");
}

void frames_take_word(struct argp_state *state, char *arg, void *base)
{
    struct frames_options *o = base;
    if (*o->command->args == '\0' || o->input != NULL)
        argp_error(state, "\"%s\" is one word too many", arg);
    o->input = arg;
}
