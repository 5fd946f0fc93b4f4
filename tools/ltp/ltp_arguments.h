/* SPDX-License-Identifier: Apache-2.0 */
/* The options of ltp/options.h on a command line, for example `--copy-spacing TIME` for
 * copy_spacing, with --recovery and --peer-profile: a part of a program's table. Options are
 * applied in their order. So a single one can change a named set of recovery options that precedes
 * it. */
#ifndef TOOLS_LTP_ARGUMENTS_H
#define TOOLS_LTP_ARGUMENTS_H

#include "conf/conf_arguments.h"
#include "ltp/options.h"

#define LTP_ARGUMENTS_MAX 64
#define LTP_ARGUMENTS_TEXT 8192

struct ltp_arguments {
    struct ltp_span *span;                          /* as read so far, the program's */
    const char *recovery;                           /* the named set: "plain" or "default" */
    struct argument options[LTP_ARGUMENTS_MAX + 3]; /* a part of a table, for this struct */
    char text[LTP_ARGUMENTS_TEXT];
    size_t text_len;
};

/* All options but those of `without` (names of ltp/options.h, ended by NULL), with their defaults
 * in *span, which is borrowed. The recovery switches begin as plain; the profile is that of *span.
 */
void ltp_arguments_init(struct ltp_arguments *a, struct ltp_span *span, const char *const *without);

#endif
