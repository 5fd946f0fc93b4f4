/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's random number of this boot, 32 hexadecimal digits between dashes. */
#include "os/process/machine_boot.h"

#include <stdio.h>
#include <string.h>

void machine_boot(uint8_t out[MACHINE_BOOT_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    char text[64] = "";
    memset(out, 0, MACHINE_BOOT_BYTES);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL)
        return;
    size_t digits = 0, len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    for (size_t i = 0; i < len && digits < 2 * MACHINE_BOOT_BYTES; i++) {
        const char *at = text[i] == '\0' ? NULL : strchr(hex, text[i]);
        if (at == NULL)
            continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | (uint8_t)(at - hex));
        digits++;
    }
}
