/* SPDX-License-Identifier: Apache-2.0 */
/* What the command lines of helio-emu share: options of a link are keys of its file. */
#ifndef CHANNEL_EMU_SCENARIO_OPTIONS_H
#define CHANNEL_EMU_SCENARIO_OPTIONS_H

#include "conf/conf_arguments.h"
#include "conf/conf_section.h"

/* Errors of a file or an option with this name, which is borrowed. Ends the program when there is
 * no memory. */
struct conf_errors *scenario_errors_new(const char *of);
/* Frees them; prints them and ends the program, if there are any, or rc is below 0: what failed. */
void scenario_errors_stop(struct conf_errors *e, int rc);

/* Rows of a table whose KEY(PATH) has the setter, and the key's path as `choices`. */
#define SCENARIO_DELAY_OPTIONS                                                                     \
    {"delay",          0, "DURATION", .help = "Delay in each direction (default 0)", .group = 2,   \
     KEY("both.delay")},                                                                           \
        {"delay-forward",     0, "DURATION", .help = "Delay forward only", .group = 2,             \
         KEY("forward.delay")},                                                                    \
    {                                                                                              \
        "delay-return", 0, "DURATION", .help = "Delay of the return only", .group = 2,             \
                                       KEY("return.delay")                                         \
    }

#endif
