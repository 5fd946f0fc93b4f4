/* SPDX-License-Identifier: Apache-2.0 */
/* A capture of what engines radiate, for other people's dissectors: a pcap file of raw IPv4 (link
 * type 101) with nanoseconds, each segment in a datagram from and to LTP's port. */
#ifndef TESTS_SIM_PCAP_H
#define TESTS_SIM_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/tick.h"

struct pcap {
    FILE *out;
};

/* Creates the file. Returns false with errno. */
bool pcap_open(struct pcap *p, const char *path);

/* A segment of at most 65000 bytes, from 10.0.0.FROM to 10.0.0.TO (1..254). */
void pcap_segment(struct pcap *p, tick now, size_t from, size_t to, const uint8_t *data,
                  size_t len);

/* Closes it. Returns false with errno when anything could not be written. */
bool pcap_close(struct pcap *p);

#endif
