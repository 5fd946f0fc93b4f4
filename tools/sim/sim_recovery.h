/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sim's --sessions and --rto, which take `auto`, as a child of its parser; its input is the
 * struct sim_params. All other options of LTP are those of tools/ltp/ltp_arguments.h. */
#ifndef TOOLS_SIM_RECOVERY_H
#define TOOLS_SIM_RECOVERY_H

#include <argp.h>

#include "sim/sim_run.h"

#define SIM_RTO (30 * TICK_MS) /* where nothing else is known */

extern const struct argp sim_recovery_argp;

/* When all options are read: a timer that none has given (0). One that adjusts itself begins with
 * twice the round trip, since from a shorter one on no session lives long enough to teach it. A
 * fixed one that is shorter than the round trip is told on standard error. */
void sim_settle_rto(struct sim_params *p);

#endif
