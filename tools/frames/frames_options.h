/* SPDX-License-Identifier: Apache-2.0 */
/* Private to helio-frames' command line: keys, the options that commands share, the parser. */
#ifndef TOOLS_FRAMES_FRAMES_OPTIONS_H
#define TOOLS_FRAMES_FRAMES_OPTIONS_H

#include "os/arguments.h"
#include "tools/frames/helio_frames.h"

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
    KEY_LDPC,
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
    KEY_UPRIGHT,
    KEY_LOCAL,
    KEY_REMOTE,
    KEY_TC_LENGTH,
    KEY_RATE,
    KEY_WINDOW,
    KEY_LIMIT,
    KEY_TIMER,
    KEY_INITIATE,
    KEY_NUMBER,
    KEY_EXPEDITED,
    KEY_RESUME,
    KEY_INTERVAL,
    KEY_LINGER,
    KEY_BUSY,
    KEY_SDLS,
    KEY_SECURED
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

/* argp's parser; its input is a struct parse. */
error_t frames_parse_option(int key, char *arg, struct argp_state *state);
/* A share from 0 to below 1. */
double frames_parse_share(struct argp_state *state, const char *option, const char *arg);

/* Is it fop or farm? Their own options: 0, or ARGP_ERR_UNKNOWN. What no single option of them is
 * wrong about. */
bool frames_is_cop(const struct command *c);
error_t frames_parse_cop(int key, char *arg, struct argp_state *state, struct frames_options *o);
void frames_check_cop(struct argp_state *state, struct parse *p);
extern const struct argp_option frames_fop_options[], frames_farm_options[];

/* --sdls: contradicting options end the program; reads the file, fills in o->plain and notes the
 * numbers. Returns 0, or an exit code after reporting the error. */
void frames_check_security(struct argp_state *state, const struct parse *p);
int frames_security_open(const struct command *c, struct frames_options *o);
int frames_security_close(struct frames_options *o);

#define SECURITY                                                                                   \
    {                                                                                              \
        "sdls", KEY_SDLS, "FILE", 0, "Security associations of the frames (CCSDS 355.0-B)", 4      \
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
        {"ldpc", KEY_LDPC, "RATE", 0, "CADUs: 1/2, 2/3 or 4/5, with the long marker; none", 8},    \
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

#endif
