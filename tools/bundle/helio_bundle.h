/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of helio-bundle. Each gets its own argv and returns the exit code. */
#ifndef TOOLS_HELIO_BUNDLE_H
#define TOOLS_HELIO_BUNDLE_H

#include <jansson.h>
#include <stdio.h>

#include "bp/codec/bundle.h"
#include "conf/conf_arguments.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int command_lint(int argc, char **argv);
int command_show(int argc, char **argv);
int command_make(int argc, char **argv);

/* Options of a command that reads bundles from files. */
struct bundle_files {
    bool json, hex, strict;
    char **files;
    int count;
};
#define BUNDLE_FILES_OPTIONS                                                                       \
    {"json", 'j', .help = "Print one JSON object per file", .type = OPTION_BOOL,                   \
     ARGUMENT_FIELD(struct bundle_files, json)},                                                   \
    {                                                                                              \
        "hex", 'x', .help = "The files are hexadecimal text", .type = OPTION_BOOL,                 \
                    ARGUMENT_FIELD(struct bundle_files, hex)                                       \
    }
/* The files; for `word` and `end` of a command's table. */
void bundle_files_take(struct argp_state *state, char *arg, void *base);
void bundle_files_check(struct argp_state *state, void *base);

/* The whole file ("-": standard input), hexadecimal text turned into bytes when hex is set. NULL:
 * a message was printed. */
struct buf *bundle_file_read(const char *path, bool hex);

/* Writes the file ("-" or NULL: standard output). Returns the exit code; `command` begins a
 * message. */
int bundle_file_write(const char *command, const char *path, const struct buf *b);

/* Findings as text lines "FILE:OFFSET: error: TEXT [SECTION]", or as a JSON array. */
void findings_print(FILE *out, const char *path, const struct bundle_findings *f);
json_t *findings_json(const struct bundle_findings *f);

/* Names of the set flags, as a JSON array; bits without a name as "0x…". */
struct flag_name {
    uint64_t bit;
    const char *name;
};
extern const struct flag_name bundle_flag_names[], block_flag_names[]; /* end with bit 0 */
const char *crc_name(enum crc_type crc);

#endif
