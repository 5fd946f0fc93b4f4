/* SPDX-License-Identifier: Apache-2.0 */
/* What the bridge has to know of Ethernet frames. */
#ifndef CHANNEL_EMU_EMU_ETHER_H
#define CHANNEL_EMU_EMU_ETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define EMU_ETHER_HEAD 14u
#define EMU_ETHER_TAG 4u

/* Is it ARP, or IPv6 neighbour discovery (ICMPv6 types 133 to 137 straight after the IPv6 header),
 * behind any VLAN tags? Without it no address is ever found. */
bool emu_ether_is_signalling(const uint8_t *frame, size_t len);

/* Where what follows the Ethernet header and any VLAN tags begins, when that is IPv4 or IPv6; 0: it
 * is not. */
size_t emu_ether_payload(const uint8_t *frame, size_t len);

/* The ECN field (RFC 3168) of an IPv4 or IPv6 header, 0 to 3; 0 when there is none. */
unsigned emu_ether_ecn(const uint8_t *frame, size_t len);
/* Sets it to 3, "congestion experienced", and the header's checksum with it (RFC 1624), unless it
 * is 0. */
void emu_ether_mark(uint8_t *frame, size_t len);

/* The sum of RFC 1071 over the bytes, folded to 16 bits, not yet complemented, and a former one. */
unsigned emu_ether_sum(const uint8_t *data, size_t len, unsigned before);
/* The same over the pseudo header (RFC 793, RFC 8200 §8.1) of what an IPv4 or IPv6 header sends. */
unsigned emu_ether_pseudo_sum(const uint8_t *ip, uint8_t protocol, size_t len);

/* Did the sender leave the checksum of TCP or UDP to its device? Then its field holds the sum of
 * the pseudo header, and the checksum is not right. False of fragments, and of what is cut. */
bool emu_ether_sum_missing(const uint8_t *frame, size_t len);

/* What the UDP datagram in it carries, behind any VLAN tags and straight after an IPv4 or IPv6
 * header; empty when it is something else, or a fragment. */
struct slice emu_ether_udp_payload(const uint8_t *frame, size_t len);

/* Is it longer than a frame of an interface with this MTU can be: Ethernet header, two VLAN tags?
 */
bool emu_ether_too_long(size_t len, size_t mtu);

/* Puts the VLAN tag back that the kernel took out: the addresses move four bytes down, where the
 * caller has room, and the tag takes their place. Returns the new start of the frame; it is four
 * bytes longer than before. The frame has at least its two addresses. */
uint8_t *emu_ether_put_tag(uint8_t *frame, uint16_t tpid, uint16_t tci);

/* Completes a checksum that the sender left to its device (RFC 1071): the sum of all bytes from
 * `start` on, with what is at `start + offset` already, goes there. False when the place lies
 * outside of the frame. */
bool emu_ether_complete_sum(uint8_t *frame, size_t len, size_t start, size_t offset);

#endif
