/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sim's options for the recovery switches, as a child of its parser; its input is the struct
 * sim_params. Options act in their order, so that a single one can change a named set. */
#ifndef TOOLS_SIM_RECOVERY_H
#define TOOLS_SIM_RECOVERY_H

#include <argp.h>

extern const struct argp sim_recovery_argp;

#endif
