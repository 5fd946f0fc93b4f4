/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes the emulator as a capture file that Wireshark reads: pcapng with nanoseconds and two
 * interfaces of Ethernet link type, 0 the forward and 1 the return direction. Their descriptions
 * say whether frames were taken where they enter the link or where they leave it. Written beside
 * the loop (log_writer.h).
 */
#ifndef CHANNEL_EMU_EMU_CAPTURE_H
#define CHANNEL_EMU_EMU_CAPTURE_H

#include "base/tick.h"
#include "os/log/log_writer.h"
#include "os/net/address.h"

/* Opens a writer whose file begins with sections and interfaces. after: captures frames that leave
 * the link. run: any number, the same in both files of a link's run. flags: of log_writer_open.
 * Returns 0 or HELIO_E*. */
int emu_capture_open(struct log_writer **out, const char *path, bool after, uint64_t run,
                     unsigned flags);

/* An Ethernet frame without FCS of direction dir (EMU_FORWARD, EMU_RETURN), at `wall` nanoseconds
 * since 1970. A frame longer than EMU_CAPTURE_MAX is cut. */
#define EMU_CAPTURE_MAX 65600u
void emu_capture_frame(struct log_writer *w, int dir, tick wall, const uint8_t *data, size_t len);

/* A UDP datagram of at most 65507 (IPv6: 65527) bytes of payload as the Ethernet frame that it
 * could have been: IPv4 or IPv6 as `from` is; addresses of Ethernet are 0; checksums are right. */
void emu_capture_udp(struct log_writer *w, int dir, tick wall, const struct address *from,
                     const struct address *to, const uint8_t *data, size_t len);

#endif
