/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sim's --sessions and --rto, which take `auto`, as a part of its table for a struct
 * sim_params. All other options of LTP are those of tools/ltp/ltp_arguments.h. */
#ifndef TOOLS_SIM_RECOVERY_H
#define TOOLS_SIM_RECOVERY_H

#include "conf/conf_arguments.h"
#include "sim/sim_run.h"

#define SIM_RTO (30 * TICK_MS) /* where nothing else is known */

extern const struct argument sim_recovery_options[];

/* Call it after all options are read. Sets a timer that was not given (0). An adaptive one starts
 * with twice the round trip: with a shorter one, no session would last long enough to measure it. A
 * fixed one shorter than the round trip causes a warning on standard error. */
void sim_settle_rto(struct sim_params *p);

#endif
