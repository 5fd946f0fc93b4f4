/* SPDX-License-Identifier: Apache-2.0 */
/* Which boot of the machine this is, for bp/life_clock.h. */
#ifndef TOOLS_MACHINE_BOOT_H
#define TOOLS_MACHINE_BOOT_H

#include "bp/life_clock.h"

/* All zero: the machine does not say. */
void machine_boot(uint8_t out[LIFE_CLOCK_BOOT]);

#endif
