/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options on a command line. What is wrong ends the program by argp_error, with a message
 * that names the option, what was given and what would be right. `option` is without its dashes;
 * bounds are inclusive. */
#ifndef OS_ARGUMENTS_H
#define OS_ARGUMENTS_H

#include <argp.h>
#include <stdint.h>

#include "base/tick.h"
#include "os/address.h"

/* "--option 'arg': expected hint" */
void argument_want(struct argp_state *state, const char *option, const char *arg, const char *hint);

uint64_t argument_count(struct argp_state *state, const char *option, const char *arg, uint64_t low,
                        uint64_t high);
uint64_t argument_size(struct argp_state *state, const char *option, const char *arg, uint64_t low,
                       uint64_t high); /* bytes */
tick argument_time(struct argp_state *state, const char *option, const char *arg, tick low);
uint64_t argument_rate(struct argp_state *state, const char *option, const char *arg); /* bit/s */
struct address argument_address(struct argp_state *state, const char *option, const char *arg);

#endif
