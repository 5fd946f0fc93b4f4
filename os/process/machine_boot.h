/* SPDX-License-Identifier: Apache-2.0 */
/* Which boot of the machine this is, for bp/agent/life_clock.h. */
#ifndef OS_MACHINE_BOOT_H
#define OS_MACHINE_BOOT_H

#include <stdint.h>

#define MACHINE_BOOT_BYTES 16

/* All zero: the machine does not say. */
void machine_boot(uint8_t out[MACHINE_BOOT_BYTES]);

#endif
