/* SPDX-License-Identifier: Apache-2.0 */
/* Segmentation, receive and checksum offloads of an interface, off for as long as we use it: with
 * them the kernel joins frames into super-packets of up to 64 kB and leaves checksums out. */
#ifndef CHANNEL_EMU_EMU_OFFLOAD_H
#define CHANNEL_EMU_EMU_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EMU_OFFLOAD_NOTES "/run/helio-emu"
#define EMU_OFFLOAD_WORDS 8u /* 256 features; the kernel has some 60 */

struct emu_offload {
    char name[16];                       /* of the interface */
    uint32_t words;                      /* in use */
    uint32_t changed[EMU_OFFLOAD_WORDS]; /* features that we have turned off */
    int note; /* what is off, for the next process if this one is killed: open and locked
               * while we live; -1: none */
    char note_path[80];
};

/* Turns off what is on; what an emulator that was killed had left off counts as on. It is noted in
 * EMU_OFFLOAD_NOTES (where that may be written) until it is restored. 0; HELIO_EIO with a message
 * on `say` that has the command to give, when it is not permitted or did not work (then nothing
 * stays changed). */
int emu_offload_off(struct emu_offload *o, const char *name, FILE *say);
/* Turns on again what was on. Quiet when the interface is gone. */
void emu_offload_restore(struct emu_offload *o);

#endif
