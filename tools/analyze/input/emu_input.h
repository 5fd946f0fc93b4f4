/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The captures that helio-emu writes of its link: pcapng with two interfaces, 0 for the forward and
 * 1 for the return direction, of frames that enter the link (before) or leave it (after). Neither
 * is the capture of an end. The end that sends forward sees what enters forward and what leaves on
 * the return, so both files of a run make up both ends. libpcap's reader does not report
 * interfaces, so this file reads pcapng itself. The byte order must be this machine's; else the
 * file is rejected.
 */
#ifndef TOOLS_EMU_INPUT_H
#define TOOLS_EMU_INPUT_H

#include <stdbool.h>

#include "tools/analyze/input/pcap_input.h"
#include "tools/analyze/input/stream.h"

/* What a file says of itself. */
struct emu_mark {
    bool after;   /* else before */
    uint64_t run; /* the same in both files of a link's run */
};

#define EMU_MARK_BYTES 512 /* of a file's beginning that are enough */

/* Is it such a file? By its first bytes. */
bool emu_mark_of(const uint8_t *bytes, size_t len, struct emu_mark *out);

struct emu_input;

/* The packets of one interface of the file that the stream begins. NULL: no memory. */
struct emu_input *emu_input_new(struct stream *in, uint32_t interface);
void emu_input_free(struct emu_input *in); /* NULL is nothing */

/* As pcap_input_next; *error says "truncated" when the file ends within a packet. */
int emu_input_next(struct emu_input *in, struct pcap_packet *out, char error[PCAP_INPUT_ERROR_MAX]);

#endif
