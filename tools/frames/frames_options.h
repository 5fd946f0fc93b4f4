/* SPDX-License-Identifier: Apache-2.0 */
/* Private to helio-frames' command line: its commands, and the options that they share. */
#ifndef TOOLS_FRAMES_FRAMES_OPTIONS_H
#define TOOLS_FRAMES_FRAMES_OPTIONS_H

#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "tools/frames/helio_frames.h"

struct command {
    const char *name, *args; /* "helio-frames COMMAND" */
    int (*run)(const struct frames_options *o);
    const struct argument *options;
    const struct argument_part *parts;
    const char *doc;
};

/* For a table of a command: the word FILE; what no single option is wrong about. */
void frames_take_word(struct argp_state *state, char *arg, void *base);
void frames_check_line(struct argp_state *state, void *base);

#define FRAMES_FIELD(member) ARGUMENT_FIELD(struct frames_options, member)
#define FRAMES_FLAG(member) .type = OPTION_BOOL, FRAMES_FIELD(member)
#define FRAMES_COUNT(member, low, high)                                                            \
    .type = OPTION_COUNT, FRAMES_FIELD(member), .min = (low), .max = (high)
#define FRAMES_WORD(member, words) .type = OPTION_CHOICE, .choices = (words), FRAMES_FIELD(member)
#define FRAMES_BASES "dual|conventional"
/* Of the sequences and the markers the long ones, without a value. */
#define FRAMES_LONG_SEQUENCE FRAMES_WORD(sequence, "tm|tc|long"), .without = "long"
#define FRAMES_LONG_MARKER FRAMES_WORD(marker, "32|64"), .without = "64"
#define FRAMES_SHARE(member) .type = OPTION_SHARE, .max = SHARE_BELOW_1, FRAMES_FIELD(member)
#define FRAMES_RS .own = frames_set_rs, .type = OPTION_CHOICE, .choices = "223|239"
#define FRAMES_LDPC .own = frames_set_ldpc, .type = OPTION_CHOICE, .choices = "1/2|2/3|4/5|7/8"

/* Rows of several tables: the format and the codes of frames; files that are read; that are
 * written. */
extern const struct argument frames_format[], frames_from[], frames_output[];
argument_setter frames_set_rs, frames_set_ldpc;
#define FRAMES_SECURITY                                                                            \
    {                                                                                              \
        "sdls", 0, "FILE", .help = "Security associations of the frames (CCSDS 355.0-B)",          \
                           .group = 4, FRAMES_FIELD(sdls)                                          \
    }
#define FRAMES_PRBS(of, in)                                                                        \
    {                                                                                              \
        "prbs", 0, .help = (of), .group = (in), FRAMES_FLAG(prbs)                                  \
    }

/* Is it fop or farm? What no single option of them is wrong about. */
bool frames_is_cop(const struct command *c);
void frames_check_cop(struct argp_state *state, struct frames_options *o);
extern const struct argument frames_fop_options[], frames_farm_options[];
extern const struct argument_part frames_cop_parts[];

/* --sdls: contradicting options end the program; reads the file, fills in o->plain and notes the
 * numbers. Returns 0, or an exit code after reporting the error. */
void frames_check_security(struct argp_state *state, const struct frames_options *o);
int frames_security_open(const struct command *c, struct frames_options *o);
int frames_security_close(struct frames_options *o);

#endif
