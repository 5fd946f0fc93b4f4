/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sim's options for the recovery switches, as a child of its parser; its input is the struct
 * sim_params. Options act in their order, so that a single one can change a named set. */
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
