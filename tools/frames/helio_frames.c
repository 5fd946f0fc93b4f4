/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames gen|info|convert|fop|farm: CCSDS frames in files, and telecommands with COP-1. This
 * file has the commands and their help. */
#include <stdarg.h>
#include <stdlib.h>

#include "os/process/process.h"
#include "tools/frames/frames_options.h"

const char *argp_program_version = "helio-frames " HELIO_VERSION;

void frames_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("helio-frames: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static void set_space(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct frames_options *o = base;
    o->packets = PACKET_SPACE;
    o->apid = (uint16_t)argument_number(state, row, arg);
}

static void set_protocol(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct frames_options *o = base;
    o->protocol = (uint8_t)argument_number(state, row, arg);
    if (o->protocol == PACKET_EXTENDED)
        argument_want(state, arg, "a protocol from 1 to 5, or 7, such as 4 for BP");
}

static const struct argument gen_options[] = {
    {"count", 'n', "N", .help = "Frames (1000); with --to packets, packets", .group = 2,
     FRAMES_COUNT(frames, 1, UINT32_MAX)},
    {"packet", 0, "N", .help = "Octets of a packet's payload (1000), at least 8", .group = 2,
     FRAMES_COUNT(payload, 8, PACKET_MAX - PACKET_HEADER_MAX)},
    FRAMES_PRBS("Packets hold a pseudo-random sequence, not a count", 2),
    {"protocol", 0, "N", .help = "Encapsulation protocol (7): 1 LTP, 4 BP, 7 the mission's",
     .group = 2, .type = OPTION_COUNT, .min = 1, .max = 7, .own = set_protocol},
    {"space", 0, "APID", .help = "Space packets instead, of this application", .group = 2,
     .type = OPTION_COUNT, .max = PACKET_IDLE_APID - 1, .own = set_space},
    {"only-idle", 0, .help = "Frames of only idle data", .group = 2, FRAMES_FLAG(only_idle)},
    FRAMES_SECURITY,
    {0}};
static const struct argument info_options[] = {
    {"numbered", 0, .help = "Packets are those of gen: what is missing or damaged?", .group = 2,
     FRAMES_FLAG(numbered)},
    FRAMES_PRBS("Packets hold a pseudo-random sequence, not a count", 2),
    {"json", 'j', .help = "Print JSON", .group = 9, FRAMES_FLAG(json)},
    {"each", 0, .help = "A line of CSV for each CADU instead", .group = 9, FRAMES_FLAG(each)},
    FRAMES_SECURITY,
    {0}};
static const struct argument convert_options[] = {
    FRAMES_SECURITY,
    {"secured", 0, .help = "Frames that are read have it, and lose it", .group = 4,
     FRAMES_FLAG(secured)},
    {0}};

static const struct argument_part gen_parts[] = {
    {.options = frames_output}, {.options = frames_format}, {0}};
static const struct argument_part info_parts[] = {
    {.options = frames_from}, {.options = frames_format}, {0}};
static const struct argument_part convert_parts[] = {
    {.options = frames_from}, {.options = frames_output}, {.options = frames_format}, {0}};

static const struct command commands[] = {
    {"helio-frames gen", "", command_gen, gen_options, gen_parts,
     "Writes frames full of packets that are numbered.\v"
     "examples:\n"
     "  helio-frames gen -n 1000 -o /tmp/a.frames\n"
     "  helio-frames gen -n 1000 --erase 0.01 --to cadu --randomise -o /tmp/a.cadu\n"
     "  helio-frames gen --to cadu --rs 223 --bit-errors 0.001 -o /tmp/r.cadu\n"
     "  helio-frames gen -l 512 --to cadu --ldpc 1/2 --bit-errors 0.03 \\\n"
     "      -o /tmp/l.cadu\n"
     "  helio-frames gen --to cadu --turbo 1/3 --bit-errors 0.1 -o /tmp/t.cadu\n"
     "  helio-frames gen --to cadu --convolutional 1/2 -o /tmp/v.symbols\n"
     "  helio-frames gen -n 9 -k tc --packet 200 --to cltu --randomise \\\n"
     "      -o /tmp/a.cltu\n"
     "  (umask 77; openssl rand -hex 32 > /tmp/sdls.key); \\\n"
     "      echo new > /tmp/sdls.numbers; \\\n"
     "      printf '%s\\n' 'numbers: /tmp/sdls.numbers' 'associations:' \\\n"
     "      '  - {spi: 1, vcids: 0, service: authenticated-encryption,' \\\n"
     "      '     algorithm: aes-gcm, key_file: /tmp/sdls.key}' > /tmp/sdls.yaml; \\\n"
     "      helio-frames gen --sdls /tmp/sdls.yaml -o /tmp/s.frames\n"
     "\nexit codes: 0 done, 1 it could not be written, 2 usage"},
    {"helio-frames info", "FILE", command_info, info_options, info_parts,
     "Prints what is in a file of frames: errors, virtual channels, gaps, packets.\v"
     "examples:\n"
     "  helio-frames info --numbered /tmp/a.frames\n"
     "  helio-frames info --from cadu --randomised --json /tmp/a.cadu\n"
     "  helio-frames info --from cadu --rs 223 --numbered /tmp/r.cadu\n"
     "  helio-frames info --from cadu --rs 223 --each /tmp/r.cadu\n"
     "  helio-frames info -l 512 --from cadu --ldpc 1/2 --marker-errors 8 \\\n"
     "      /tmp/l.cadu\n"
     "  helio-frames info --from cadu --turbo 1/3 --marker-errors 8 /tmp/t.cadu\n"
     "  helio-frames info --sdls /tmp/sdls.yaml --numbered /tmp/s.frames\n"
     "  helio-frames info --from cadu --convolutional 1/2 /tmp/v.symbols\n"
     "\nexit codes: 0 done, 1 it could not be read or has no good frame, 2 usage"},
    {"helio-frames convert", "FILE", command_convert, convert_options, convert_parts,
     "Frames bare, behind markers (CADU) or in CLTUs, and packets, into each other.\v"
     "examples:\n"
     "  helio-frames convert --to packets /tmp/a.frames -o /tmp/a.packets\n"
     "  helio-frames convert --from packets -l 256 /tmp/a.packets -o /tmp/s.frames\n"
     "  helio-frames convert --erase 0.1 --to cadu /tmp/a.frames -o /tmp/b.cadu\n"
     "  helio-frames convert --from cadu --rs 223 /tmp/r.cadu -o /tmp/r.frames\n"
     "  helio-frames convert --from cadu --rs 223 --to modem /tmp/r.cadu -o /tmp/r\n"
     "  helio-frames convert --sdls /tmp/sdls.yaml --secured /tmp/s.frames \\\n"
     "      -o /tmp/clear.frames\n"
     "\nexit codes: 0 done, 1 it could not be read or written, 2 usage"},
    {"helio-frames fop", "FILE", command_fop, frames_fop_options, frames_cop_parts,
     "Sends the packets of a file as telecommands, with FOP-1 of COP-1 (CCSDS 232.1-B).\v"
     "Each datagram to --remote is a CLTU, each one to --local a telemetry frame\n"
     "with a CLCW. --initiate: set sends Set V(R), unlock the command Unlock,\n"
     "clcw waits for a CLCW with --number, none begins at once.\n"
     "\nexamples:\n"
     "  helio-frames gen --to packets -n 50 --packet 100 -o /tmp/tc.packets; \\\n"
     "      helio-frames farm --local 127.0.0.1:5201 --remote 127.0.0.1:5202 -n 50 \\\n"
     "      --numbered --erase 0.2 -o /tmp/tc.got & \\\n"
     "      helio-frames fop /tmp/tc.packets --local 127.0.0.1:5202 \\\n"
     "      --remote 127.0.0.1:5201; wait\n"
     "  helio-frames gen --to packets -n 9 --packet 100 -o /tmp/tc.packets; \\\n"
     "      helio-frames fop /tmp/tc.packets --local 127.0.0.1:5202 \\\n"
     "      --remote 127.0.0.1:5201 --expedited\n"
     "\nexit codes: 0 all frames are confirmed, 1 they are not, 2 usage"},
    {"helio-frames farm", "", command_farm, frames_farm_options, frames_cop_parts,
     "Receives telecommands with FARM-1 of COP-1, and returns telemetry frames with CLCWs.\v"
     "examples:\n"
     "  helio-frames farm --local 127.0.0.1:5201 --remote 127.0.0.1:5202 \\\n"
     "      -o /tmp/tc.got\n"
     "  helio-frames farm --local 127.0.0.1:5201 --remote 127.0.0.1:5202 --to cadu \\\n"
     "      --rs 223 -n 50 --numbered -o /tmp/tc.got\n"
     "\nexit codes: 0 all packets were received (-n, --numbered), or a signal ended it,\n"
     "1 they did not, 2 usage"}};

/* False: memory is out. */
static bool make_codes(struct frames_options *o)
{
    if (o->ldpc_coded) {
        o->ldpc = malloc(sizeof *o->ldpc);
        if (o->ldpc == NULL)
            return false;
        ldpc_init(&o->ldpc->code, o->ldpc_rate, 8 * o->format.length);
    }
    if (o->turbo_coded) {
        o->turbo = malloc(sizeof *o->turbo);
        if (o->turbo == NULL)
            return false;
        turbo_init(&o->turbo->code, o->turbo_rate, 8 * o->format.length);
        o->turbo->checked = o->format.fecf == 2;
    }
    return true;
}

/* The tables and the memory of an LDPC or turbo code are the command's, as long as it runs. */
static int run_coded(const struct command *c, struct frames_options *o)
{
    if (!make_codes(o)) {
        frames_error("out of memory");
        return EXIT_FAILED;
    }
    int code = frames_security_open(c, o);
    if (code == EXIT_DONE) {
        code = c->run(o);
        const int noted = frames_security_close(o);
        code = code == EXIT_DONE ? noted : code;
    }
    free(o->ldpc);
    free(o->turbo);
    return code;
}

static int run_command(const struct command *c, int argc, char **argv)
{
    struct frames_options o = {.command = c,
                               .depth = 5,
                               .marker_errors = 4,
                               .format = {.kind = FRAME_AOS, .fecf = 2},
                               .scid = -1,
                               .vcid = -1,
                               .frames = 1000,
                               .payload = 1000,
                               .packets = PACKET_ENCAP,
                               .protocol = PACKET_MISSION,
                               .cop = {.tc_length = FRAME_TC_MAX,
                                       .rate = 1000000,
                                       .window = 10,
                                       .limit = 10,
                                       .timer = TICK_S,
                                       .initiate = FOP_INITIATE_SET_V_R,
                                       .farm_window = 20,
                                       .interval = 100 * TICK_MS,
                                       .linger = 2 * TICK_S}};
    const struct argument_table table = {.options = c->options,
                                         .parts = c->parts,
                                         .word = frames_take_word,
                                         .end = frames_check_line,
                                         .args_doc = c->args,
                                         .doc = c->doc};
    if (frames_is_cop(c)) {
        o.to = c->run == command_fop ? CONTENT_CLTU : CONTENT_FRAMES;
        o.from = c->run == command_farm ? CONTENT_CLTU : CONTENT_FRAMES;
        o.scid = 1;
        o.vcid = 0;
        o.frames = 0;
    }
    argument_table_parse(&table, argc, argv, &o);
    return run_coded(c, &o);
}

static const char usage[] =
    "Usage: helio-frames gen [-n N] [-o FILE]          frames full of numbered packets\n"
    "       helio-frames info FILE                     what is in a file of frames\n"
    "       helio-frames convert FILE --to WHAT        frames, CADUs, CLTUs, packets\n"
    "       helio-frames fop FILE --local … --remote … telecommands with COP-1\n"
    "       helio-frames farm --local … --remote …     their receiver\n"
    "       helio-frames --version\n"
    "TM, AOS, USLP and TC frames. `helio-frames COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-frames gen -n 1000 -o /tmp/a.frames\n"
    "  helio-frames info --numbered /tmp/a.frames\n"
    "  helio-frames convert --to packets /tmp/a.frames -o /tmp/a.packets\n";

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return run_command(&commands[i], argc - 1, argv + 1);
}
