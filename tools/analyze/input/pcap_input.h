/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of a pcap or pcapng file, in the order in which they were captured. */
#ifndef TOOLS_PCAP_INPUT_H
#define TOOLS_PCAP_INPUT_H

#include <stdint.h>
#include <stdio.h>

#include "base/tick.h"

#define PCAP_INPUT_ERROR_MAX 256

struct pcap_input;

/* The file is closed with the input, also when this fails. 0, HELIO_ENOMEM, or HELIO_EFORMAT with
 * `error`. */
int pcap_input_open(struct pcap_input **out, FILE *f, char error[PCAP_INPUT_ERROR_MAX]);
void pcap_input_close(struct pcap_input *in); /* NULL is nothing */

int pcap_input_link(const struct pcap_input *in); /* libpcap's DLT_ number */

struct pcap_packet {
    tick now; /* nanoseconds since 1970 */
    const uint8_t *bytes;
    uint32_t have, len; /* captured; what there was */
};

/* The next packet: 1, 0 at the end, HELIO_EIO (the file is damaged; `error` says how). */
int pcap_input_next(struct pcap_input *in, struct pcap_packet *out,
                    char error[PCAP_INPUT_ERROR_MAX]);

#endif
