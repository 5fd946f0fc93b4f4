/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames gen|info|convert|fop|farm: CCSDS frames in files, and telecommands with COP-1. This
 * file has the commands and their help. */
#include <stdarg.h>
#include <stdlib.h>

#include "os/process.h"
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

static const struct argp_option gen_options[] = {
    {"count", 'n', "N", 0, "Frames (1000); with --to packets, packets", 2},
    {"packet", KEY_PACKET, "N", 0, "Octets of a packet's payload (1000), at least 8", 2},
    CONTENT,
    {"protocol", KEY_PROTOCOL, "N", 0, "Encapsulation protocol (7): 1 LTP, 4 BP, 7 the mission's",
     2},
    {"space", KEY_SPACE, "APID", 0, "Space packets instead, of this application", 2},
    {"only-idle", KEY_IDLE, NULL, 0, "Frames of only idle data", 2},
    OUTPUT,
    SECURITY,
    FORMAT};
static const struct argp_option info_options[] = {
    FROM,
    {"numbered", KEY_NUMBERED, NULL, 0, "Packets are those of gen: what is missing or damaged?", 2},
    CONTENT,
    {"json", 'j', NULL, 0, "Print JSON", 9},
    {"each", KEY_EACH, NULL, 0, "A line of CSV for each CADU instead", 9},
    SECURITY,
    FORMAT};
static const struct argp_option convert_options[] = {
    FROM,
    OUTPUT,
    SECURITY,
    {"secured", KEY_SECURED, NULL, 0, "Frames that are read have it, and lose it", 4},
    FORMAT};

static const struct command commands[] = {
    {"helio-frames gen", "", command_gen, gen_options,
     "Writes frames full of packets that are numbered.\v"
     "examples:\n"
     "  helio-frames gen -n 1000 -o /tmp/a.frames\n"
     "  helio-frames gen -n 1000 --erase 0.01 --to cadu --randomise -o /tmp/a.cadu\n"
     "  helio-frames gen --to cadu --rs 223 --bit-errors 0.001 -o /tmp/r.cadu\n"
     "  helio-frames gen -l 512 --to cadu --ldpc 1/2 --bit-errors 0.03 \\\n"
     "      -o /tmp/l.cadu\n"
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
    {"helio-frames info", "FILE", command_info, info_options,
     "Prints what is in a file of frames: errors, virtual channels, gaps, packets.\v"
     "examples:\n"
     "  helio-frames info --numbered /tmp/a.frames\n"
     "  helio-frames info --from cadu --randomised --json /tmp/a.cadu\n"
     "  helio-frames info --from cadu --rs 223 --numbered /tmp/r.cadu\n"
     "  helio-frames info --from cadu --rs 223 --each /tmp/r.cadu\n"
     "  helio-frames info -l 512 --from cadu --ldpc 1/2 --marker-errors 8 \\\n"
     "      /tmp/l.cadu\n"
     "  helio-frames info --sdls /tmp/sdls.yaml --numbered /tmp/s.frames\n"
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
     "  helio-frames convert --sdls /tmp/sdls.yaml --secured /tmp/s.frames \\\n"
     "      -o /tmp/clear.frames\n"
     "\nexit codes: 0 done, 1 it could not be read or written, 2 usage"},
    {"helio-frames fop", "FILE", command_fop, frames_fop_options,
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
    {"helio-frames farm", "", command_farm, frames_farm_options,
     "Receives telecommands with FARM-1 of COP-1, and returns telemetry frames with CLCWs.\v"
     "examples:\n"
     "  helio-frames farm --local 127.0.0.1:5201 --remote 127.0.0.1:5202 \\\n"
     "      -o /tmp/tc.got\n"
     "  helio-frames farm --local 127.0.0.1:5201 --remote 127.0.0.1:5202 --to cadu \\\n"
     "      --rs 223 -n 50 --numbered -o /tmp/tc.got\n"
     "\nexit codes: 0 all packets came (-n, --numbered), or a signal ended it,\n"
     "1 they did not, 2 usage"}};

/* The tables and the memory of an LDPC code are the command's, as long as it runs. */
static int run_coded(const struct command *c, struct frames_options *o)
{
    if (o->ldpc_coded) {
        o->ldpc = malloc(sizeof *o->ldpc);
        if (o->ldpc == NULL) {
            frames_error("out of memory");
            return EXIT_FAILED;
        }
        ldpc_init(&o->ldpc->code, o->ldpc_rate, 8 * o->format.length);
    }
    int code = frames_security_open(c, o);
    if (code == EXIT_DONE) {
        code = c->run(o);
        const int noted = frames_security_close(o);
        code = code == EXIT_DONE ? noted : code;
    }
    free(o->ldpc);
    return code;
}

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
                               .protocol = PACKET_MISSION,
                               .cop = {.tc_length = FRAME_TC_MAX,
                                       .rate = 1000000,
                                       .window = 10,
                                       .limit = 10,
                                       .timer = TICK_S,
                                       .initiate = FOP_INITIATE_SET_V_R,
                                       .farm_window = 20,
                                       .interval = 100 * TICK_MS,
                                       .linger = 2 * TICK_S}}};
    if (frames_is_cop(c)) {
        p.line.to = c->run == command_fop ? CONTENT_CLTU : CONTENT_FRAMES;
        p.line.from = c->run == command_farm ? CONTENT_CLTU : CONTENT_FRAMES;
        p.line.scid = 1;
        p.line.vcid = 0;
        p.line.frames = 0;
    }
    const struct argp argp = {
        .options = c->options, .parser = frames_parse_option, .args_doc = c->args, .doc = c->doc};
    argument_parse(&argp, argc, argv, 0, &p);
    return run_coded(c, &p.line);
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
