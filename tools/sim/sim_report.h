/* SPDX-License-Identifier: Apache-2.0 */
/* How helio-sim prints its result. */
#ifndef TOOLS_SIM_REPORT_H
#define TOOLS_SIM_REPORT_H

#include <stdio.h>

#include "sim/sim_run.h"

/* `trace` is the name that the user gave. Returns 0 or HELIO_ENOMEM, HELIO_EIO. */
int sim_report_json(FILE *out, const struct sim_params *p, const char *trace,
                    const struct sim_result *r);
void sim_report_text(FILE *out, const struct sim_params *p, const char *trace,
                     const struct sim_result *r);

#endif
