/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes the emulator as a capture file that Wireshark reads: the classic pcap format with
 * nanoseconds and Ethernet link type. Written beside the loop (log_writer.h).
 */
#ifndef CHANNEL_EMU_EMU_CAPTURE_H
#define CHANNEL_EMU_EMU_CAPTURE_H

#include "base/tick.h"
#include "os/address.h"
#include "os/log_writer.h"

/* A writer whose file begins with the pcap header. 0 or HELIO_E*. */
int emu_capture_open(struct log_writer **out, const char *path);

/* An Ethernet frame without FCS, at `wall` nanoseconds since 1970. A frame longer than
 * EMU_CAPTURE_MAX is cut. */
#define EMU_CAPTURE_MAX 65600u
void emu_capture_frame(struct log_writer *w, tick wall, const uint8_t *data, size_t len);

/* A UDP datagram of at most 65507 (IPv6: 65527) bytes of payload as the Ethernet frame that it
 * could have been: IPv4 or IPv6 as `from` is; addresses of Ethernet are 0; checksums are right. */
void emu_capture_udp(struct log_writer *w, tick wall, const struct address *from,
                     const struct address *to, const uint8_t *data, size_t len);

#endif
