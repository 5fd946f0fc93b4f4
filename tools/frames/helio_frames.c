/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-frames gen|info|convert: CCSDS frames in files. This file has the command line. What can go
 * wrong: a wrong option, or options that contradict each other (exit 2).
 */
#include "tools/frames/helio_frames.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "os/arguments.h"

const char *argp_program_version = "helio-frames " HELIO_VERSION;

enum {
    KEY_NO_FECF = 256,
    KEY_OCF,
    KEY_FHEC,
    KEY_INSERT,
    KEY_SECONDARY,
    KEY_COUNT_OCTETS,
    KEY_CYCLE,
    KEY_WIDE,
    KEY_SEGMENTS,
    KEY_SCID,
    KEY_VCID,
    KEY_MAP,
    KEY_FROM,
    KEY_TO,
    KEY_RANDOMISED,
    KEY_RANDOMISE,
    KEY_ERASE,
    KEY_SEED,
    KEY_PACKET,
    KEY_SPACE,
    KEY_PROTOCOL,
    KEY_PRBS,
    KEY_NUMBERED,
    KEY_IDLE,
    KEY_RS,
    KEY_INTERLEAVE,
    KEY_BASIS,
    KEY_LONG,
    KEY_MARKER,
    KEY_MARKER_64,
    KEY_ERRED,
    KEY_EACH,
    KEY_ERRORS,
    KEY_CONV,
    KEY_SOFT,
    KEY_UPRIGHT
};

struct command {
    const char *name, *args; /* "helio-frames COMMAND" */
    int (*run)(const struct frames_options *o);
    const struct argp_option *options;
    const char *doc;
};

struct parse {
    const struct command *command;
    struct frames_options line;
    bool length; /* was given */
};

void frames_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("helio-frames: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static int find_word(const char *text, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

static enum frame_kind parse_kind(struct argp_state *state, const char *text)
{
    static const char *const names[] = {"tm", "aos", "uslp", "tc"};
    int i = find_word(text, names, 4);
    if (i < 0)
        argument_want(state, "kind", text, "tm, aos, uslp or tc");
    return (enum frame_kind)i;
}

static enum content parse_content(struct argp_state *state, const char *option, const char *text)
{
    static const char *const names[CONTENTS] = {"frames", "cadu", "cltu", "packets", "modem"};
    bool read = strcmp(option, "from") == 0;
    int i = find_word(text, names, read ? CONTENT_MODEM : CONTENTS);
    if (i < 0)
        argument_want(state, option, text,
                      read ? "frames, cadu, cltu or packets"
                           : "frames, cadu, cltu, packets or modem");
    return (enum content)i;
}

static error_t parse_format(int key, char *arg, struct argp_state *state, struct parse *p)
{
    struct frame_format *f = &p->line.format;
    switch (key) {
    case 'k':
        f->kind = parse_kind(state, arg);
        return 0;
    case 'l':
        f->length = (uint32_t)argument_count(state, "length", arg, 1, FRAME_LENGTH_MAX);
        p->length = true;
        return 0;
    case KEY_NO_FECF:
        f->fecf = 0;
        return 0;
    case KEY_OCF:
        f->ocf = true;
        return 0;
    case KEY_FHEC:
        f->fhec = true;
        return 0;
    case KEY_INSERT:
        f->insert_len = (uint16_t)argument_count(state, "insert", arg, 0, 65535);
        return 0;
    case KEY_SECONDARY:
        f->secondary_len = (uint8_t)argument_count(state, "secondary", arg, 0, 64);
        return 0;
    case KEY_COUNT_OCTETS:
        f->count_len = (uint8_t)argument_count(state, "count-octets", arg, 0, 7);
        return 0;
    case KEY_CYCLE:
        f->count_cycle = true;
        return 0;
    case KEY_WIDE:
        f->wide_scid = true;
        return 0;
    case KEY_SEGMENTS:
        f->segments = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_packets(int key, char *arg, struct argp_state *state, struct frames_options *o)
{
    switch (key) {
    case 'n':
        o->frames = argument_count(state, "count", arg, 1, UINT32_MAX);
        return 0;
    case KEY_PACKET:
        o->payload = argument_count(state, "packet", arg, 8, PACKET_MAX - PACKET_HEADER_MAX);
        return 0;
    case KEY_SPACE:
        o->packets = PACKET_SPACE;
        o->apid = (uint16_t)argument_count(state, "space", arg, 0, PACKET_IDLE_APID - 1);
        return 0;
    case KEY_PROTOCOL:
        o->protocol = (uint8_t)argument_count(state, "protocol", arg, 1, 7);
        if (o->protocol == PACKET_EXTENDED)
            argument_want(state, "protocol", arg, "1 to 5, or 7");
        return 0;
    case KEY_PRBS:
        o->prbs = true;
        return 0;
    case KEY_NUMBERED:
        o->numbered = true;
        return 0;
    case KEY_IDLE:
        o->only_idle = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static double parse_share(struct argp_state *state, const char *option, const char *arg)
{
    char *end;
    double share = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(share >= 0 && share < 1))
        argument_want(state, option, arg, "a share from 0 to below 1, such as 0.01");
    return share;
}

static error_t parse_convolutional(int key, char *arg, struct argp_state *state,
                                   struct frames_options *o)
{
    static const char *const rates[CONV_RATES] = {"1/2", "2/3", "3/4", "5/6", "7/8"};
    int i;
    switch (key) {
    case KEY_CONV:
        if ((i = find_word(arg, rates, CONV_RATES)) < 0)
            argument_want(state, "convolutional", arg, "1/2, 2/3, 3/4, 5/6 or 7/8");
        o->coded = true;
        o->convolutional = conv_format_of((enum conv_rate)i);
        return 0;
    case KEY_SOFT:
        o->soft = true;
        return 0;
    case KEY_UPRIGHT:
        o->upright = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_code(int key, char *arg, struct argp_state *state, struct frames_options *o)
{
    static const char *const codes[] = {"223", "239"}, *const bases[] = {"dual", "conventional"};
    int i;
    switch (key) {
    case KEY_RS:
        if ((i = find_word(arg, codes, 2)) < 0)
            argument_want(state, "rs", arg, "223 or 239");
        o->rs = i == 0 ? 223 : 239;
        return 0;
    case KEY_INTERLEAVE:
        o->depth = (unsigned)argument_count(state, "interleave", arg, 1, RS_DEPTH_MAX);
        return 0;
    case KEY_BASIS:
        if ((i = find_word(arg, bases, 2)) < 0)
            argument_want(state, "basis", arg, "dual or conventional");
        o->basis = i == 0 ? RS_DUAL : RS_CONVENTIONAL;
        return 0;
    case KEY_LONG:
        o->sequence = PN_TM_LONG;
        return 0;
    case KEY_MARKER_64:
        o->marker = CADU_MARKER_64;
        return 0;
    case KEY_MARKER:
        o->marker_errors =
            (unsigned)argument_count(state, "marker-errors", arg, 0, CADU_MARKER_ERRORS_MAX);
        return 0;
    case KEY_ERRED:
        o->keep_erred = true;
        return 0;
    case KEY_EACH:
        o->each = true;
        return 0;
    case KEY_ERRORS:
        o->errors = parse_share(state, "bit-errors", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct cadu_format frames_cadu_format(const struct frames_options *o, struct rs *rs)
{
    struct cadu_format f = {.frame_len = o->format.length,
                            .randomised = o->randomised,
                            .sequence = o->sequence,
                            .marker = o->marker};
    if (o->rs != 0) {
        rs_init(rs, o->rs == 223 ? RS_255_223 : RS_255_239, o->basis);
        f.rs = rs;
        f.depth = o->depth;
    }
    return f;
}

static void check_codes(struct argp_state *state, struct frames_options *o)
{
    struct rs rs;
    bool cadus = o->from == CONTENT_CADU || o->to == CONTENT_CADU;
    struct cadu_format f = frames_cadu_format(o, &rs);
    if (o->upright)
        o->convolutional.inverted = false;
    if (!o->coded && (o->soft || o->upright))
        argp_error(state, "--soft and --no-inversion: --convolutional is missing");
    if (!cadus && o->coded)
        argp_error(state, "--convolutional: --from cadu or --to cadu is missing");
    if (!cadus && (o->rs != 0 || o->keep_erred))
        argp_error(state, "--rs and --erred are of CADUs: --from cadu or --to cadu is missing");
    if (o->each && o->from != CONTENT_CADU)
        argp_error(state, "--each lists CADUs: --from cadu is missing");
    if (cadus && cadu_problem(&f) != NULL)
        argp_error(state, "%s: see --length and --interleave", cadu_problem(&f));
}

/* What no single option is wrong about. */
static void check_line(struct argp_state *state, struct parse *p)
{
    struct frames_options *o = &p->line;
    struct frame_format *f = &o->format;
    if (f->kind == FRAME_TC && !p->length)
        f->length = FRAME_TC_MAX;
    if (p->command->run != command_gen && o->input == NULL)
        argp_error(state, "FILE is expected; - is standard input");
    if (p->command->run == command_info && o->from == CONTENT_PACKETS)
        argp_error(state, "--from: frames, cadu or cltu is expected");
    if ((o->from == CONTENT_CLTU || o->to == CONTENT_CLTU) && f->kind != FRAME_TC)
        argp_error(state, "CLTUs carry TC frames: --kind tc is missing");
    if ((o->from == CONTENT_CADU || o->to == CONTENT_CADU) && f->kind == FRAME_TC)
        argp_error(state, "TC frames have no markers: they are in CLTUs");
    if (o->to == CONTENT_MODEM && f->kind == FRAME_TC)
        argp_error(state, "--to modem: the heads are of telemetry");
    if (frame_format_problem(f) != NULL)
        argp_error(state, "%s", frame_format_problem(f));
    check_codes(state, o);
    struct mpdu_pack_config c = {.format = *f,
                                 .scid = (uint16_t)(o->scid < 0 ? 1 : o->scid),
                                 .vcid = (uint8_t)(o->vcid < 0 ? 0 : o->vcid),
                                 .map = o->map,
                                 .idle = PACKET_ENCAP};
    bool writes = p->command->run == command_gen || o->from == CONTENT_PACKETS;
    if (f->kind == FRAME_TC && (c.scid > 1023 || c.map > 63 || (c.map > 0 && !f->segments)))
        argp_error(state, "the spacecraft is 0 to 1023, the MAP 0 to 63 of frames with --segments");
    else if (f->kind != FRAME_TC && writes && mpdu_pack_problem(&c) != NULL)
        argp_error(state, "%s", mpdu_pack_problem(&c));
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    struct frames_options *o = &p->line;
    switch (key) {
    case 'o':
        o->output = arg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case KEY_SCID:
        o->scid = (int32_t)argument_count(state, "scid", arg, 0, 65535);
        return 0;
    case KEY_VCID:
        o->vcid = (int32_t)argument_count(state, "vcid", arg, 0, VCS - 1);
        return 0;
    case KEY_MAP:
        o->map = (uint8_t)argument_count(state, "map", arg, 0, 63);
        return 0;
    case KEY_FROM:
        o->from = parse_content(state, "from", arg);
        return 0;
    case KEY_TO:
        o->to = parse_content(state, "to", arg);
        return 0;
    case KEY_RANDOMISED:
        o->randomised = true;
        return 0;
    case KEY_RANDOMISE:
        o->randomise = true;
        return 0;
    case KEY_ERASE:
        o->erase = parse_share(state, "erase", arg);
        return 0;
    case KEY_SEED:
        o->seed = argument_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (p->command->run == command_gen || o->input != NULL)
            argp_error(state, "\"%s\" is one word too many", arg);
        o->input = arg;
        return 0;
    case ARGP_KEY_END:
        check_line(state, p);
        return 0;
    default:
        if (parse_format(key, arg, state, p) == 0 || parse_code(key, arg, state, o) == 0 ||
            parse_convolutional(key, arg, state, o) == 0)
            return 0;
        return parse_packets(key, arg, state, o);
    }
}

#define FORMAT                                                                                     \
    {"kind", 'k', "KIND", 0, "tm, aos (default), uslp or tc", 5},                                  \
        {"length", 'l', "N", 0, "Octets of a frame (1115); of the longest TC frame (1024)", 5},    \
        {"no-fecf", KEY_NO_FECF, NULL, 0, "Without a frame error control field", 5},               \
        {"ocf", KEY_OCF, NULL, 0, "With an operational control field", 5},                         \
        {"fhec", KEY_FHEC, NULL, 0, "AOS: with a frame header error control field", 5},            \
        {"cycle", KEY_CYCLE, NULL, 0, "AOS: the frame count has a cycle of four bits", 5},         \
        {"wide-scid", KEY_WIDE, NULL, 0, "AOS: the spacecraft has ten bits", 5},                   \
        {"insert", KEY_INSERT, "N", 0, "AOS, USLP: octets of the insert zone", 5},                 \
        {"secondary", KEY_SECONDARY, "N", 0, "TM: octets of the secondary header", 5},             \
        {"count-octets", KEY_COUNT_OCTETS, "N", 0, "USLP: octets of the frame count (0)", 5},      \
        {"segments", KEY_SEGMENTS, NULL, 0, "TC: with segment headers", 5},                        \
        {"scid", KEY_SCID, "N", 0, "The spacecraft: 1 when written, any when read", 6},            \
        {"vcid", KEY_VCID, "N", 0, "The virtual channel: 0 when written, all when read", 6},       \
        {"erase", KEY_ERASE, "SHARE", 0, "Leave out that share of the frames, by chance", 7},      \
        {"seed", KEY_SEED, "N", 0, "Of chances (0)", 7},                                           \
        {"rs", KEY_RS, "N", 0, "CADUs: Reed-Solomon (255,N): 223 or 239; none", 8},                \
        {"interleave", KEY_INTERLEAVE, "N", 0, "Codewords of a codeblock, 1 to 8 (5)", 8},         \
        {"basis", KEY_BASIS, "NAME", 0, "Of symbols: dual (default) or conventional", 8},          \
        {"convolutional", KEY_CONV, "RATE", 0, "CADUs: 1/2, 2/3, 3/4, 5/6 or 7/8; none", 8},       \
        {"soft", KEY_SOFT, NULL, 0, "An octet for each symbol: 0 surely 0, 255 surely 1", 8},      \
        {"no-inversion", KEY_UPRIGHT, NULL, 0, "Rate 1/2 without inverted symbols", 8},            \
        {"long-randomiser", KEY_LONG, NULL, 0, "The sequence of 131071 bits, not of 255", 8},      \
        {"long-marker", KEY_MARKER_64, NULL, 0, "CADUs: 034776C7272895B0, not 1ACFFC1D", 8},       \
    {                                                                                              \
        0                                                                                          \
    }
#define OUTPUT                                                                                     \
    {"output", 'o', "FILE", 0, "Where it goes; standard output", 1},                               \
        {"to", KEY_TO, "WHAT", 0, "frames (default), cadu, cltu, packets or modem", 1},            \
        {"randomise", KEY_RANDOMISE, NULL, 0, "Randomise what is written", 1},                     \
        {"bit-errors", KEY_ERRORS, "SHARE", 0, "Invert that share of the bits, by chance", 7},     \
    {                                                                                              \
        "map", KEY_MAP, "N", 0, "USLP, TC with segments: the MAP (0)", 6                           \
    }
#define CONTENT                                                                                    \
    {                                                                                              \
        "prbs", KEY_PRBS, NULL, 0, "Packets hold a pseudo-random sequence, not a count", 2         \
    }
#define FROM                                                                                       \
    {"from", KEY_FROM, "WHAT", 0, "frames (default), cadu, cltu or packets", 1},                   \
        {"randomised", KEY_RANDOMISED, NULL, 0, "What is read is randomised", 1},                  \
        {"marker-errors", KEY_MARKER, "N", 0, "Bits of a CADU's marker that may be wrong (4)", 8}, \
    {                                                                                              \
        "erred", KEY_ERRED, NULL, 0, "Read CADUs that cannot be decoded, too", 8                   \
    }

static const struct argp_option gen_options[] = {
    {"count", 'n', "N", 0, "Frames (1000); with --to packets, packets", 2},
    {"packet", KEY_PACKET, "N", 0, "Octets of a packet's payload (1000), at least 8", 2},
    CONTENT,
    {"protocol", KEY_PROTOCOL, "N", 0, "Encapsulation protocol (7): 1 LTP, 4 BP, 7 the mission's",
     2},
    {"space", KEY_SPACE, "APID", 0, "Space packets instead, of this application", 2},
    {"only-idle", KEY_IDLE, NULL, 0, "Frames of only idle data", 2},
    OUTPUT,
    FORMAT};
static const struct argp_option info_options[] = {
    FROM,
    {"numbered", KEY_NUMBERED, NULL, 0, "Packets are those of gen: what is missing or damaged?", 2},
    CONTENT,
    {"json", 'j', NULL, 0, "Print JSON", 9},
    {"each", KEY_EACH, NULL, 0, "A line of CSV for each CADU instead", 9},
    FORMAT};
static const struct argp_option convert_options[] = {FROM, OUTPUT, FORMAT};

static const struct command commands[] = {
    {"helio-frames gen", "", command_gen, gen_options,
     "Writes frames full of packets that are numbered.\v"
     "examples:\n"
     "  helio-frames gen -n 1000 -o /tmp/a.frames\n"
     "  helio-frames gen -n 1000 --erase 0.01 --to cadu --randomise -o /tmp/a.cadu\n"
     "  helio-frames gen --to cadu --rs 223 --bit-errors 0.001 -o /tmp/r.cadu\n"
     "  helio-frames gen --to cadu --convolutional 1/2 -o /tmp/v.symbols\n"
     "  helio-frames gen -n 9 -k tc --packet 200 --to cltu --randomise \\\n"
     "      -o /tmp/a.cltu\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 usage"},
    {"helio-frames info", "FILE", command_info, info_options,
     "Prints what is in a file of frames: errors, virtual channels, gaps, packets.\v"
     "examples:\n"
     "  helio-frames info --numbered /tmp/a.frames\n"
     "  helio-frames info --from cadu --randomised --json /tmp/a.cadu\n"
     "  helio-frames info --from cadu --rs 223 --numbered /tmp/r.cadu\n"
     "  helio-frames info --from cadu --rs 223 --each /tmp/r.cadu\n"
     "  helio-frames info --from cadu --convolutional 1/2 /tmp/v.symbols\n"
     "\nexit codes: 0 done, 1 it could not be read or has no good frame, 2 usage"},
    {"helio-frames convert", "FILE", command_convert, convert_options,
     "Frames bare, behind markers (CADU) or in CLTUs, and packets, into each other.\v"
     "examples:\n"
     "  helio-frames convert --to packets /tmp/a.frames -o /tmp/a.packets\n"
     "  helio-frames convert --from packets -l 256 /tmp/a.packets -o /tmp/s.frames\n"
     "  helio-frames convert --erase 0.1 --to cadu /tmp/a.frames -o /tmp/b.cadu\n"
     "  helio-frames convert --from cadu --rs 223 /tmp/r.cadu -o /tmp/r.frames\n"
     "  helio-frames convert --from cadu --rs 223 --to modem /tmp/r.cadu -o /tmp/r\n"
     "\nexit codes: 0 done, 1 it could not be read or written, 2 usage"}};

static int run_command(const struct command *c, int argc, char **argv)
{
    struct parse p = {.command = c,
                      .line = {.depth = 5,
                               .marker_errors = 4,
                               .format = {.kind = FRAME_AOS, .length = 1115, .fecf = 2},
                               .scid = -1,
                               .vcid = -1,
                               .frames = 1000,
                               .payload = 1000,
                               .packets = PACKET_ENCAP,
                               .protocol = PACKET_MISSION}};
    const struct argp argp = {
        .options = c->options, .parser = parse_option, .args_doc = c->args, .doc = c->doc};
    argument_parse(&argp, argc, argv, 0, &p);
    return c->run(&p.line);
}

static const char usage[] =
    "Usage: helio-frames gen [-n N] [-o FILE]          frames full of numbered packets\n"
    "       helio-frames info FILE                     what is in a file of frames\n"
    "       helio-frames convert FILE --to WHAT        frames, CADUs, CLTUs, packets\n"
    "       helio-frames --version\n"
    "TM, AOS, USLP and TC frames in files. `helio-frames COMMAND --help` tells more.\n"
    "\n"
    "examples:\n"
    "  helio-frames gen -n 1000 -o /tmp/a.frames\n"
    "  helio-frames info --numbered /tmp/a.frames\n"
    "  helio-frames convert --to packets /tmp/a.frames -o /tmp/a.packets\n";

int main(int argc, char **argv)
{
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return run_command(&commands[i], argc - 1, argv + 1);
}
